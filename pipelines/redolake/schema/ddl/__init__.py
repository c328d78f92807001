"""The DDL forms, one file each. They are tried in this order; the first that knows the statement reads it.

A form is `read(statement, version) -> Effect | None`. It returns None for a statement of another form, and raises
SchemaConflict for one of its own that is not supported. docs/development/adding-a-ddl-form.md says how to add one.
"""

from __future__ import annotations

from collections.abc import Callable

from redolake.config.on_ddl import DEFAULT_POLICIES, DdlPolicies
from redolake.records.windows import DdlRow
from redolake.schema.ddl import (
    column_clauses,
    comment,
    drop_table,
    exchange_partner,
    ignorable,
    new_segment,
    partitions,
    refused,
    rename_column,
    rename_table,
    row_archival,
    unused,
)
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement, ReadingAfter, Refused, all_supported
from redolake.values.table import TableVersion

FORMS: tuple[Callable[[DdlStatement, TableVersion], Effect | None], ...] = (
    comment.read,
    drop_table.read,
    exchange_partner.read,
    ignorable.read,
    column_clauses.read,
    rename_column.read,
    rename_table.read,
    unused.read,
    row_archival.read,
    new_segment.read,
    partitions.read,
    refused.read,  # last: it refuses every statement
)


def effect_of(
    row: DdlRow,
    version: TableVersion,
    after: ReadingAfter | None = None,
    policies: DdlPolicies = DEFAULT_POLICIES,
    refused: Refused = all_supported,
) -> Effect:
    """Return the effect of a DDL row on a table. Raises SchemaConflict for an unsupported statement."""
    statement = DdlStatement(
        row,
        version.table,
        after,
        policies,
        refused,
        version.in_oracle,
        rowid_key=version.key_kind == "rowid",
        choice=version.choice,
    )
    for form in FORMS:
        effect = form(statement, version)
        if effect is not None:
            return effect
    raise statement.not_understood()


__all__ = ["FORMS", "Effect", "effect_of"]
