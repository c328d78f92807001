"""Follow DDL on the Delta table: columns added, dropped, renamed, of another type; NOT NULL relaxed; comments.

The last commit of a step contains the DDL's SCN and the step's number in its user metadata: a repeat continues after it.
Where log retention has removed it, each step is derived from the present columns by our ids, and is empty if it was followed.
The fill of a default commits under `<app id>/ddl`. No step moves the table's position.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from pyspark.sql import types as T

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.delta.features import (
    Feature,
    enable_clause,
    feature_of_name,
    feature_of_type,
    has_feature,
    statistics_clause,
)
from redolake.apply.delta.rewrite import rewrite, widens
from redolake.apply.delta.sql import table_at
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Writer, commit
from redolake.apply.schema import check_columns, field_of, has_rowid, refuse_conflict
from redolake.apply.spark.quoting import quote, text_literal, typed_literal
from redolake.apply.spark.types import parse_type
from redolake.apply.table_log import COLUMN_ID
from redolake.apply.target import Tag, TargetColumn, Terms
from redolake.errors import SchemaConflict
from redolake.records.batches.spec import ColumnChange, TableTask
from redolake.values.datatypes import LARGE_TYPES
from redolake.values.lake_columns import lake_column, with_lake_names
from redolake.values.lake_rules import LakeColumn, fold, mapping_conflicts, name_conflicts, not_in_a_path
from redolake.values.own_columns import DELETED, OWN_COLUMNS
from redolake.values.table import ROWID_COLUMN, TableVersion
from redolake.values.target_options import TargetOptions

log = logging.getLogger(__name__)

Commit = Callable[[Writer], object]
PARKED = "_redolake_column_"  # the name of a column between two commits, if its place is taken or differs only in case


@dataclass(frozen=True, slots=True)
class Evolution:
    """The table, its task, and the version that it has after the steps."""

    context: ApplyContext
    table: DeltaTable
    task: TableTask
    version: TableVersion

    def alter(self, alteration: str) -> Commit:
        return statement_commit(f"ALTER TABLE {table_at(self.table.path)} {alteration}")

    def enable(self, feature: Feature | None) -> list[Commit]:
        if feature is None or self.table.log is None or has_feature(self.table.log, feature):
            return []
        return [self.alter(enable_clause(feature))]

    def type_of(self, step: ColumnChange) -> str:
        return self.context.translation.spark_type(step.column.type, self.task.course.rules.get(step.column.id))

    @property
    def for_any_reader(self) -> bool:
        return self.task.destination.options.readers == "any"


def statement_commit(statement: str) -> Commit:
    return lambda writer: writer.run(statement)


def evolve(context: ApplyContext, table: DeltaTable, task: TableTask, commit_range: CommitRange) -> None:
    """Bring the Delta table to the range's version. Raise SchemaConflict for a kind of change that is not known."""
    if not commit_range.followed:
        return
    check_kinds(task, commit_range.followed)
    table.is_proved = False  # so that the first commit looks at what others have done
    version = with_lake_names(commit_range.version, task.destination.options)
    evolution = Evolution(context, table, task, version)
    done = None if table.log is None else table.log.last_ddl(table.app_id)
    last = commit_range.followed[-1].scn
    for scn, group in groupby(commit_range.followed, key=lambda step: step.scn):
        steps = tuple(replace(s, column=lake_column(s.column, commit_range.version, task.destination.options)) for s in group)
        for number, run in runs(steps, evolution.for_any_reader):
            if done is not None and (scn, number) <= done:
                continue
            follow_steps(evolution, run, number)
        fill_defaults(evolution, steps, Tag(table.filling_id, scn, context.metadata))
    if done is None or done[0] <= last:  # a repeat may find the DDL of a later range followed: this one had no changes
        check_columns(version, task.course.rules, table.columns, context.translation)


def check_kinds(task: TableTask, steps: Sequence[ColumnChange]) -> None:
    for step in steps:
        if step.kind not in FOLLOW:
            raise SchemaConflict(
                f"the batch asks for the schema change {step.kind}, which is unknown",
                cure=f"run the batch with the Redolake that prepared it, or run `redolake snapshot {task.table} --replace`",
                table=task.table,
                scn=step.scn,
            )


def runs(steps: Sequence[ColumnChange], for_any_reader: bool) -> Iterator[tuple[int, tuple[ColumnChange, ...]]]:
    """Return the steps of one SCN, each with its number; those that rewrite the table are one run, of the last one's number."""
    numbered = list(enumerate(steps))
    if not for_any_reader:
        yield from ((number, (step,)) for number, step in numbered)
        return
    for rewrites, group in groupby(numbered, key=lambda item: item[1].kind in REWRITES):
        found = list(group)
        if rewrites:
            yield found[-1][0], tuple(step for _, step in found)
        else:
            yield from ((number, (step,)) for number, step in found)


def follow_steps(evolution: Evolution, run: Sequence[ColumnChange], number: int) -> None:
    """Commit the changes of a run. The last commit is marked with its number."""
    context, table = evolution.context, evolution.table
    for step in run:
        check_partition(evolution, step)
    kinds = ", ".join(f"{step.kind} {step.column.name}" for step in run)
    about = {**context.metadata, "table": str(evolution.task.table), "app": table.app_id, "ddl_scn": run[0].scn, "ddl": kinds}
    if evolution.for_any_reader and run[0].kind in REWRITES:
        commits = rewritten(evolution, run)
    else:
        commits = FOLLOW[run[0].kind](evolution, run[0])
    txn = (table.filling_id, run[0].scn) if run[0].kind == "truncate" else ("", 0)
    for place, make in enumerate(commits, 1):
        tag = Tag(*txn, {**about, **({"ddl_step": number} if place == len(commits) else {})})
        with commit(table, Terms.of(context, evolution.task), tag, "evolve", follows=True) as writer:
            make(writer)


def partitions_of(table: DeltaTable) -> list[str]:
    return [] if table.log is None else table.log.partition_columns()


def check_partition(evolution: Evolution, step: ColumnChange) -> None:
    """Raise SchemaConflict for a change of a partition's column after which the table cannot be partitioned by it."""
    table, column = evolution.task.table, evolution.table.columns.get(step.column.id)
    if column is None or column.name not in partitions_of(evolution.table):
        return
    new = LakeColumn(column.name, evolution.type_of(step), step.column.type.name in LARGE_TYPES)
    why = "was dropped in Oracle" if step.kind == "drop_column" else not_in_a_path(new) if step.kind == "change_type" else None
    if why is not None:
        raise SchemaConflict(
            f"{column.name}, by which the Delta table is partitioned: {why}",
            cure=f"take it out of `partition_by` of {table}, and run `redolake snapshot {table} --replace`",
            table=table,
            scn=step.scn,
        )


def check_name(evolution: Evolution, name: str, scn: int, others: Sequence[str]) -> None:
    """Raise SchemaConflict if another column has the name, or the lake cannot hold it."""
    options = evolution.task.destination.options
    alike = [other for other in others if fold(other) == fold(name)]
    found = (
        *name_conflicts([*alike, name], options, has_rowid=has_rowid(evolution.version)),
        *mapping_conflicts([name], options),
    )
    refuse_conflict(next(iter(found), None), evolution.task.table, scn)


def add_column(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    table, column, version = evolution.table, step.column, evolution.version
    if column.id in table.columns:
        return place_of(evolution, column.id, column.name)
    check_name(evolution, column.name, step.scn, [other.name for other in table.columns.values()])
    type_ = evolution.type_of(step)
    # An append of no rows adds the column together with its metadata, which ALTER TABLE ADD COLUMN could not.
    # It must contain the columns that the table is partitioned by.
    partitions = partitions_of(table)
    parts = [field for field in table.schema.fields if field.name in partitions]
    new = field_of(column, version, type_, step.default)

    def append(writer: Writer) -> None:
        writer.append(writer.spark.createDataFrame([], T.StructType([*parts, new])), new_columns=True)

    enabled = [*evolution.enable(feature_of_type(type_)), *evolution.enable(feature_of_name(column.name))]
    return [*enabled, append, *place_of(evolution, column.id, column.name)]


def place_of(evolution: Evolution, column_id: int, name: str) -> list[Commit]:
    """Put a new column after the other columns of the table; a column of ours stands behind all of them."""
    fields = evolution.table.schema.fieldNames()
    others = [c.name for c in evolution.table.columns.values() if c.id not in (column_id, ROWID_COLUMN)]
    ours = [other for other in fields if other not in others and other != name]
    if not others or not ours or (name in fields and fields.index(name) < fields.index(ours[0])):
        return []
    return [evolution.alter(f"ALTER COLUMN {quote(name)} AFTER {quote(others[-1])}")]


def drop_column(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    column = evolution.table.columns.get(step.column.id)
    if column is None:
        return []
    return [*evolution.enable("columnMapping"), evolution.alter(f"DROP COLUMN {quote(column.name)}")]


def rename_column(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    """Rename by column mapping, which changes no file. Another column that has the name gets it later, or is dropped."""
    table, name = evolution.table, step.column.name
    column = table.columns.get(step.column.id)
    if column is None or column.name == name:
        return []
    check_name(evolution, name, step.scn, [])
    commits, old = evolution.enable("columnMapping"), column.name
    for other in table.columns.values():
        if fold(other.name) == fold(name):
            parked = f"{PARKED}{other.id}"
            commits.append(evolution.alter(f"RENAME COLUMN {quote(other.name)} TO {quote(parked)}"))
            old = parked if other.id == column.id else old
    return [*commits, evolution.alter(f"RENAME COLUMN {quote(old)} TO {quote(name)}")]


def change_type(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    column, new = evolution.table.columns.get(step.column.id), evolution.type_of(step)
    if column is None or column.type == new:
        return []
    if not widens(column.type, new) or column.name in partitions_of(evolution.table):
        return rewritten(evolution, [step])
    return [*evolution.enable("typeWidening"), evolution.alter(f"ALTER COLUMN {quote(column.name)} TYPE {new}")]


def nullable(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    """Drop NOT NULL. Delta cannot set it on a column that exists."""
    column = evolution.table.columns.get(step.column.id)
    if column is None or not step.column.nullable or evolution.table.allows_null(column.name):
        return []
    return [evolution.alter(f"ALTER COLUMN {quote(column.name)} DROP NOT NULL")]


def comment(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    column = evolution.table.columns.get(step.column.id)
    if column is None or evolution.table.comment_of(column.name) == step.comment:
        return []
    return [evolution.alter(f"ALTER COLUMN {quote(column.name)} COMMENT {text_literal(step.comment)}")]


def comment_table(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    return [statement_commit(f"COMMENT ON TABLE {table_at(evolution.table.path)} IS {text_literal(step.comment)}")]


def truncate(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    """Delete all rows, with a txn of its own, by which a repeat does nothing."""
    table = evolution.table
    if table.filled_to is not None and table.filled_to >= step.scn:
        return []
    return [statement_commit(removal(table.path, evolution.task.destination.options, step.scn))]


def removal(path: str, options: TargetOptions, scn: int) -> str:
    """Return the statement that deletes all rows, or marks them."""
    if options.deletes == "remove":
        return f"DELETE FROM {table_at(path)}"
    own = {name: OWN_COLUMNS[name].removed.format(scn=scn) for name in options.own_columns}
    return f"UPDATE {table_at(path)} SET {', '.join(f'{name} = {value}' for name, value in own.items())} WHERE NOT {DELETED}"


def renumber(evolution: Evolution, step: ColumnChange) -> list[Commit]:
    """Change nothing: the step only ends the commit range before it, in which a ROWID stands for one row. Rows that were
    removed or filled without redo change with the commit of that range (apply/whole_tables.py)."""
    return []


def rewritten(evolution: Evolution, run: Sequence[ColumnChange]) -> list[Commit]:
    """Write the table again with the columns after the run, if they differ."""
    table, task = evolution.table, evolution.task
    after = dict(table.columns)
    for step in run:
        column = after.get(step.column.id)
        if column is None:
            continue
        if step.kind == "drop_column":
            del after[column.id]
        elif step.kind == "rename_column":
            after[column.id] = replace(column, name=step.column.name)
        else:
            after[column.id] = replace(column, type=evolution.type_of(step))
    if after == table.columns:
        return []
    for step in run:
        if step.column.id in after:
            check_name(evolution, step.column.name, step.scn, [c.name for c in after.values() if c.id != step.column.id])
    types = sorted({feature for column in after.values() if (feature := feature_of_type(column.type))})
    why = ", ".join(f"{step.kind} {step.column.name}" for step in run)
    said = f"{task.table}: the table is written again ({table.bytes} bytes) for {why} at SCN {run[0].scn}"
    evolution.context.report(said)
    log.info("%s", said)
    features = [commit for feature in types for commit in evolution.enable(feature)]
    assert table.log is not None
    own = [field for field in table.schema.fields if COLUMN_ID not in field.metadata]
    schema = T.StructType([*(T.StructField(column.name, parse_type(column.type)) for column in after.values()), *own])
    clause = statistics_clause(table.log, schema, task.destination.options)
    return [*features, *([] if clause is None else [evolution.alter(clause)]), partial(rewrite, after=after)]


REWRITES = frozenset({"drop_column", "rename_column", "change_type"})
FOLLOW: Mapping[str, Callable[[Evolution, ColumnChange], list[Commit]]] = {
    "add_column": add_column,
    "drop_column": drop_column,
    "rename_column": rename_column,
    "change_type": change_type,
    "nullable": nullable,
    "comment": comment,
    "comment_table": comment_table,
    "truncate": truncate,
    "renumber": renumber,
    "remove_rows": renumber,
    "fill_column": renumber,
}


def fill_defaults(evolution: Evolution, steps: Sequence[ColumnChange], tag: Tag) -> None:
    """Write the default into rows older than ADD COLUMN: Oracle shows it there, and logs no change of these rows."""
    table = evolution.table
    added = [
        (table.columns[s.column.id], s.default)
        for s in steps
        if s.kind == "add_column" and s.column.id in table.columns and s.default is not None
    ]
    if not added or (table.filled_to is not None and table.filled_to >= tag.version):
        return
    with commit(table, Terms.of(evolution.context, evolution.task), tag, "fill", follows=True) as writer:
        writer.run(fill_sql(table.path, added))


def fill_sql(path: str, added: Sequence[tuple[TargetColumn, str]]) -> str:
    """Return the UPDATE of all rows: each is older than the DDL, because the table's position is."""
    values = ", ".join(f"{quote(column.name)} = {typed_literal(default, column.type)}" for column, default in added)
    return f"UPDATE {table_at(path)} SET {values}"
