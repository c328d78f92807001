"""What the page shows of a real capture: steps against the stand-in leave the facts, and the page finds them in the ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from redolake import steps
from redolake.cockpit import Overview, read_overview
from redolake.config import Pipeline
from redolake.context import Run, ledger_url
from redolake.errors import RedoLost, SourceUnavailable
from redolake.source import ConnectParams
from redolake.steps.capture.windows import PlanOutcome
from redolake.steps.shared.scn_times import time_written
from redolake.steps.shared.shown_facts import expected_rows
from redolake.values.table import TableId
from redolake.values.utc import utc_text
from tests.fixtures.shop import Shop, shop

__all__ = ["shop"]


def seen(pipeline: Pipeline) -> Overview:
    return read_overview(pipeline, ledger_url(pipeline), datetime.now(UTC))


def utc(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")


def land_one(pipeline: Pipeline, source: ConnectParams) -> PlanOutcome:
    found = steps.plan_next_window(Run(pipeline, source))
    if found.window is not None:
        mined = [steps.mine_window_slice(Run(pipeline, source), found.window, number) for number in found.slices]
        steps.land_window(pipeline, found.window, mined)
    return found


def test_capture_leaves_what_the_page_shows_and_an_outage_and_a_loss_are_seen(shop: Shop) -> None:
    pipeline = shop.pipeline(tables=["SHOP.PAYMENTS", "SHOP.ORDERS"])
    began = datetime.now(UTC)
    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    assert begun.at is not None
    assert began - timedelta(seconds=1) <= datetime.fromisoformat(begun.at) <= datetime.now(UTC)
    assert [table.snapshot for table in seen(pipeline).tables] == ["waits to be read"] * 2
    read = steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PAYMENTS")
    rows = read.rows
    with Run(pipeline) as context:
        found = [expected_rows(context, TableId.parse(table)) for table in ("SHOP.PAYMENTS", "SHOP.ORDERS")]
    assert found == [rows, None]
    assert read.at == begun.at
    assert f"{rows:,} rows read in" in seen(pipeline).tables[1].snapshot
    for seed in (1, 2):
        shop.work(20, seed=seed)
        shop.switch_logs()
        land_one(pipeline, shop.params)
    while land_one(pipeline, shop.params).window is not None:
        pass
    steps.measure_runway(pipeline, source=shop.params)

    found = seen(pipeline)

    assert found.redo is not None
    kinds = {log.kind for thread in found.redo.threads for log in thread.logs}
    assert {"read", "online"} <= kinds <= {"read", "online", "unread"}, "one thread may have archived further than the other"
    assert [thread.thread for thread in found.redo.threads] == [1, 2]
    window = found.windows[0]
    assert (window.state, window.logs is not None, (window.redo_bytes or 0) > 0) == ("landed", True, True)
    assert sum(w.rows or 0 for w in found.windows) > 0
    assert all(w.ends_at is not None and found.at - w.ends_at < timedelta(minutes=5) for w in found.windows)
    assert all((w.mine_seconds or 0) > 0 for w in found.windows if w.logs)
    assert found.waiting_windows == len(found.windows)
    assert (found.runway or {})["state"] == "enough"
    assert steps.read_status(pipeline).landed_to_at == utc(window.ends_at)
    assert steps.inspect_redo_loss(pipeline, source=shop.params).position_at == utc(window.ends_at)
    assert f"({utc_text(window.ends_at)} UTC)" in steps.recovery_text(steps.inspect_redo_loss(pipeline, source=shop.params))
    with Run(pipeline) as context:
        assert time_written(context, window.start_scn) == time_written(context, window.end_scn - 1) == utc(window.ends_at)
        assert time_written(context, window.end_scn) is None, "no window contains it yet"

    nowhere = ConnectParams("nobody", "x", "127.0.0.1:1/FREE")
    with pytest.raises(SourceUnavailable):
        steps.plan_next_window(Run(pipeline, nowhere))
    assert seen(pipeline).health.state == "source away"
    steps.plan_next_window(Run(pipeline, shop.params))
    assert seen(pipeline).health.state != "source away"

    shop.work(5, seed=3)
    shop.switch_logs()
    shop.oracle.faults.purge_logs()
    with pytest.raises(RedoLost):
        steps.plan_next_window(Run(pipeline, shop.params))
    lost = seen(pipeline)
    assert (lost.health.state, bool(lost.recovery and lost.recovery.choices and lost.recovery.missing)) == ("stopped", True)
    assert any(log.kind == "missing" for thread in (lost.redo.threads if lost.redo else ()) for log in thread.logs)
