"""Declared gaps in the ledger: the position after one, and the tables that must be read again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from redolake.context import Run
from redolake.errors import RedoLost
from redolake.reconcile import needed
from redolake.reconcile.ledger import last_batch
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.closed import ClosedTable
from redolake.records.codec import encode
from redolake.steps.apply.batch import resume_tables
from redolake.steps.shared.status import read_status
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from tests.unit.reconcile.pipeline_on_disk import (
    DBID,
    FIRST,
    OPEN,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    corrected_table,
)


def test_a_declared_gap_moves_the_position_and_keeps_the_table_live(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 300, dropped=(OPEN,), snapshot_scn=120)
    entry = corrected_table(context)

    assert context.ledger.position() == Position(DBID, FIRST, Scn(300))
    assert (entry.state, entry.position) == ("live", ChainPosition(FIRST, 199))
    (gap,) = read_status(on_disk.pipeline).declared_gaps
    assert (gap.from_scn, gap.to_scn, gap.tables, gap.dropped_rows) == (200, 300, ("SHOP.ORDERS",), 4)


def test_a_table_that_needs_a_new_snapshot_is_held_in_a_rebuilt_ledger_too(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 300, "snapshot", dropped=(OPEN,), snapshot_scn=120)
    on_disk.batch(on_disk.window(300, 400), state="held")
    entry = corrected_table(context)

    assert (entry.state, entry.position) == ("held", ChainPosition(FIRST, 199))
    with pytest.raises(RedoLost, match="from SCN 200 to 299 were never read"):
        resume_tables(on_disk.pipeline, ["SHOP.ORDERS"])
    on_disk.load(410)
    entry = corrected_table(context)
    assert (entry.state, entry.position) == ("live", ChainPosition(FIRST, 410))


def test_a_late_catch_up_does_not_release_a_table_that_needs_a_new_snapshot(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.batch(on_disk.window(200, 250), state="held")
    on_disk.declare_gap(250, 300, "snapshot", snapshot_scn=120)
    assert corrected_table(context).state == "held"
    late = last_batch(context)
    assert late is not None
    done = TableResult(ORDERS, "applied", 249)
    token = f"{ORDERS}:t"
    result = BatchResult("shop", FIRST, 200, 250, token, late.windows, (done,), (), ())
    on_disk.write(f"batches/{late.resetlogs_id:010d}-{200:020d}-{250:020d}-SHOP.ORDERS-t/manifest.json", encode(result))

    assert corrected_table(context).state == "held"


def test_a_late_load_does_not_release_a_table_that_needs_a_new_snapshot(on_disk: PipelineOnDisk, context: Run) -> None:
    """The load AS OF 210 was running when the gap [200, 300) was declared."""
    on_disk.declare_gap(200, 300, "snapshot", dropped=(OPEN,), snapshot_scn=210)
    corrected_table(context)
    on_disk.load(210)

    assert corrected_table(context).state == "held"


def test_a_snapshot_begun_before_the_gap_does_not_release_its_table_in_a_lost_ledger(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    """The gap names the snapshot AS OF 210, which was prepared and never loaded. The table has the contents of 120."""
    on_disk.declare_gap(200, 300, "snapshot", dropped=(OPEN,), snapshot_scn=210)

    assert (corrected_table(context).state, corrected_table(context).snapshot_scn) == ("held", 120)
    with pytest.raises(RedoLost, match="from SCN 200 to 299 were never read"):
        resume_tables(on_disk.pipeline, ["SHOP.ORDERS"])
    on_disk.load(310)
    assert corrected_table(context).state == "live"


def test_an_older_ledger_learns_of_a_snapshot_after_scns_were_set_back(on_disk: PipelineOnDisk, context: Run) -> None:
    corrected_table(context)
    on_disk.declare_gap(200, 130, "snapshot", end_in=SECOND, dropped=(OPEN,), snapshot_scn=120)
    on_disk.load(140, SECOND)
    entry = corrected_table(context)

    assert (entry.state, entry.snapshot_scn, entry.position) == ("live", 140, ChainPosition(SECOND, 140))


def closed(gap: str, snapshot_scn: int | None) -> ClosedTable:
    return ClosedTable(gap, str(ORDERS), snapshot_scn, ("w",), 2, 9, 4, (310,), (7,), "tapes are back", "ann", "now", updated=2)


def test_a_closed_gap_is_open_in_no_ledger_and_again_for_the_contents_of_another_snapshot(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    on_disk.declare_gap(200, 300, dropped=(OPEN,), snapshot_scn=120)
    corrected_table(context)
    (gap,) = context.landing.gaps.all()
    context.landing.closings.record_closed(closed(gap.name, 110))
    corrected_table(context)
    assert [one.tables for one in read_status(on_disk.pipeline).declared_gaps] == [("SHOP.ORDERS",)]

    context.landing.closings.record_closed(closed(gap.name, 120))
    corrected_table(context)

    assert read_status(on_disk.pipeline).declared_gaps == ()
    assert context.landing.gaps.all() == [gap], "what a person declared stays as it is"


def test_windows_that_closing_a_gap_reads_stay_for_thirty_days_while_a_table_lacks_it(
    on_disk: PipelineOnDisk, context: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk.declare_gap(200, 300, dropped=(OPEN,), snapshot_scn=120)
    corrected_table(context)
    (gap,) = context.landing.gaps.all()
    declared = datetime(2026, 11, 20, tzinfo=UTC)
    monkeypatch.setattr(context.landing.gaps, "all", lambda: [replace(gap, at=declared.isoformat())])

    def needs(days: int) -> list[ChainPosition]:
        monkeypatch.setattr(needed, "now", lambda: declared + timedelta(days=days))
        return [need.position for need in needed.open_gaps(context)]

    assert needs(7) == [ChainPosition(FIRST, OPEN.start_scn)], "from where the oldest transaction began that the gap dropped"
    assert needs(31) == []
    context.landing.closings.record_closed(closed(gap.name, 120))
    assert needs(7) == []
