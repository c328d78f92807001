"""Delivery of a table whose changes LogMiner does not show: its rows come from the files of rows that capture has read again.

A change only says which row it changed. A key for which a row was found AS OF its window's end gets that row. A key that a
changed row had at the window's start, and no row has at its end, is deleted. The newest window of a key counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.prepared import PreparedRange, TableRange, ToMerge
from redolake.apply.landed.keys import has_null
from redolake.apply.landed.source_rows import SourceRows, check_values, read_source
from redolake.apply.objects.large_objects import OF_COMMIT
from redolake.apply.spark.probes import Plan
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import unite
from redolake.apply.target import REMOVE, ROWID, UPSERT, NetColumns
from redolake.apply.translation import Translation
from redolake.errors import RedoNotUnderstood
from redolake.records.batches.spec import LandedWindow, RereadFile, TableTask
from redolake.values import frames
from redolake.values.logminer import NO_ROWID, PARTS_OF_VALUES, Mined
from redolake.values.redo import Operation
from redolake.values.table import ROWID_COLUMN, ROWID_NAME, TableVersion, of_columns


def prepare(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    """Prepare a range. The rows of a batch's first range are those of the table's position, and of a later range those of the
    window's start, or later: its rows were read at the window's end."""
    yield from ()
    position = -1 if part.table.position is None or part.commit_range.number else part.table.position
    frame, windows = part.committed.frame, context.windows
    net, nulled = whole_rows(context.spark, frame, windows, part.task, part.version, position, context.translation)
    net = context.kept.keep(part.task.table, net)
    has = NetColumns(part.key, filled=part.commit_range.filled, keeps_removed=part.keeps_removed)
    return ToMerge(lambda: net, has, nulled=nulled)


def whole_rows(
    spark: SparkSession,
    changes: DataFrame,
    windows: Sequence[LandedWindow],
    task: TableTask,
    version: TableVersion,
    position: int,
    translation: Translation,
) -> tuple[DataFrame, int]:
    """Return one row per key that a change may concern, as `net_change` does, and how many values of the rows that were read
    are NULL by rule. Raises RedoNotUnderstood if a changed row was not
    read again, ValueDoesNotFit for a value that the target cannot hold."""
    files = {window.start: (window, file) for window in windows for file in window.reread if file.table == task.table}
    check_read(changes, files, windows, task, position)
    used = [file for window, file in files.values() if window.end - 1 > position]
    after, keys = replace(version, columns=(*version.columns, ROWID), key_kind="columns"), version.key
    before = of_columns(after, {*keys, ROWID_COLUMN})
    parts, nulled = [], 0
    for file in used:
        source = read_source(
            spark, [file.path], after, task.course.rules, translation, partition_by=task.destination.options.partition_by
        )
        nulled += sum(check_values(source, after).nulled.values())
        parts.append(rows_by_key(source, keys, source.names, file, is_there=True))
        if file.before is not None:
            gone = read_source(spark, [file.before], before, task.course.rules, translation)
            parts.append(rows_by_key(gone, keys, source.names, file, is_there=False))
    rows = unite(parts)
    may_be_null = any(column.nullable for known in task.course.versions for column in known.columns if column.id in keys)
    if may_be_null and rows.filter(has_null(keys)).limit(1).count():
        raise RedoNotUnderstood(
            "a changed row has a NULL in its key, and the redo does not contain its columns, by which it would be known",
            cure=f"declare `key: rowid`, or the primary key; then run `redolake snapshot {task.table} --replace`",
            table=task.table,
        )
    return net_rows(rows, changes, [frames.key(i) for i in keys]), nulled


def rows_by_key(source: SourceRows, key: Sequence[int], ids: Collection[int], file: RereadFile, *, is_there: bool) -> DataFrame:
    """Return k<id> of the key, a<id> of the columns (NULL where the rows lack it), row_id, as_of and is_there."""
    names = {i: quote(name) for i, name in source.names.items()}
    values = {i: F.col(names[i]) if i in names else F.lit(None) for i in ids}
    return source.frame.select(
        *(F.col(names[i]).alias(frames.key(i)) for i in key),
        *(value.alias(frames.after(i)) for i, value in values.items()),
        F.col(ROWID_NAME).alias("row_id"),
        F.lit(file.scn).alias("as_of"),
        F.lit(is_there).alias("is_there"),
    )


def net_rows(rows: DataFrame, changes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the newest state of each key, with the newest commit among the changes of its row."""
    newest = Window.partitionBy(*keys).orderBy(F.col("as_of").desc(), F.col("is_there").desc())
    of_key = Window.partitionBy(*keys)
    state = (
        rows.withColumn("was_there", F.max(~F.col("is_there")).over(of_key))
        .withColumn("newest", F.row_number().over(newest))
        .filter("newest = 1")
    )
    commit = F.max(F.struct(*OF_COMMIT)).alias("commit")
    of_row = changes.groupBy("row_id").agg(commit)
    unnamed = changes.filter(has_no_rowid()).agg(commit.alias("of_unnamed"))  # an INSERT that was found by its key
    joined = state.join(of_row, "row_id", "left").crossJoin(F.broadcast(unnamed))
    known = F.coalesce("commit", "of_unnamed")
    code = F.when(F.col("was_there"), F.lit(int(Operation.UPDATE))).otherwise(F.lit(int(Operation.INSERT)))
    return joined.filter(known.isNotNull()).withColumns(
        {
            "op": F.when(F.col("is_there"), UPSERT).otherwise(REMOVE),
            "operation_code": code,
            **{name: known[name] for name in OF_COMMIT},
        }
    )


def has_no_rowid() -> Expression:
    return F.col("row_id").isNull() | (F.col("row_id") == NO_ROWID)


def check_read(
    changes: DataFrame,
    files: dict[int, tuple[LandedWindow, RereadFile]],
    windows: Sequence[LandedWindow],
    task: TableTask,
    position: int,
) -> None:
    """Raise RedoNotUnderstood unless all rows changed in each window were read again, from the state that the target has."""
    commit_scn = F.col("commit_scn")
    # One level deep, however many windows: Spark Connect rejects expressions deeper than a hundred levels.
    starts = (F.when((commit_scn >= one.start) & (commit_scn < one.end), one.start) for one in windows)
    window_of = F.coalesce(*starts, F.lit(None))
    asked = F.countDistinct(F.when(~has_no_rowid(), F.col("row_id"))) + F.count(F.when(has_no_rowid(), 1))
    # A locator without a text says nothing of its row, and a part of a value does not: the writes, or the row before it, do.
    code = F.col("operation_code")
    says_nothing = (code == Mined.SELECT_LOB_LOCATOR) & F.col("sql_redo").isNull() | code.isin(*PARTS_OF_VALUES)
    is_unnamed = says_nothing & has_no_rowid()
    counted = (
        changes.filter(~F.col("rollback") & ~is_unnamed).groupBy(window_of.alias("window")).agg(asked.alias("asked")).collect()
    )
    for row in counted:
        found = files.get(row["window"])
        base = None if found is None else max(found[0].start - 1, position)
        if found is None or found[1].asked < row["asked"] or base not in found[1].bases:
            is_read = found is not None and found[1].asked >= row["asked"]
            what = f"have unknown keys AS OF SCN {base}" if is_read else "were not read again"
            raise RedoNotUnderstood(
                f"{row['asked']} changed row(s) {what}, and LogMiner does not show their values",
                cure=f"run `redolake snapshot {task.table} --replace`; `redolake windows` says why rows were not read again",
                table=task.table,
                scn=row["window"],
            )
