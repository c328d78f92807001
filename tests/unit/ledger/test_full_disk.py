"""A disk without space is reported at once; only a file that another process switches is waited for."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.fixtures.disk import DURABLE


class Refusing:
    """A connection whose first statements SQLite refuses with a code."""

    isolation_level: str | None = ""

    def __init__(self, code: int, times: int) -> None:
        self.code, self.times, self.done = code, times, list[str]()

    def execute(self, statement: str) -> Refusing:
        self.done.append(statement)
        if len(self.done) <= self.times:
            error = sqlite3.OperationalError("refused")
            error.sqlite_errorcode = self.code
            raise error
        return self

    def close(self) -> None:
        """Do nothing: it is its own cursor."""


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN]
)
def test_a_ledger_that_cannot_be_written_is_reported_at_once(code: int) -> None:
    connection: Any = Refusing(code, 99)

    with pytest.raises(sqlite3.OperationalError):
        DURABLE(connection, None)

    assert len(connection.done) == 1


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_LOCKED])
def test_a_ledger_that_another_process_switches_is_waited_for(code: int) -> None:
    connection: Any = Refusing(code, 3)

    DURABLE(connection, None)

    assert connection.done[:4] == ["PRAGMA journal_mode = WAL"] * 4
