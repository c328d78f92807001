"""The DDL forms, one file each, asked in this order; the first that knows the statement answers.

A form is `read(statement, version) -> Effect | None`: None for "not mine", SchemaConflict for "mine, but not followed".
How to add one: docs/adding-a-ddl-form.md.
"""

from __future__ import annotations

from collections.abc import Callable

from pipelines.records.window_manifest import DdlRow
from pipelines.schema.ddl import add_column, drop_column, ignorable, refused
from pipelines.schema.ddl.effect import DdlStep, Effect
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.table import TableVersion

FORMS: tuple[Callable[[DdlStatement, TableVersion], Effect | None], ...] = (
    ignorable.read,
    add_column.read,
    drop_column.read,
    refused.read,  # last: it refuses whatever is left
)


def effect_of(row: DdlRow, version: TableVersion) -> Effect:
    """Raises SchemaConflict for what is not followed."""
    statement = DdlStatement(row, version.table)
    for form in FORMS:
        effect = form(statement, version)
        if effect is not None:
            return effect
    raise statement.not_understood()


__all__ = ["FORMS", "DdlStep", "Effect", "effect_of"]
