"""ALTER TABLE .. ADD: columns, with constant defaults, virtual columns, and constraints that are no primary key.

Identity columns (Oracle numbers the rows), keys, encryption and LOB storage clauses are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.schema.constant import read_default
from pipelines.schema.ddl.constraint import starts_out_of_line, take_inline, take_out_of_line
from pipelines.schema.ddl.effect import DdlStep, Effect
from pipelines.schema.ddl.segment import with_guard
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.schema.declared_type import read_type
from pipelines.scn import Scn
from pipelines.table import Column, IgnoredColumn, OracleType

NOT_A_COLUMN = ("SUPPLEMENTAL", "PARTITION", "SUBPARTITION", "OVERFLOW", "PERIOD")


@dataclass(frozen=True, slots=True)
class Added:
    """A column as the statement declares it. `type` is None for a virtual one."""

    name: str
    type: OracleType | None
    nullable: bool = True
    default: str | None = None


def take(statement: DdlStatement, effect: Effect) -> Effect | None:
    """Take one ADD clause with its columns and constraints."""
    if not statement.take("ADD") or any(statement.sees(word) for word in NOT_A_COLUMN):
        return None
    for column in _items(statement):
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
    if _is_virtual(statement):
        return _virtual(statement, name)
    type_ = read_type(statement)
    statement.take_any("VISIBLE", "INVISIBLE")
    if _is_virtual(statement):
        return _virtual(statement, name)
    if statement.sees("GENERATED"):
        raise statement.refuse(
            f"ADD of identity column {name} is not supported: only Oracle knows the numbers of the older rows"
        )
    default, nullable = None, True
    if statement.take("DEFAULT"):
        nullable = not statement.take("ON", "NULL")  # DEFAULT ON NULL makes the column NOT NULL
        default = read_default(statement, name, type_)
    while (not_null := take_inline(statement)) is not None:
        nullable = nullable and not not_null
    if statement.take("ANNOTATIONS"):
        statement.skip_parentheses()
    _require_end(statement)
    return Added(name, type_, nullable, default)


def _is_virtual(statement: DdlStatement) -> bool:
    return statement.sees("AS", "(") or statement.sees("GENERATED", "ALWAYS", "AS", "(")


def _virtual(statement: DdlStatement, name: str) -> Added:
    """Take [GENERATED ALWAYS] AS (expression) [VIRTUAL]."""
    statement.take("GENERATED", "ALWAYS")
    statement.need("AS")
    statement.skip_parentheses()
    statement.take("VIRTUAL")
    statement.take_any("VISIBLE", "INVISIBLE")
    while take_inline(statement) is not None:
        pass
    _require_end(statement)
    return Added(name, None)


def _require_end(statement: DdlStatement) -> None:
    if not (statement.done or any(statement.sees(mark) for mark in (",", ")", "ADD", "MODIFY", "DROP"))):
        raise statement.not_understood()


def _add(statement: DdlStatement, effect: Effect, added: Added) -> Effect:
    before = effect.version
    if before.named(added.name) is not None:
        raise statement.refuse(f"DDL adds column {added.name}, which the version of SCN {before.from_scn} already has")
    if added.type is None:
        virtual = IgnoredColumn(0, "virtual", added.name)
        return Effect(replace(before, ignored=(*before.ignored, virtual)), effect.steps)
    before = with_guard(statement, before, added.name, optimized=added.nullable and added.default is not None)
    column = Column(before.next_column_id, added.name, added.type, before.next_segment_id, added.nullable)
    after = replace(before, columns=(*before.columns, column), next_column_id=before.next_column_id + 1)
    return Effect(after, (*effect.steps, DdlStep(Scn(statement.row.scn), "add", column, added.default)))
