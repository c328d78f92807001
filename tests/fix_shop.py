"""A running stand-in with the shop's tables, and a pipeline over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import Pipeline
from pipelines.source import ConnectParams, open_source, read_container
from pipelines.values.redo import ContainerIdentity
from standin.serve import StandIn, standin
from standin.workload import Workload, WorkloadSummary, run_workload
from standin.workload.shop import create_shop

TABLES: tuple[Any, ...] = (
    "SHOP.CUSTOMERS",
    {"table": "SHOP.ORDERS", "columns": {"TOTAL": "string"}},  # NUMBERs of up to 40 digits, which no decimal holds
    "SHOP.ORDER_LINES",
    "SHOP.PAYMENTS",
    {"table": "SHOP.STOCK", "columns": {"ON_HAND": "string", "WEIGHT": "string"}},
)


@dataclass(slots=True)
class Shop:
    """The source of a test: the stand-in, its users, and ways to change its tables."""

    oracle: StandIn
    folder: Path

    @property
    def params(self) -> ConnectParams:
        user = self.oracle.capture_user
        return ConnectParams(user, self.oracle.passwords[user], self.oracle.root_dsn)

    def container(self) -> ContainerIdentity:
        """Return what identifies the PDB, as the first snapshot records it."""
        with open_source(self.params) as source:
            found = read_container(source, "FREEPDB1")
        assert found is not None
        return found.identity

    @property
    def instances(self) -> list[str]:
        return [thread.instance for thread in self.oracle.database.state.threads.values()]

    def pipeline(self, name: str = "shop", **settings: Any) -> Pipeline:
        settings.setdefault("tables", list(TABLES))
        body = {
            "name": name,
            "source": {"connection": "oracle_shop", "container": "FREEPDB1", "fetch_rows": 500},
            "landing": str(self.folder / "landing"),
            "lake": str(self.folder / "lake"),
            "retry": {"attempts": 2, "first_seconds": 0.1, "most_seconds": 0.1},
            "wait_looks_every_seconds": 0.05,
            **settings,
        }
        return Pipeline.model_validate(body)

    def work(self, transactions: int, seed: int = 1, sessions: int = 3) -> WorkloadSummary:
        order = Workload(
            dsn=self.oracle.pdb_dsn,
            user="SHOP",
            password=self.oracle.passwords["SHOP"],
            transactions=transactions,
            sessions=sessions,
            seed=seed,
            instances=tuple(self.instances),
        )
        return run_workload(order)

    def run_sql(self, *statements: str, user: str = "SHOP") -> None:
        with self.oracle.connect(user) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def lose_redo(self) -> None:
        """Change rows twice, and remove the logs of the first changes."""
        self.work(10)
        self.switch_logs()
        self.oracle.faults.purge_logs()
        self.work(5, seed=2)
        self.switch_logs()

    def switch_logs(self) -> None:
        """Switch the logs of every redo thread, so that all changes so far can be sealed."""
        self.run_sql("ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")


@contextmanager
def open_shop(folder: Path, logging: str = "ALL", **options: Any) -> Iterator[Shop]:
    """Start a stand-in with two redo threads, small logs and the shop's empty tables, with that supplemental logging."""
    options.setdefault("threads", 2)
    with standin(log_bytes=64 * 1024, archive_lag_target=0, **options) as oracle:
        with oracle.connect("SHOP") as connection:
            create_shop(connection, logging)
        yield Shop(oracle, folder)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path) as opened:
        yield opened
