"""ALTER TABLE with any number of ADD, MODIFY and DROP clauses for columns and constraints, and properties after them."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.schema.ddl import add_column, constraint, drop_column, modify_column
from pipelines.schema.ddl.effect import Effect
from pipelines.schema.ddl.properties import take_property
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.table import TableVersion

CLAUSES: tuple[Callable[[DdlStatement, Effect], Effect | None], ...] = (
    constraint.take,
    add_column.take,
    modify_column.take,
    drop_column.take,
)


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table():
        return None
    effect, clauses = Effect(version), 0
    while (after := next_clause(statement, effect)) is not None:
        effect, clauses = after, clauses + 1
    if not clauses:
        return None
    while take_property(statement):
        pass
    if not statement.done:
        raise statement.not_understood()
    return effect


def next_clause(statement: DdlStatement, effect: Effect) -> Effect | None:
    start = statement.position
    for take in CLAUSES:
        after = take(statement, effect)
        if after is not None:
            return after
        statement.back_to(start)
    return None
