"""What plan makes of the control file's facts."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import Pipeline
from pipelines.redo import Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread
from pipelines.scn import Scn
from pipelines.steps import capturing
from pipelines.steps.workplace import HANDOVER, workplace

COPY = LogCopy(1, "/arch/x", "A", False, False, True)
FACTS = RedoFacts(
    7,
    Scn(1000),
    (RedoThread(1, True, "PUBLIC", Scn(1), None, None),),
    (LogFile(1, 5, 11, Scn(100), Scn(200), (COPY,), 10),),
    (LogFile(1, 6, 11, Scn(210), None),),
    (Incarnation(11, Scn(1), "CURRENT", Scn(0)),),
)


def test_a_window_in_which_no_thread_has_redo_lands_without_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """|5 100..200| the instance was down |6 210.. current: nothing would be mined, so no task would land [200, 210)."""
    body: dict[str, Any] = {"name": "shop", "source": {"connection": "x"}, "landing": str(tmp_path), "lake": "/lake"}
    pipeline = Pipeline.model_validate({**body, "tables": ["SHOP.ORDERS"]})
    monkeypatch.setattr(capturing, "opened_source", lambda *_: nullcontext())
    monkeypatch.setattr(capturing, "read_redo_facts", lambda _: FACTS)
    monkeypatch.setattr(capturing, "read_tables", lambda *_: {})
    monkeypatch.setattr(capturing, "require_all", lambda *_: None)
    with workplace(pipeline) as work:
        work.landing.write_json_once(HANDOVER, {"dbid": 7, "resetlogs_id": 11, "scn": 200})

    found = capturing.plan(pipeline)

    assert found["outcome"] == "nothing"
    with workplace(pipeline) as work:
        assert [(w.start, w.end, w.logs) for w in work.landing.windows()] == [(200, 210, ())]
        assert work.ledger.position("shop") == Position(7, 11, Scn(210))
