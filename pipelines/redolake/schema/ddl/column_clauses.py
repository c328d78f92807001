"""ALTER TABLE with any number of ADD, MODIFY and DROP clauses for columns and constraints, and of properties, in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from redolake.schema.ddl import add_column, constraint, drop_column, modify_column
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.properties import take_property
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import TableVersion

CLAUSES: tuple[Callable[[DdlStatement, Effect], Effect | None], ...] = (
    constraint.take,
    add_column.take,
    modify_column.take,
    drop_column.take,
)


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table():
        return None
    effect, start = Effect(version), statement.position
    while True:
        if take_property(statement):
            continue
        after = next_clause(statement, effect)
        if after is None:
            break
        effect = after
    if statement.position == start:
        return None
    if statement.sees("NOLOGGING"):
        raise statement.refuse("NOLOGGING allows rows to be written without redo")
    if not statement.done:
        raise statement.not_understood()
    return may_be_null(statement, effect)


def may_be_null(statement: DdlStatement, effect: Effect) -> Effect:
    """Return the effect with the columns that may be NULL afterwards: the text does not say what a constraint without its
    columns is of, or a domain contains, and NOT NULL may be DISABLE, NOVALIDATE or DEFERRABLE. A later reading says it."""
    dictionary, key = statement.dictionary_after(), effect.version.key
    nullable = {column.name for column in dictionary.columns if column.nullable} if dictionary else set[str]()
    for column in effect.version.columns:
        if not column.nullable and column.name in nullable and column.id not in key:
            effect = effect.with_change(replace(column, nullable=True))
    return effect


def next_clause(statement: DdlStatement, effect: Effect) -> Effect | None:
    start = statement.position
    for take in CLAUSES:
        after = take(statement, effect)
        if after is not None:
            return after
        statement.back_to(start)
    return None
