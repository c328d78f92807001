"""Apply DDL to a table whose columns are mapped: new columns get their names, and a column that can no longer be computed, or
would be computed otherwise than in older rows, stops the table."""

from __future__ import annotations

from dataclasses import replace

from redolake.errors import SchemaConflict
from redolake.records.windows import DdlRow
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import refusal
from redolake.schema.retyped import has_other_form, users_of_type
from redolake.values.ddl_policies import SNAPSHOT_ONLY
from redolake.values.table import TableId, TableVersion

NEED_ROWS = ("remove_rows", "fill_column")  # kinds of steps after which the keys of all rows are read again


def follow_mapping(row: DdlRow, before: TableVersion, effect: Effect) -> Effect:
    """Return the effect with the mapping of the columns that it adds. Raises SchemaConflict for a DDL after which a value of
    the lake cannot be computed, or would be another one in older rows."""
    mapping, after = before.mapping, effect.version
    if mapping is None:
        return effect
    had, has = ({c.id: c for c in version.columns} for version in (before, after))
    for column_id in had.keys() - has.keys():
        if users := mapping.users_of(column_id):
            raise needed_column(row, before.table, f"{', '.join(users)} needs the column {had[column_id].name}")
    for column_id in sorted(had.keys() & has.keys()):
        if has_other_form(had[column_id].type, has[column_id].type) and (users := tuple(users_of_type(mapping, column_id))):
            what = f"{', '.join(users)} may have other values in rows that are computed from the new type of"
            raise refusal(row, before.table, f"{what} {has[column_id].name} than in older rows", answers=SNAPSHOT_ONLY)
    new = sorted(has.keys() - had.keys())
    for column_id in new:
        if mapping.is_shaped(has[column_id].name):
            why = f"pipelines.yml has a mask or an expression for {has[column_id].name}, and older rows have no value of it"
            raise refusal(row, before.table, why, answers=SNAPSHOT_ONLY)
        mapping = mapping.with_added(column_id, has[column_id].name)
    if mapping.where is not None and any(step.kind in NEED_ROWS for step in effect.steps):
        why = "the rows that it leaves cannot be compared with a table that has a filter (`where`)"
        raise refusal(row, before.table, why, answers=SNAPSHOT_ONLY)
    return effect if mapping == before.mapping else replace(effect, version=replace(after, mapping=mapping))


def needed_column(row: DdlRow, table: TableId, why: str) -> SchemaConflict:
    """Return the error of a column that is gone and that the mapping still needs: only another mapping helps."""
    error = refusal(row, table, why, answers=SNAPSHOT_ONLY)
    error.cure = f"take it out of pipelines.yml, or write it without the column; then {error.cure}"
    return error
