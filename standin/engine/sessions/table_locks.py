"""LOCK TABLE: the modes of table locks, which of them exclude each other, and who waits for whom.

A session keeps its locks until its transaction ends, or until it goes back to a savepoint from before the lock. DML takes
ROW EXCLUSIVE; a DDL takes EXCLUSIVE and waits as `ddl_redo` says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from standin.engine.sessions.names import table_named
from standin.engine.sessions.privileges import holds, may
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.locks import RowOwner, Stale, TableLock
from standin.engine.storage.storage import TableStore
from standin.engine.text.tokens import Cursor
from standin.interface import OraError

ROW_SHARE, ROW_EXCLUSIVE, SHARE, SHARE_ROW_EXCLUSIVE, EXCLUSIVE = range(2, 7)
_MODES = {
    ("ROW", "SHARE"): ROW_SHARE,
    ("SHARE", "UPDATE"): ROW_SHARE,
    ("ROW", "EXCLUSIVE"): ROW_EXCLUSIVE,
    ("SHARE", "ROW", "EXCLUSIVE"): SHARE_ROW_EXCLUSIVE,
    ("SHARE",): SHARE,
    ("EXCLUSIVE",): EXCLUSIVE,
}
# The modes that other sessions may have beside each.
_BESIDE = {
    ROW_SHARE: {ROW_SHARE, ROW_EXCLUSIVE, SHARE, SHARE_ROW_EXCLUSIVE},
    ROW_EXCLUSIVE: {ROW_SHARE, ROW_EXCLUSIVE},
    SHARE: {ROW_SHARE, SHARE},
    SHARE_ROW_EXCLUSIVE: {ROW_SHARE},
    EXCLUSIVE: set(),
}
_ANY_RIGHT = ("SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "READ")


def lock_table(session: EngineSession, cursor: Cursor) -> None:
    """Run LOCK TABLE t [, ..] IN mode MODE [NOWAIT | WAIT seconds]. It begins no transaction."""
    cursor.expect("TABLE")
    stores = [_lockable(session, *cursor.qualified())]
    while cursor.accept(","):
        stores.append(_lockable(session, *cursor.qualified()))
    cursor.expect("IN")
    mode = next((mode for words, mode in _MODES.items() if cursor.accept(*words, "MODE")), None)
    if mode is None:
        raise OraError(1737, "valid modes: [ROW] SHARE, [[SHARE] ROW] EXCLUSIVE, SHARE UPDATE")
    seconds = 0.0 if cursor.accept("NOWAIT") else float(cursor.take().value) if cursor.accept("WAIT") else None
    cursor.end()
    for store in stores:
        wait_for_table(session, store, mode, seconds)
        session.table_locks.append(TableLock(session, store.definition.object_id, mode))


def _lockable(session: EngineSession, owner: str | None, name: str) -> TableStore:
    store = table_named(session, owner or session.schema, name)
    if not (
        holds(session.account, "LOCK ANY TABLE") or any(may(session.account, right, store.definition) for right in _ANY_RIGHT)
    ):
        raise OraError(942, "table or view does not exist")
    return store


def wait_for_table(session: EngineSession, store: TableStore, mode: int, seconds: float | None = None) -> None:
    """Wait until no other session has a lock on the table that excludes `mode`. Raise ORA-00054 when `seconds` have passed."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while (owner := next(_excluding(session, store, mode), None)) is not None:
        left = None if deadline is None else deadline - time.monotonic()
        if (left is not None and left <= 0) or not session.database.locks.wait_for(session, owner, left):
            raise OraError(54, "resource busy and acquire with NOWAIT specified or timeout expired")


def lock_rows_of(session: EngineSession, store: TableStore) -> None:
    """Take ROW EXCLUSIVE for a statement that changes rows. Raise Stale if the table was altered meanwhile."""
    generation = store.generation
    wait_for_table(session, store, ROW_EXCLUSIVE)
    if store.generation != generation:
        raise Stale


def _excluding(session: EngineSession, store: TableStore, mode: int) -> Iterator[RowOwner]:
    others = [(s.table_locks, s.transaction) for s in session.database.sessions.values() if s is not session]
    left = [branch.work for branch in session.database.branches.values() if branch.work]
    for table_locks, tx in [*others, *((work["table_locks"], work["transaction"]) for work in left)]:
        for lock in table_locks:
            if lock.object_id == store.definition.object_id and lock.mode not in _BESIDE[mode]:
                yield lock
        if tx is None or ROW_EXCLUSIVE in _BESIDE[mode]:  # each DML asks: the undo of others is not read for it
            continue
        if tx.changes_table(store) or any(locked is store for locked, _ in tx.row_locks):
            yield tx
