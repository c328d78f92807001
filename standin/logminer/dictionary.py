"""Resolves the object id of a redo record to a table, by the dictionary at mining time (Oracle Utilities, Using LogMiner).

The online catalog contains only the current definitions: rows of altered tables are generic, and dropped tables have a
BIN$ name or no name.
"""

from __future__ import annotations

from dataclasses import dataclass

from standin.model import DatabaseState, SqlType, TableDef

LONGEST_NAME = 30  # bytes
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


@dataclass(frozen=True, slots=True)
class CatalogForms:
    """What differs between releases, or is not known: `hidden_columns` is name, number or none (see DatabaseOptions)."""

    hidden_columns: str = "name"
    long_names: bool = False


@dataclass(frozen=True, slots=True)
class _KnownTable:
    owner: str
    name: str
    object_version: int
    columns: dict[int, tuple[str, SqlType]]
    omitted: frozenset[int]
    is_unsupported: bool
    is_iot: bool


def _known(table: TableDef, name: str, forms: CatalogForms) -> _KnownTable:
    stored = [c for c in table.columns if c.segment_id]
    own = frozenset(c.segment_id for c in stored if c.kind in ("guard", "unused"))
    named = {c.segment_id: (c.name, c.type) for c in stored if forms.hidden_columns != "number" or c.kind == "user"}
    names = (table.owner, table.name, *(c.name for c in table.columns if c.kind == "user"))
    unsupported = (
        (any(len(text.encode()) > LONGEST_NAME for text in names) and not forms.long_names)
        or any(c.kind == "period" or _is_32k(c.type) for c in table.columns)
    )  # fmt: skip
    omitted = own if forms.hidden_columns == "none" else frozenset[int]()
    return _KnownTable(table.owner, name, table.object_version, named, omitted, unsupported, table.iot is not None)


def _is_32k(kind: SqlType) -> bool:
    """Return whether an extended string type is declared beyond the classic limit: it is stored as a LOB."""
    return kind.length > {"VARCHAR2": 4000, "NVARCHAR2": 4000, "RAW": 2000}.get(kind.name, kind.length)


class OnlineCatalog:
    """A copy of the catalog. The caller holds the database lock during construction."""

    def __init__(self, state: DatabaseState, forms: CatalogForms | None = None) -> None:
        forms = forms or CatalogForms()
        self._tables: dict[tuple[int, int], _KnownTable] = {}
        named = [(t, t.recycled_name) for t in state.dropped.values()] + [(t, t.name) for t in state.tables.values()]
        for table, name in named:
            known = _known(table, name, forms)
            self._tables |= {(table.con_id, object_id): known for object_id in table.object_ids}

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


class NoCatalog:
    """Mining without a dictionary: every row is generic."""

    def resolve(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> ResolvedTable:
        return unresolved(object_id)


def unresolved(object_id: int) -> ResolvedTable:
    return ResolvedTable(UNKNOWN_OWNER, f"OBJ# {object_id}", {}, 2, MISMATCH)
