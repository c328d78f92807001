"""Parallel DML: when a statement runs in parallel, and what its transaction may do afterwards.

The rows of such a statement are written by servers under transactions of their own (XID), whose parent (PXID) is the
session's. Statements over many rows only: UPDATE, DELETE, INSERT .. SELECT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from standin.engine.dml import DeletePlan, DmlPlan, InsertPlan, UpdatePlan
from standin.engine.storage import TableStore
from standin.interface import OraError

if TYPE_CHECKING:
    from standin.engine.session import EngineSession

_HINT = re.compile(r"/\*\+[^*]*?\bPARALLEL\b\s*(?:\(\s*(?:\w+[\s,]+)?(?P<degree>\d+)?[^)]*\))?[^*]*\*/", re.I)
_DEGREE = 4  # where neither hint nor setting tells one


@dataclass(slots=True)
class ParallelSetting:
    """ALTER SESSION ENABLE, DISABLE or FORCE PARALLEL DML [PARALLEL n]."""

    is_enabled: bool = False
    forced: int = 0

    def alter(self, session: EngineSession, word: str, degree: int | None) -> None:
        if session.in_transaction:
            raise OraError(12841, "Cannot alter the session parallel DML state within a transaction")
        self.is_enabled = word != "DISABLE"
        self.forced = (degree or _DEGREE) if word == "FORCE" else 0

    def degree_of(self, text: str) -> int:
        hint = _HINT.search(text) if self.is_enabled else None
        if hint is not None:
            return int(hint["degree"] or _DEGREE)
        return self.forced


def _target(plan: DmlPlan) -> tuple[TableStore | None, bool]:
    """The table a statement changes, and whether it may do so in parallel."""
    if isinstance(plan, InsertPlan):
        return plan.store, plan.query is not None
    if isinstance(plan, UpdatePlan | DeletePlan):
        return plan.target.store, True
    return None, False


@contextmanager
def in_parallel(session: EngineSession, plan: DmlPlan, text: str) -> Iterator[None]:
    """Around one run of a statement. A table changed in parallel is not touched again before the transaction ends."""
    store, may_be_parallel = _target(plan)
    tx = session.transaction
    if tx is not None and store in tx.parallel_tables:
        raise OraError(12838, "cannot read/modify an object after modifying it in parallel")
    degree = session.parallel.degree_of(text) if may_be_parallel and (session.parallel.is_enabled) else 0
    if not degree or store is None:
        yield
        return
    if tx is not None and any(undo.store is store for undo in tx.undo):
        raise OraError(12839, "cannot modify an object in parallel after modifying it")
    tx = session.database.transactions.of(session)
    tx.degree = degree
    try:
        yield
    finally:
        tx.degree = 0
    tx.parallel_tables.add(store)
