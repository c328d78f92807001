"""Which table a redo record's object id means to the dictionary at mining time (facts/LOGMINER.md 2.5).

The online catalog knows only how things are now: altered tables give generic rows, dropped ones a BIN$ name or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from standin.model import DatabaseState, SqlType, TableDef

UNKNOWN_OWNER = "UNKNOWN"
VERSION_MISMATCH = "Dictionary Version Mismatch"
MISMATCH = "Dictionary Mismatch"


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """`columns` maps segment column numbers to name and type; empty when only `COL n` can be said."""

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
    """A copy of what the catalog said when it was taken; the caller holds the database's lock meanwhile."""

    def __init__(self, state: DatabaseState) -> None:
        self._tables = {(t.con_id, t.object_id): _known(t, t.recycled_name) for t in state.dropped.values()}
        self._tables |= {(t.con_id, t.object_id): _known(t, t.name) for t in state.tables.values()}

    def resolve(self, con_id: int, object_id: int, object_version: int) -> ResolvedTable:
        table = self._tables.get((con_id, object_id))
        if table is None:
            return unresolved(object_id)
        if table.object_version != object_version:
            return ResolvedTable(table.owner, table.name, {}, 2, VERSION_MISMATCH)
        return ResolvedTable(table.owner, table.name, table.columns, 0, None)


class NoCatalog:
    """Mining without a dictionary: every row is generic."""

    def resolve(self, con_id: int, object_id: int, object_version: int) -> ResolvedTable:
        return unresolved(object_id)


def unresolved(object_id: int) -> ResolvedTable:
    return ResolvedTable(UNKNOWN_OWNER, f"OBJ# {object_id}", {}, 2, MISMATCH)
