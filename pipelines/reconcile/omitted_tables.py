"""Windows and batches that have left a table out, because pipelines.yml did not name it then.

Such a window has none of its rows. Such a batch has carried over, without its rows, the transactions that were open at its
end, whatever its windows hold. So nothing may be applied to the table that has begun before the end of either.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.context import Workplace
from pipelines.errors import RedoLost
from pipelines.land import layout
from pipelines.ledger import TableEntry
from pipelines.reconcile.batches import batch_result, end_of, is_of_the_chain
from pipelines.records.batch_result import BatchResult
from pipelines.records.batch_spec import HoldAt
from pipelines.records.window_manifest import WindowManifest
from pipelines.scn import BEFORE_ALL, ChainPosition
from pipelines.table import TableId


def since_of(work: Workplace, entry: TableEntry) -> ChainPosition | None:
    """From where on the table's rows are needed behind its snapshot; None for one that an older Redolake has begun."""
    if entry.snapshot_scn is None:
        return None
    return work.landing.snapshots.redo_needed_from(entry.table, entry.snapshot_scn)


def batches_between(work: Workplace, since: ChainPosition, until: ChainPosition) -> list[BatchResult]:
    """Those of the chain that end behind `since`, by `until`."""
    names = [
        name for name in work.landing.files.names(layout.BATCHES) if is_of_the_chain(name) and since < end_of(name) <= until
    ]
    return [result for name in names if (result := batch_result(work, name)) is not None]


def is_without(batch: BatchResult, table: TableId) -> bool:
    return all(done.table != table for done in batch.tables)


def left_out(
    work: Workplace, entry: TableEntry, carried: BatchResult | None, windows: Sequence[WindowManifest]
) -> HoldAt | None:
    """Of a batch over `windows`, to which what was open at the end of `carried` is carried over. Of a table that has come on
    since its snapshot that batch alone is asked: it could not have come past an older one."""
    if entry.state != "live" or (carried is None and entry.snapshot_scn is None):
        return None
    end, start = BEFORE_ALL if carried is None else carried.end_position, windows[0].start
    if entry.complete_to_scn != entry.snapshot_scn:
        if carried is not None and is_without(carried, entry.table) and end > (since_of(work, entry) or BEFORE_ALL):
            return lacking(entry.table, start, f"the batch up to SCN {carried.end} was applied")
        return None
    since = since_of(work, entry)
    if since is None:
        return None
    for batch in batches_between(work, since, end):
        if is_without(batch, entry.table):
            return lacking(entry.table, start, f"the batch up to SCN {batch.end} was applied")
    for window in work.landing.windows.after(since):
        if window.end_position.plus(-1) <= entry.position and str(entry.table) not in window.tables:
            return lacking(entry.table, start, f"the window up to SCN {window.end} was landed")
    return None


def lacking(table: TableId, start: int, what: str) -> HoldAt:
    error = RedoLost(
        f"{what} without the table, and transactions that were open there may have changed it",
        cure=f"`redolake snapshot {table} --replace` reads the table anew, once these transactions have ended",
        table=table,
    )
    return HoldAt(start, error.as_dict())
