"""No order of the writers of a table, and no kill, makes it older or loses a row: in the real lake, and by the decisions alone.

Through Spark with repairs, quarantines and histories; `make soak` plays many of these. Without Spark as often as possible:
captures, batches, snapshots whole and in chunks, swaps with copies and back, old ranges filled again, gaps lost and closed,
prune, late tasks, other processes and lost ledgers.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from tests.generated.hunts import EXAMPLES
from tests.generated.table_writers import TABLES, play, writers
from tests.references.plain_lake import PlainLake
from tests.references.source_comparison import compare_with_source

MORE = EXAMPLES // 10  # a life takes ten times as long as other examples
CHANCE = random.Random(os.environ.get("REDOLAKE_SEED"))
SEEDS = CHANCE.sample(range(10**9), MORE)


@pytest.mark.spark
@pytest.mark.parametrize(("seed", "length"), [(seed, 30) for seed in SEEDS] or [(1, 3)])
def test_no_order_of_writers_makes_a_table_older_or_loses_a_row(tmp_path: Path, spark: Any, seed: int, length: int) -> None:
    names = tuple(TABLES) if SEEDS else ("KEYED", "ODD")
    with writers(tmp_path, seed, spark, names) as life:
        play(life, length, [] if SEEDS else [life.copy, life.swap, life.fill_live, life.undo_swap])
        found = steps.verify_tables(life.pipeline, source=life.shop.params, spark=spark)
        for name in life.names:
            life.check_history(name)

    assert found.equal, "\n".join([life.story(), *map(str, found.tables)])
    assert life.checked >= length


@pytest.mark.parametrize("seed", SEEDS or [2, 3])
def test_no_order_of_decisions_does_so_either(tmp_path: Path, seed: int) -> None:
    with writers(tmp_path, seed, PlainLake(), ("KEYED", "LARGE")) as life:
        play(life, 100 if SEEDS else 25)
        found = compare_with_source(life.pipeline, life.shop.params)

    assert found.equal, "\n".join([life.story(), *map(str, found.tables)])
    assert life.checked >= 25
