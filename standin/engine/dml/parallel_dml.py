"""Parallel DML: servers write the rows of a statement under transactions of their own.

Their XIDs have the XID of the session's transaction as parent (PXID). Only UPDATE, DELETE and INSERT .. SELECT run so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from standin.engine.dml.dml import DeletePlan, DmlPlan, InsertPlan, UpdatePlan
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.interface import OraError


def _target(plan: DmlPlan) -> tuple[TableStore | None, bool]:
    """Return the table that a statement changes, and whether it may do so in parallel."""
    if isinstance(plan, InsertPlan):
        return plan.store, plan.query is not None
    if isinstance(plan, UpdatePlan | DeletePlan):
        return plan.target.store, True
    return None, False


@contextmanager
def in_parallel(session: EngineSession, plan: DmlPlan, text: str) -> Iterator[None]:
    """Run one statement in parallel when hint or session ask for it.

    ORA-12838 and ORA-12839 keep a transaction from changing one table both in parallel and otherwise.
    """
    store, may_be_parallel = _target(plan)
    tx = session.transaction
    if tx is not None and store in tx.parallel_tables:
        raise OraError(12838, "cannot read/modify an object after modifying it in parallel")
    degree = session.parallel.degree_of(text) if may_be_parallel else 0
    if not degree or store is None:
        yield
        return
    if tx is not None and tx.changes_table(store):
        raise OraError(12839, "cannot modify an object in parallel after modifying it")
    tx = session.database.transactions.of(session)
    tx.degree = degree
    try:
        yield
    finally:
        tx.degree = 0
    tx.parallel_tables.add(store)
