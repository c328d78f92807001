"""Whether another chunk of a table's snapshot may be read now: nobody has paused it, and it is within its hours."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from redolake.context import Run
from redolake.reconcile.resnapshot_policy import Obstacle
from redolake.values.table import TableId


def pause_now(context: Run, table: TableId, at: datetime) -> Obstacle | None:
    """Return why no chunk of the table may begin at that time, or None. The hours come by themselves; a person's pause does not
    end so."""
    pause, settings = context.landing.chunks.pause_of(table), context.pipeline.settings(table).snapshot
    if pause is not None:
        what = f"{pause.by} has paused the table's snapshot at {pause.at}"
        return Obstacle(what, False, f"run `redolake snapshot {table.in_command} --resume`")
    if settings.begins_at(at.hour):
        return None
    return Obstacle(f"chunks are read in the hours {settings.hours_utc} UTC", True, "run it again within these hours")


def may_go_on(context: Run, tables: Iterable[TableId], at: datetime) -> bool:
    """Return whether a chunk of one of the tables may begin."""
    return any(pause_now(context, table, at) is None for table in tables)


def reads_chunks(context: Run, table: TableId) -> bool:
    """Return whether the table's newest snapshot is read in chunks."""
    scns = context.landing.snapshots.scns(table)
    return bool(scns) and context.landing.chunks.plan(table, scns[-1]) is not None
