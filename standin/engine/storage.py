"""Row versions of a table and its indexes. Knows which version a snapshot sees; it writes no redo and takes no locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from standin.engine.layout import Row, RowLayout
from standin.engine.locks import RowOwner
from standin.engine.rowids import rowid_text
from standin.model import Partition, TableDef

UNCOMMITTED = 2**63  # later than every SCN: only its own transaction sees it
_MANY_VERSIONS = 16


class Version:
    """A version of a row, valid from `scn` on or owned by the open transaction `tx`. `values` is None for a deleted row."""

    __slots__ = ("scn", "tx", "values")

    def __init__(self, scn: int, values: Row | None, tx: RowOwner | None) -> None:
        self.scn, self.values, self.tx = scn, values, tx


class Index:
    """An index: key values to the rows that have or had them. A lookup must check the row itself.

    `kind` is INDEX_TYPE as in DBA_INDEXES; "" for an index of the engine's own, which no view shows.
    """

    def __init__(
        self, name: str, columns: tuple[str, ...], unique: bool, object_id: int = 0, kind: str = "NORMAL", constraint: str = ""
    ) -> None:
        self.name, self.columns, self.unique, self.object_id, self.kind = name, columns, unique, object_id, kind
        self.constraint = constraint  # the key that the index enforces
        self.positions: tuple[int, ...] = ()
        self.entries: dict[tuple[Any, ...], set[int]] = {}

    def key_of(self, values: Row) -> tuple[Any, ...] | None:
        """Return the row's key; None when all its columns are NULL, as such rows are in no index."""
        positions, stored = self.positions, len(values)
        if len(positions) == 1:
            at = positions[0]
            return None if at >= stored or values[at] is None else (values[at],)
        key = tuple([values[i] if i < stored else None for i in positions])
        return None if all(part is None for part in key) else key

    def add(self, values: Row, row: int) -> None:
        key = self.key_of(values)
        if key is not None:
            self.entries.setdefault(key, set()).add(row)

    def remove(self, values: Row, row: int) -> None:
        key = self.key_of(values)
        if key is not None and (rows := self.entries.get(key)) is not None:
            rows.discard(row)
            if not rows:
                del self.entries[key]


class TableStore:
    """The segment of one table. `pad` holds the values of later columns for rows that do not store them."""

    def __init__(self, definition: TableDef, scn: int) -> None:
        self.definition = definition
        self.rows: dict[int, list[Version]] = {}
        self.next_row = 0
        self.part_of: dict[int, Partition] = {}  # rows of a partitioned table
        self.freed: list[int] = []  # rows whose ROWIDs an insert may reuse
        self.indexes: list[Index] = []
        self.locks: dict[int, RowOwner] = {}  # SELECT .. FOR UPDATE
        self.created_scn = scn
        self.structure_scn = scn  # of the last structural DDL, which flashback cannot cross
        self.pad: Row = ()
        self.layout = RowLayout(definition, frozenset())
        self.generation = 0
        self.has_references = False
        self.compiled_checks: tuple[tuple[str, Any], ...] | None = None

    def refresh(self, database_wide: frozenset[str]) -> None:
        """Derive everything that depends on the definition."""
        self.layout = RowLayout(self.definition, database_wide)
        self.generation += 1
        self.has_references = any(c.kind == "R" and c.enabled for c in self.definition.constraints)
        self.compiled_checks = None
        for index in self.indexes:
            index.positions = tuple(self.layout.position[name] for name in index.columns)
        self.pad = self.pad + (None,) * (len(self.layout.names) - len(self.pad))

    def ids_of(self, row: int) -> tuple[int, int]:
        """Return OBJECT_ID and DATA_OBJECT_ID of the segment that holds the row, as redo contains them."""
        part = self.part_of.get(row)
        if part is not None:
            return part.object_id, part.data_object_id
        iot = self.definition.iot
        if iot is not None:
            return iot.object_id, iot.object_id
        return self.definition.object_id, self.definition.data_object_id

    def rowid(self, row: int) -> str:
        """Return the row's ROWID; of an index-organized table a logical one."""
        text = rowid_text(self.ids_of(row)[1], row)
        return text if self.definition.iot is None else f"*{text}"

    def reindex(self, index: Index) -> None:
        index.entries.clear()
        for row, versions in self.rows.items():
            for version in versions:
                if version.values is not None:
                    index.add(self.padded(version.values), row)

    def padded(self, values: Row) -> Row:
        return values if len(values) == len(self.pad) else values + self.pad[len(values) :]

    def stored(self, row: int, scn: int, tx: RowOwner | None) -> Row | None:
        """Return the stored values of `row` that the snapshot sees, without padding."""
        for version in reversed(self.rows.get(row, ())):
            if version.scn <= scn or (tx is not None and version.tx is tx):
                return version.values
        return None

    def visible(self, scn: int, tx: RowOwner | None, rows: Iterable[int] | None = None) -> Iterator[tuple[int, Row]]:
        """Yield the rows that the snapshot sees: number and padded values, in segment order."""
        width, pad = len(self.pad), self.pad
        chosen = self.rows.items() if rows is None else [(r, self.rows[r]) for r in sorted(rows) if r in self.rows]
        for row, versions in chosen:
            version = versions[-1]
            if not (version.scn <= scn or (tx is not None and version.tx is tx)):
                found = next((v for v in reversed(versions) if v.scn <= scn), None)
                if found is None:
                    continue
                version = found
            values = version.values
            if values is not None:
                yield row, values if len(values) == width else values + pad[len(values) :]

    def take_freed(self, tx: RowOwner) -> int | None:
        """Return the last freed row whose ROWID `tx` may reuse: its delete is committed or its own."""
        for at in range(len(self.freed) - 1, -1, -1):
            row = self.freed[at]
            version = self.rows[row][-1] if row in self.rows else None
            if self.owner_of(row) in (None, tx) and (version is None or version.values is None):
                del self.freed[at]
                return row
        return None

    def owner_of(self, row: int) -> RowOwner | None:
        """Return the open transaction that holds the row's lock."""
        versions = self.rows.get(row)
        if versions and versions[-1].tx is not None:
            return versions[-1].tx
        return self.locks.get(row) if self.locks else None

    def last_scn(self, row: int) -> int:
        return next((v.scn for v in reversed(self.rows.get(row, ())) if v.tx is None), 0)

    def rewind(self, scn: int) -> None:
        """Remove all versions after `scn`. No transaction is open."""
        for row, versions in list(self.rows.items()):
            kept = [version for version in versions if version.scn <= scn]
            if kept:
                self.rows[row] = kept
            else:
                del self.rows[row]
        for index in self.indexes:
            self.reindex(index)
        self.generation += 1

    def trim(self, row: int, bound: int) -> None:
        """Remove versions that no snapshot at or after `bound` sees."""
        versions = self.rows[row]
        if len(versions) < _MANY_VERSIONS:
            return
        keep = next((i for i in range(len(versions) - 1, -1, -1) if versions[i].scn <= bound), 0)
        gone, kept = versions[:keep], versions[keep:]
        if not gone:
            return
        self.rows[row] = kept
        for index in self.indexes:
            live = {index.key_of(self.padded(v.values)) for v in kept if v.values is not None}
            for version in gone:
                if version.values is not None and index.key_of(self.padded(version.values)) not in live:
                    index.remove(self.padded(version.values), row)
