"""Merge nothing unless every change is understood and none is missing."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.apply.findings import FINDINGS
from pipelines.errors import InvariantBroken, KeyNeeded, NotLogged, RedolakeError
from pipelines.records.batch_spec import TableTask


def count_changes(changes: DataFrame) -> tuple[int, Any]:
    """Return the number of changes, and the first finding."""
    row = changes.agg(F.count("*").alias("changes"), F.min("finding").alias("finding")).collect()[0]
    return int(row["changes"]), row["finding"]


def count_net_changes(net: DataFrame) -> tuple[int, Any]:
    """Return the number of changes that the net changes stand for, and the first finding."""
    row = net.agg(F.coalesce(F.sum("changes"), F.lit(0)).alias("changes"), F.min("finding").alias("finding")).collect()[0]
    return int(row["changes"]), row["finding"]


def check_all(task: TableTask, counted: tuple[int, Any], expected: int) -> None:
    """Raise the first finding, or InvariantBroken when the number of changes differs."""
    count, found = counted
    check_finding(task, found)
    if count != expected:
        raise InvariantBroken(
            f"{expected} changes were to be applied, {count} came out of decoding",
            cure="nothing was merged; report it with the batch file and the landed windows",
            table=task.table,
        )


def check_finding(task: TableTask, found: Any) -> None:
    """Raise the finding, if there is one."""
    if found is not None:
        kind = FINDINGS[found["code"]]
        raise kind(found["what"], cure=cure_of(kind, task), table=task.table, scn=found["scn"], commit_scn=found["commit_scn"])


def cure_of(kind: type[RedolakeError], task: TableTask) -> str:
    table = task.table
    rebuild = f"run `redolake snapshot {table} --replace` to rebuild the table"
    if kind is KeyNeeded:
        return (
            f"declare `key: rowid`, or the columns of a unique index, for {table} in pipelines.yml, and then {rebuild}; "
            "the rebuild alone is enough where this was the only such change"
        )
    if kind is NotLogged:
        columns = "PRIMARY KEY" if task.versions[-1].key_kind == "primary" else "ALL"
        return (
            f"run ALTER DATABASE ADD SUPPLEMENTAL LOG DATA and ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA ({columns}) "
            f"COLUMNS, unless they are on again; then {rebuild}"
        )
    later = f"or report it (the landed redo is kept) and run `redolake resume {table}` with a Redolake that understands it"
    fit = f"where a value does not fit, first give its column another scale, or `string`, under `columns` of {table}"
    return f"{rebuild} ({fit}); {later}"
