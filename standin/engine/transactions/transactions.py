"""Begins and commits transactions, and gives them their XIDs. Taking changes back is in `rollback`.

The caller holds the database's lock; `changed` is notified whenever a transaction ends.
"""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Any

from standin.engine.redo.clock import Clock
from standin.engine.redo.writer import RedoWriter
from standin.engine.settings.options import DatabaseOptions
from standin.engine.transactions.session_state import SessionState
from standin.engine.transactions.transaction import ParallelServer, Transaction, Xid
from standin.interface import OraError
from standin.model import ROOT, DatabaseState, OpenTransaction
from standin.redo_file import Op, RedoRecord

_SEGMENTS = 10
_FIRST_SEQUENCE = 1000


class XidAllocator:
    """Undo segments and slots, taken in turn; a slot's sequence grows with each use.

    With local undo each container has segments of its own, under the same numbers. Else all share those of the root.
    """

    def __init__(self, slots: int, *, local: bool) -> None:
        self._slots, self._local = slots, local
        self._free: dict[int, deque[tuple[int, int]]] = {}
        self._sequence: dict[Xid, int] = {}  # by container, segment and slot

    def take(self, con_id: int) -> Xid:
        con_id = self._owner(con_id)
        free = self._free.get(con_id)
        if free is None:
            free = self._free[con_id] = deque((1 + n % _SEGMENTS, n // _SEGMENTS) for n in range(self._slots))
        if not free:
            raise OraError(1554, "transaction concurrency limit reached")
        segment, slot = free.popleft()
        sequence = self._sequence.get((con_id, segment, slot), _FIRST_SEQUENCE) + 1
        self._sequence[con_id, segment, slot] = sequence
        return segment, slot, sequence

    def used(self) -> dict[Xid, int]:
        return dict(self._sequence)

    def restore(self, used: dict[Xid, int]) -> None:
        self._sequence.update(used)

    def give_back(self, con_id: int, xid: Xid) -> None:
        self._free[self._owner(con_id)].append(xid[:2])

    def _owner(self, con_id: int) -> int:
        return con_id if self._local else ROOT


class Transactions:
    def __init__(
        self, options: DatabaseOptions, state: DatabaseState, clock: Clock, redo: RedoWriter, changed: Condition
    ) -> None:
        self._options, self._state, self._clock, self._redo, self._changed = options, state, clock, redo, changed
        self._xids = XidAllocator(options.undo_slots, local=options.local_undo)

    def used_slots(self) -> dict[Xid, int]:
        """Return the last sequence of each undo slot, for the checkpoint."""
        return self._xids.used()

    def restore_slots(self, used: dict[Xid, int]) -> None:
        self._xids.restore(used)

    def _record(self, tx: Transaction, op: Op, **fields: Any) -> RedoRecord:
        return RedoRecord(0, op, tx.xid, tx.thread, con_id=tx.con_id, user=tx.user, start_scn=tx.start_scn, **fields)

    def ddl_record(self, tx: Transaction, text: str, info: str) -> RedoRecord:
        return self._record(tx, Op.DDL, sql=text, info=info)

    def of(self, session: SessionState) -> Transaction:
        """Return the session's transaction; begin one, with its START record, when there is none."""
        if session.transaction is not None:
            return session.transaction
        session.require_writable()
        xid = self._xids.take(session.container)
        tx = Transaction(
            xid, session, self._clock.scn + 1, con_id=session.container, thread=session.thread, user=session.user,
            session_number=session.number,
        )  # fmt: skip
        tx.start_scn = self._redo.write(self._record(tx, Op.START))
        session.transaction = tx
        self._register(tx, xid, tx.thread, tx.start_scn)
        return tx

    def _register(self, tx: Transaction, xid: Xid, thread: int, start_scn: int, *, is_parallel: bool = False) -> None:
        """Make the transaction visible in V$TRANSACTION."""
        self._state.transactions[tx.con_id, xid] = OpenTransaction(
            xid, tx.con_id, thread, start_scn, self._clock.second(), tx.session_number, tx.user, is_parallel=is_parallel
        )

    def hide(self, tx: Transaction) -> None:
        """Take a dead transaction out of V$TRANSACTION: its instance has ended."""
        for xid in (tx.xid, *(server.xid for server in tx.servers.values())):
            self._state.transactions[tx.con_id, xid].is_listed = False

    def server_of(self, tx: Transaction, row: int) -> ParallelServer | None:
        """Return the server that changes the row in the running statement; begin it at its first row."""
        if not tx.degree:
            return None
        number = row % tx.degree
        server = tx.servers.get(number)
        if server is None:
            server = tx.servers[number] = self._begin_server(tx, number)
        return server

    def _begin_server(self, tx: Transaction, number: int) -> ParallelServer:
        threads = sorted(t.number for t in self._state.threads.values() if t.is_open)
        threads = threads[threads.index(tx.thread) :] + threads[: threads.index(tx.thread)]
        server = ParallelServer(self._xids.take(tx.con_id), threads[number % len(threads)], self._clock.scn + 1)
        self._redo.write(self._server_record(tx, server, Op.START))
        self._register(tx, server.xid, server.thread, server.start_scn, is_parallel=True)
        self._register(tx, tx.xid, tx.thread, tx.start_scn, is_parallel=True)
        return server

    def _server_record(self, tx: Transaction, server: ParallelServer, op: Op) -> RedoRecord:
        return RedoRecord(
            0, op, server.xid, server.thread, con_id=tx.con_id, user=tx.user, start_scn=server.start_scn, pxid=tx.xid
        )

    def commit(self, tx: Transaction) -> int:
        """Commit the transaction and return its commit SCN."""
        scn = self._write_end(tx, Op.COMMIT)
        bound = self._options.oldest_scn(self._clock.scn)
        for version in tx.versions:
            version.scn, version.tx = scn, None
        if bound > 0:
            for store, row in {(id(u.store), u.row): (u.store, u.row) for u in tx.undo}.values():
                if row in store.rows:
                    store.trim(row, bound)
        for store in tx.temporary:
            store.remove_rows()
        self._release(tx)
        return scn

    def end_rolled_back(self, tx: Transaction) -> None:
        """Write the ROLLBACK record of a transaction whose changes have been taken back."""
        self._write_end(tx, Op.ROLLBACK)
        self._release(tx)

    def _write_end(self, tx: Transaction, op: Op) -> int:
        for server in tx.servers.values():
            self._redo.publish(server.thread, tx.con_id, server.xid)
        servers = tx.servers.values() if self._options.commits_of_servers else ()
        records = [*(self._server_record(tx, s, op) for s in servers), self._record(tx, op)]
        return self._redo.write_together(records, self._options.shares_commit_scns and op == Op.COMMIT)

    def _release(self, tx: Transaction) -> None:
        tx.ended = True
        for store, row in tx.row_locks:
            store.locks.pop(row, None)
        tx.session.transaction = None
        for xid in (tx.xid, *(server.xid for server in tx.servers.values())):
            self._xids.give_back(tx.con_id, xid)
            self._state.transactions.pop((tx.con_id, xid), None)
        self._changed.notify_all()
