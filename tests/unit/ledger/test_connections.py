"""A connection to a SQLite ledger may commit, whatever in the process keeps what ran on it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.fixtures.disk import DURABLE


class Kept(sqlite3.Connection):
    """Keeps each cursor, as a profiler does that samples the frames of all threads."""

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        self.cursors = [*getattr(self, "cursors", []), super().execute(*statement)]
        return self.cursors[-1]


def test_no_statement_of_the_connect_is_left_in_progress(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db", factory=Kept)
    DURABLE(connection, None)

    connection.execute("BEGIN")
    connection.execute("CREATE TABLE t (i INTEGER)")
    connection.execute("COMMIT")

    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(0,)]
    connection.close()
