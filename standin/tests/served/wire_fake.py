"""A fake database that looks up its answer by statement text, to test the wire layer alone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import pyarrow as pa

from standin.interface import Called, ColumnInfo, Done, OraError, Rows

Answer = Callable[["FakeSession", list[list[Any]]], Rows | Done | Called]
USER, PASSWORD, SERVICE = "CDC", "secret", "FREEPDB1"


def rows(columns: Sequence[ColumnInfo], *batches: pa.RecordBatch) -> Rows:
    return Rows(tuple(columns), iter(batches))


def batch(*arrays: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(arrays), names=[f"c{i}" for i in range(len(arrays))])


def number(name: str = "N", precision: int = 0, scale: int = -127) -> ColumnInfo:
    return ColumnInfo(name, "NUMBER", 22, 0, precision, scale)


def text(name: str = "T", chars: int = 4000) -> ColumnInfo:
    return ColumnInfo(name, "VARCHAR2", chars, chars)


class FakeSession:
    def __init__(self, instance: FakeInstance, number: int) -> None:
        self.instance, self.number, self.serial = instance, number, 7
        self.container, self.user, self.schema, self.password = 3, USER, USER, PASSWORD
        self.killed = False
        self.in_transaction = False
        self.events: list[Any] = []
        self.statistics: Counter[str] = Counter()
        self.cancelled = threading.Event()

    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Any:
        self.events.append((sql, [list(row) for row in rows]))
        answer = self.instance.answers.get(sql)
        if answer is None:
            raise OraError(942, "table or view does not exist", position=14)
        return answer(self, [list(row) for row in rows])

    def parse(self, sql: str) -> None:
        """Accept any statement."""

    def commit(self) -> None:
        self.events.append("commit")
        self.in_transaction = False

    def rollback(self) -> None:
        self.events.append("rollback")
        self.in_transaction = False

    def set_info(self, **info: str) -> None:
        self.events.append(("info", info.get("module"), info.get("action"), info.get("client_id")))

    def set_client(self, *, terminal: str, os_user: str, driver: str) -> None:
        self.client = (terminal, os_user, driver)

    def set_context(self, namespace: str, values: dict[str, str] | None) -> None:
        self.events.append(("context", namespace, values))

    def set_current_schema(self, schema: str) -> None:
        if schema == "NOBODY":
            raise OraError(1435, "user does not exist")
        self.events.append(("schema", schema))

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.events.append("close")
        self.instance.closed.release()

    def run_until_cancelled(self, seconds: float = 20) -> Iterator[pa.RecordBatch]:
        if not self.cancelled.wait(seconds):
            raise AssertionError("nobody cancelled the call")
        self.cancelled.clear()
        raise OraError(1013, "user requested cancel of current operation")
        yield


class FakeInstance:
    name = "FREE"
    version = (19, 23, 0, 0, 0)

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {"select 1 from dual": lambda *_: rows([number("1")], batch(pa.array([1])))}
        self.sessions: list[FakeSession] = []
        self.logons: list[dict[str, Any]] = []
        self.closed = threading.Semaphore(0)
        self._numbers = count(100)

    def knows_service(self, service: str) -> bool:
        return service.upper() == SERVICE

    def password_of(self, user: str, service: str) -> str | None:
        return {USER: PASSWORD, "Mixed": PASSWORD, "LOCKED": PASSWORD}.get(user)

    def logon(self, user: str, service: str, **facts: Any) -> FakeSession:
        if user == "LOCKED":
            raise OraError(1045, "user LOCKED lacks CREATE SESSION privilege; logon denied")
        self.logons.append({"user": user, "service": service, **facts})
        self.sessions.append(FakeSession(self, next(self._numbers)))
        return self.sessions[-1]
