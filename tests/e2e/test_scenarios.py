"""Every scenario end to end: it raises the expected errors and ends with equal tables.

They are faults of redo logs, instances and the network, which Spark never meets, so a plain fold applies the batches. Snapshots
that replace Delta tables after a RESETLOGS: tests/integration/test_recover_in_delta.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.scenarios import SCENARIOS, open_testbed
from tests.references.plain_lake import PlainLake

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


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_raises_its_errors_and_ends_with_equal_tables(name: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with PlainLake().in_place_of_spark(), open_testbed(tmp_path, lines.append, "no Spark") as testbed:
        SCENARIOS[name](testbed)
        outcome = testbed.compare()

    assert [(error.code, error.where.get("thread")) for error in outcome.errors] == STOPS.get(name, []), "\n".join(lines)
    assert outcome.tables_equal, (outcome.tables, "\n".join(lines))


def test_every_expected_error_belongs_to_a_scenario() -> None:
    assert set(STOPS) <= set(SCENARIOS)
