"""Find when the source wrote an SCN, in what steps have recorded. Oracle is not asked; what is not recorded stays None."""

from __future__ import annotations

from datetime import datetime

from redolake.context import Run
from redolake.ledger import TableEntry
from redolake.records.codec import from_body
from redolake.records.shown_facts import SnapshotFact
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId


def end_time(context: Run, end: ChainPosition) -> str | None:
    """Return when the source wrote the end of a window."""
    return iso(context.ledger.end_times([end]).get(end))


def time_written(context: Run, scn: int) -> str | None:
    """Return the end of the window that contains an SCN: the source had written it by then."""
    return iso(context.ledger.time_written(scn))


def snapshot_time(context: Run, table: TableId, scn: int) -> str | None:
    """Return when the SCN was chosen, as the source's current one, for the table's last snapshot; None for another SCN."""
    found = last_snapshot(context, table)
    return None if found is None or found.scn != scn else found.scn_at


def last_snapshot(context: Run, table: TableId) -> SnapshotFact | None:
    body = context.ledger.fact("snapshot", str(table))
    return None if body is None else from_body(SnapshotFact, body, f"the snapshot of {table}")


def contents_time(context: Run, entry: TableEntry) -> str | None:
    """Return when the source wrote the SCN that a table is complete to."""
    return iso(context.ledger.contents_times([entry]).get(entry.table))


def iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")
