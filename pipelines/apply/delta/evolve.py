"""Follow DDL on the target: ADD COLUMN (with a constant default for the rows that are there) and DROP COLUMN.

ALTER carries no txn, so each step follows from the Delta schema as it is and our column ids: a repeat goes on where it
stopped. The fill of a default is bound to `<app id>/ddl`, which leaves the table's position to the changes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from pipelines import crash
from pipelines.apply.commit_ranges import CommitRange
from pipelines.apply.delta.commit import Tag, tagged
from pipelines.apply.delta.log import last_txn
from pipelines.apply.delta.quoting import quoted, table_at
from pipelines.apply.delta.schema import COMMIT_SCN, TargetColumn, field_of, read_columns
from pipelines.apply.translation import Translation
from pipelines.errors import SchemaConflict
from pipelines.records.batch_spec import ColumnChange, TableTask


def filling(app_id: str) -> str:
    """The application id under which defaults are filled in."""
    return f"{app_id}/ddl"


def evolve(
    spark: SparkSession, task: TableTask, piece: CommitRange, metadata: Mapping[str, object], translation: Translation
) -> None:
    for scn, group in groupby(piece.steps, key=lambda step: step.scn):
        steps = tuple(group)
        for step in steps:
            if step.kind == "add_column":
                add_column(spark, task, piece, step, translation)
            else:
                drop_column(spark, task, step)
            crash.point("evolve")
        fill_defaults(spark, task, steps, Tag(filling(task.app_id), scn, metadata), translation)


def add_column(spark: SparkSession, task: TableTask, piece: CommitRange, step: ColumnChange, translation: Translation) -> None:
    have = read_columns(spark, task.target)
    if step.column.id in have:
        return
    if step.column.name.lower() in {column.name.lower() for column in have.values()}:
        raise SchemaConflict(
            f"the target already has another column {step.column.name}",
            cure=f"`redolake snapshot {task.table} --replace` takes the table anew",
            table=task.table,
            scn=step.scn,
        )
    type_ = translation.spark_type(step.column.type, task.rules.get(step.column.id))
    # An append of no rows adds the column together with its metadata, which ALTER TABLE ADD COLUMN could not.
    frame = spark.createDataFrame([], T.StructType([field_of(step.column, piece.version, type_, step.default)]))
    frame.write.format("delta").mode("append").option("mergeSchema", "true").save(task.target)


def drop_column(spark: SparkSession, task: TableTask, step: ColumnChange) -> None:
    column = read_columns(spark, task.target).get(step.column.id)
    if column is not None:
        spark.sql(f"ALTER TABLE {table_at(task.target)} DROP COLUMN {quoted(column.name)}").collect()


def fill_defaults(
    spark: SparkSession, task: TableTask, steps: tuple[ColumnChange, ...], tag: Tag, translation: Translation
) -> None:
    """Oracle gives rows from before ADD COLUMN the default; nobody logs a change of them."""
    have = read_columns(spark, task.target)
    added = [
        (have[s.column.id], s.default)
        for s in steps
        if s.kind == "add_column" and s.column.id in have and s.default is not None
    ]
    filled = last_txn(task.target, tag.app_id)
    if not added or (filled is not None and filled >= tag.version):
        return
    with tagged(spark, tag):
        spark.sql(fill_sql(task.target, added, tag.version, translation)).collect()
    crash.point("fill")


def fill_sql(path: str, added: list[tuple[TargetColumn, str]], scn: int, translation: Translation) -> str:
    values = ", ".join(f"{quoted(column.name)} = {translation.literal(default, column.type)}" for column, default in added)
    return f"UPDATE {table_at(path)} SET {values} WHERE {COMMIT_SCN} < {scn}"
