"""The database that `pytest -m oracle` tries: a real one where REDOLAKE_ORACLE_DSN names it, else the stand-in.

    REDOLAKE_ORACLE_DSN         the root's service, e.g. localhost:1521/FREE
    REDOLAKE_ORACLE_PDB_DSN     the service of the PDB, e.g. localhost:1521/FREEPDB1
    REDOLAKE_ORACLE_CONTAINER   the name of the PDB; default FREEPDB1
    REDOLAKE_ORACLE_PASSWORD    of SYSTEM, who creates and drops the scratch schema and archives logs
    REDOLAKE_ORACLE_USER, REDOLAKE_ORACLE_USER_PASSWORD    Redolake's own user; default C##REDOLAKE with SYSTEM's password

The user must exist, with the grants that `redolake setup-sql` prints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import oracledb
import pytest

from pipelines.config import Pipeline
from pipelines.source import ConnectParams
from standin.serve import standin

SCRATCH, SCRATCH_PASSWORD = "REDOLAKE_SCRATCH", "Scratch_1"
CREATE_SCRATCH = (
    f'CREATE USER {SCRATCH} IDENTIFIED BY "{SCRATCH_PASSWORD}"',
    f"GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE, UNLIMITED TABLESPACE TO {SCRATCH}",
)


@dataclass(frozen=True, slots=True)
class Database:
    """`reader` is Redolake's user, `dba` a user of the root, `scratch` owns an empty schema of the PDB."""

    reader: ConnectParams
    dba: ConnectParams
    pdb_dsn: str
    container: str
    is_real: bool
    scratch: ConnectParams = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scratch", ConnectParams(SCRATCH, SCRATCH_PASSWORD, self.pdb_dsn))

    def run(self, who: ConnectParams, statements: Sequence[str], dsn: str | None = None) -> None:
        with oracledb.connect(user=who.user, password=who.password, dsn=dsn or who.dsn) as connection:
            for statement in statements:
                connection.cursor().execute(statement)
            connection.commit()

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
            "tables": list(tables),
        }
        return Pipeline.model_validate(body)


@contextmanager
def standin_database() -> Iterator[Database]:
    with standin(threads=2, log_bytes=256 * 1024, archive_lag_target=0) as oracle:
        reader = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
        dba = ConnectParams("SYSTEM", oracle.passwords["SYSTEM"], oracle.root_dsn)
        yield Database(reader, dba, oracle.pdb_dsn, "FREEPDB1", is_real=False)


def real_database() -> Database:
    settings = {name.removeprefix("REDOLAKE_ORACLE_"): value for name, value in os.environ.items()}
    password = settings["PASSWORD"]
    user, own = settings.get("USER", "C##REDOLAKE"), settings.get("USER_PASSWORD", password)
    reader, dba = ConnectParams(user, own, settings["DSN"]), ConnectParams("SYSTEM", password, settings["DSN"])
    return Database(reader, dba, settings["PDB_DSN"], settings.get("CONTAINER", "FREEPDB1"), is_real=True)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    if os.environ.get("REDOLAKE_ORACLE_DSN"):
        found = real_database()
        with found.empty_scratch_schema():
            yield found
    else:
        with standin_database() as found, found.empty_scratch_schema():
            yield found
