"""ALTER TABLE .. ADD: columns, with constant defaults, and constraints that are no primary key.

Virtual and identity columns, keys, encryption and LOB storage clauses are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.schema.constant import read_default
from pipelines.schema.ddl.constraint import starts_out_of_line, take_inline, take_out_of_line
from pipelines.schema.ddl.effect import DdlStep, Effect
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.schema.declared_type import read_type
from pipelines.scn import Scn
from pipelines.table import Column, OracleType, TableVersion

NOT_A_COLUMN = ("SUPPLEMENTAL", "PARTITION", "SUBPARTITION", "OVERFLOW", "PERIOD")


@dataclass(frozen=True, slots=True)
class Added:
    """A column as the statement declares it."""

    name: str
    type: OracleType
    nullable: bool
    default: str | None


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table() or not statement.sees("ADD"):
        return None
    added: list[Added] = []
    while statement.take("ADD"):
        if any(statement.sees(word) for word in NOT_A_COLUMN):
            return None
        added += _items(statement)
    if not statement.done:
        raise statement.not_understood()
    effect = Effect(version)
    for column in added:
        effect = _add(statement, effect, column)
    return effect


def _items(statement: DdlStatement) -> list[Added]:
    if not statement.take("("):
        if starts_out_of_line(statement):
            take_out_of_line(statement)
            return []
        statement.take("COLUMN")
        return [_column(statement)]
    added = []
    while True:
        if starts_out_of_line(statement):
            take_out_of_line(statement)
        else:
            added.append(_column(statement))
        if not statement.take(","):
            statement.need(")")
            return added


def _column(statement: DdlStatement) -> Added:
    name = statement.name()
    type_ = read_type(statement)
    statement.take_any("VISIBLE", "INVISIBLE")
    default, nullable = None, True
    if statement.take("DEFAULT"):
        nullable = not statement.take("ON", "NULL")  # DEFAULT ON NULL makes the column NOT NULL
        default = read_default(statement, name, type_)
    while (not_null := take_inline(statement)) is not None:
        nullable = nullable and not not_null
    if statement.take("ANNOTATIONS"):
        statement.skip_parentheses()
    if not (statement.done or any(statement.sees(mark) for mark in (",", ")", "ADD"))):
        raise statement.not_understood()
    return Added(name, type_, nullable, default)


def _add(statement: DdlStatement, effect: Effect, added: Added) -> Effect:
    before = effect.version
    if before.named(added.name) is not None:
        raise statement.refuse(f"DDL adds column {added.name}, which the version of SCN {before.from_scn} already has")
    segment_id = max((c.segment_id for c in before.columns), default=0) + 1
    column = Column(before.next_column_id, added.name, added.type, segment_id, added.nullable)
    after = replace(before, columns=(*before.columns, column), next_column_id=before.next_column_id + 1)
    return Effect(after, (*effect.steps, DdlStep(Scn(statement.row.scn), "add", column, added.default)))
