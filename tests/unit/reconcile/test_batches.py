"""Names of batches, and batches and loads that a snapshot load supersedes."""

from __future__ import annotations

from uuid import uuid4

from redolake.context import Run
from redolake.ledger.tables import batches as batches_table
from redolake.reconcile.batches import attempt_of, beyond
from redolake.reconcile.newest_batches import batch_name, end_of, is_in_chain
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from tests.unit.reconcile.pipeline_on_disk import (
    FIRST,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    corrected_table,
    following_batch,
    following_catch_up,
)


def test_the_longest_batch_name_fits_the_ledger_and_every_path() -> None:
    longest = TableId("O" * 128, "T/" * 64)
    name = batch_name(2**31, 2**63, 2**63, attempt_of(f"{longest}:{uuid4().hex}"))

    assert len(name) <= batches_table.c.name.type.length
    assert not is_in_chain(name)
    assert end_of(name) == ChainPosition(2**31, 2**63)


def test_batches_and_loads_beyond_an_scn_are_found(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.load(250)
    passed = on_disk.batch(on_disk.window(200, 300))

    assert beyond(context, ChainPosition(FIRST, 220)).get(ORDERS, ()) == (passed, f"{250:020d}-token{FIRST}")
    assert beyond(context, ChainPosition(FIRST, 250)).get(ORDERS, ()) == (passed,)
    assert beyond(context, ChainPosition(FIRST, 299)).get(ORDERS, ()) == ()
    assert beyond(context, ChainPosition(SECOND, 10)).get(ORDERS, ()) == ()


def test_a_table_set_back_by_a_load_catches_up_from_the_snapshot(on_disk: PipelineOnDisk, context: Run) -> None:
    """The snapshot was read AS OF 250. The table was applied to 299 before the load."""
    window = on_disk.window(200, 300)
    passed = on_disk.batch(window)
    assert corrected_table(context).position == ChainPosition(FIRST, 299)

    on_disk.load(250, supersedes=(passed,))

    assert (corrected_table(context).state, corrected_table(context).position) == ("live", ChainPosition(FIRST, 250))
    spec = following_catch_up(context)
    assert (spec.start, spec.end, spec.tables[0].hold, spec.tables[0].destination.at_least) == (200, 300, None, 250)
    on_disk.batch(window, catch_up="1", position=250)
    assert [corrected_table(context).position for _ in range(2)] == [ChainPosition(FIRST, 299)] * 2
    on_disk.window(300, 400)
    spec = following_batch(context)
    assert (spec.start, spec.tables[0].destination.at_least) == (300, 250)


def test_a_lost_ledger_is_rebuilt_without_superseded_batches(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.load(250, supersedes=(on_disk.batch(on_disk.window(200, 300)),))

    assert (corrected_table(context).state, corrected_table(context).position) == ("live", ChainPosition(FIRST, 250))
    on_disk.batch(on_disk.window(300, 400), catch_up="1")
    assert corrected_table(context).position == ChainPosition(FIRST, 399)


def test_a_load_superseded_by_another_is_ignored(on_disk: PipelineOnDisk, context: Run) -> None:
    passed = on_disk.batch(on_disk.window(200, 300))
    on_disk.load(250)
    on_disk.load(220, supersedes=(passed, f"{250:020d}-token{FIRST}"))

    assert corrected_table(context).position == ChainPosition(FIRST, 220)
