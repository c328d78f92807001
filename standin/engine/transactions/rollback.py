"""Takes changes back, newest first and each with its own redo: to a savepoint, a statement's beginning, or all.

The caller holds the database's lock.
"""

from __future__ import annotations

from collections.abc import Sequence

from standin.engine.transactions.row_changes import RowChanges
from standin.engine.transactions.session_state import SessionState
from standin.engine.transactions.transaction import Transaction
from standin.engine.transactions.transactions import Transactions
from standin.interface import OraError


class Rollback:
    def __init__(self, rows: RowChanges, transactions: Transactions) -> None:
        self._rows, self._transactions = rows, transactions
        self._dead: list[Transaction] = []  # of instances that were aborted

    def session(self, session: SessionState) -> None:
        """End the session's transaction, if there is one."""
        session.savepoint_before_start.clear()
        session.release_table_locks()
        tx = session.transaction
        if tx is not None:
            self.to_mark(tx, 0)
            self._transactions.end_rolled_back(tx)

    def leave_dead(self, sessions: Sequence[SessionState]) -> int:
        """End the sessions without rolling their transactions back, and return the number of these."""
        dead = [session.transaction for session in sessions if session.transaction is not None]
        for session in sessions:
            session.transaction, session.killed = None, True
            session.release_table_locks()
        for tx in dead:
            self._transactions.hide(tx)
        self._dead += dead
        return len(dead)

    def roll_back_dead(self) -> None:
        while self._dead:
            tx = self._dead.pop()
            self.to_mark(tx, 0)
            self._transactions.end_rolled_back(tx)

    def to_mark(self, tx: Transaction, mark: int) -> None:
        """Take back the changes above `mark` in the undo."""
        while len(tx.undo) > mark:
            undo = tx.undo.pop()
            if undo.loaded:
                undo.store.unload(undo.loaded)  # it has no redo to be undone
            else:
                self._rows.take_back(tx, undo)
        tx.savepoints = {name: at for name, at in tx.savepoints.items() if at <= mark}

    def set_savepoint(self, session: SessionState, name: str) -> None:
        tx = session.transaction
        session.savepoint_before_start.discard(name)
        session.savepoint_locks[name] = len(session.table_locks)
        if tx is None:
            session.savepoint_before_start.add(name)  # a savepoint begins no transaction
        else:
            tx.savepoints.pop(name, None)
            tx.savepoints[name] = len(tx.undo)

    def to_savepoint(self, session: SessionState, name: str) -> None:
        tx = session.transaction
        if tx is not None and name in tx.savepoints:
            mark = tx.savepoints[name]
        elif name in session.savepoint_before_start:
            mark = 0
        else:
            raise OraError(1086, f"savepoint '{name}' never established in this session or is invalid")
        session.release_table_locks(session.savepoint_locks[name])
        if tx is not None:
            self.to_mark(tx, mark)
