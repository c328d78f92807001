"""Locks: who holds them, who waits for them, and when a wait would never end (ORA-00060)."""

from __future__ import annotations

from threading import Condition

from standin.interface import OraError


class Stale(Exception):
    """The table was altered while the statement waited; it must be compiled again."""


class Waiter:
    """A session as locks see it."""

    def __init__(self) -> None:
        self.transaction: RowOwner | None = None
        self.waiting_for: RowOwner | None = None
        self.cancelled: bool = False
        self.killed: bool = False

    def check_cancelled(self) -> None:
        """Raise ORA-00028 after a kill; raise ORA-01013 once after a cancel."""
        if self.killed:
            raise OraError(28, "your session has been killed")
        if self.cancelled:
            self.cancelled = False
            raise OraError(1013, "user requested cancel of current operation")


class RowOwner:
    """An open transaction as the rows that it has changed or locked see it."""

    def __init__(self, session: Waiter) -> None:
        self.session = session
        self.ended = False


class TableLock(RowOwner):
    """A lock that LOCK TABLE has taken; `mode` is Oracle's number."""

    def __init__(self, session: Waiter, object_id: int, mode: int) -> None:
        super().__init__(session)
        self.object_id, self.mode = object_id, mode


class Locks:
    """Waits for transactions. The caller holds the database's lock, which a wait releases until `changed` is notified."""

    def __init__(self, changed: Condition) -> None:
        self._changed = changed

    def wait_for(self, session: Waiter, owner: RowOwner, seconds: float | None = None) -> bool:
        """Wait until `owner` has ended; return False when `seconds` pass first. Raise ORA-00060 for a deadlock."""
        follow: RowOwner | None = owner
        while follow is not None:
            if follow.session is session:
                raise OraError(60, "deadlock detected while waiting for resource")
            follow = follow.session.waiting_for
        session.waiting_for = owner
        try:
            ended = self._changed.wait_for(lambda: owner.ended or session.cancelled or session.killed, seconds)
        finally:
            session.waiting_for = None
        session.check_cancelled()
        return bool(ended)
