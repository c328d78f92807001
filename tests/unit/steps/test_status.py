"""The errors and declared gaps that status reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake.config import LedgerSettings
from redolake.context import Run, open_to_read
from redolake.errors import RedolakeError
from redolake.reconcile.ledger import reconcile_ledger
from redolake.steps.apply.transactions import list_transactions
from redolake.steps.shared.status import TableStatus, list_windows, read_status
from tests.unit.reconcile.pipeline_on_disk import (
    OPEN,
    PipelineOnDisk,
    corrected_table,
)


def test_status_reports_the_whole_error_of_a_held_table(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.batch(on_disk.window(200, 300), state="held")
    reconcile_ledger(context)

    (table,) = read_status(on_disk.pipeline).tables

    assert table == TableStatus("SHOP.ORDERS", "held", 199, error="held", code="Test", where={}, cure="")


def test_status_counts_rows_with_single_quotes(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.window(200, 300, single_quote_rows=2)
    on_disk.window(300, 400)
    reconcile_ledger(context)

    assert [window.single_quote_rows for window in read_status(on_disk.pipeline).windows] == [0, 2, 0]
    assert [window.single_quote_rows for window in list_windows(on_disk.pipeline)] == [0, 2, 0]


def test_status_reports_a_declared_gap_until_the_table_has_a_new_snapshot(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 300, dropped=(OPEN,), snapshot_scn=120)
    on_disk.load(310)
    corrected_table(context)

    assert read_status(on_disk.pipeline).declared_gaps == ()


def test_looking_changes_nothing_and_creates_nothing(on_disk: PipelineOnDisk, context: Run, tmp_path: Path) -> None:
    on_disk.window(200, 300)
    elsewhere = on_disk.pipeline.model_copy(update={"ledger": LedgerSettings(url=f"sqlite:///{tmp_path}/none/ledger.db")})
    before = sorted(tmp_path.rglob("*"))

    found = read_status(elsewhere)

    assert (found.landed_to_scn, found.windows, list_transactions(elsewhere).dropped) == (None, (), ())
    assert sorted(tmp_path.rglob("*")) == before
    for pipeline in (elsewhere, on_disk.pipeline):
        with open_to_read(pipeline) as read_only, pytest.raises(RedolakeError, match="readonly"):
            read_only.ledger.record_fact("plan", {})
