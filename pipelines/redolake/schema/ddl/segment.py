"""The order of a segment's columns: new ones come last, and a drop lowers the SEGMENT_COLUMN_IDs above it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from redolake.schema.ddl_statement import DdlStatement
from redolake.values.datatypes import LARGE_OBJECTS
from redolake.values.delivery import (
    Appended,
    Assembled,
    NullableKey,
    Plain,
    RereadRows,
    RereadValues,
    delivery_of,
)
from redolake.values.table import Column, IgnoredColumn, TableVersion


def check_readable(statement: DdlStatement, version: TableVersion, what: str) -> None:
    """Raise SchemaConflict for a table whose rows cannot be found again by their key, to see what the statement did to them."""
    match delivery := delivery_of(version):
        case Appended():
            raise statement.refuse(f"{what}: rows of a table that is declared append-only have no key to find them by")
        case RereadRows():
            why = "the table has a column that LogMiner does not show, so its rows are read again anyway"
            raise statement.refuse(f"{what}: {why}")
        case Plain() | NullableKey() | RereadValues() | Assembled():
            return
        case _:
            assert_never(delivery)


def with_guard(statement: DdlStatement, version: TableVersion, new: str, *, optimized: bool) -> TableVersion:
    """Return the version with the guard column that Oracle adds in front of column `new`, if it does.

    Oracle has one guard per table. Since 12c it adds it with the first nullable column that has a default (`optimized`), but
    not to a table with a LOB. Releases and settings differ, so the dictionary decides if it was read since.
    """
    if any(column.kind == "guard" for column in version.ignored):
        return version
    found = _guard_before(statement, version, new)
    if found is None:
        types = {column.type.name for column in version.columns} | {column.type for column in version.ignored}
        found = optimized and types.isdisjoint(LARGE_OBJECTS)
    if not found:
        return version
    return replace(version, ignored=(*version.ignored, IgnoredColumn(version.next_segment_id, "guard")))


def _guard_before(statement: DdlStatement, version: TableVersion, new: str) -> bool | None:
    """Return whether a later dictionary has a guard in front of the column; None if it does not show it.

    Another column may have the name by then. So a guard in front of another one does not mean that this one has none.
    """
    dictionary = statement.dictionary_after()
    if dictionary is None or dictionary.object_id != version.object_id:
        return None
    at = next((c.segment_id for c in dictionary.columns if c.name == new and c.stored), None)
    guards = {column.segment_id for column in dictionary.ignored if column.kind == "guard"}
    if at is not None and at - 1 in guards:
        return True
    return None if at is None or guards else False


def without(version: TableVersion, columns: Collection[Column] = (), ignored: Collection[IgnoredColumn] = ()) -> TableVersion:
    """Return the version without these columns. Oracle lowers each SEGMENT_COLUMN_ID above a dropped one."""
    gone = [column.segment_id for column in columns] + [column.segment_id for column in ignored if column.segment_id]
    ids = {column.id for column in columns}

    def lower(segment_id: int) -> int:
        return segment_id - sum(other < segment_id for other in gone)

    return replace(
        version,
        columns=tuple(replace(c, segment_id=lower(c.segment_id)) for c in version.columns if c.id not in ids),
        ignored=tuple(replace(c, segment_id=lower(c.segment_id)) for c in version.ignored if c not in ignored),
    )
