"""A table that a batch or a window omitted is held if it may lack changes."""

from __future__ import annotations

import pytest

from redolake.context import Run
from redolake.reconcile.ledger import reconcile_ledger
from redolake.values.scn import ChainPosition
from tests.unit.reconcile.pipeline_on_disk import (
    FIRST,
    PipelineOnDisk,
    corrected_table,
    following_batch,
    following_catch_up,
)


def test_a_table_omitted_from_a_batch_is_held_because_of_transactions_open_at_its_end(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    """pipelines.yml lacked the table while [200, 300) was applied; the windows contain it.

    A transaction open at 300 was carried over without the table's rows. Its commit in [300, 400) would
    apply only its second half.
    """
    corrected_table(context)
    on_disk.batch(on_disk.window(200, 300), omit_table=True)
    assert corrected_table(context).position == ChainPosition(FIRST, 199)
    spec = following_catch_up(context)
    assert (spec.start, spec.end, spec.tables[0].hold) == (200, 300, None)
    on_disk.batch(*context.landing.windows.after(ChainPosition(FIRST, 200)), catch_up="1")
    assert corrected_table(context).position == ChainPosition(FIRST, 299)
    on_disk.window(300, 400)
    reconcile_ledger(context)

    spec = following_batch(context)

    hold = spec.tables[0].hold
    assert hold is not None
    assert (hold.at_scn, hold.error["code"]) == (300, "RedoLost")


@pytest.mark.parametrize(("open_since", "held"), [(250, True), (300, False)])
def test_a_new_snapshot_needs_every_batch_since_its_oldest_open_transaction(
    on_disk: PipelineOnDisk, context: Run, open_since: int, held: bool
) -> None:
    """The batch [200, 300) omitted the table. A transaction open at its snapshot, AS OF 310, began at `open_since`."""
    corrected_table(context)
    on_disk.batch(on_disk.window(200, 300), omit_table=True)
    on_disk.load(310, open_since=open_since)
    on_disk.window(300, 400)
    corrected_table(context)

    spec = following_batch(context)

    assert (spec.tables[0].hold is not None) == held


@pytest.mark.parametrize(("open_since", "held"), [(250, True), (300, False)])
def test_a_new_snapshot_needs_every_window_since_its_oldest_open_transaction(
    on_disk: PipelineOnDisk, context: Run, open_since: int, held: bool
) -> None:
    """[200, 300) was planned before the table was in pipelines.yml, and landed without it after the snapshot AS OF 310."""
    corrected_table(context)
    on_disk.load(310, open_since=open_since)
    on_disk.window(200, 300, tables=())
    on_disk.window(300, 400)
    corrected_table(context)

    spec = following_batch(context)

    assert (spec.tables[0].hold is not None) == held
