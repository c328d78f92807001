"""Windows and batches that omitted a table because pipelines.yml did not list it then, or changes of it.

Such a window has none of the table's rows. Such a batch carried over the transactions open at its end without the table's rows.
So no change of a transaction that began before the end of either may be applied to the table. Nor may one that was open when a
batch met a change that names no transaction, or one whose end is not clear: the change may be of it, and was not carried over.
"""

from __future__ import annotations

from collections.abc import Sequence

from redolake.context import Run
from redolake.errors import RedoLost
from redolake.ledger import TableEntry
from redolake.reconcile.batches import batch_result
from redolake.reconcile.ledger import proven_position
from redolake.reconcile.newest_batches import end_of, is_in_chain, names_from
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import HoldAt
from redolake.records.pruned import Pruned, PrunedTable
from redolake.records.readers import OpenTransactions
from redolake.records.split import SplitTransaction, SplitTransactions
from redolake.records.windows import WindowManifest
from redolake.values.scn import BEFORE_ALL, ChainPosition, Scn
from redolake.values.table import TableId


def since_of(context: Run, entry: TableEntry) -> ChainPosition | None:
    """Return the position from which the table's rows are needed after its snapshot; None if it has none."""
    if entry.snapshot_scn is None:
        return None
    return context.landing.snapshots.redo_needed_from(entry.table, entry.snapshot_scn)


def batches_between(context: Run, since: ChainPosition, until: ChainPosition) -> list[BatchResult]:
    """Return the batches of the chain that end after `since` and not after `until`."""
    names = [name for name in names_from(context, since.plus(1)) if is_in_chain(name) and end_of(name) <= until]
    return [result for name in names if (result := batch_result(context, name)) is not None]


def is_without(batch: BatchResult, table: TableId) -> bool:
    return all(done.table != table for done in batch.tables)


def without_transaction(batch: BatchResult, table: TableId, since: ChainPosition) -> int | None:
    """Return the highest SCN of the table's changes in a batch that were not carried over though their transaction may be open;
    None if all are older than `since`."""
    scn = batch.without_transaction.get(str(table))
    return scn if scn is not None and ChainPosition(batch.resetlogs_id, scn) >= since else None


def pruned_without_transaction(pruned: Pruned | None, table: TableId, since: ChainPosition) -> int | None:
    """Return what `without_transaction` returns of the batches that were pruned."""
    known = None if pruned is None else pruned.tables.get(str(table), PrunedTable()).without_transaction
    at = None if known is None else ChainPosition.parse(known)
    return int(at.scn) if at is not None and at >= since else None


def omission(context: Run, entry: TableEntry, carried: BatchResult | None, windows: Sequence[WindowManifest]) -> HoldAt | None:
    """Return a hold if an omitted table may lack changes in a batch over `windows` that carries over from `carried`.

    A table that has advanced since its snapshot depends on that batch alone: older ones would have held it before.
    """
    if entry.state != "live" or (carried is None and entry.snapshot_scn is None):
        return None
    end, start = BEFORE_ALL if carried is None else carried.end_position, windows[0].start
    if entry.complete_to_scn != entry.snapshot_scn:
        if carried is not None and is_without(carried, entry.table) and end > (since_of(context, entry) or BEFORE_ALL):
            return lost_changes(entry.table, start, f"the batch up to SCN {carried.end} was applied")
        return None
    since = since_of(context, entry)
    if since is None:
        return None
    if (gone := pruned_without(context.landing.pruned, entry.table, since)) is not None:
        return lost_changes(entry.table, start, gone)
    if (scn := pruned_without_transaction(context.landing.pruned, entry.table, since)) is not None:
        return lost_change(entry.table, start, scn)
    for batch in batches_between(context, since, end):
        if is_without(batch, entry.table):
            return lost_changes(entry.table, start, f"the batch up to SCN {batch.end} was applied")
        if (scn := without_transaction(batch, entry.table, since)) is not None:
            return lost_change(entry.table, start, scn)
    for window in context.landing.windows.after(since):
        if window.end_position.plus(-1) <= entry.position and str(entry.table) not in window.tables:
            return lost_changes(entry.table, start, f"the window up to SCN {window.end} was landed")
    return None


def pruned_without(pruned: Pruned | None, table: TableId, since: ChainPosition) -> str | None:
    """Say that a pruned window or batch after `since` was without the table; None where all had it."""
    if pruned is None or since >= pruned.position:
        return None
    known = pruned.tables.get(str(table), PrunedTable())
    for what, had_it in (("the windows", known.captured_from), ("the batches", known.batched_from)):
        if had_it is None or ChainPosition.parse(had_it) > since:
            return f"of {what} up to SCN {pruned.position.scn}, which were pruned on {pruned.steps[-1].at}, some were"
    return None


def lost_changes(table: TableId, start: int, what: str) -> HoldAt:
    error = RedoLost(
        f"{what} without the table, and transactions that were open there may have changed it",
        cure=f"`redolake snapshot {table} --replace` reads the table again, once these transactions have ended",
        table=table,
    )
    return HoldAt(start, error.as_dict())


def lost_change(table: TableId, start: int, scn: int) -> HoldAt:
    error = RedoLost(
        f"it is not known whether the transaction of a change at SCN {scn} had ended; the snapshot lacks it if it was open",
        cure=f"`redolake snapshot {table} --replace` reads the table again, once the transactions of that time have ended",
        table=table,
    )
    return HoldAt(start, error.as_dict())


# --- Snapshots at which nobody showed what was open ----------------------------------------------------------------------


def begins_at(context: Run, position: ChainPosition) -> tuple[str, ChainPosition] | None:
    """Return the last declared gap before a position and its end, or where the chain begins: redo before it was not read."""
    gap, start = context.landing.gaps.last_before(position), context.landing.handover.start()
    if gap is not None:
        return gap.name, gap.end.chain_position
    return None if start is None else (start.chain_position.name, start.chain_position)


def without_start(context: Run, position: ChainPosition) -> SplitTransactions | None:
    """Return the transactions without a START in the redo that was read; None where each snapshot knew what was open."""
    begin = begins_at(context, position) if context.landing.gaps.keeps_without_start else None
    return None if begin is None else context.landing.gaps.without_start(*begin)


def open_in_redo(context: Run) -> OpenTransactions | None:
    """Return since when transactions are open at the chain's end, of those that began in the redo that was read; None before
    the first snapshot."""
    position = proven_position(context)
    if position is None:
        return None
    begin = begins_at(context, position.chain_position)
    state = None if begin is None else context.landing.gaps.without_start(*begin)
    begun = () if state is None else state.begun
    return OpenTransactions(position.scn, min([position.scn, *(one.scn for one in begun)]))


def older_transaction(context: Run, entry: TableEntry, commits: Sequence[SplitTransaction], start: int) -> HoldAt | None:
    """Return a hold before the first of the `commits` without a START that the table's snapshot may lack: nobody showed what
    was open then, and what it changed before all redo that was read is not known."""
    since = since_of(context, entry) if commits and entry.state == "live" else None
    if since is None or entry.snapshot_scn is None:
        return None
    snapshot = ChainPosition(since.resetlogs_id, Scn(entry.snapshot_scn))
    late = [(at, one) for one in commits if (at := one.committed_at) is not None and at > snapshot]
    if not late or context.landing.snapshots.is_listed(entry.table, entry.snapshot_scn):
        return None
    at, first = min(late, key=lambda found: found[0])
    error = RedoLost(
        f"transaction {first.xid} commits at SCN {at.scn}, after the snapshot AS OF SCN {entry.snapshot_scn}, and began before "
        "all redo that was read: whether it changed the table there is not known",
        cure=f"`redolake snapshot {entry.table.in_command} --replace` reads the table again",
        table=entry.table,
        scn=at.scn,
        xid=first.xid,
        policy="unknown_ddl",
    )
    return HoldAt(max(at.scn, start), error.as_dict())
