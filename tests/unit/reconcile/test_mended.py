"""What `mend` does is stored with its reason, also where the way is a snapshot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake import steps
from redolake.context import Run
from redolake.operations.mend import mend
from redolake.reconcile.cures import WAYS
from redolake.steps.snapshots.load import LoadedSnapshot
from tests.unit.reconcile.pipeline_on_disk import PipelineOnDisk, corrected_table


def test_the_reason_of_a_snapshot_that_mends_a_table_is_stored(
    on_disk: PipelineOnDisk, context: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrected_table(context)
    line, _ = steps.look_up_ways(on_disk.pipeline, "SHOP.ORDERS")
    way = replace(WAYS["snapshot"], why="some 200,000 rows differ")
    monkeypatch.setattr(steps, "look_up_ways", lambda *_: (line, (way,)))
    monkeypatch.setattr("redolake.steps.run.take_snapshot", lambda *_, **__: LoadedSnapshot(None, ()))

    mend.act(Run(on_disk.pipeline, execute=True, by="dba", reason="it differs"), "SHOP.ORDERS")

    found = context.ledger.decisions()[-1]
    assert (found.who, found.body) == ("dba", {"table": "SHOP.ORDERS", "reason": "it differs"})
