"""No step costs more because a pipeline is old: what is listed, read and asked of the ledger is counted at two ages."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from redolake.land import dictionary
from redolake.steps.apply.transactions import list_transactions
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake
from tests.states.aged_landing import AgedLanding, Cost, cost_of
from tests.states.aged_pipeline import AgedPipeline

YOUNG, OLD, READINGS = 60, 240, 20  # windows, and readings of the dictionary in a folder
FOLDERS = (OLD - YOUNG) // READINGS


STEPS = (
    "plan", "land", "prepare", "record", "plan of nothing", "status", "dropped transactions", "windows", "page",
    "plan of an edit",
)  # fmt: skip


def costs(folder: Path, age: int, tables: int = 1) -> dict[str, Cost]:
    """Return what each step of a round costs after so many windows and decisions of people."""
    lake = PlainLake()
    with standin(archive_lag_target=0, background=False) as oracle, lake.in_place_of_spark():
        aged = AgedPipeline(Shop(oracle, folder), lake, age, tables, decisions=age)
        return {name: cost_of(work) for name, work in aged.steps()}


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Cost], dict[str, Cost]]:
    with mock.patch.object(dictionary, "READINGS_IN_A_FOLDER", READINGS):
        return costs(tmp_path_factory.mktemp("young"), YOUNG), costs(tmp_path_factory.mktemp("old"), OLD)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_costs_the_same_in_an_old_pipeline(ages: tuple[dict[str, Cost], dict[str, Cost]], step: str) -> None:
    young, old = ages

    assert (old[step].requests, old[step].statements) == (young[step].requests, young[step].statements)
    assert old[step].listed <= young[step].listed + FOLDERS


def test_on_a_disk_no_step_lists_what_grows_with_the_windows(ages: tuple[dict[str, Cost], dict[str, Cost]]) -> None:
    young, old = ages
    decisions = OLD - YOUNG  # their folder is listed whole, by the steps that correct the ledger

    assert {step for step in STEPS if old[step].on_disk > young[step].on_disk + FOLDERS + decisions} == set()


def test_no_step_asks_for_each_table_by_itself(tmp_path: Path) -> None:
    """In seconds of an object store, 2,000 tables would be minutes."""
    few, many = costs(tmp_path / "few", 10, tables=2), costs(tmp_path / "many", 10, tables=12)

    assert {step: (cost.requests, cost.statements) for step, cost in many.items()} == {
        step: (cost.requests, cost.statements) for step, cost in few.items()
    }


def test_a_transaction_that_was_dropped_long_ago_has_its_outcome(tmp_path: Path) -> None:
    aged = AgedLanding(tmp_path, 60)
    (drop,) = list_transactions(aged.pipeline).dropped

    assert (drop.state, drop.end_scn, drop.tables) == ("committed", 350, {"SHOP.ORDERS": 2})
