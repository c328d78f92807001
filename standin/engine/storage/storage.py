"""Row versions of a table and its indexes. Knows which version a snapshot sees; it writes no redo and takes no locks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from standin.engine.storage.layout import Row, RowLayout
from standin.engine.storage.locks import RowOwner
from standin.engine.storage.segment import Loose, Packed, Rows
from standin.engine.types.rowids import rowid_text
from standin.model import Partition, TableDef

UNCOMMITTED = 2**63  # later than every SCN: only its own transaction sees it
_MANY_VERSIONS = 16
_NONE: frozenset[int] = frozenset()


class Index:
    """An index: key values to the rows that have or had them. A lookup must check the row itself.

    `kind` is INDEX_TYPE as in DBA_INDEXES; "" for an index of the engine's own, which no view shows.
    """

    def __init__(
        self, name: str, columns: tuple[str, ...], unique: bool, object_id: int = 0, kind: str = "NORMAL", constraint: str = "",
        usable: bool = True,
    ) -> None:  # fmt: skip
        self.name, self.columns, self.unique, self.object_id, self.kind = name, columns, unique, object_id, kind
        self.constraint = constraint  # the key that the index enforces
        self.usable = usable  # False after a MOVE, until it is built again
        self.positions: tuple[int, ...] = ()
        self._entries: dict[tuple[Any, ...], set[int]] = {}
        self._loaded: dict[int, int] = {}  # the rows of direct-path loads, by hash of their key: for a unique index

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
            self._entries.setdefault(key, set()).add(row)

    def load(self, rows: Sequence[Row], first: int) -> list[int]:
        """Add rows that are numbered from `first` on; a unique index needs a tenth of the memory for them.

        Return the rows whose key another row of a unique index may have.
        """
        shared = list[int]()
        for row, values in enumerate(rows, first):
            key = self.key_of(values)
            if not self.unique:
                self.add(values, row)
            elif key is not None and (self._loaded.setdefault(hash(key), row) != row or key in self._entries):
                self.add(values, row)
                shared.append(row)
        return shared

    def rows_with(self, key: tuple[Any, ...]) -> Collection[int]:
        """Return the rows that have or had the key, and perhaps a row of another key with the same hash."""
        rows, loaded = self._entries.get(key, _NONE), self._loaded.get(hash(key)) if self._loaded else None
        return rows if loaded is None else {*rows, loaded}

    def remove(self, values: Row, row: int) -> None:
        key = self.key_of(values)
        if key is None:
            return
        if self._loaded.get(hash(key)) == row:
            del self._loaded[hash(key)]
        if (rows := self._entries.get(key)) is not None:
            rows.discard(row)
            if not rows:
                del self._entries[key]

    def clear(self) -> None:
        self._entries.clear()
        self._loaded.clear()


class TableStore:
    """The segment of one table. `pad` holds the values of later columns for rows that do not store them."""

    def __init__(self, definition: TableDef, scn: int) -> None:
        self.definition = definition
        self.rows = Rows()
        self.next_row = 0
        self.part_of: dict[int, Partition] = {}  # rows of a partitioned table
        self.freed: list[int] = []  # rows whose ROWIDs an insert may reuse
        self.indexes: list[Index] = []
        self.locks: dict[int, RowOwner] = {}  # SELECT .. FOR UPDATE
        self.created_scn = scn
        self.structure_scn = scn  # of the last structural DDL, which flashback cannot cross
        self.pad: Row = ()
        self.database_zone: int | str = 0
        self.layout = RowLayout(definition, frozenset())
        self.generation = 0
        self.has_references = False
        self.compiled_checks: tuple[tuple[str, Any], ...] | None = None
        self.of_sessions: dict[int, TableStore] = {}  # of a temporary table: each session's rows, by its number

    def of_session(self, number: int) -> TableStore:
        """Return the rows that a session may see: of a temporary table its own."""
        if not self.definition.temporary:
            return self
        own = self.of_sessions.get(number)
        if own is None:
            own = self.of_sessions[number] = TableStore(self.definition, self.created_scn)
            own._follow(self)
        return own

    @property
    def is_in_use(self) -> bool:
        """Return whether a session has rows of a temporary table."""
        return any(True for own in self.of_sessions.values() for _ in own.visible(2 * UNCOMMITTED, None))

    def _follow(self, shared: TableStore) -> None:
        """Take the definition and the indexes from the table that all sessions share."""
        self.layout, self.pad, self.generation = shared.layout, shared.pad, shared.generation
        self.structure_scn, self.compiled_checks = shared.structure_scn, None
        self.indexes = [Index(i.name, i.columns, i.unique, i.object_id, i.kind, i.constraint) for i in shared.indexes]
        for index, its in zip(self.indexes, shared.indexes, strict=True):
            index.positions = its.positions
            self.reindex(index)

    def remove_rows(self) -> None:
        self.rows.clear()
        self.part_of.clear()
        self.next_row = 0
        self.freed.clear()
        for index in self.indexes:
            index.clear()
            index.usable = True

    def refresh(self, database_wide: frozenset[str]) -> None:
        """Derive everything that depends on the definition."""
        self.layout = RowLayout(self.definition, database_wide, self.database_zone)
        self.generation += 1
        self.has_references = any(c.kind == "R" and c.enabled for c in self.definition.constraints)
        self.compiled_checks = None
        for index in self.indexes:
            index.positions = tuple(self.layout.position[name] for name in index.columns)
        self.pad = self.pad + (None,) * (len(self.layout.names) - len(self.pad))
        for own in self.of_sessions.values():
            own._follow(self)

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
        index.clear()
        for block in self.rows.blocks():
            if isinstance(block, Packed):
                index.load([self.padded(values) for _, values in block.rows()], block.first)
                continue
            for row, versions in block:
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
        return chain.from_iterable(self._seen(block, scn, tx) for block in self.rows.blocks(rows))

    def fixed(self, scn: int, tx: RowOwner | None, rows: Iterable[int] | None = None) -> Iterator[tuple[int, Row]]:
        """Return the rows that the snapshot sees now, to be read after they have changed. Packed blocks are kept as such."""
        blocks = ((block, self._seen(block, scn, tx)) for block in self.rows.blocks(rows))
        return chain.from_iterable([seen if isinstance(block, Packed) else [*seen] for block, seen in blocks])

    def _seen(self, block: Packed | Loose, scn: int, tx: RowOwner | None) -> Iterable[tuple[int, Row]]:
        if isinstance(block, Packed):
            return self._complete(block, self.pad) if block.is_seen(scn, tx) else ()
        return self._loose(block, scn, tx)

    @staticmethod
    def _complete(block: Packed, pad: Row) -> Iterator[tuple[int, Row]]:
        width = len(pad)
        for row, values in block.rows():
            yield row, values if len(values) == width else values + pad[len(values) :]

    def _loose(self, rows: Loose, scn: int, tx: RowOwner | None) -> Iterator[tuple[int, Row]]:
        width, pad = len(self.pad), self.pad
        for row, versions in rows:
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
        if (block := self.rows.packed_with(row)) is not None:
            return block.scn if block.tx is None else 0
        return next((v.scn for v in reversed(self.rows.get(row, ())) if v.tx is None), 0)

    def rewind(self, scn: int) -> None:
        """Remove all versions after `scn`. No transaction is open."""
        for number in [number for number, block in self.rows.packed.items() if block.scn > scn]:
            del self.rows.packed[number]
        for row, versions in list(dict.items(self.rows)):
            kept = [version for version in versions if version.scn <= scn]
            if kept:
                self.rows[row] = kept
            else:
                del self.rows[row]
        for index in self.indexes:
            self.reindex(index)
        self.generation += 1

    def unload(self, blocks: Iterable[Packed]) -> None:
        """Remove the blocks of a direct-path load."""
        for block in blocks:
            self.rows.drop(block)
            for row, values in block.rows():
                for index in self.indexes:
                    index.remove(self.padded(values), row)

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
