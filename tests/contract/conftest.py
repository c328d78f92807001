"""Ledgers on SQLite, on PostgreSQL, and on PostgreSQL behind PgBouncer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redolake.ledger import Ledger, open_ledger
from redolake.ledger.entries import Lease
from tests.contract.ledgers import Clock

POSTGRES = {"postgresql": "postgres_url", "pgbouncer": "pooled_url"}


@pytest.fixture(params=["sqlite", *(pytest.param(one, marks=pytest.mark.postgres) for one in POSTGRES)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/ledger.db"
    return str(request.getfixturevalue(POSTGRES[request.param]))


@pytest.fixture
def second_url(url: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Another database of the same kind."""
    if url.startswith("sqlite"):
        yield f"sqlite:///{tmp_path}/second.db"
        return
    with request.getfixturevalue("postgres").empty_database() as second:
        yield second


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(url: str, clock: Clock) -> Iterator[Ledger]:
    opened = open_ledger(url, "shop", clock)
    yield opened
    opened.close()


@pytest.fixture
def other(url: str, ledger: Ledger, clock: Clock) -> Iterator[Ledger]:
    """Another pipeline's ledger in the same database."""
    opened = open_ledger(url, "other", clock)
    yield opened
    opened.close()


@pytest.fixture
def capture(ledger: Ledger) -> Lease:
    return ledger.lease("shop/capture", "run-1", 60)
