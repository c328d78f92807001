"""Resolves the object id of a redo record to a table, by the dictionary at mining time (Oracle Utilities, Using LogMiner).

The online catalog contains only the current definitions: rows of altered tables are generic, and dropped tables have a
BIN$ name or no name.
"""

from __future__ import annotations

from dataclasses import dataclass

from standin.model import DatabaseState, SqlType, TableDef

UNKNOWN_OWNER = "UNKNOWN"
VERSION_MISMATCH = "Dictionary Version Mismatch"
MISMATCH = "Dictionary Mismatch"
NO_SUPPLEMENTAL = "no supplemental log data found"


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """`columns` maps segment column numbers to name and type; empty if the row shows only `COL n`."""

    owner: str
    name: str
    columns: dict[int, tuple[str, SqlType]]
    status: int
    info: str | None


@dataclass(frozen=True, slots=True)
class _KnownTable:
    owner: str
    name: str
    object_version: int
    columns: dict[int, tuple[str, SqlType]]


def _known(table: TableDef, name: str) -> _KnownTable:
    return _KnownTable(table.owner, name, table.object_version, {c.segment_id: (c.name, c.type) for c in table.columns})


class OnlineCatalog:
    """A copy of the catalog. The caller holds the database lock during construction."""

    def __init__(self, state: DatabaseState) -> None:
        self._tables = {(t.con_id, t.object_id): _known(t, t.recycled_name) for t in state.dropped.values()}
        self._tables |= {(t.con_id, t.object_id): _known(t, t.name) for t in state.tables.values()}

    def resolve(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> ResolvedTable:
        """Resolve a change. Without supplemental log data its version is unknown: the present definition is assumed."""
        table = self._tables.get((con_id, object_id))
        if table is None:
            return unresolved(object_id)
        if not supplemental:
            return ResolvedTable(table.owner, table.name, table.columns, 3, NO_SUPPLEMENTAL)
        if table.object_version != object_version:
            return ResolvedTable(table.owner, table.name, {}, 2, VERSION_MISMATCH)
        return ResolvedTable(table.owner, table.name, table.columns, 0, None)


class NoCatalog:
    """Mining without a dictionary: every row is generic."""

    def resolve(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> ResolvedTable:
        return unresolved(object_id)


def unresolved(object_id: int) -> ResolvedTable:
    return ResolvedTable(UNKNOWN_OWNER, f"OBJ# {object_id}", {}, 2, MISMATCH)
