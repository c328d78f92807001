"""No step costs more because a pipeline is old: what is listed, read and asked of the ledger is counted at two ages."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from pipelines.land import dictionary
from pipelines.steps.transactions import list_transactions
from tests.states.aged_landing import AgedLanding, Cost, cost_of

YOUNG, OLD, READINGS = 60, 240, 20  # windows, and readings of the dictionary in a folder
FOLDERS = (OLD - YOUNG) // READINGS


def costs(folder: Path, windows: int) -> dict[str, Cost]:
    folder.mkdir()
    return {name: cost_of(work) for name, work in AgedLanding(folder, windows).steps()}


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Cost], dict[str, Cost]]:
    folder = tmp_path_factory.mktemp("ages")
    with mock.patch.object(dictionary, "READINGS_IN_A_FOLDER", READINGS):
        return costs(folder / "young", YOUNG), costs(folder / "old", OLD)


@pytest.mark.parametrize(
    "step", ["plan and land", "prepare", "record", "status", "dropped transactions", "windows", "page", "plan of an edit"]
)
def test_a_step_costs_the_same_in_an_old_pipeline(ages: tuple[dict[str, Cost], dict[str, Cost]], step: str) -> None:
    young, old = ages

    assert (old[step].requests, old[step].statements) == (young[step].requests, young[step].statements)
    assert old[step].on_disk <= young[step].on_disk + FOLDERS


def test_a_transaction_that_was_dropped_long_ago_has_its_outcome(tmp_path: Path) -> None:
    aged = AgedLanding(tmp_path, 60)
    (drop,) = list_transactions(aged.pipeline).dropped

    assert (drop.state, drop.end_scn, drop.tables) == ("committed", 350, {"SHOP.ORDERS": 2})
