"""Resolves the object id of a redo record to a table, by a dictionary (Oracle Utilities, Using LogMiner).

The online catalog contains only the current definitions: rows of altered tables are generic, and dropped tables have a
BIN$ name or no name. A dictionary in the redo has the definitions of its own SCN, and with DDL_DICT_TRACKING those that
later redo made of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from standin.known_tables import CatalogForms, KnownTable, from_text, known_tables
from standin.model import DatabaseState, SqlType

UNKNOWN_OWNER = "UNKNOWN"
VERSION_MISMATCH = "Dictionary Version Mismatch"
MISMATCH = "Dictionary Mismatch"
NO_SUPPLEMENTAL = "no supplemental log data found"


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """`columns` maps segment column numbers to name and type; empty if the row shows only `COL n`.

    `omitted` are columns that statements do not show. `is_unsupported`: LogMiner cannot show rows of such a table.
    """

    owner: str
    name: str
    columns: dict[int, tuple[str, SqlType]]
    status: int
    info: str | None
    omitted: frozenset[int] = frozenset()
    is_unsupported: bool = False
    is_iot: bool = False  # its statements contain no ROWID


class Dictionary:
    """The tables as one dictionary has them."""

    def __init__(self, tables: dict[tuple[int, int], KnownTable]) -> None:
        self._tables = tables

    def resolve(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> ResolvedTable:
        """Resolve a change. Without supplemental log data its version is unknown: the present definition is assumed."""
        table = self._tables.get((con_id, object_id))
        if table is None:
            return unresolved(object_id)
        if not supplemental:
            return ResolvedTable(table.owner, table.name, table.columns, 3, NO_SUPPLEMENTAL, is_iot=table.is_iot)
        if table.object_version != object_version:
            return ResolvedTable(
                table.owner, table.name, {}, 2, VERSION_MISMATCH, is_unsupported=table.is_unsupported, is_iot=table.is_iot
            )
        return ResolvedTable(
            table.owner, table.name, table.columns, 0, None, omitted=table.omitted, is_unsupported=table.is_unsupported,
            is_iot=table.is_iot,
        )  # fmt: skip


class OnlineCatalog(Dictionary):
    """A copy of the catalog. The caller holds the database lock during construction."""

    def __init__(self, state: DatabaseState, forms: CatalogForms | None = None) -> None:
        super().__init__(known_tables(state, forms or CatalogForms()))


class RedoDictionary(Dictionary):
    """A dictionary found in the redo. With tracking it learns from the records that are read."""

    def __init__(self, records: Iterable[str], *, tracks: bool) -> None:
        super().__init__({})
        for text in records:
            self.learn(text)
        self.tracks = tracks

    def learn(self, text: str) -> None:
        key, table = from_text(text)
        if table is None:
            self._tables.pop(key, None)
        else:
            self._tables[key] = table


class NoCatalog:
    """Mining without a dictionary: every row is generic."""

    def resolve(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> ResolvedTable:
        return unresolved(object_id)


def unresolved(object_id: int) -> ResolvedTable:
    return ResolvedTable(UNKNOWN_OWNER, f"OBJ# {object_id}", {}, 2, MISMATCH)
