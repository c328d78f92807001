"""Tables whose chunks were read AS OF several SCNs: until the redo up to the highest is applied, their rows are of none.

Only the first batch after the load sees such a table: it applies all redo from the load's SCN to one at or after the highest,
in one commit. Until that redo is landed, the table waits.
"""

from __future__ import annotations

from dataclasses import replace

from redolake.context import Run
from redolake.errors import ChunksNeedOneScn, Transient
from redolake.ledger import TableEntry
from redolake.reconcile.holds import NOT_LOADED, BatchedTable
from redolake.records.batches.spec import HoldAt
from redolake.schema import Derived


def settles_at(context: Run, entry: TableEntry) -> int | None:
    """Return the SCN up to which redo must be applied before the table's rows are those of one SCN; None if they are."""
    if entry.snapshot_scn is None or entry.complete_to_scn != entry.snapshot_scn:
        return None
    manifest = context.landing.snapshots.manifest(entry.table, int(entry.snapshot_scn))
    return None if manifest is None else manifest.settles_at


def check_settled(context: Run, entry: TableEntry) -> None:
    """Raise Transient for a table whose rows are those of several SCNs: they equal no state of the source."""
    settles = settles_at(context, entry)
    if settles is not None:
        raise Transient(
            f"the table's chunks were read AS OF SCNs up to {settles}, and the redo up to there is not applied yet",
            cure="let capture and apply go on, then verify again",
            table=entry.table,
        )


def wait_to_settle(table: BatchedTable, settles: int, end: int) -> HoldAt | None:
    """Return why the table waits in a batch that ends before its highest SCN, or begins after its position."""
    reaches = end > settles and table.entry.position >= table.chain_position.plus(-1)
    if reaches:
        return None
    what = f"its chunks were read AS OF SCNs up to {settles}, and wait for the redo up to there"
    return HoldAt(table.start, {**NOT_LOADED, "what": what, "cure": "let capture and apply go on: it is caught up by itself"})


def hold_whole(table: BatchedTable, settles: int, hold: HoldAt | None, derived: Derived) -> HoldAt | None:
    """Return the hold of a table that must not be applied up to an SCN before the highest of its chunks: from the start."""
    first = next((step.scn for step in derived.steps if step.scn <= settles), None)
    if hold is not None and hold.at_scn <= settles:
        return replace(hold, at_scn=table.start)
    if first is None:
        return hold
    name = table.entry.table
    error = ChunksNeedOneScn(
        f"a DDL at SCN {first} changed the table while its chunks were read AS OF SCNs up to {settles}",
        cure=f"run `redolake snapshot {name} --replace`, which reads the table again",
        table=name,
        scn=first,
    )
    return HoldAt(table.start, error.as_dict())
