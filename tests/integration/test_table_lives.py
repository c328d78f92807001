"""Generated lives of tables end, batch by batch, with the rows that Oracle had at that moment."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.table_lives import lives

HUNTED = int(os.environ.get("REDOLAKE_EXAMPLES", "0")) // 20  # a life takes twenty times as long as other examples
SEEDS = random.Random(os.environ.get("REDOLAKE_SEED")).sample(range(10**9), HUNTED) if HUNTED else [10]
TABLES, ROUNDS = 3, 4


@pytest.mark.parametrize("seed", SEEDS)
def test_every_batch_ends_with_the_rows_that_the_table_had(tmp_path: Path, seed: int) -> None:
    with lives(tmp_path, seed, TABLES, renames_keep_version=bool(seed % 2)) as played:
        played.play(ROUNDS)
        played.check_versions()

    assert played.checked >= TABLES
    assert sum(life.ddls for life in played.lives) >= TABLES
