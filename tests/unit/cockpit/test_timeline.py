from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from redolake.cockpit.render import CHART, account_text
from redolake.cockpit.timeline import timeline_of
from redolake.cockpit.values import AccountPart, WindowLine

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
APPLIED = WindowLine(
    name="w", state="applied", resetlogs_id=7, start_scn=100, end_scn=200, rows=100, logs=1, redo_bytes=1, planned_at=NOON,
    ends_at=NOON, landed_at=NOON, applied_at=NOON, age_seconds=41.0, mine_seconds=1.0, batch="b", manifest="m",
    parts=(AccountPart("applied", 90, 0.9), AccountPart("rolled back", 7, 0.07), AccountPart("undone", 3, 0.03)),
)  # fmt: skip
LANDED = replace(
    APPLIED, state="landed", start_scn=200, ends_at=NOON + timedelta(minutes=5), age_seconds=None, parts=(), batch=None
)
PLANNED = replace(LANDED, state="planned", start_scn=300, ends_at=None, rows=None)


def test_the_colours_of_each_window_add_up_to_its_rows() -> None:
    found = timeline_of([PLANNED, LANDED, APPLIED], account_text)

    assert [sum(column) for column in zip(*found["rows"].values(), strict=True)] == [100, 100]
    assert {colour: rows for colour, rows in found["rows"].items() if any(rows)} == {
        "applied": [90, 0],
        "undone": [10, 0],
        "waiting": [0, 100],
    }


def test_windows_go_from_the_oldest_to_the_newest_whose_end_has_a_time() -> None:
    found = timeline_of([PLANNED, LANDED, APPLIED], account_text)

    assert found["ends"] == [NOON.timestamp(), NOON.timestamp() + 300]
    assert (found["latency"], found["ids"]) == ([41.0, None], ["w7-100", "w7-200"])
    assert found["accounts"] == ["100 = 90 applied + 7 rolled back + 3 undone", "100 change rows, not applied yet"]


RELEASED = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


@pytest.mark.parametrize("name", RELEASED)
def test_the_chart_library_is_the_released_file_and_its_licence_lies_beside_it(name: str) -> None:
    assert hashlib.sha256((CHART / name).read_bytes()).hexdigest() == RELEASED[name]
    assert "MIT License" in (CHART / "LICENSE").read_text()
