"""The definitions of tables as LogMiner's dictionary has them, and their text in the redo."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from standin.model import DatabaseState, SqlType, TableDef, is_extended

LONGEST_NAME = 30  # bytes


@dataclass(frozen=True, slots=True)
class CatalogForms:
    """What differs between releases, or is not known: options of the database (see DatabaseOptions)."""

    hidden_columns: str = "name"
    long_names: bool = False
    object_rows: str = "values"
    extended_rows: str = "unsupported"
    chained_rows: str = "update"


@dataclass(frozen=True, slots=True)
class KnownTable:
    owner: str
    name: str
    object_version: int
    columns: dict[int, tuple[str, SqlType]]
    omitted: frozenset[int]
    is_unsupported: bool
    is_iot: bool

    def as_text(self, con_id: int, object_id: int) -> str:
        """Return the definition as a record of the redo has it."""
        columns = [[number, name, asdict(kind)] for number, (name, kind) in self.columns.items()]
        own = {"columns": columns, "omitted": sorted(self.omitted)}
        plain = {name: getattr(self, name) for name in ("owner", "name", "object_version", "is_unsupported", "is_iot")}
        return json.dumps({"key": [con_id, object_id], **plain, **own})


def no_longer(con_id: int, object_id: int) -> str:
    """Return the text of a record that says that the object is gone."""
    return json.dumps({"key": [con_id, object_id]})


def from_text(text: str) -> tuple[tuple[int, int], KnownTable | None]:
    found: dict[str, Any] = json.loads(text)
    con_id, object_id = found.pop("key")
    if not found:
        return (con_id, object_id), None
    found["columns"] = {number: (name, SqlType(**{**kind, "parts": ()})) for number, name, kind in found["columns"]}
    found["omitted"] = frozenset(found["omitted"])
    return (con_id, object_id), KnownTable(**found)


def _known(table: TableDef, name: str, forms: CatalogForms) -> KnownTable:
    stored = [c for c in table.columns if c.segment_id]
    own = frozenset(c.segment_id for c in stored if c.kind in ("guard", "unused"))
    named = {c.segment_id: (c.name, c.type) for c in stored if forms.hidden_columns != "number" or c.kind == "user"}
    names = (table.owner, table.name, *(c.name for c in table.columns if c.kind == "user"))
    unsupported = (
        (any(len(text.encode()) > LONGEST_NAME for text in names) and not forms.long_names)
        or any(c.kind == "period" or (forms.extended_rows == "unsupported" and is_extended(c.type)) for c in table.columns)
        or (forms.object_rows == "unsupported" and any(c.type.kind for c in table.columns))
        or (forms.chained_rows == "unsupported" and table.chains is not None)
    )  # fmt: skip
    omitted = own if forms.hidden_columns == "none" else frozenset[int]()
    return KnownTable(table.owner, name, table.object_version, named, omitted, unsupported, table.iot is not None)


def known_tables(state: DatabaseState, forms: CatalogForms) -> dict[tuple[int, int], KnownTable]:
    """Return the tables by container and object id. The caller holds the database's lock."""
    found: dict[tuple[int, int], KnownTable] = {}
    named = [(t, t.recycled_name) for t in state.dropped.values()] + [(t, t.name) for t in state.tables.values()]
    for table, name in named:
        known = _known(table, name, forms)
        found |= {(table.con_id, object_id): known for object_id in table.object_ids}
    return found
