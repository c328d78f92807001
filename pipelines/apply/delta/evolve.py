"""Follow DDL on the Delta table: ADD COLUMN (with a constant default for older rows) and DROP COLUMN.

ALTER carries no txn, so each change is derived from the present Delta schema and our column ids: a repeat continues where the
last attempt stopped. The fill of a default commits under `<app id>/ddl`, which leaves the table's position unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from pyspark.sql import types as T

from pipelines import crash
from pipelines.apply.commit_ranges import CommitRange
from pipelines.apply.context import ApplyContext
from pipelines.apply.delta.commit import Tag, described, tagged
from pipelines.apply.delta.quoting import quoted, table_at
from pipelines.apply.delta.schema import COMMIT_SCN, TargetColumn, field_of
from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.translation import Translation
from pipelines.errors import SchemaConflict
from pipelines.records.batch_spec import ColumnChange, TableTask
from pipelines.table import TableVersion

Follow = Callable[[ApplyContext, DeltaTable, TableTask, TableVersion, ColumnChange], None]


def evolve(context: ApplyContext, table: DeltaTable, task: TableTask, commit_range: CommitRange) -> None:
    """Bring the Delta table to the range's version. Raise SchemaConflict for a kind of change that is not known."""
    check_kinds(task, commit_range.steps)
    for scn, group in groupby(commit_range.steps, key=lambda step: step.scn):
        steps = tuple(group)
        for step in steps:
            with described(context.spark, {**context.metadata, "table": str(task.table), "ddl_scn": scn}):
                FOLLOW[step.kind](context, table, task, commit_range.version, step)
            table.refresh()
            crash.point("evolve")
        fill_defaults(table, steps, Tag(table.filling_id, scn, context.metadata), context.translation)


def check_kinds(task: TableTask, steps: Sequence[ColumnChange]) -> None:
    for step in steps:
        if step.kind not in FOLLOW:
            raise SchemaConflict(
                f"the batch asks for the schema change {step.kind}, which is unknown",
                cure=f"run the batch with the Redolake that prepared it, or run `redolake snapshot {task.table} --replace`",
                table=task.table,
                scn=step.scn,
            )


def add_column(context: ApplyContext, table: DeltaTable, task: TableTask, version: TableVersion, step: ColumnChange) -> None:
    if step.column.id in table.columns:
        return
    if step.column.name.lower() in {column.name.lower() for column in table.columns.values()}:
        raise SchemaConflict(
            f"the Delta table already has another column {step.column.name}",
            cure=f"run `redolake snapshot {task.table} --replace` to rebuild the table",
            table=task.table,
            scn=step.scn,
        )
    type_ = context.translation.spark_type(step.column.type, task.rules.get(step.column.id))
    # An append of no rows adds the column together with its metadata, which ALTER TABLE ADD COLUMN could not.
    frame = context.spark.createDataFrame([], T.StructType([field_of(step.column, version, type_, step.default)]))
    frame.write.format("delta").mode("append").option("mergeSchema", "true").save(table.path)


def drop_column(context: ApplyContext, table: DeltaTable, task: TableTask, version: TableVersion, step: ColumnChange) -> None:
    column = table.columns.get(step.column.id)
    if column is not None:
        context.spark.sql(f"ALTER TABLE {table_at(table.path)} DROP COLUMN {quoted(column.name)}").collect()


def truncate(context: ApplyContext, table: DeltaTable, task: TableTask, version: TableVersion, step: ColumnChange) -> None:
    """Delete all rows. The commit has a txn of its own, so that it counts as ours and a repeat does nothing."""
    if table.filled_to is not None and table.filled_to >= step.scn:
        return
    tag = Tag(table.filling_id, step.scn, {**context.metadata, "table": str(task.table), "ddl_scn": step.scn})
    with tagged(context.spark, tag):
        context.spark.sql(f"DELETE FROM {table_at(table.path)}").collect()


def renumber(context: ApplyContext, table: DeltaTable, task: TableTask, version: TableVersion, step: ColumnChange) -> None:
    """Change nothing: the step only ends the commit range before it, in which a ROWID stands for one row."""


FOLLOW: Mapping[str, Follow] = {
    "add_column": add_column,
    "drop_column": drop_column,
    "truncate": truncate,
    "renumber": renumber,
}


def fill_defaults(table: DeltaTable, steps: Sequence[ColumnChange], tag: Tag, translation: Translation) -> None:
    """Write the default into rows older than ADD COLUMN: Oracle shows it there, and logs no change of these rows."""
    added = [
        (table.columns[s.column.id], s.default)
        for s in steps
        if s.kind == "add_column" and s.column.id in table.columns and s.default is not None
    ]
    if not added or (table.filled_to is not None and table.filled_to >= tag.version):
        return
    with tagged(table.spark, tag):
        table.spark.sql(fill_sql(table.path, added, tag.version, translation)).collect()
    table.refresh()
    crash.point("fill")


def fill_sql(path: str, added: Sequence[tuple[TargetColumn, str]], scn: int, translation: Translation) -> str:
    values = ", ".join(f"{quoted(column.name)} = {translation.literal(default, column.type)}" for column, default in added)
    return f"UPDATE {table_at(path)} SET {values} WHERE {COMMIT_SCN} < {scn}"
