"""ALTER TABLE .. DROP COLUMN c, or DROP (a, b). Oracle drops the table's unused columns with them."""

from __future__ import annotations

from collections.abc import Sequence

from redolake.records.batches.spec import ColumnChange
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.segment import without
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import LEFT_OUT, Column, IgnoredColumn, TableVersion


def take(statement: DdlStatement, effect: Effect) -> Effect | None:
    """Take one DROP clause of columns."""
    if not statement.take("DROP"):
        return None
    names = named_columns(statement)
    if names is None:
        return None
    while statement.take_any("CASCADE CONSTRAINTS", "INVALIDATE"):  # CHECKPOINT may stop partway, so it is not known
        pass
    version = effect.version
    columns, not_captured = dropped_columns(statement, version, names)
    unused = [column for column in version.ignored if column.kind == "unused"]
    steps = tuple(ColumnChange(statement.row.scn, "drop_column", column) for column in columns)
    return Effect(without(version, columns, (*not_captured, *unused)), (*effect.steps, *steps))


def named_columns(statement: DdlStatement) -> list[str] | None:
    """Take COLUMN c, or (a, b); return None if something else comes next."""
    if statement.take("COLUMN"):
        return [statement.name()]
    return statement.names_in_parentheses() if statement.sees("(") else None


def dropped_columns(
    statement: DdlStatement, version: TableVersion, names: Sequence[str]
) -> tuple[list[Column], list[IgnoredColumn]]:
    """Return the named columns: captured ones, and virtual ones and those left out. Raises SchemaConflict for unknown ones and
    those of the key."""
    ignored = [c for c in version.ignored if c.kind in ("virtual", *LEFT_OUT)]
    own = {c.name for c in ignored if not c.part_of}
    columns = [_column(statement, version, name) for name in names if name not in own]
    return columns, [c for c in ignored if (c.part_of or c.name) in names]


def _column(statement: DdlStatement, version: TableVersion, name: str) -> Column:
    column = version.named(name)
    if column is None:
        raise statement.refuse(f"DDL drops column {name}, which the version of SCN {version.from_scn} does not have")
    if column.id in version.key:
        kind = "primary " if version.key_kind == "primary" else ""
        raise statement.refuse(f"DDL drops column {name} of the {kind}key", "primary_key")
    return column
