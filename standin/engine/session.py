"""A session of the database without the execution of SQL, which is in `sql_session`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from standin.engine.database import Database
from standin.engine.nls import NLS_DEFAULTS, checked_nls
from standin.engine.session_state import SessionState
from standin.engine.transaction import Transaction
from standin.interface import Called, Done, OraError, Rows
from standin.model import User


class EngineSession(SessionState, ABC):
    def __init__(self, database: Database, number: int, user: str, container: int, thread: int) -> None:
        super().__init__(number, user, container, thread, database.clock.second())
        self.database: Database = database
        self._sequence_values: dict[tuple[int, str, str], int] = {}

    @abstractmethod
    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Rows | Done | Called: ...

    @property
    def account(self) -> User:
        return self.database.state.users[self.user]

    def commit(self) -> None:
        with self.database.lock:
            self.savepoint_before_start.clear()
            if self.transaction is not None:
                self.database.await_redo(self)
                self._check_deferred(self.transaction)
                self.database.transactions.commit(self.transaction)
            self.release_table_locks()
            self.database.changed.notify_all()

    def _check_deferred(self, tx: Transaction) -> None:
        try:
            self.database.keys.require_deferred(tx)
        except OraError as error:
            self.rollback()
            raise OraError(2091, "transaction rolled back", more=(str(error),)) from error

    def rollback(self) -> None:
        with self.database.lock:
            self.database.rollback.session(self)
            self.database.changed.notify_all()

    def set_info(self, *, module: str | None = None, action: str | None = None, client_id: str | None = None) -> None:
        self.module = self.module if module is None else module
        self.action = self.action if action is None else action
        self.client_id = self.client_id if client_id is None else client_id

    def set_current_schema(self, schema: str) -> None:
        if schema not in self.database.state.users:
            raise OraError(1435, "user does not exist")
        self.schema = schema

    def set_nls(self, name: str, value: str) -> None:
        if name not in NLS_DEFAULTS:
            raise OraError(922, "missing or invalid option")
        self.nls[name] = checked_nls(name, value)

    def cancel(self) -> None:
        self.cancelled = True
        with self.database.lock:
            self.database.changed.notify_all()

    def close(self) -> None:
        self.database.log_off(self)

    def sequence_value(self, owner: str | None, name: str, step: bool) -> int:
        """Return NEXTVAL when `step` is set, else CURRVAL."""
        key = (self.container, owner or self.schema, name)
        sequence = self.database.sequences.get(key)
        if sequence is None:
            raise OraError(2289, "sequence does not exist")
        if step:
            following = sequence.following()
            if following is None:
                end = "exceeds MAXVALUE" if sequence.step > 0 else "goes below MINVALUE"
                raise OraError(8004, f"sequence {name}.NEXTVAL {end} and cannot be instantiated")
            self._sequence_values[key] = sequence.take(following)
        elif key not in self._sequence_values:
            raise OraError(8002, f"sequence {name}.CURRVAL is not yet defined in this session")
        return self._sequence_values[key]
