"""A stand-in in a process of its own, so that its CPU time does not count as the client's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracledb

from redolake.source import ConnectParams
from standin.serve import standin


@dataclass(frozen=True, slots=True)
class Served:
    capture_user: str
    passwords: dict[str, str]
    root_dsn: str
    pdb_dsn: str

    @property
    def params(self) -> ConnectParams:
        return ConnectParams(self.capture_user, self.passwords[self.capture_user], self.root_dsn)

    def connect(self, user: str, **more: str) -> Any:
        dsn = self.root_dsn if user == "SYS" else self.pdb_dsn
        return oracledb.connect(user=user, password=self.passwords[user], dsn=dsn, **more)

    def fill(self, table: str, columns: str, values: str, rows: int, at_once: int = 100_000) -> None:
        """Make a table of SHOP and load `rows` rows into it, whose `values` are expressions of :first and LEVEL.

        The load is direct and unlogged, so that millions of rows take minutes; there is no redo of them to be captured.
        """
        with (
            self.connect("SYS") as dba,
            dba.cursor() as system,
            self.connect("SHOP") as connection,
            connection.cursor() as cursor,
        ):
            system.execute("ALTER DATABASE NO FORCE LOGGING")
            cursor.execute(f"CREATE TABLE {table} ({columns}) NOLOGGING")
            cursor.execute(f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
            insert = f"INSERT /*+ APPEND */ INTO {table} SELECT {values} FROM dual CONNECT BY LEVEL <= :count"
            for first in range(0, rows, at_once):
                cursor.execute(insert, {"first": first, "count": min(at_once, rows - first)})
                connection.commit()
            cursor.execute(f"ALTER TABLE {table} LOGGING")
            system.execute("ALTER DATABASE FORCE LOGGING")


@contextmanager
def standin_process(**options: Any) -> Iterator[Served]:
    """Run a stand-in until the end of the block. `options` are those of DatabaseOptions."""
    command = [sys.executable, str(Path(__file__).resolve()), json.dumps(options)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Served(**json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()


def serve(options: dict[str, Any]) -> None:
    with standin(**options) as oracle:
        served = (oracle.capture_user, dict(oracle.passwords), oracle.root_dsn, oracle.pdb_dsn)
        sys.stdout.write(json.dumps(dict(zip(Served.__slots__, served, strict=True))) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
