"""The changes of a range as rows: each with its operation, the row before and after it, and the transaction that made it.

They are what the redo contains, under the names that the columns had last. Nothing is filled in from a table: columns whose
values the redo does not contain are NULL, and named in `_unknown_before` and `_unknown_after`. Where a table is mapped, the
rows are those of the lake (landed/mapped_images.py): an UPDATE that moves a row out of a filter is a delete, one that moves it
in an insert, and what happens outside of it is only counted. A change that the stream would put into quarantine has `_reason`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from redolake.apply.lake_tables import open_table, read_log
from redolake.apply.landed.check_changes import check_finding
from redolake.apply.landed.decoded import REDO, by_names, with_rowid
from redolake.apply.landed.findings import TROUBLE, finding, trouble
from redolake.apply.landed.mapped_images import AFTER, BEFORE, KEYS, UNREAD, with_images, with_unread
from redolake.apply.mapping import cure_of as cure_of_mapping
from redolake.apply.mapping import maps_key
from redolake.apply.net.history_rows import OF_CHANGE, said_of_change
from redolake.apply.owner import Owner, damage_of
from redolake.apply.spark.shallow import unite
from redolake.apply.target import Tag, TargetColumn, Terms, target_columns
from redolake.apply.translation import Translation
from redolake.errors import OF_BATCH, InvariantBroken, MappingFailed, report_with
from redolake.host import crash
from redolake.host.filesystem import open_filesystem
from redolake.records.batches.spec import Destination, TableTask
from redolake.values import frames
from redolake.values.lake_columns import with_lake_names
from redolake.values.quarantine import over_limit
from redolake.values.redo import CHANGE_ORDER, Operation
from redolake.values.scn import ScnRange
from redolake.values.table import ROWID_COLUMN, TableVersion
from redolake.values.terms import RowCounts

OPERATIONS = ("insert", "update", "delete")
REMOVALS = ("truncate", "remove_rows")
SUCCESS = "_SUCCESS"  # Spark writes it last


@dataclass(frozen=True, slots=True)
class Written(RowCounts):
    """The changes that a range has in a table of changes; `unknown` ones have columns whose values the redo lacks. `filtered`
    are those of rows that the lake has neither before nor after them, which are not written. `unread` ones have a `_reason`."""

    unknown: int = 0
    filtered: int = 0
    unread: int = 0


def columns_of(task: TableTask, translation: Translation) -> tuple[TargetColumn, ...]:
    """Return the columns that the table had in the range, each under the name that it had last. Where two have one name,
    the older one gets its number too."""
    found = dict[int, TargetColumn]()
    for version in task.course.versions:
        for column in target_columns(with_lake_names(version, task.destination.options)):
            type_ = translation.spark_type(column.type, task.course.rules.get(column.id))
            found[column.id] = TargetColumn(column.id, column.name, type_)
    last = {column.name.lower(): column.id for column in found.values()}
    return tuple(
        column if last[column.name.lower()] == column.id else TargetColumn(column.id, f"{column.name}_{column.id}", column.type)
        for column in found.values()
    )


def change_rows(changes: DataFrame, task: TableTask, translation: Translation) -> DataFrame:
    """Return a row for each change, and its `finding`: why it is not understood, NULL if it is. `_op` is NULL where a filter
    leaves out the row before and after it."""
    columns, known = columns_of(task, translation), task.course.known
    parts = []
    for version, delivery, names, mine in by_names(known, task.course.mined_names):
        in_index = ("partly_undone",) if version.organization == "index" else ()
        rows = changes.filter(mine).select(*dict.fromkeys((*CHANGE_ORDER, *REDO, *in_index, *OF_CHANGE.values())))
        ids = [column.id for column in target_columns(version)]
        decoded = with_rowid(translation.decode(rows, version, delivery, task.course.rules, names, ids))
        parts.append(as_rows(decoded, version, task, columns))
    return unite(parts)


def as_rows(decoded: DataFrame, version: TableVersion, task: TableTask, columns: Sequence[TargetColumn]) -> DataFrame:
    absent = unknown_columns(version, task)
    unset = F.array_except(absent, F.coalesce(F.col("assigned"), F.array().cast("array<int>")))
    found = finding(version, version.key, task.course.known_from, F.lit(False))
    classes = () if (rule := task.destination.quarantine) is None else rule.classes
    described = decoded.withColumns(
        {
            "finding": found,
            **({TROUBLE: trouble(version, version.key, found)} if classes else {}),
            BEFORE.unknown: F.when(BEFORE.is_row, absent),
            AFTER.unknown: F.when(F.col("operation_code") == Operation.UPDATE, unset),
        }
    )
    had, has = F.col(BEFORE.there), F.col(AFTER.there)
    images = with_unread(with_images(described, version, isolates="transform" in classes), version, classes)
    return images.select(
        *CHANGE_ORDER,
        "finding",
        UNREAD,
        F.when(had & has, F.lit("update")).when(has, F.lit("insert")).when(had, F.lit("delete")).alias("_op"),
        *said_of_change(),
        named(F.when(had, F.col(BEFORE.unknown)), columns).alias("_unknown_before"),
        named(F.when(has, F.col(AFTER.unknown)), columns).alias("_unknown_after"),
        F.when(had, image(version, columns, BEFORE.kind)).alias("before"),
        F.when(has, image(version, columns, AFTER.kind)).alias("after"),
        *([KEYS] if maps_key(version) else []),
    )


def unknown_columns(version: TableVersion, task: TableTask) -> Expression:
    """Return the ids of columns whose value before the change is not in its redo. NULL may stand for a default that the row
    does not store."""
    defaulted = [column.id for column in version.columns if column.id in task.course.defaulted]
    maybe = [F.when(F.col(frames.redo_before(number)).isNull(), F.lit(number)) for number in defaulted]
    absent = F.coalesce(F.col("missing"), F.array().cast("array<int>"))
    return F.array_distinct(F.concat(absent, F.array_compact(F.array(*maybe)))) if maybe else absent


def named(ids: Expression, columns: Sequence[TargetColumn]) -> Expression:
    """Return the names of the columns with these ids; NULL for none."""
    names = F.create_map(*(F.lit(value) for column in columns for value in (column.id, column.name)))
    return F.when(F.size(ids) > 0, F.transform(ids, lambda number: names[number]))


def image(version: TableVersion, columns: Sequence[TargetColumn], side: frames.Kind) -> Expression:
    added = () if version.mapping is None else version.mapping.added
    known = {ROWID_COLUMN, *(column.id for column in version.columns), *(one.id for one in added)}
    values = (F.col(side(one.id)) if one.id in known else F.lit(None) for one in columns)
    return F.struct(*(value.cast(one.type).alias(one.name) for value, one in zip(values, columns, strict=True)))


def check_rows(rows: DataFrame, task: TableTask, expected: int) -> Written:
    """Return what the rows are. Raise the error of the first change that is not understood, before anything is written."""
    counts = [F.count_if(F.col("_op") == name).alias(name) for name in OPERATIONS]
    filtered = F.count_if(F.col("_op").isNull()).alias("filtered")
    unread = F.min(UNREAD).alias("unread"), F.count(UNREAD).alias("unread_changes")
    unknown = F.count_if(F.col("_unknown_before").isNotNull() | F.col("_unknown_after").isNotNull()).alias("unknown")
    found: Row = rows.agg(
        F.count("*").alias("changes"), F.min("finding").alias("finding"), *counts, unknown, filtered, *unread
    ).collect()[0]
    check_finding(task, found["finding"])
    check_limit(task, found, expected)
    has_filter = any(version.mapping is not None and version.mapping.where is not None for version in task.course.versions)
    if found["changes"] != expected or (found["filtered"] and not has_filter):
        raise InvariantBroken(
            f"{expected} changes were to be written, {found['changes']} came out of decoding",
            cure=f"leave the table out; {report_with(OF_BATCH)}",
            table=task.table,
        )
    check_keys(rows, task)
    written: dict[str, Any] = dict(zip(RowCounts().counts, (found[name] for name in OPERATIONS), strict=True))
    return Written(found["unknown"], found["filtered"], found["unread_changes"], **written)


def check_limit(task: TableTask, found: Row, changes: int) -> None:
    """Raise the finding of the first change that could not be read, where there are more of these than `at_most` allows."""
    rule = task.destination.quarantine
    if rule is None or found["unread"] is None:
        return
    why = over_limit(rule, found["unread_changes"], found["unread_changes"], changes)
    if why is not None:
        first = found["unread"].asDict()
        check_finding(task, {**first, "what": f"{first['what']}; it is not written with its reason alone: {why}"})


def check_keys(rows: DataFrame, task: TableTask) -> None:
    """Raise MappingFailed where an expression that was declared injective gives two keys of Oracle one key in the lake."""
    if KEYS not in rows.columns:
        return
    pairs = rows.select(F.explode(KEYS).alias("key")).select("key.*").distinct()
    twice = pairs.groupBy("lake").agg(F.count("*").alias("keys"), F.min("oracle").alias("one"), F.max("oracle").alias("other"))
    for found in twice.filter("keys > 1").limit(1).collect():
        raise MappingFailed(
            f"two keys of Oracle become one: {found['one']} and {found['other']} are both {found['lake']}",
            cure=cure_of_mapping(task.table),
            table=task.table,
        )


def with_removals(rows: DataFrame, task: TableTask, scns: ScnRange) -> DataFrame:
    """Add a row for each DDL that removed rows, of which no redo shows single ones."""
    steps = [step for step in task.course.ddl if step.kind in REMOVALS and step.scn in scns]
    if not steps:
        return rows
    found = rows.sparkSession.createDataFrame([(step.kind, int(step.scn)) for step in steps], "_op string, _scn bigint")
    return rows.unionByName(
        found.withColumns({"_commit_scn": F.col("_scn"), "commit_scn": F.col("_scn")}), allowMissingColumns=True
    )


def in_order(rows: DataFrame) -> DataFrame:
    """Return the rows in the order of commits, as they are written. `_seq` orders those of one commit: SCNs may be equal."""
    of_commit = Window.partitionBy("commit_scn").orderBy(*CHANGE_ORDER)
    numbered = rows.filter("_op IS NOT NULL").withColumn("_seq", F.row_number().over(of_commit).cast("bigint"))
    numbered = numbered.withColumn("_reason", F.col(UNREAD)["what"])
    shown = ("_op", *OF_CHANGE, "_seq", "_unknown_before", "_unknown_after", "_reason", "before", "after")
    return numbered.orderBy(*CHANGE_ORDER).select(*shown)


def is_written(there: Destination, form: str) -> bool:
    """Return whether an earlier attempt has written the table's changes: all of them are there, or none."""
    if form == "delta":
        log = read_log(there.target, damage_of(there.app_id))
        return log is not None and there.app_id in log.txns()
    filesystem, root = open_filesystem(there.target)
    return bool(filesystem.exists(f"{root}/{SUCCESS}"))


def write_changed_rows(rows: DataFrame, task: TableTask, form: str, end: int, metadata: Mapping[str, object]) -> None:
    """Write the changes in one commit; files that a killed attempt has left are replaced."""
    there = task.destination
    if form == "delta":
        tag = Tag(there.app_id, end - 1, {**metadata, "table": str(task.table), "changes": True})
        table, terms = open_table(rows.sparkSession, there.target, there.app_id), Terms(task.table, Owner.of(there.app_id))
        with table.commit(terms, tag, "changes") as writer:
            writer.create(in_order(rows))
    else:
        in_order(rows).write.mode("overwrite").parquet(there.target)
        crash.point("changes")
