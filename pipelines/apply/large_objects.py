"""Large objects of changed rows: their values come from the rows that capture has read again, and never from the redo.

A row read again is true AS OF its window's end, so the newest one of a key is right at the end of the batch. A change that
does not touch an object leaves the target's value as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pipelines.apply.net import OBJECTS, UPSERT
from pipelines.apply.shallow import united
from pipelines.apply.source_rows import read_source
from pipelines.apply.translation import Translation
from pipelines.records.batch_spec import LandedWindow, RereadFile, TableTask
from pipelines.redo import CHANGE_ORDER, LARGE_OBJECT_CHANGES, NO_ROWID, Operation
from pipelines.table import ROWID_COLUMN, ROWID_NAME, Column, OracleType, TableVersion

OF_COMMIT = ("commit_scn", "commit_thread", "commit_at", "xid")
ROWID = Column(ROWID_COLUMN, ROWID_NAME, OracleType("VARCHAR2", length=18), 0)


def of_objects(changes: DataFrame) -> DataFrame:
    """Return the changes of large objects, which name their row by ROWID: row_id, and the columns of OF_COMMIT."""
    return changes.filter(F.col("operation_code").isin(*LARGE_OBJECT_CHANGES)).select("row_id", *OF_COMMIT)


def without_objects(changes: DataFrame) -> DataFrame:
    return changes.filter(~F.col("operation_code").isin(*LARGE_OBJECT_CHANGES))


def with_row_ids(decoded: DataFrame, key: Sequence[int]) -> DataFrame:
    """Give an INSERT without a ROWID that of the next change which finds a row by its key: until then no other row has it."""
    is_insert = F.col("operation_code") == Operation.INSERT
    found = {f"found{i}": F.when(is_insert, F.col(f"a{i}")).otherwise(F.col(f"b{i}")) for i in key}
    following = F.lead("row_id").over(Window.partitionBy(*found).orderBy(*CHANGE_ORDER))
    row_id = F.when(is_insert & (F.col("row_id") == NO_ROWID), F.coalesce(following, "row_id")).otherwise(F.col("row_id"))
    return decoded.withColumns(found).withColumn("row_id", row_id).drop(*found)


def files_of(windows: Sequence[LandedWindow], task: TableTask, position: int) -> list[RereadFile]:
    """Return the table's files of the windows that end above its position."""
    return [file for window in windows for file in window.reread if file.table == task.table and window.end - 1 > position]


def read_again(
    spark: SparkSession, files: Sequence[RereadFile], version: TableVersion, task: TableTask, translation: Translation
) -> DataFrame | None:
    """Return the newest row per key: k<id>, a<id> of each large object, found_at (its ROWID); None without files."""
    if not files:
        return None
    columns = tuple(column for column in version.columns if column.id in version.key or column in version.reread)
    narrow = replace(version, columns=(*columns, ROWID), key_kind="columns")
    parts = []
    for file in files:
        frame = read_source(spark, [file.path], narrow, task.rules, translation).frame
        parts.append(
            frame.select(
                *(F.col(f"`{_name(narrow, i)}`").alias(f"k{i}") for i in version.key),
                *(F.col(f"`{c.name}`").alias(f"a{c.id}") for c in version.reread),
                F.col(ROWID_NAME).alias("found_at"),
                F.lit(file.scn).alias("as_of"),
            )
        )
    newest = Window.partitionBy(*(f"k{i}" for i in version.key)).orderBy(F.col("as_of").desc())
    return united(parts).withColumn("newest", F.row_number().over(newest)).filter("newest = 1").drop("newest", "as_of")


def _name(version: TableVersion, column_id: int) -> str:
    return version.column(column_id).name.replace("`", "``")


def unfound(objects: DataFrame, again: DataFrame | None, decoded: DataFrame) -> int:
    """Return the number of changes of objects whose row was neither read again nor deleted in the batch."""
    deleted = decoded.filter(F.col("operation_code") == Operation.DELETE).select("row_id").distinct()
    rest = objects.join(deleted, "row_id", "left_anti")
    if again is not None:
        rest = rest.join(again.select(F.col("found_at").alias("row_id")).distinct(), "row_id", "left_anti")
    return int(rest.count())


def with_values(net: DataFrame, objects: DataFrame, again: DataFrame | None, version: TableVersion, *, late: bool) -> DataFrame:
    """Return the net changes with a<id> of each large object and `is_read`: whether these are its values. Adds a row with `op`
    O for each key whose objects alone changed. A value that was not read is a finding, unless undo no longer reached the
    window's end: then the row was deleted or moved since, as a later window says."""
    keys = [f"k{i}" for i in version.key]
    values = [f"a{c.id}" for c in version.reread]
    bare = net.drop(*values)
    if again is None:
        empty = {f"a{c.id}": F.lit(None).cast("binary" if c.type.name == "BLOB" else "string") for c in version.reread}
        joined = bare.withColumns({**empty, "is_read": F.lit(False)})
    else:
        alone = (
            objects.join(again.select(*keys, F.col("found_at").alias("row_id")), "row_id")
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
    names = ", ".join(column.name for column in version.reread)
    what = F.lit(f"the value of {names} was not read again after the change")
    at = ("commit_scn", F.col("commit_scn").alias("scn"))
    missing = F.struct(*at, F.lit("RedoNotUnderstood").alias("code"), what.alias("what"))
    needed = (F.col("op") == UPSERT) & F.col("touched") & ~F.col("is_read")
    return joined.withColumn("finding", F.coalesce("finding", F.when(needed, missing)))
