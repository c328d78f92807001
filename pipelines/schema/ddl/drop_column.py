"""ALTER TABLE .. DROP COLUMN c, or DROP (a, b). Not SET UNUSED, which leaves the column in the segment under a hidden name."""

from __future__ import annotations

from dataclasses import replace

from pipelines.schema.ddl.effect import DdlStep, Effect
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.scn import Scn
from pipelines.table import Column, TableVersion


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table() or not statement.take("DROP"):
        return None
    if statement.take("COLUMN"):
        names = [statement.name()]
    elif statement.sees("("):
        names = statement.names_in_parentheses()
    else:
        return None
    while statement.take_any("CASCADE CONSTRAINTS", "INVALIDATE"):
        pass
    if not statement.done:
        raise statement.not_understood()
    dropped = [_column(statement, version, name) for name in names]
    steps = tuple(DdlStep(Scn(statement.row.scn), "drop", column) for column in dropped)
    return Effect(replace(version, columns=_without(version.columns, dropped)), steps)


def _column(statement: DdlStatement, version: TableVersion, name: str) -> Column:
    column = version.named(name)
    if column is None:
        raise statement.refuse(f"DDL drops column {name}, which the version of SCN {version.from_scn} does not have")
    if column.id in version.key:
        raise statement.refuse(f"DDL drops column {name} of the {'primary ' if version.key_kind == 'primary' else ''}key")
    return column


def _without(columns: tuple[Column, ...], dropped: list[Column]) -> tuple[Column, ...]:
    """Return the remaining columns. Oracle lowers each SEGMENT_COLUMN_ID above a dropped one."""
    gone = {column.id for column in dropped}
    return tuple(
        replace(column, segment_id=column.segment_id - sum(d.segment_id < column.segment_id for d in dropped))
        for column in columns
        if column.id not in gone
    )
