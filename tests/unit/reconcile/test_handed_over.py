"""Where LogMiner goes on after OpenLogReplicator, nothing is carried over: a change that it shows without a transaction may be
of one that was open there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redolake.context import Run
from redolake.records.readers import OPEN, READS_FROM
from redolake.records.windows import WindowManifest
from tests.unit.reconcile.pipeline_on_disk import FIRST, PipelineOnDisk, corrected_table, following_batch


def with_facts(on_disk: PipelineOnDisk, window: WindowManifest, facts: dict[str, Any]) -> WindowManifest:
    made = replace(window, circumstance={**window.circumstance, **facts})
    for path in (f"windows/{made.name}/manifest.json", f"chain/{FIRST:010d}-{made.start:020d}.json"):
        on_disk.write(path, made)
    return made


@pytest.mark.parametrize(
    ("known", "open_since"), [({}, 150), ({"at": 180, "oldest": 170}, 170), ({"at": 255, "oldest": 190}, 150)]
)
def test_a_batch_of_another_reader_knows_since_when_transactions_are_open(
    on_disk: PipelineOnDisk, context: Run, known: dict[str, int], open_since: int
) -> None:
    """The reading of the open transactions counts from its SCN on; without one, the redo that LogMiner reads does."""
    received = on_disk.window(200, 250)
    with_facts(on_disk, received, {"slices": {"0": {OPEN: known} if known else {}}})
    on_disk.batch(received)
    with_facts(on_disk, on_disk.window(250, 300), {READS_FROM: 150})
    assert corrected_table(context).complete_to_scn == 249

    spec = following_batch(context)

    assert (spec.start, spec.tables[0].destination.open_since) == (250, open_since)


def test_a_batch_of_the_same_reader_carries_over_what_is_open(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.window(200, 250)
    corrected_table(context)

    assert following_batch(context).tables[0].destination.open_since is None
