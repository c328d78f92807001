"""Planning by the control file's facts: windows without redo, redo that cannot be read, runs that were overtaken."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from redolake.config import Pipeline, WindowLimits
from redolake.context import Run, take_lease
from redolake.errors import MiningIncomplete, RedolakeError, RedoNotUnderstood, SnapshotTooEarly
from redolake.land import layout
from redolake.mine import EdgeCut
from redolake.records.codec import to_body
from redolake.records.handover import FirstPosition
from redolake.records.windows import WindowPlan
from redolake.source import Handover
from redolake.steps.capture import read_and_plan as plan_steps
from redolake.steps.capture import windows as capture_steps
from redolake.steps.recovery import recover as recover_steps
from redolake.steps.shared import same_container
from redolake.values.redo import Encoding, Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread, Slice, Window
from redolake.values.scn import Scn, ScnRange
from redolake.window import Sealed

COPY = LogCopy(1, "/arch/x", "A", False, False, True)
FACTS = RedoFacts(
    7,
    Scn(1000),
    (RedoThread(1, True, "PUBLIC", Scn(1), None, None),),
    (LogFile(1, 5, 11, Scn(100), Scn(200), (COPY,), 10),),
    (LogFile(1, 6, 11, Scn(210), None),),
    (Incarnation(11, Scn(1), "CURRENT", Scn(0)),),
)


def capture_pipeline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    body: dict[str, Any] = {"name": "shop", "source": {"connection": "x"}, "landing": str(folder), "lake": "/lake"}
    monkeypatch.setattr(Run, "oracle", lambda *_: nullcontext())
    monkeypatch.setattr(capture_steps, "host_clock_ahead", lambda _: timedelta(0))
    for module in (capture_steps, plan_steps):
        monkeypatch.setattr(module, "read_redo_facts", lambda *_: FACTS)
    monkeypatch.setattr(capture_steps, "read_tables", lambda *_: {})
    monkeypatch.setattr(same_container, "read_encoding", lambda *_: Encoding())
    monkeypatch.setattr(recover_steps, "read_encoding", lambda *_: Encoding())
    monkeypatch.setattr(capture_steps, "hold_undescribed", lambda *_: None)
    return Pipeline.model_validate({**body, "tables": ["SHOP.ORDERS"]})


def test_a_window_in_which_no_thread_has_redo_lands_without_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """|5 100..200| the instance was down |6 210.. current: nothing would be mined, so no task would land [200, 210)."""
    pipeline = capture_pipeline(tmp_path, monkeypatch)
    with Run(pipeline) as context:
        context.landing.files.write_record_once(layout.HANDOVER, FirstPosition(7, 11, 200, Encoding()))

    found = capture_steps.plan_next_window(pipeline)

    assert found.outcome == "nothing"
    with Run(pipeline) as context:
        assert [(w.start, w.end, w.logs) for w in context.landing.windows.after()] == [(200, 210, ())]
        assert context.ledger.position() == Position(7, 11, Scn(210))


CUT = EdgeCut("a statement continues in the next log")
UNREADABLE = {
    "of a log that was not added": (
        RedoNotUnderstood("a row of a log that was not added", scn=120),
        ["snapshot", "gap", "position"],
    ),
    "with an unknown status": (MiningIncomplete("a status that is not understood"), ["snapshot", "gap", "position"]),
    "cut at its edge, which the next log may complete": (CUT, []),
}


@pytest.mark.parametrize(("error", "options"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_person_may_continue_after_a_window_that_cannot_be_read(
    error: RedolakeError, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = capture_pipeline(tmp_path, monkeypatch)
    monkeypatch.setattr(recover_steps, "read_redo_facts", lambda _: FACTS)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(capture_steps, "mine", fail)
    with Run(pipeline) as context:
        context.landing.files.write_record_once(layout.HANDOVER, FirstPosition(7, 11, 100, Encoding()))
    planned = capture_steps.plan_next_window(pipeline)
    assert planned.window is not None
    with pytest.raises(type(error)):
        capture_steps.mine_window_slice(pipeline, planned.window, 0)

    found = recover_steps.inspect_redo_loss(pipeline)
    monkeypatch.setattr(recover_steps, "read_handover", lambda *_: Handover(Scn(150), (), Scn(150)))
    monkeypatch.setattr(recover_steps, "first_position", lambda *_: Position(7, 11, Scn(150)))
    if options:
        with pytest.raises(SnapshotTooEarly, match="from SCN 150 on, and what cannot be read ends at SCN 210"):
            recover_steps.declare_gap(pipeline, "snapshot")

    assert (found.lost, [choice.name for choice in found.choices]) == (bool(options), options)
    if options:
        assert found.error is not None
        assert found.error["what"] == error.what
        assert "SCN 100 to 209" in next(choice.what for choice in found.choices if choice.name == "gap")


def test_a_cleared_old_run_whose_place_is_taken_ends_as_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run planned [100, 200) and died; the next one landed [100, 150). Now its tasks `mine` and `land` are cleared."""
    pipeline = capture_pipeline(tmp_path, monkeypatch)
    monkeypatch.setattr(Run, "connect", lambda *_: pytest.fail("it must not mine again: its logs may be gone"))
    window = Window(7, 11, ScnRange(Scn(100), Scn(200)), (Slice(0, 1, FACTS.archived),))
    with Run(pipeline) as context:
        context.ledger.start_at(Position(7, 11, Scn(100)))
        lease = take_lease(context, "capture", 60)
        plan = to_body(WindowPlan(window, (), {}, 300))
        context.ledger.plan_window(window.name, 11, window.scns, plan, lease)
        context.landing.windows.publish(Window(7, 11, ScnRange(Scn(100), Scn(150)), ()), (), [], None)

    mined = capture_steps.mine_window_slice(pipeline, window.name, 0)
    landed = capture_steps.land_window(pipeline, window.name, [mined])

    assert (mined, landed.overtaken) == (capture_steps.AlreadyLanded(0, "redo thread 1, log 5"), True)
    with Run(pipeline) as context:
        assert [(w.start, w.end) for w in context.landing.windows.after()] == [(100, 150)]


def test_lost_redo_is_reported_from_all_logs_and_not_from_those_since_the_position(monkeypatch: pytest.MonkeyPatch) -> None:
    since: list[Scn | None] = []

    def read(_: Any, from_scn: Scn | None = None) -> RedoFacts:
        since.append(from_scn)
        return FACTS if from_scn is None else replace(FACTS, archived=())

    monkeypatch.setattr(plan_steps, "read_redo_facts", read)

    facts, found = plan_steps.read_and_plan(cast(Any, None), Position(7, 11, Scn(150)), WindowLimits(), pause_seconds=0)

    assert isinstance(found, Sealed)
    assert (facts, since) == (FACTS, [150, None])


def test_a_plan_reports_the_bytes_that_the_window_before_has_read_too() -> None:
    """|5 100..200| of redo thread 1 and |5 140..240| of thread 2: the window before ended at 140."""
    other = replace(FACTS.archived[0], thread=2, first_scn=Scn(140), next_scn=Scn(240), bytes=7)
    slices = (Slice(0, 1, FACTS.archived), Slice(1, 2, (other,)))

    text = capture_steps.redo_of(Window(7, 11, ScnRange(Scn(140), Scn(200)), slices))

    assert text == "SCN [140, 200), 2 log(s) of 2 redo thread(s), 17 bytes, 10 of them in logs that begin before it"
