"""Every scenario end to end: it raises the expected errors and ends with equal tables.

Most are faults of redo logs, instances and the network, which Spark never meets: there a plain fold applies the batches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from demo.scenarios import SCENARIOS, open_testbed
from tests.plain_lake import PlainLake

# name -> the errors that stop the pipeline, each with the redo thread it names; the other scenarios raise none
STOPS: dict[str, list[tuple[str, int | None]]] = {
    "archiver-stuck": [("SourceUnavailable", None)],
    "log-purged": [("RedoLost", 1)],
    "log-record-aged-out": [("RedoLost", 2)],
    "log-file-deleted": [("RedoLost", 2)],
    "log-truncated": [("RedoLost", 1)],
    "log-overwritten": [("RedoLost", 1)],
    "log-without-backup": [("RedoLost", 1)],
    "flashback": [("RedoLost", None)],
    "failover-with-loss": [("RedoLost", None)],
}
IN_DELTA = ("flashback",)  # it replaces the tables by new snapshots


def check_scenario(name: str, folder: Path, spark: Any) -> None:
    lines: list[str] = []
    with open_testbed(folder, lines.append, spark) as testbed:
        SCENARIOS[name](testbed)
        outcome = testbed.compare()

    assert [(error.code, error.where.get("thread")) for error in outcome.errors] == STOPS.get(name, []), "\n".join(lines)
    assert outcome.tables_equal, (outcome.tables, "\n".join(lines))


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in IN_DELTA])
def test_a_scenario_raises_its_errors_and_ends_with_equal_tables(name: str, tmp_path: Path) -> None:
    with PlainLake().in_place_of_spark():
        check_scenario(name, tmp_path, "no Spark")


def test_every_expected_error_belongs_to_a_scenario() -> None:
    assert set(STOPS) <= set(SCENARIOS)
