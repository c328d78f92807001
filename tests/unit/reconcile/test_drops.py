"""Files of dropped transactions that are damaged or gone come back from the ledger."""

from __future__ import annotations

import pytest

from redolake.context import Run
from redolake.errors import LandingDamaged
from redolake.land import layout
from redolake.reconcile.ledger import drops, reconcile_ledger
from redolake.records.drops import DroppedTransaction
from tests.unit.reconcile.pipeline_on_disk import FIRST, OPEN, PipelineOnDisk, corrected_table, following_batch

DROP = DroppedTransaction(OPEN, FIRST, 200, "a forgotten session", "ann", "2026-05-01T00:00:00+00:00", {"SHOP.ORDERS": 4})


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "cut short"])
def test_a_drop_that_the_ledger_knows_is_written_again(on_disk: PipelineOnDisk, context: Run, is_gone: bool) -> None:
    """Without it the next batch would apply the transaction."""
    path = layout.drop_file(DROP.name)
    on_disk.write(path, DROP)
    corrected_table(context)
    file = on_disk.folder / "shop" / path
    written = file.read_bytes()
    if not is_gone:
        file.write_bytes(written[:-20])
        with pytest.raises(LandingDamaged) as caught:
            reconcile_ledger(context)
        assert f"remove {path} and run again: it is written again from the ledger" in caught.value.cure
    file.unlink()

    on_disk.window(200, 300)
    corrected_table(context)

    assert file.read_bytes() == written
    assert [drop.xid for drop in following_batch(context).redo.dropped] == [OPEN.xid]


def test_a_damaged_drop_that_the_ledger_does_not_know_is_to_be_made_again(on_disk: PipelineOnDisk, context: Run) -> None:
    path = layout.drop_file(DROP.name)
    on_disk.write(path, "{")

    with pytest.raises(LandingDamaged) as caught:
        reconcile_ledger(context)
    assert f"remove {path} and run again: then drop the transaction again" in caught.value.cure
    (on_disk.folder / "shop" / path).unlink()
    reconcile_ledger(context)

    assert drops(context) == []
