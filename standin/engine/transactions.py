"""Transactions: their ids, what they must undo, how they end, and how one waits for another.

All of it happens under the database's lock; a wait gives the lock up until the other transaction has ended.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from standin.engine.layout import Row
from standin.engine.storage import TableStore, Version
from standin.interface import OraError
from standin.model import OpenTransaction
from standin.redo_file import Op, RedoRecord

if TYPE_CHECKING:
    from standin.engine.instance import Database
    from standin.engine.session import EngineSession

Xid = tuple[int, int, int]

_SEGMENTS = 10
_FIRST_SEQUENCE = 1000


class XidAllocator:
    """Undo segments and slots, taken in turn; a slot's sequence grows with each use. Undo is local: each container has segments
    of its own, under the same numbers."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._free: dict[int, deque[tuple[int, int]]] = {}
        self._sequence: dict[Xid, int] = {}  # by container, segment and slot

    def take(self, con_id: int) -> Xid:
        free = self._free.setdefault(con_id, deque((1 + n % _SEGMENTS, n // _SEGMENTS) for n in range(self._slots)))
        if not free:
            raise OraError(1554, "transaction concurrency limit reached")
        segment, slot = free.popleft()
        sequence = self._sequence.get((con_id, segment, slot), _FIRST_SEQUENCE) + 1
        self._sequence[con_id, segment, slot] = sequence
        return segment, slot, sequence

    def used(self) -> dict[Xid, int]:
        return dict(self._sequence)

    def take_over(self, used: dict[Xid, int]) -> None:
        self._sequence.update(used)

    def give_back(self, con_id: int, xid: Xid) -> None:
        self._free[con_id].append(xid[:2])


@dataclass(frozen=True, slots=True)
class ParallelServer:
    """One of the servers of a parallel statement: it writes under a transaction of its own, maybe on another instance."""

    xid: Xid
    thread: int
    start_scn: int


@dataclass(slots=True)
class Undo:
    """One row change that may have to be taken back: `old` are the values before, None for an insert."""

    store: TableStore
    row: int
    op: Op
    old: Row | None
    version: Version
    new_version: bool
    changed: frozenset[int] = frozenset()
    server: ParallelServer | None = None
    records: list[RedoRecord] = field(default_factory=list)  # what the change wrote


class Transaction:
    def __init__(self, xid: Xid, session: EngineSession, start_scn: int) -> None:
        self.xid, self.session, self.start_scn = xid, session, start_scn
        self.con_id, self.thread = session.container, session.thread
        self.undo: list[Undo] = []
        self.versions: list[Version] = []
        self.savepoints: dict[str, int] = {}
        self.row_locks: list[tuple[TableStore, int]] = []
        self.servers: dict[int, ParallelServer] = {}
        self.degree = 0  # of the statement that runs
        self.parallel_tables: set[TableStore] = set()  # not to be touched again before the end (ORA-12838)
        self.ended = False


class Transactions:
    """Begins, commits and rolls back; `changed` of the database is notified whenever one ends."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._xids = XidAllocator(database.options.undo_slots)

    def used_slots(self) -> dict[Xid, int]:
        """The last sequence of each slot, for the next start."""
        return self._xids.used()

    def take_over(self, used: dict[Xid, int]) -> None:
        self._xids.take_over(used)

    def record(self, tx: Transaction, op: Op, **fields: Any) -> RedoRecord:
        session = tx.session
        return RedoRecord(0, op, tx.xid, tx.thread, con_id=tx.con_id, user=session.user, start_scn=tx.start_scn, **fields)

    def ddl_record(self, tx: Transaction, text: str, info: str) -> RedoRecord:
        return self.record(tx, Op.DDL, sql=text, info=info)

    def of(self, session: EngineSession) -> Transaction:
        """The session's transaction; begun, with its START record, when there is none."""
        if session.transaction is not None:
            return session.transaction
        database = self._database
        xid = self._xids.take(session.container)
        tx = Transaction(xid, session, database.clock.scn + 1)
        tx.start_scn = database.redo.write(self.record(tx, Op.START))
        session.transaction = tx
        database.state.transactions[tx.con_id, xid] = OpenTransaction(
            xid, tx.con_id, tx.thread, tx.start_scn, database.clock.second(), session.number, session.user
        )
        return tx

    def server_of(self, tx: Transaction, row: int) -> ParallelServer | None:
        """Who changes the row in the statement that runs; begun, with its START record, at its first row."""
        if not tx.degree:
            return None
        number = row % tx.degree
        server = tx.servers.get(number)
        if server is None:
            server = tx.servers[number] = self._begin_server(tx, number)
        return server

    def _begin_server(self, tx: Transaction, number: int) -> ParallelServer:
        database = self._database
        threads = sorted(t.number for t in database.state.threads.values() if t.is_open)
        threads = threads[threads.index(tx.thread) :] + threads[: threads.index(tx.thread)]
        server = ParallelServer(self._xids.take(tx.con_id), threads[number % len(threads)], database.clock.scn + 1)
        database.redo.write(self._server_record(tx, server, Op.START))
        for xid, thread in ((server.xid, server.thread), (tx.xid, tx.thread)):
            start_scn = server.start_scn if xid == server.xid else tx.start_scn
            database.state.transactions[tx.con_id, xid] = OpenTransaction(
                xid, tx.con_id, thread, start_scn, database.clock.second(), tx.session.number, tx.session.user, is_parallel=True
            )
        return server

    def _server_record(self, tx: Transaction, server: ParallelServer, op: Op) -> RedoRecord:
        return RedoRecord(
            0, op, server.xid, server.thread, con_id=tx.con_id, user=tx.session.user, start_scn=server.start_scn, pxid=tx.xid
        )

    def _write_end(self, tx: Transaction, op: Op) -> int:
        for server in tx.servers.values():
            self._database.redo.publish(server.thread, tx.con_id, server.xid)
        told = tx.servers.values() if self._database.options.commits_of_servers else ()
        records = [*(self._server_record(tx, s, op) for s in told), self.record(tx, op)]
        return self._database.redo.write_together(records, self._database.options.shares_commit_scns and op == Op.COMMIT)

    def commit(self, tx: Transaction) -> int:
        scn = self._write_end(tx, Op.COMMIT)
        bound = self._database.oldest_scn
        for version in tx.versions:
            version.scn, version.tx = scn, None
        if bound > 0:
            for store, row in {(id(u.store), u.row): (u.store, u.row) for u in tx.undo}.values():
                if row in store.rows:
                    store.trim(row, bound)
        self._end(tx)
        return scn

    def rollback(self, tx: Transaction) -> None:
        self.rollback_to(tx, 0)
        self._write_end(tx, Op.ROLLBACK)
        self._end(tx)

    def _end(self, tx: Transaction) -> None:
        tx.ended = True
        for store, row in tx.row_locks:
            store.locks.pop(row, None)
        tx.session.transaction = None
        self._xids.give_back(tx.con_id, tx.xid)
        self._database.state.transactions.pop((tx.con_id, tx.xid), None)
        for server in tx.servers.values():
            self._xids.give_back(tx.con_id, server.xid)
            self._database.state.transactions.pop((tx.con_id, server.xid), None)
        self._database.changed.notify_all()

    def rollback_to(self, tx: Transaction, mark: int) -> None:
        """Take back, newest first, what lies above `mark` in the undo, each with its own redo."""
        while len(tx.undo) > mark:
            self._database.rows.take_back(tx, tx.undo.pop())
        tx.savepoints = {name: at for name, at in tx.savepoints.items() if at <= mark}

    def savepoint(self, session: EngineSession, name: str) -> None:
        tx = session.transaction
        session.savepoint_before_start.discard(name)
        if tx is None:
            session.savepoint_before_start.add(name)  # nothing to undo yet, and no transaction either
        else:
            tx.savepoints.pop(name, None)
            tx.savepoints[name] = len(tx.undo)

    def rollback_to_savepoint(self, session: EngineSession, name: str) -> None:
        tx = session.transaction
        if tx is not None and name in tx.savepoints:
            mark = tx.savepoints[name]
        elif name in session.savepoint_before_start:
            mark = 0
        else:
            raise OraError(1086, f"savepoint '{name}' never established in this session or is invalid")
        if tx is not None:
            self.rollback_to(tx, mark)

    def wait_for(self, session: EngineSession, owner: Transaction, seconds: float | None = None) -> bool:
        """Until `owner` has ended; False when `seconds` passed first. Raises ORA-00060 instead of waiting in a circle."""
        follow: Transaction | None = owner
        while follow is not None:
            if follow.session is session:
                raise OraError(60, "deadlock detected while waiting for resource")
            follow = follow.session.waiting_for
        session.waiting_for = owner
        try:
            ended = self._database.changed.wait_for(lambda: owner.ended or session.cancelled or session.killed, seconds)
        finally:
            session.waiting_for = None
        session.check_cancelled()
        return bool(ended)
