"""Generated lives of tables end, batch by batch, with the rows that Oracle had at that moment."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from standin.olr.options import Behaviour
from tests.generated.hunts import EXAMPLES
from tests.generated.table_life import Field, Kind
from tests.generated.table_lives import lives
from tests.references.plain_ddl import Contradiction

HUNTED = EXAMPLES // 20  # a life takes twenty times as long as other examples
SEEDS = random.Random(os.environ.get("REDOLAKE_SEED")).sample(range(10**9), HUNTED) if HUNTED else [10, 7]
TABLES, ROUNDS = 3, 4


def options(seed: int) -> dict[str, Any]:
    """Return what a life of this seed may do beside its forms, and how LogMiner shows some of them."""
    return {
        "by_pattern": bool(seed & 1),
        "resnapshots": bool(seed & 2),
        "kills": bool(seed & 4),
        "hides": bool(seed & 32),
        "renames_keep_version": bool(seed & 16),
        "redefinition_redo": ("none", "internal", "user")[seed % 3],
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_every_batch_ends_with_the_rows_that_the_table_had(tmp_path: Path, seed: int) -> None:
    with lives(tmp_path, seed, TABLES, **options(seed)) as played:
        played.play(ROUNDS)
        played.check_versions()

    assert played.checked >= TABLES
    assert sum(life.ddls for life in played.lives) >= TABLES


@pytest.mark.parametrize("seed", [seed | 32 for seed in (SEEDS if HUNTED else SEEDS[:1])])
def test_a_batch_whose_rows_logminer_cannot_show_is_never_passed_over(tmp_path: Path, seed: int) -> None:
    with lives(tmp_path, seed, TABLES, **options(seed)) as played:
        played.play(2 * ROUNDS)

    assert played.checked >= TABLES
    assert played.hidden or HUNTED


@pytest.mark.parametrize("seed", [seed + 1 for seed in (SEEDS if HUNTED else SEEDS[:1])])
def test_with_a_dictionary_in_the_redo_every_change_is_decoded_too(tmp_path: Path, seed: int) -> None:
    with lives(tmp_path, seed, TABLES, dictionary="redo", **options(seed)) as played:
        played.play(ROUNDS)

    assert played.checked >= TABLES


@contextmanager
def may_hold() -> Iterator[None]:
    """Allow that a table is held whose UPDATE sets a young column to NULL: the message may lack the guard as it was."""
    try:
        yield
    except Contradiction as held:
        if "no guard column" not in str(held):
            raise


@pytest.mark.parametrize("seed", [seed + 2 for seed in (SEEDS if HUNTED else SEEDS[:1])])
def test_every_life_ends_so_through_openlogreplicator_too(tmp_path: Path, seed: int) -> None:
    """DDL waits for open transactions here: what OpenLogReplicator makes of their changes otherwise is not known."""
    chosen = options(seed) | {"redefinition_redo": "user", "nonblocking_ddl": False}
    behaviour = Behaviour(c_scn=("commit", "begin")[seed & 1], commits_in_group=1 + seed % 4)
    with lives(tmp_path, seed, TABLES, stream=behaviour, **chosen) as played, may_hold():
        played.play(ROUNDS)

    assert played.checked >= TABLES


@pytest.mark.parametrize("seed", [seed + 3 for seed in (SEEDS if HUNTED else SEEDS[:1])])
def test_every_life_ends_so_where_logminer_and_openlogreplicator_take_turns(tmp_path: Path, seed: int) -> None:
    chosen = options(seed) | {"redefinition_redo": "user", "nonblocking_ddl": False, "kills": True}
    behaviour = Behaviour(c_scn=("commit", "begin")[seed & 1], commits_in_group=1 + seed % 4)
    with lives(tmp_path, seed, TABLES, stream=behaviour, hands_over=True, **chosen) as played, may_hold():
        played.play(2 * ROUNDS)

    assert played.checked >= TABLES
    assert played.handovers > 1
    assert played.killed > 0


def test_a_change_from_before_a_ddl_that_the_snapshot_contains_is_not_guessed(tmp_path: Path) -> None:
    """ADD of a column need not wait for open transactions. An older row shows the default, its redo lacks the column."""
    with lives(tmp_path, 1, 1) as played:
        life = played.lives[0]
        life.run(life.sessions[0], f"INSERT INTO {life.table} (id) VALUES (101)")
        life.run(life.sessions[2], f"ALTER TABLE {life.table} ADD late NUMBER(5) DEFAULT 7")
        life.fields.append(Field("LATE", Kind("NUMBER", 5)))
        steps.take_snapshot(played.pipeline, source=played.shop.params, spark=played.spark)
        life.sessions[0].commit()
        played.end_round()
        played.capture()

        with pytest.raises(Contradiction, match="are not known: a DDL ran"):
            played.apply()
