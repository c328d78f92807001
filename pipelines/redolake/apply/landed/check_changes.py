"""Merge nothing unless every change is understood and none is missing."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from redolake.apply.landed.findings import FINDINGS
from redolake.apply.mapping import cure_of as cure_of_mapping
from redolake.apply.partitions import cure_of as cure_of_partition
from redolake.apply.spark.probes import Probe
from redolake.apply.target import UPSERT, TargetColumn
from redolake.errors import (
    OF_BATCH,
    OF_TABLE,
    InvariantBroken,
    KeyNeeded,
    MappingFailed,
    NotLogged,
    RedolakeError,
    TextNotValid,
    ValueDoesNotFit,
    report_with,
)
from redolake.records.batches.spec import Course, TableTask
from redolake.values import frames
from redolake.values.mapping import needs_all_columns
from redolake.values.table import LONGEST_MINED_NAME_BYTES
from redolake.values.terms import RowCounts
from redolake.values.valid_text import BY_SERVER
from redolake.values.valid_text import cure_of as cure_of_text

# By whether a rule makes values NULL.
NULLED, SUM_OF_NULLED = ((), ("nulled",)), ((), ("coalesce(sum(nulled), 0L) AS nulled",))
ROW_NOT_SHOWN = "LogMiner cannot show a change of the table"  # assemble's words for a row that is UNSUPPORTED
VALUE_NOT_SHOWN = "written as UNSUPPORTED"  # decode's words for `Unsupported Type` in place of a value


def probe_changes(changes: DataFrame, *, counts_nulls: bool = False) -> Probe:
    """Return the probe that counts changes, and finds the first finding; with `counts_nulls`, that counts values that are NULL
    by rule."""
    names, counted = ("finding", *NULLED[counts_nulls]), ("count(*) AS changes", "min(finding) AS finding")
    return Probe(changes.select(*names), (*counted, *SUM_OF_NULLED[counts_nulls]))


def probe_net_changes(net: DataFrame, ranged: TargetColumn | None = None, *, counts_nulls: bool = False) -> Probe:
    """Return the probe that counts the changes that the net changes stand for, and the rows that MERGE has to write; and finds
    the first finding and, of the key's column `ranged`, the least and the greatest value. With `counts_nulls`, it counts values
    that are NULL by rule."""
    upserts, names = f"count_if(op = '{UPSERT}') AS upserts", ("changes", "finding", "op", *NULLED[counts_nulls])
    counted = ("coalesce(sum(changes), 0L) AS changes", "min(finding) AS finding", upserts, *SUM_OF_NULLED[counts_nulls])
    if ranged is None:
        return Probe(net.select(*names), counted)
    key = F.col(frames.key(ranged.id)).cast("decimal(38,0)").alias("key")
    return Probe(net.select(*names, key), (*counted, "min(key) AS low", "max(key) AS high"))


def check_all(task: TableTask, seen: Row, expected: int) -> None:
    """Raise the first finding that a probe saw, or InvariantBroken when the number of changes differs."""
    check_finding(task, seen["finding"])
    if seen["changes"] != expected:
        raise InvariantBroken(
            f"{expected} changes were to be applied, {seen['changes']} came out of decoding",
            cure=f"run `redolake snapshot {task.table} --replace` to go on; nothing was merged. {report_with(OF_BATCH)}",
            table=task.table,
        )


def check_merged(task: TableTask, merged: RowCounts, upserts: int | None) -> None:
    """Raise InvariantBroken if MERGE wrote fewer rows than the net changes have. MERGE reads them twice, and Delta only logs a
    warning where the second reading has other rows than the first."""
    if upserts is not None and merged.inserted + merged.updated < upserts:
        raise InvariantBroken(
            f"{upserts} rows were to be written, and MERGE wrote {merged.inserted + merged.updated}",
            cure=f"run `redolake snapshot {task.table} --replace` to go on; and {report_with(OF_TABLE)}",
            table=task.table,
        )


def check_finding(task: TableTask, found: Any) -> None:
    """Raise the finding, if there is one."""
    if found is not None:
        kind, what = FINDINGS[found["code"]], found["what"]
        names = names_not_mined(task.course) if what.startswith(ROW_NOT_SHOWN) else []
        because = f"; it has names over {LONGEST_MINED_NAME_BYTES} bytes: {', '.join(names)}" if names else ""
        raise kind(
            f"{what}{because}",
            cure=cure_of_names(task) if names else cure_of(kind, task, what),
            table=task.table,
            scn=found["scn"],
            commit_scn=found["commit_scn"],
        )


def names_not_mined(course: Course) -> list[str]:
    return list(dict.fromkeys(name for version in course.versions for name in version.names_not_mined))


def cure_of_names(task: TableTask) -> str:
    return (
        "give the column a shorter name in Oracle (ALTER TABLE .. RENAME COLUMN), or the table (ALTER TABLE .. RENAME TO), "
        f"then run `redolake snapshot {task.table} --replace`; or remove {task.table} from `tables`"
    )


YOUNG = (  # Oracle keeps such a default in its dictionary until the row is written again
    "if they were on: a row older than a column that was added with a DEFAULT lacks it in the redo; before the rebuild, "
    "`UPDATE {table} SET <column> = <column>` writes it into each row"
)


def cure_of(kind: type[RedolakeError], task: TableTask, what: str) -> str:
    table = task.table
    rebuild = f"run `redolake snapshot {table} --replace` to rebuild the table"
    if kind is KeyNeeded:
        return (
            f"declare `key: rowid`, or the columns of a unique index, for {table} in pipelines.yml, and then {rebuild}; "
            "the rebuild alone is enough where this was the only such change"
        )
    if kind is MappingFailed:
        return cure_of_mapping(table)
    if kind is ValueDoesNotFit:
        return cure_of_partition(table)
    if kind is TextNotValid:
        return cure_of_text("..", table, by_server=BY_SERVER in what)
    if kind is NotLogged:
        version = task.course.latest
        needs_all = version.key_kind != "primary" or needs_all_columns(version.mapping, version.key)
        columns = "ALL" if needs_all else "PRIMARY KEY"
        young = f"; {YOUNG.format(table=table)}" if needs_all_columns(version.mapping, version.key) else ""
        return (
            f"run ALTER DATABASE ADD SUPPLEMENTAL LOG DATA and ALTER TABLE {table.in_sql} ADD SUPPLEMENTAL LOG DATA "
            f"({columns}) COLUMNS, unless they are on again; then {rebuild}{young}"
        )
    if VALUE_NOT_SHOWN in what:
        reread = "" if task.course.latest.organization == "index" else f"set `unsupported_columns: reread` for {table}, or "
        return f"{reread}leave the column out (`exclude_columns` of {table} in pipelines.yml), and then {rebuild}"
    later = (
        f"or {report_with('the row shown')} (the landed redo is kept), and run `redolake resume {table}` with a version that "
        "understands it"
    )
    fit = f"where a value does not fit, first give its column another scale, or `string`, under `columns` of {table}"
    return f"{rebuild} ({fit}); {later}"
