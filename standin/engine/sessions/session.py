"""A session of the database without the execution of SQL, which is in `sql_session`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from standin.engine.database.database import Database
from standin.engine.sessions.chained_rows import chain_rows
from standin.engine.settings.nls import NLS_DEFAULTS, checked_nls
from standin.engine.transactions.session_state import SessionState
from standin.engine.transactions.transaction import Transaction
from standin.interface import Called, Done, OraError, Rows
from standin.model import User


class EngineSession(SessionState, ABC):
    def __init__(self, database: Database, number: int, user: str, container: int, thread: int) -> None:
        super().__init__(number, user, container, thread, database.clock.second())
        self.database: Database = database
        self._sequence_values: dict[tuple[int, str, str], int] = {}
        self._kept_rows: dict[int, Rows] = {}
        self.has_warning = False  # the last DDL has stored what does not compile

    @abstractmethod
    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Rows | Done | Called: ...

    @property
    def current_scn(self) -> int:
        """Return the last SCN whose changes its queries see."""
        return self.database.standby.applied_scn if self.on_standby else self.database.clock.scn

    @property
    def account(self) -> User:
        return self.database.state.users[self.user]

    def commit(self) -> None:
        if self.branch is not None:
            raise OraError(2089, "COMMIT is not allowed in a subordinate session")
        with self.database.lock:
            self.savepoint_before_start.clear()
            if self.transaction is not None:
                self.database.await_redo(self)
                self._check_deferred(self.transaction)
                chain_rows(self.database, self.transaction)
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
            self.database.leave_branch(self)
            self.database.rollback.session(self)
            self.database.changed.notify_all()

    @property
    def password(self) -> str:
        return self.account.password

    def set_info(
        self,
        *,
        module: str | None = None,
        action: str | None = None,
        client_id: str | None = None,
        client_info: str | None = None,
        operation: str | None = None,
    ) -> None:
        if module is not None and module != self.module:
            self.action = ""  # a new module has no action yet
        self.module = self.module if module is None else module
        self.action = self.action if action is None else action
        self.client_id = self.client_id if client_id is None else client_id
        self.client_info = self.client_info if client_info is None else client_info
        self.operation = self.operation if operation is None else operation

    def set_client(self, *, terminal: str, os_user: str, driver: str) -> None:
        self.terminal, self.os_user, self.driver = terminal, os_user or self.os_user, driver

    def set_context(self, namespace: str, values: dict[str, str] | None) -> None:
        """Change CLIENTCONTEXT, the only namespace that a client may write."""
        if namespace.upper() != "CLIENTCONTEXT":
            raise OraError(28267, "Invalid NameSpace Value")
        self.context = {} if values is None else self.context | {name.upper(): value for name, value in values.items()}

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

    def keep_rows(self, rows: Rows) -> int:
        """Keep the rows of a nested cursor until they are taken, and return their number, which stands in the outer result."""
        number = max(self._kept_rows, default=0) + 1
        self._kept_rows[number] = rows
        return number

    def take_rows(self, number: int) -> Rows:
        return self._kept_rows.pop(number)

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
