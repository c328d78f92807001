"""Two threads of one program work on one pipeline: the second waits until the batch of the first one has ended, and neither
ends as if somebody else had taken its lease. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from redolake import context as contexts
from redolake import steps
from redolake.config import Pipeline
from redolake.errors import LeaseHeld
from redolake.ledger.leases import Leases
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_vanished_partitions import created, held, rows, rows_of_source
from tests.references.plain_lake import PlainLake

NO_SPARK = "no Spark"
LONGEST = 60.0


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path) as opened:
        yield opened


def snapshot(shop: Shop, pipeline: Pipeline) -> None:
    steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=NO_SPARK)


def repair(shop: Shop, pipeline: Pipeline) -> None:
    keys = [{"ID": "1"}]
    steps.repair_table(pipeline, "SHOP.PLAIN", keys, reason="a test", source=shop.params, spark=NO_SPARK)


def prune(shop: Shop, pipeline: Pipeline) -> None:
    steps.prune_pipeline(pipeline, execute=True, by="dba", reason="a test")


def run(shop: Shop, pipeline: Pipeline) -> None:
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=NO_SPARK)


@pytest.mark.parametrize("work", [snapshot, repair, prune, run])
def test_work_beside_a_batch_of_the_same_program_waits_for_it(
    shop: Shop, lake: PlainLake, monkeypatch: pytest.MonkeyPatch, work: Callable[[Shop, Pipeline], None]
) -> None:
    for name in ("t", "plain"):
        shop.run_sql(*created(name), f"INSERT INTO {name} VALUES (1, 1, 'old')")
    pipeline = shop.pipeline(tables=["SHOP.T", "SHOP.PLAIN"])
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    monkeypatch.setattr(contexts, "LEASE_POLL_SECONDS", 0.01)
    applies, waits = Event(), Event()
    lease, apply = Leases.lease, PlainLake.apply

    def seen(self: Leases, *asked: Any, **more: Any) -> Any:
        try:
            return lease(self, *asked, **more)
        except LeaseHeld:
            waits.set()
            raise

    def held_up(self: PlainLake, spec: Any) -> Any:
        applies.set()
        assert waits.wait(LONGEST), "the other work has taken the lease of this batch"
        return apply(self, spec)

    monkeypatch.setattr(Leases, "lease", seen)
    monkeypatch.setattr(PlainLake, "apply", held_up)
    shop.run_sql("INSERT INTO t VALUES (2, 2, 'new')", "INSERT INTO plain VALUES (2, 2, 'new')")
    shop.switch_logs()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run, shop, pipeline)
        assert applies.wait(LONGEST)
        second = pool.submit(work, shop, pipeline)
        first.result(LONGEST)
        second.result(LONGEST)

    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    for name in ("t", "plain"):
        assert rows(lake, pipeline, name) == rows_of_source(shop, name)
