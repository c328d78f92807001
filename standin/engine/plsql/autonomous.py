"""Autonomous transactions: a procedure that has its own, while the session's waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from standin.engine.sessions.session import EngineSession
from standin.interface import OraError


@contextmanager
def autonomous(session: EngineSession) -> Iterator[None]:
    """Run with a transaction of its own. One that is open at the end is rolled back, with ORA-06519.

    The database's lock is kept, but for waits: so no other session finds the session's own transaction missing.
    """
    with session.database.lock:
        kept = session.transaction, session.table_locks, session.savepoint_before_start, session.savepoint_locks
        session.transaction, session.table_locks, session.savepoint_before_start, session.savepoint_locks = None, [], set(), {}
        try:
            yield
            if session.transaction is not None:
                raise OraError(6519, "active autonomous transaction detected and rolled back")
        finally:
            if session.transaction is not None:
                session.rollback()
            session.transaction, session.table_locks, session.savepoint_before_start, session.savepoint_locks = kept
