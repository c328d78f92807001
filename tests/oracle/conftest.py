"""The database that `pytest -m oracle` tries: a real one where REDOLAKE_ORACLE_DSN names it, else the stand-in.

demo/own_database.py has the variables that name a database. Tests that disturb the whole database (`breakable`)
run on a real one only with:

    REDOLAKE_ORACLE_MAY_BREAK    1: close and flash back the PDB, take archived logs away, revoke grants
    REDOLAKE_ORACLE_SYS_PASSWORD    of SYS; default SYSTEM's
    REDOLAKE_ORACLE_ABORT        a command that kills the database and starts it again, e.g.
                                 "docker compose kill oracle && docker compose up -d --wait"
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import oracledb
import pytest

from demo.own_database import own_database
from redolake.config import Pipeline
from redolake.source import ConnectParams
from standin.serve import StandIn, standin

SCRATCH, SCRATCH_PASSWORD = "REDOLAKE_SCRATCH", "Scratch_1"
CREATE_SCRATCH = (
    f'CREATE USER {SCRATCH} IDENTIFIED BY "{SCRATCH_PASSWORD}"',
    f"GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE, UNLIMITED TABLESPACE TO {SCRATCH}",
)


class Outages(Protocol):
    """What happens to a database from outside SQL, or otherwise on each kind of database."""

    def abort(self) -> None:
        """End the instance as SHUTDOWN ABORT does, and start it again; its transactions may not be rolled back yet."""

    def recover(self) -> None:
        """Return once the transactions of the aborted instance are rolled back, as far as anyone can wait for it."""

    def prepare(self, database: Database, statements: Sequence[str]) -> AbstractContextManager[Callable[[], None]]:
        """Prepare a branch of a distributed transaction with the statements; the value commits it."""

    def rename(self, database: Database, file: str, name: str) -> None:
        """Rename a file on the database's host."""

    def add_policy(self, database: Database, table: str) -> None:
        """Let a VPD policy filter the rows of a table of the scratch schema."""


@dataclass(slots=True)
class StandInOutages:
    oracle: StandIn

    def abort(self) -> None:
        self.oracle.faults.abort_instances()

    def recover(self) -> None:
        self.oracle.faults.recover_transactions()

    @contextmanager
    def prepare(self, database: Database, statements: Sequence[str]) -> Iterator[Callable[[], None]]:
        who = database.scratch
        with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
            for statement in statements:
                connection.cursor().execute(statement)
            self.oracle.faults.prepare_transactions()
            yield connection.commit

    def rename(self, database: Database, file: str, name: str) -> None:
        Path(file).rename(Path(file).with_name(name))

    def add_policy(self, database: Database, table: str) -> None:
        self.oracle.faults.add_policy(f"{SCRATCH}.{table}", "id > 1")


@dataclass(slots=True)
class RealOutages:
    """Over SQL, except `abort`."""

    def abort(self) -> None:
        command = os.environ.get("REDOLAKE_ORACLE_ABORT")
        if command is None:
            pytest.skip("REDOLAKE_ORACLE_ABORT does not name a command that kills the database and starts it again")
        subprocess.run(command, shell=True, check=True)

    def recover(self) -> None:
        """Oracle does so by itself."""

    @contextmanager
    def prepare(self, database: Database, statements: Sequence[str]) -> Iterator[Callable[[], None]]:
        who = database.scratch
        with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
            xid = connection.xid(1, b"redolake", b"1")
            connection.tpc_begin(xid)
            for statement in statements:
                connection.cursor().execute(statement)
            connection.tpc_prepare()
            yield lambda: connection.tpc_commit(xid)

    def rename(self, database: Database, file: str, name: str) -> None:
        folder, _, old = file.rpartition("/")
        database.as_sysdba(
            f"CREATE OR REPLACE DIRECTORY redolake_logs AS '{folder}'",
            f"BEGIN UTL_FILE.FRENAME('REDOLAKE_LOGS', '{old}', 'REDOLAKE_LOGS', '{name}'); END;",
            "DROP DIRECTORY redolake_logs",
        )

    def add_policy(self, database: Database, table: str) -> None:
        function = f"FUNCTION {SCRATCH}.admitted (owner VARCHAR2, name VARCHAR2)"
        database.as_sysdba(
            f"CREATE OR REPLACE {function} RETURN VARCHAR2 AS BEGIN RETURN 'id > 1'; END;",
            f"BEGIN DBMS_RLS.ADD_POLICY('{SCRATCH}', '{table}', 'P1', '{SCRATCH}', 'ADMITTED'); END;",
            dsn=database.pdb_dsn,
        )


@dataclass(frozen=True, slots=True)
class Database:
    """`reader` is Redolake's user, `dba` a user of the root, `scratch` owns an empty schema of the PDB."""

    reader: ConnectParams
    dba: ConnectParams
    pdb_dsn: str
    container: str
    is_real: bool
    sys: ConnectParams
    outages: Outages
    scratch: ConnectParams = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scratch", ConnectParams(SCRATCH, SCRATCH_PASSWORD, self.pdb_dsn))

    @property
    def version(self) -> str:
        with oracledb.connect(user=self.dba.user, password=self.dba.password, dsn=self.dba.dsn) as connection:
            return str(connection.version)

    def run(self, who: ConnectParams, statements: Sequence[str], dsn: str | None = None) -> None:
        with oracledb.connect(user=who.user, password=who.password, dsn=dsn or who.dsn) as connection:
            for statement in statements:
                connection.cursor().execute(statement)
            connection.commit()

    def as_sysdba(self, *statements: str, dsn: str | None = None) -> list[tuple[Any, ...]]:
        """Run statements in the root, or at another service, and return the rows of the last one if it is a query."""
        who, mode = self.sys, oracledb.AUTH_MODE_SYSDBA
        with oracledb.connect(user=who.user, password=who.password, dsn=dsn or who.dsn, mode=mode) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor) if cursor.description else []

    def archive_logs(self) -> None:
        self.run(self.dba, ["ALTER SYSTEM ARCHIVE LOG CURRENT"])

    @contextmanager
    def empty_scratch_schema(self) -> Iterator[None]:
        self.run(self.dba, CREATE_SCRATCH, self.pdb_dsn)
        try:
            yield
        finally:
            self.run(self.dba, [f"DROP USER {SCRATCH} CASCADE"], self.pdb_dsn)

    def pipeline(self, folder: Path, tables: Sequence[Any]) -> Pipeline:
        body = {
            "name": "oracle",
            "source": {"connection": "redolake_test_oracle", "container": self.container},
            "landing": str(folder / "landing"),
            "lake": str(folder / "lake"),
            "retry": {"attempts": 2, "initial_seconds": 0.5},
            "tables": list(tables),
        }
        return Pipeline.model_validate(body)


@contextmanager
def standin_database() -> Iterator[Database]:
    with standin(threads=2, log_bytes=256 * 1024, archive_lag_target=0) as oracle:
        reader = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
        dba = ConnectParams("SYSTEM", oracle.passwords["SYSTEM"], oracle.root_dsn)
        sys = ConnectParams("SYS", oracle.passwords["SYS"], oracle.root_dsn)
        yield Database(reader, dba, oracle.pdb_dsn, "FREEPDB1", is_real=False, sys=sys, outages=StandInOutages(oracle))


def real_database() -> Database:
    own = own_database(os.environ)
    reader = ConnectParams(own.user, own.user_password, own.root_dsn)
    dba = ConnectParams("SYSTEM", own.dba_password, own.root_dsn)
    sys = ConnectParams("SYS", os.environ.get("REDOLAKE_ORACLE_SYS_PASSWORD") or own.dba_password, own.root_dsn)
    return Database(reader, dba, own.pdb_dsn, own.container, is_real=True, sys=sys, outages=RealOutages())


@contextmanager
def open_database() -> Iterator[Database]:
    if os.environ.get("REDOLAKE_ORACLE_DSN"):
        found = real_database()
        with found.empty_scratch_schema():
            yield found
    else:
        with standin_database() as found, found.empty_scratch_schema():
            yield found


@pytest.fixture(scope="module")
def database(record_testsuite_property: Callable[[str, object], None]) -> Iterator[Database]:
    with open_database() as found:
        record_testsuite_property("database", found.version)
        record_testsuite_property("is_real", found.is_real)
        yield found


@pytest.fixture
def breakable(database: Database) -> Database:
    """The database, if its owner lets tests disturb it as a whole."""
    if database.is_real and os.environ.get("REDOLAKE_ORACLE_MAY_BREAK") != "1":
        pytest.skip("REDOLAKE_ORACLE_MAY_BREAK=1 is not set: this test disturbs the whole database")
    return database
