"""Changes of single rows: insert, update, delete, lock and take back, in storage, undo and redo together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from standin.engine.redo.lob_redo import (
    LobForm,
    LobRow,
    insert_statement,
    is_outside,
    of_call,
    of_insert,
    of_update,
    update_statement,
    without_locators,
)
from standin.engine.redo.writer import RedoWriter
from standin.engine.redo.xml_redo import XmlForm, of_documents
from standin.engine.settings.options import DatabaseOptions
from standin.engine.storage.layout import Row, RowLayout
from standin.engine.storage.segment import Version
from standin.engine.storage.storage import UNCOMMITTED, TableStore
from standin.engine.transactions.transaction import Transaction, Undo
from standin.engine.transactions.transactions import Transactions
from standin.engine.types.rowids import rowid_text
from standin.interface import OraError
from standin.model import DatabaseState, Partition
from standin.redo_file import NOT_SHOWN, Op, RedoRecord

_ROWS_OF_LEAF = 4  # of an index-organized table, that share a ROW_ID
_BYTES_IN_PLACE = 60  # a longer row lies in another block than its ROWID names, where the option has such rows
_ELSEWHERE = 1 << 20  # rows before that block
_SHOWN_ELSEWHERE = {"none": (), "delete": (Op.DELETE,), "change": (Op.UPDATE,), "both": (Op.DELETE, Op.UPDATE)}


class RowChanges:
    """The caller holds the database's lock and every row lock that it needs."""

    def __init__(self, options: DatabaseOptions, state: DatabaseState, redo: RedoWriter, transactions: Transactions) -> None:
        self._options, self._state, self._redo, self._transactions = options, state, redo, transactions
        self._change: Undo | None = None  # the change in progress
        self._xml = XmlForm(options.xml_rows, options.xml_nulls, options.extended_rows, options.lob_rows == "statement")

    def insert(self, tx: Transaction, store: TableStore, values: Row, part: Partition | None = None) -> int:
        """Insert the row, into the partition `part` of a partitioned table."""
        row, version, is_new = self._new_row(tx, store, values)
        if part is not None:
            store.part_of[row] = part
        for index in store.indexes:
            index.add(values, row)
        self._record_undo(tx, Undo(store, row, Op.INSERT, None, version, is_new))
        layout = store.layout
        if not self._objects(layout):
            self._write(tx, store, row, Op.INSERT, after=layout.encode(values, range(len(values))))
            return row
        documents = self._xml.documents(layout, values, frozenset(range(len(values))))
        omitted = self._xml.omitted(layout, values, documents)
        own = self._of_documents(layout, values, documents)
        if self._by_statement:
            rows = insert_statement(layout, values, self._lob_form, own, omitted=omitted)
        else:
            rows = chain(of_insert(layout, values, self._lob_form, omitted=omitted), own)
        self._write_rows(tx, store, row, self._as_stored(store, rows))
        return row

    def _objects(self, layout: RowLayout) -> frozenset[int]:
        """Return the positions whose changes have redo rows of their own."""
        return layout.lobs | self._xml.objects(layout)

    def _of_documents(self, layout: RowLayout, values: Row, documents: frozenset[int]) -> list[LobRow]:
        return [*of_documents(layout, values, documents, self._xml, named=not self._by_statement)]

    def _write_rows(self, tx: Transaction, store: TableStore, row: int, rows: Iterable[LobRow]) -> None:
        for one in rows:
            self._write(tx, store, row, one.op, before=one.before, after=one.after, sql=one.sql, named=one.named)

    def _as_stored(self, store: TableStore, rows: Iterable[LobRow]) -> Iterable[LobRow]:
        """Return the rows, where large objects are never stored in their row and are BasicFiles without their locators."""
        words, layout = store.definition.lobs, store.layout
        never = {c.name for c in store.definition.columns if {"BASICFILE", "DISABLE"} <= words.get(c.name, frozenset())}
        numbers = {layout.segment_ids[i] for i in layout.lobs if store.definition.columns[i].name in never}
        return without_locators(layout, rows, numbers, self._lob_form) if numbers else rows

    @property
    def _by_statement(self) -> bool:
        return self._options.lob_rows == "statement"

    @property
    def _lob_form(self) -> LobForm:
        options = self._options
        return LobForm(
            self._by_statement,
            options.lob_counts == "code units",
            self._by_statement or options.null_lobs == "empty",
            options.extended_rows == "pieces",
        )

    def _new_row(self, tx: Transaction, store: TableStore, values: Row) -> tuple[int, Version, bool]:
        row = store.take_freed(tx) if self._options.reuses_rowids and not store.definition.partitioning else None
        if row is not None and row in store.rows:
            return row, *self._set_version(tx, store, row, values)
        if row is None:
            row, store.next_row = store.next_row, store.next_row + 1
        version = Version(UNCOMMITTED, values, tx)
        store.rows[row] = [version]
        tx.versions.append(version)
        return row, version, True

    def update(
        self,
        tx: Transaction,
        store: TableStore,
        row: int,
        old: Row,
        new: Row,
        changed: frozenset[int],
        order: Sequence[int] = (),
    ) -> None:
        """Update the row. `old` is the row as stored, `new` is complete; `changed` are the positions of SET, which has `order`.

        As in Oracle, columns that were added later and are not set stay out of the row.
        """
        version, is_new = self._set_version(tx, store, row, new[: max(len(old), max(changed) + 1)])
        self._record_undo(tx, Undo(store, row, Op.UPDATE, old, version, is_new, changed, by_call=tx.lob_call is not None))
        for index in store.indexes:
            if not changed.isdisjoint(index.positions):
                index.add(new, row)
        layout = store.layout
        documents = self._xml.documents(layout, new, changed)
        strings = layout.extended if self._by_statement and self._lob_form.has_strings else frozenset[int]()
        if documents or not changed.isdisjoint(layout.lobs | strings):
            rows = self._of_update(tx, store, old, new, changed, documents, order)
            self._write_rows(tx, store, row, self._as_stored(store, rows))
            return
        logged = self._logged_row(store, old)
        before = layout.encode(logged, tuple(sorted(layout.logged(changed))))
        after = layout.encode(new, tuple(sorted(changed)))
        if self._options.null_updates == "all" and all(i < len(old) and old[i] is new[i] is None for i in changed):
            after = layout.encode(logged, tuple(sorted(set(range(len(logged))) - layout.lobs - layout.unlogged)))
        self._write(tx, store, row, Op.UPDATE, before=before, after=after)

    def _logged_row(self, store: TableStore, old: Row) -> Row:
        """Return the row with the values that WHERE shows: NULL, or nothing, in columns that are younger than the row."""
        return (*old, *(None for _ in store.pad[len(old) :])) if self._options.young_columns == "null" else old

    def _of_update(
        self,
        tx: Transaction,
        store: TableStore,
        old: Row,
        new: Row,
        changed: frozenset[int],
        documents: frozenset[int],
        order: Sequence[int],
    ) -> list[LobRow]:
        layout = store.layout
        if tx.lob_call is not None:
            (position,) = changed
            return [*of_call(layout, new, position, tx.lob_call, self._lob_form)]
        rest, own = changed - documents, self._of_documents(layout, new, documents)
        if self._by_statement:
            return [*update_statement(layout, self._logged_row(store, old), new, rest, self._lob_form, own, order)]
        return [*(of_update(layout, self._logged_row(store, old), new, rest, self._lob_form) if rest else ()), *own]

    def delete(self, tx: Transaction, store: TableStore, row: int, old: Row) -> None:
        version, is_new = self._set_version(tx, store, row, None)
        self._record_undo(tx, Undo(store, row, Op.DELETE, old, version, is_new))
        self._free(store, row)
        layout = store.layout
        logged = self._logged_row(store, old)
        positions = tuple(i for i in range(len(logged)) if i not in layout.lobs | layout.extended)
        self._write(tx, store, row, Op.DELETE, before=layout.encode(logged, positions))

    def lock(self, tx: Transaction, store: TableStore, row: int) -> None:
        if store.owner_of(row) is not tx:
            store.locks[row] = tx
            tx.row_locks.append((store, row))
            self._change = None
            self._write(tx, store, row, Op.SELECT_FOR_UPDATE)

    def _record_undo(self, tx: Transaction, undo: Undo) -> None:
        undo.server = self._transactions.server_of(tx, undo.row)
        tx.undo.append(undo)
        self._change = undo
        table = undo.store.definition
        if table.temporary and not table.keeps_rows:
            tx.temporary.add(undo.store)

    def _set_version(self, tx: Transaction, store: TableStore, row: int, values: Row | None) -> tuple[Version, bool]:
        versions = store.rows[row]
        version = versions[-1]
        if version.tx is tx:
            version.values = values
            return version, False
        if version.tx is not None:
            raise OraError(600, "internal error code, arguments: [row changed without its lock]")
        version = Version(UNCOMMITTED, values, tx)
        versions.append(version)
        tx.versions.append(version)
        return version, True

    def take_back(self, tx: Transaction, undo: Undo) -> None:
        """Restore the row and write Oracle's undo row: it has no before image, and for an INSERT only the ROWID."""
        self._change = undo
        store, row, layout = undo.store, undo.row, undo.store.layout
        present = undo.version.values
        if undo.op is Op.INSERT:
            for i in () if self._by_statement else sorted(layout.lobs, reverse=True):
                if present is not None and i < len(present):
                    content = layout.encode(present, (i,))[layout.segment_ids[i]]
                    if content or (content is None and self._lob_form.empties_nulls):
                        self._undo_lob(tx, store, row, layout.segment_ids[i], content, b"")
            self._take_back_insert(undo, present)
            # A row without a physical ROWID is named by its key.
            before = layout.encode(present, range(len(present))) if store.definition.iot and present is not None else None
            self._write(tx, store, row, Op.DELETE, rollback=True, before=before)
            return
        assert undo.old is not None
        if undo.new_version:
            store.rows[row].pop()
            undo.version.tx = None
        else:
            undo.version.values = undo.old
        if undo.op is Op.DELETE:
            positions = tuple(i for i in range(len(undo.old)) if i not in layout.lobs)
            self._write(tx, store, row, Op.INSERT, rollback=True, after=layout.encode(undo.old, positions))
        else:
            self._take_back_update(tx, undo, store.padded(undo.old), present or ())

    def _undo_lob(
        self, tx: Transaction, store: TableStore, row: int, segment_id: int, present: bytes | None, old: bytes | None
    ) -> None:
        """Write the undo row of a LOB's update. The pieces of a value outside the row have none that LogMiner shows."""
        if not is_outside(present, store.layout.charsets.get(segment_id)):
            self._write(tx, store, row, Op.UPDATE, after={segment_id: old}, rollback=True)

    def _take_back_insert(self, undo: Undo, present: Row | None) -> None:
        store, row = undo.store, undo.row
        self._free(store, row)
        if not undo.new_version:
            undo.version.values = None
            return
        undo.version.tx = None
        store.rows[row].pop()
        if store.rows[row]:  # the insert had reused the ROWID of a deleted row
            return
        del store.rows[row]
        if present is not None:
            for index in store.indexes:
                index.remove(store.padded(present), row)

    def _free(self, store: TableStore, row: int) -> None:
        if self._options.reuses_rowids:
            store.freed.append(row)

    def _take_back_update(self, tx: Transaction, undo: Undo, old: Row, new: Row) -> None:
        """Write an undo row for each redo row of the update, the last one first; or one for all of them."""
        store, layout = undo.store, undo.store.layout
        objects = self._objects(layout)
        if self._by_statement and not undo.changed.isdisjoint(objects):
            plain = tuple(sorted(undo.changed - objects))
            empty: dict[int, bytes | None] = {layout.segment_ids[i]: b"" for i in sorted(undo.changed & objects)}
            self._write(tx, store, undo.row, Op.UPDATE, rollback=True, after=layout.encode(old, plain) or empty)
            return
        if undo.by_call:
            return
        for i in sorted(undo.changed & layout.lobs, reverse=True):
            content = layout.encode(old, (i,))[layout.segment_ids[i]]
            present = layout.encode(store.padded(new), (i,))[layout.segment_ids[i]]
            self._undo_lob(tx, store, undo.row, layout.segment_ids[i], present, content)
        inline = tuple(sorted(undo.changed - layout.lobs))
        if inline:
            key = layout.encode(old, tuple(sorted(layout.key))) if store.definition.iot else None
            self._write(tx, store, undo.row, Op.UPDATE, rollback=True, before=key, after=layout.encode(old, inline))

    def _row_id(self, store: TableStore, row: int, op: Op) -> str:
        """Return the ROWID that the redo shows. An undo row has that of the change it undoes."""
        change = self._change
        done, before = op if change is None else change.op, None if change is None else change.old
        if before is not None and done in _SHOWN_ELSEWHERE[self._options.migrated_row_ids]:
            stored = store.layout.encode(before, range(len(before))).values()
            if sum(len(value) for value in stored if value) > _BYTES_IN_PLACE:
                return rowid_text(store.ids_of(row)[1], row + _ELSEWHERE)
        return store.rowid(row)

    def _iot_row_id(self, store: TableStore, row: int) -> str:
        if self._options.iot_row_ids == "block":
            return rowid_text(store.ids_of(row)[1], row - row % _ROWS_OF_LEAF)
        return "A" * 18 if self._options.iot_row_ids == "zero" else ""

    def _write(
        self,
        tx: Transaction,
        store: TableStore,
        row: int,
        op: Op,
        *,
        before: dict[int, bytes | None] | None = None,
        after: dict[int, bytes | None] | None = None,
        rollback: bool = False,
        info: str = "",
        sql: str = "",
        named: bool = True,
    ) -> None:
        table, change = store.definition, self._change
        server = change.server if change is not None else None
        xid, thread, start_scn = (
            (tx.xid, tx.thread, tx.start_scn) if server is None else (server.xid, server.thread, server.start_scn)
        )
        self._state.transactions[tx.con_id, xid].undo_records = len(tx.undo)
        if table.temporary:
            if self._options.temporary_rows == "none":
                return
            before, after, sql = None, None, NOT_SHOWN
        object_id, data_object_id = store.ids_of(row)
        row_id = self._row_id(store, row, op) if table.iot is None else self._iot_row_id(store, row)
        without = self._by_statement or self._options.lob_rows_without_rowid
        if not named or (op is Op.INSERT and not rollback and store.layout.has_large and without):
            row_id = ""
            data_object_id = 0 if self._by_statement else data_object_id
        record = RedoRecord(
            0, op, xid, thread, 0, 0, 0, 0, rollback, tx.con_id, object_id, data_object_id,
            table.object_version, row_id, before or {}, after or {}, sql, "", "",
            tx.user, start_scn, info=info, pxid=None if server is None else tx.xid,
            supplemental=bool(self._state.logged_in(tx.con_id)) and not (rollback and self._options.undo_unlogged),
        )  # fmt: skip
        if self._options.undo_first and change is not None:
            if not rollback:
                change.records.append(record)
            elif change.records and self._redo.write_before(record, change.records.pop()):
                return
        self._redo.write(record)
