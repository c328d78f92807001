"""A shop in a PDB whose root cannot be reached: its capture user is a local one, set up by the script of that flavour."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracledb

from redolake.source import ConnectParams
from redolake.source.setup_sql import Flavour
from redolake.steps import write_setup_sql
from standin.serve import standin
from standin.sqlplus import run_script
from standin.workload.shop import create_shop
from tests.fixtures.shop import Shop

PASSWORD = "hunter two"


@dataclass(slots=True)
class Tenant(Shop):
    """The source of a test, reached through the PDB alone."""

    @property
    def params(self) -> ConnectParams:
        return ConnectParams("redolake", PASSWORD, self.oracle.pdb_dsn, pdb_only=True)


@contextmanager
def open_tenant(folder: Path, flavour: Flavour = Flavour.pdb_only, **options: Any) -> Iterator[Tenant]:
    """Start a stand-in with the shop's empty tables, and run the script as SYSDBA of the PDB, or as the master user of RDS."""
    with standin(**{"log_bytes": 64 * 1024, "archive_lag_target": 300, **options}) as oracle:
        with oracle.connect("SHOP") as connection:
            create_shop(connection, "ALL")
        owner = "ADMIN" if flavour == Flavour.rds else "SYS"
        with oracle.connect(owner, dsn=oracle.pdb_dsn) as connection, connection.cursor() as cursor:
            done = run_script(write_setup_sql(flavour=flavour), cursor.execute, [PASSWORD], (oracledb.DatabaseError,))
        assert done.errors == []
        yield Tenant(oracle, folder)
