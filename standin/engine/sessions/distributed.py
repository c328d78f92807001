"""Branches of distributed transactions (XA): begun, left, resumed, prepared, and ended by any session of the database.

A branch has the transaction of the session that works in it. Between the end of that work and the commit nobody has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, IntFlag
from typing import Any

from standin.engine.sessions.session import EngineSession
from standin.engine.transactions.transaction import Branch, BranchId
from standin.interface import OraError


class Begin(IntFlag):
    NEW = 0x01
    JOIN = 0x02
    RESUME = 0x04
    PROMOTE = 0x08


class Change(IntEnum):
    COMMIT = 1
    ROLLBACK = 2
    PREPARE = 3
    FORGET = 4  # of a branch that was ended by hand, of which there are none


class State(IntEnum):
    REQUIRES_COMMIT = 1
    COMMITTED = 2
    ABORTED = 3
    READ_ONLY = 4
    FORGOTTEN = 5


_FIELDS = ("transaction", "table_locks", "savepoint_before_start", "savepoint_locks")
_CHANGES = frozenset({Change.COMMIT, Change.ROLLBACK, Change.PREPARE})
_UNKNOWN = 24756, "transaction does not exist"


def begin(session: EngineSession, wanted: BranchId, flags: int) -> None:
    known = session.database.branches.get(wanted)
    if flags & (Begin.JOIN | Begin.RESUME):
        if known is None or known.is_prepared or known.is_attached:
            raise OraError(*_UNKNOWN)
        _leave(session)
        _take(session, known)
        return
    if flags & Begin.PROMOTE and session.branch is not None:
        raise OraError(24797, "cannot promote the current transaction to a distributed transaction")
    if known is not None:
        raise OraError(24757, "duplicate transaction identifier")
    if not flags & Begin.PROMOTE and session.branch is None and session.transaction is not None:
        raise OraError(24776, "cannot start a new transaction")
    _leave(session)
    session.branch = session.database.branches[wanted] = Branch(wanted, session.container, is_attached=True)


def end(session: EngineSession, wanted: BranchId | None) -> None:
    if session.branch is None:
        raise OraError(25352, "no current transaction")
    if wanted is not None and wanted != session.branch.id:
        raise OraError(24758, "not attached to the requested transaction")
    _leave(session)


def change(session: EngineSession, operation: int, wanted: BranchId | None, *, one_phase: bool) -> State:
    own = session.branch
    branch = session.database.branches.get(wanted) if wanted is not None else own
    if branch is None or (branch.is_attached and branch is not own) or operation not in _CHANGES:
        raise OraError(*_UNKNOWN)
    if branch is own:
        _leave(session)
    if operation == Change.PREPARE:
        return _prepared(session, branch)
    if operation == Change.COMMIT and not one_phase and not branch.is_prepared:
        raise OraError(3001, "unimplemented feature: commit in two phases of a branch that is not prepared")
    with _within(session, branch):
        del session.database.branches[branch.id]
        if operation == Change.ROLLBACK:
            session.rollback()
            return State.ABORTED
        session.commit()
    if one_phase and branch.is_prepared:
        raise OraError(2053, "transaction committed, some remote DBs may be in-doubt")
    return State.COMMITTED if one_phase else State.FORGOTTEN


def _prepared(session: EngineSession, branch: Branch) -> State:
    transaction = branch.work.get("transaction")
    if transaction is None:  # it has changed nothing
        with _within(session, branch):
            del session.database.branches[branch.id]
            session.rollback()
        return State.READ_ONLY
    branch.is_prepared = True
    session.database.state.transactions[transaction.con_id, transaction.xid].is_prepared = True
    return State.REQUIRES_COMMIT


def _leave(session: EngineSession) -> None:
    """Keep what the session has done in its branch with the branch, if it works in one."""
    branch = session.branch
    if branch is not None:
        branch.work, branch.is_attached, session.branch = _set(session, _nothing()), False, None


def _take(session: EngineSession, branch: Branch) -> None:
    _set(session, branch.work)
    branch.work, branch.is_attached, session.branch = {}, True, branch
    if session.transaction is not None:
        session.transaction.session = session


@contextmanager
def _within(session: EngineSession, branch: Branch) -> Iterator[None]:
    """Run in the transaction of a branch that nobody works in, while the session's own waits."""
    own, session.branch = session.branch, None
    kept = _set(session, branch.work or _nothing())
    if session.transaction is not None:
        session.transaction.session = session
    try:
        yield
    finally:
        _set(session, kept)
        session.branch = own


def _nothing() -> dict[str, Any]:
    return {"transaction": None, "table_locks": [], "savepoint_before_start": set(), "savepoint_locks": {}}


def _set(session: EngineSession, work: dict[str, Any]) -> dict[str, Any]:
    """Give the session other work, and return what it had."""
    kept = {name: getattr(session, name) for name in _FIELDS}
    for name, value in work.items():
        setattr(session, name, value)
    return kept
