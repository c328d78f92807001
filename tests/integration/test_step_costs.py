"""How often whole pipelines open their ledger, correct it from the landing, and ask the source.

Before steps shared a Run, the same lives counted:

| | ledgers opened | reconciled | connections | queries | dictionary readings |
|---|---|---|---|---|---|
| the snapshot | 7 | 3 | 4 | 154 | 4 |
| ten runs | 130 | 70 | 100 | 1040 | 20 |
| `verify` | 2 | 1 | 5 | 97 | 4 |
| `prune` | 2 | 1 | 0 | 0 | 0 |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from redolake import steps
from redolake.config import Pipeline
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import differences
from tests.references.plain_lake import PlainLake
from tests.support.costs import COUNTED, counted

RUNS = 10
EXPECTED = {  # with the queries that what is read AS OF an SCN is there, and that the root shows the mined container
    "snapshot": (1, 2, 2, 154, 4),
    "runs": (10, 20, 60, 1020, 20),
    "verify": (1, 1, 5, 99, 4),
    "prune": (1, 1, 0, 0, 0),
}


@pytest.fixture
def pipeline(shop: Shop, lake: PlainLake) -> Pipeline:
    return shop.pipeline(tables=["SHOP.CUSTOMERS", "SHOP.PAYMENTS"])


def count(work: Callable[[], object]) -> Counter[str]:
    with counted() as counts:
        work()
    return counts


def test_steps_share_what_they_open(shop: Shop, pipeline: Pipeline) -> None:
    shop.work(20)
    costs = {"snapshot": count(lambda: steps.take_snapshot(pipeline, source=shop.params))}
    runs = Counter[str]()
    for seed in range(RUNS):
        shop.work(5, seed=seed)
        shop.switch_logs()
        runs += count(lambda: steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params))
    costs |= {"runs": runs, "verify": count(lambda: steps.verify_tables(pipeline, source=shop.params))}
    costs["prune"] = count(lambda: steps.prune_pipeline(pipeline, execute=True))

    assert differences(shop, pipeline) == {}
    assert {name: tuple(found[what] for what in COUNTED) for name, found in costs.items()} == EXPECTED
