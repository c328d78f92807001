"""SET UNUSED, which hides a column and leaves it in the segment, and DROP UNUSED COLUMNS, which removes it from there."""

from __future__ import annotations

from dataclasses import replace

from redolake.records.batches.spec import ColumnChange
from redolake.schema.ddl.drop_column import dropped_columns, named_columns
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.segment import without
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import IgnoredColumn, TableVersion


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table():
        return None
    if statement.take("SET", "UNUSED"):
        return _set_unused(statement, version)
    if statement.take("DROP", "UNUSED", "COLUMNS"):
        if statement.take("CHECKPOINT"):
            statement.number()
        if not statement.done:
            raise statement.not_understood()
        return Effect(without(version, ignored=[column for column in version.ignored if column.kind == "unused"]))
    return None


def _set_unused(statement: DdlStatement, version: TableVersion) -> Effect:
    names = named_columns(statement)
    if names is None:
        raise statement.not_understood()
    while statement.take_any("CASCADE CONSTRAINTS", "INVALIDATE", "ONLINE"):
        pass
    if not statement.done:
        raise statement.not_understood()
    columns, not_captured = dropped_columns(statement, version, names)
    gone = {column.id for column in columns}
    after = replace(
        version,
        columns=tuple(column for column in version.columns if column.id not in gone),
        ignored=(
            *(column for column in version.ignored if column not in not_captured),
            *(IgnoredColumn(column.segment_id, "unused") for column in columns),
            *(IgnoredColumn(column.segment_id, "unused") for column in not_captured if column.segment_id),
        ),
    )
    return Effect(after, tuple(ColumnChange(statement.row.scn, "drop_column", column) for column in columns))
