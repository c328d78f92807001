"""Delivery with large objects that capture reads again: all other values are in the redo.

A row that was read again is true AS OF its window's end, so the newest one of a key is right at the end of the batch. A change
that does not touch an object leaves the target's value as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.changes import decode_range, filled_events
from redolake.apply.delivery.objects import decode_objects
from redolake.apply.delivery.prepared import NetChanges, TableRange
from redolake.apply.landed.keys import has_null, is_moved
from redolake.apply.landed.source_rows import read_source
from redolake.apply.net.net_change import net_change
from redolake.apply.objects.large_objects import OF_COMMIT, count_changes, of_objects, with_row_ids, without_objects
from redolake.apply.spark.probes import Plan
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import unite
from redolake.apply.target import OBJECTS, ROWID, UPSERT
from redolake.apply.translation import Translation
from redolake.errors import RedoNotUnderstood
from redolake.records.batches.spec import LandedWindow, RereadFile, TableTask
from redolake.values import frames
from redolake.values.datatypes import OCTETS
from redolake.values.delivery import RereadValues
from redolake.values.logminer import NO_ROWID, Mined
from redolake.values.redo import CHANGE_ORDER, Operation
from redolake.values.table import ROWID_COLUMN, ROWID_NAME, Column, TableVersion, of_columns


def net_changes(context: ApplyContext, part: TableRange, delivery: RereadValues) -> Plan[NetChanges]:
    decoded = decode_range(context, part, without_objects(part.committed.frame), shows_touched=True)
    decoded = with_row_ids(decoded, part.key)
    happened, missing = yield from filled_events(context, part, decoded, delivery.columns, objects=True)
    vanish, nulls = part.commit_range.rows_vanish, part.counts_nulls
    net = net_change(happened, part.key, True, rows_vanish=vanish, counts_nulls=nulls, asks_target=part.asks_target)
    net, of_objects_alone = with_objects(context, part, delivery, decoded, net)
    return NetChanges(net, part.committed.count - of_objects_alone, missing, delivery.columns)


def with_objects(
    context: ApplyContext, part: TableRange, delivery: RereadValues, decoded: DataFrame, net: DataFrame
) -> tuple[DataFrame, int]:
    """Return the net changes with the large objects that were read again, and the number of changes of large objects."""
    task, commit_range, version = part.task, part.commit_range, part.version
    columns = tuple(version.column(i) for i in delivery.columns)
    files = files_of(context.windows, task, commit_range.start - 1)
    again = read_again(context.spark, files, version, columns, task, context.translation)
    changed = of_objects(part.committed.frame)
    (count, strays), late = count_changes(changed), any(file.late for file in files)
    if strays:
        what = f"{strays} write(s) of large objects name no row, as those of a BasicFile with DISABLE STORAGE IN ROW"
        raise not_understood(part, what)
    objects, unnamed = divide_objects(decode_objects(context, part, changed), part.key)
    if count and not late and (missing := unfound(objects, again, decoded, part.key) + unnamed.count()):
        names = ", ".join(column.name for column in columns)
        what = f"{missing} change(s) of large objects belong to rows that were neither read again nor deleted ({names})"
        raise not_understood(part, what)
    return with_values(net, objects, again, version.key, columns, late=late), count


def not_understood(part: TableRange, what: str) -> RedoNotUnderstood:
    table = part.task.table
    cure = f"run `redolake snapshot {table} --replace`; where it comes again, leave the columns out (`exclude_columns`)"
    return RedoNotUnderstood(what, cure=cure, table=table, scn=part.commit_range.last_scn)


def divide_objects(decoded: DataFrame, key: Sequence[int]) -> tuple[DataFrame, DataFrame]:
    """Divide the changes of large objects: those that name their row by ROWID or by key (k<id>, NULL if by ROWID), and those
    that name none. A locator without a text is neither, because nothing has changed before it is used; a change through a
    locator is of the row that the locator names, and a part of a document or extended string of the row that its first one
    names."""
    decoded = decoded.withColumn("row_id", F.coalesce("row_id", F.lit(NO_ROWID)))
    has_rowid, has_key = F.col("row_id") != NO_ROWID, F.lit(bool(key)) & ~has_null(key, frames.key_before)
    is_locator, is_named = F.col("operation_code") == Mined.SELECT_LOB_LOCATOR, has_rowid | has_key
    begins = F.col("operation_code").isin(Mined.SELECT_LOB_LOCATOR, Mined.XML_DOC_BEGIN, Mined.LONG_VALUE_BEGIN)
    before = Window.partitionBy("con_id", "xid").orderBy(*CHANGE_ORDER).rowsBetween(Window.unboundedPreceding, -1)
    through = F.coalesce(F.last(F.when(begins, is_named), ignorenulls=True).over(before), F.lit(False))
    keys = {frames.key(i): F.when(~has_rowid, F.col(frames.key_before(i))) for i in key}
    named = decoded.filter(is_named).select(
        "row_id", *OF_COMMIT, *(n for n in CHANGE_ORDER if n not in OF_COMMIT), *(v.alias(n) for n, v in keys.items())
    )
    rest = decoded.withColumn("through", through).filter(~is_named & ~is_locator & ~(F.col("through") & ~begins))
    return named, rest


def files_of(windows: Sequence[LandedWindow], task: TableTask, position: int) -> list[RereadFile]:
    """Return the table's files of the windows that end above its position."""
    return [file for window in windows for file in window.reread if file.table == task.table and window.end - 1 > position]


def read_again(
    spark: SparkSession,
    files: Sequence[RereadFile],
    version: TableVersion,
    large: Sequence[Column],
    task: TableTask,
    translation: Translation,
) -> DataFrame | None:
    """Return the newest row per key: k<id>, a<id> of each of the `large` columns, found_at (its ROWID); None without files."""
    if not files:
        return None
    whole = replace(version, columns=(*version.columns, ROWID), key_kind="columns")
    narrow = of_columns(whole, {*version.key, *(column.id for column in large), ROWID_COLUMN})
    parts = []
    for file in files:
        source = read_source(spark, [file.path], narrow, task.course.rules, translation)
        names = {i: quote(name) for i, name in source.names.items()}
        parts.append(
            source.frame.select(
                *(F.col(names[i]).alias(frames.key(i)) for i in version.key),
                *(F.col(names[c.id]).alias(frames.after(c.id)) for c in large),
                F.col(ROWID_NAME).alias("found_at"),
                F.lit(file.scn).alias("as_of"),
            )
        )
    newest = Window.partitionBy(*(frames.key(i) for i in version.key)).orderBy(F.col("as_of").desc())
    return unite(parts).withColumn("newest", F.row_number().over(newest)).filter("newest = 1").drop("newest", "as_of")


def unfound(objects: DataFrame, again: DataFrame | None, decoded: DataFrame, key: Sequence[int]) -> int:
    """Return the number of changes of objects whose row was neither read again nor left its key in the batch: a row that was
    deleted needs no value, and one that got another key needs it there."""
    keys, code = [frames.key(i) for i in key], F.col("operation_code")
    by_rowid, by_key = objects.filter(F.col("row_id") != NO_ROWID), objects.filter(F.col("row_id") == NO_ROWID)
    deleted = decoded.filter(code == Operation.DELETE).select("row_id").distinct()
    rest = by_rowid.join(deleted, "row_id", "left_anti")
    moved = (code == Operation.UPDATE) & is_moved(key)
    order = F.struct(*CHANGE_ORDER)
    left = (
        decoded.filter((code == Operation.DELETE) | moved)
        .groupBy(*(F.col(frames.key_before(i)).alias(frames.key(i)) for i in key))
        .agg(F.max(order).alias("left_at"))
    )
    stayed = by_key.join(left, keys, "left").filter(F.col("left_at").isNull() | (F.col("left_at") < order))
    if again is not None:
        rest = rest.join(again.select(F.col("found_at").alias("row_id")).distinct(), "row_id", "left_anti")
        stayed = stayed.join(again.select(*keys), keys, "left_anti")
    return int(rest.count()) + int(stayed.count())


def with_values(
    net: DataFrame, objects: DataFrame, again: DataFrame | None, key: Sequence[int], large: Sequence[Column], *, late: bool
) -> DataFrame:
    """Return the net changes with a<id> of each large object and `is_read`: whether these are its values. Adds a row with `op`
    O for each key whose objects alone changed. A value that was not read is a finding, unless undo no longer reached the
    window's end: then the row was deleted or moved since, as a later window says."""
    keys = [frames.key(i) for i in key]
    values = [frames.after(c.id) for c in large]
    bare = net.drop(*values)
    if again is None:
        empty = {frames.after(c.id): F.lit(None).cast("binary" if c.type.name in OCTETS else "string") for c in large}
        joined = bare.withColumns({**empty, "is_read": F.lit(False)})
    else:
        by_rowid = objects.filter(F.col("row_id") != NO_ROWID).drop(*keys)
        by_key = objects.filter(F.col("row_id") == NO_ROWID).join(again.select(*keys), keys)
        alone = (
            by_rowid.join(again.select(*keys, F.col("found_at").alias("row_id")), "row_id")
            .select(*keys, *OF_COMMIT)
            .unionByName(by_key.select(*keys, *OF_COMMIT))
            .groupBy(*keys)
            .agg(F.max(F.struct(*OF_COMMIT)).alias("of_object"))
        )
        both = bare.join(alone, keys, "full_outer")
        is_later = F.col("commit_scn").isNull() | (F.col("of_object.commit_scn") > F.col("commit_scn"))
        shown = [name for name in OF_COMMIT if name in bare.columns]
        commit = {name: F.when(is_later, F.col(f"of_object.{name}")).otherwise(F.col(name)) for name in shown}
        merged = both.withColumns({"op": F.coalesce("op", F.lit(OBJECTS)), **commit}).drop("of_object")
        found = again.drop("found_at").withColumn("is_read", F.lit(True))
        joined = merged.join(found, keys, "left").withColumn("is_read", F.coalesce("is_read", F.lit(False)))
    if late:
        return joined
    names = ", ".join(column.name for column in large)
    what = F.lit(f"the value of {names} was not read again after the change")
    at = ("commit_scn", F.col("commit_scn").alias("scn"))
    missing = F.struct(*at, F.lit("RedoNotUnderstood").alias("code"), what.alias("what"))
    needed = (F.col("op") == UPSERT) & F.col("touched") & ~F.col("is_read")
    return joined.withColumn("finding", F.coalesce("finding", F.when(needed, missing)))
