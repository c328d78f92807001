"""The lake's log is written as a table is: only where the lake is, and old events go whether or not there are new ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake.job import events
from redolake.job.lake import check_lake
from redolake.records.lakes import LakePlace
from redolake.records.maintenance import MaintenanceSpec


def allow() -> None:
    return None


@pytest.fixture
def spec(tmp_path: Path) -> MaintenanceSpec:
    place = LakePlace("p", str(tmp_path / "lake"), "mark.json", str(tmp_path / "landing"), "record.json")
    made = {"id": "p/window/1", "happened_at": "2026-05-04T12:00:00+00:00", "pipeline": "p", "kind": "window"}
    day = "2026-05-01T00:00:00+00:00"
    return MaintenanceSpec("p", "t", (), "m", 32, 1024, 5.0, lake=place, events=(made,), events_from=day)


class Table:
    def __init__(self, path: Path) -> None:
        self.path, self.log, self.maintained = str(path), None, 0

    def maintain(self, *_: Any) -> None:
        self.maintained += 1


def test_a_lake_that_is_not_there_gets_no_log(spec: MaintenanceSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder below a mount point would get one, and have all events of the last day again."""
    assert spec.lake is not None
    check_lake(spec.lake)
    next((tmp_path / "lake").rglob("mark.json")).unlink()
    monkeypatch.setattr(events, "open_table", lambda *_: Table(tmp_path))
    monkeypatch.setattr(events, "append", lambda _, terms, *__: terms.check_lake())

    assert "has lost the file that Redolake wrote into it" in events.write_events(None, spec, allow)  # type: ignore[arg-type]


@pytest.mark.parametrize(("has_log", "is_kept", "cuts"), [(True, True, 1), (False, True, 0), (True, False, 0)])
def test_old_events_go_without_new_ones(
    spec: MaintenanceSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_log: bool, is_kept: bool, cuts: int
) -> None:
    """A pipeline that has been at rest for longer than its events are kept has none."""
    table, cut = Table(tmp_path), list[object]()
    table.log = object() if has_log else None  # type: ignore[assignment]
    monkeypatch.setattr(events, "open_table", lambda *_: table)
    monkeypatch.setattr(events, "append", lambda *_: pytest.fail("there are no events"))
    monkeypatch.setattr(events, "cut", lambda *found: cut.append(found))

    idle = replace(spec, events=(), events_from=spec.events_from if is_kept else None)

    assert events.write_events(None, idle, allow) == ""  # type: ignore[arg-type]
    assert (len(cut), table.maintained) == (cuts, cuts)
