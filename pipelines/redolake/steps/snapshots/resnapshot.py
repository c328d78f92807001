"""Snapshot a table again by itself if a DDL holds it and `on_ddl` says `resnapshot`, within the limits of pipelines.yml.

The table is read as by `redolake snapshot --replace`, beside the stream. Each attempt is recorded before it begins, so that an
attempt that is killed counts as well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from redolake.context import Run, now, step
from redolake.errors import SnapshotTooLarge
from redolake.host import crash
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import approvals, record_approval
from redolake.reconcile.ledger import reconcile_once
from redolake.reconcile.resnapshot_policy import Obstacle, answer, obstacle, restate, too_large
from redolake.reconcile.snapshot_pauses import pause_now, reads_chunks
from redolake.values.table import TableId

T = TypeVar("T")

log = logging.getLogger(__name__)

DECLARED = "pipelines.yml"
LONGEST_REASON = 200


@step
@crash.writer
def begin_resnapshots(context: Run, at: datetime | None = None) -> tuple[str, ...]:
    """Return the held tables to read again now, and record an attempt for each. Where a limit forbids it for good, the error of
    the table says which."""
    if not context.pipeline.may_resnapshot or context.pipeline.source.connection is None:
        return ()
    at = at or now()
    reconcile_once(context)
    held = [(entry, policy) for entry in context.ledger.tables("held") if (policy := answer(context, entry)) is not None]
    found = []
    for entry, policy in held:
        if is_due(context, entry, at):
            reason = str((entry.error or {}).get("what", ""))[:LONGEST_REASON]
            record_approval(
                context,
                "resnapshot",
                entry.table,
                entry.stopped_at,
                by=DECLARED,
                policy=policy,
                choice="resnapshot",
                reason=reason,
                at=at,
            )
            found.append(str(entry.table))
    return tuple(found)


def is_due(context: Run, entry: TableEntry, at: datetime) -> bool:
    assert entry.stopped_at is not None
    limits, error = context.pipeline.settings(entry.table).resnapshot, dict(entry.error or {})
    earlier = approvals(context, "resnapshot", entry.table)
    found = obstacle(limits, earlier, entry.stopped_at, error.get("where", {}).get("max_rows"), at)
    if found is None and earlier and reads_chunks(context, entry.table):  # an attempt that only finds it paused is none
        paused = pause_now(context, entry.table, at)
        found = None if paused is None else Obstacle(paused.what, True)
    if found is None:
        return True
    log.info("%s is not snapshotted again by itself now: %s", entry.table, found.what)
    if not found.passing:
        context.ledger.restate_hold(entry.table, restate(entry, found))
    return False


def within_limit(context: Run, table: TableId, write: Callable[[Iterator[Any]], T]) -> Callable[[Iterator[Any]], T]:
    """Let `write` take up to `resnapshot.max_rows`. For more, say so in the table's error and raise SnapshotTooLarge."""
    most = context.pipeline.settings(table).resnapshot.max_rows

    def limited_write(batches: Iterator[Any]) -> T:
        try:
            return write(limit_rows(batches, table, most))
        except SnapshotTooLarge:
            record_too_large(context, table, most)
            raise

    return limited_write


def check_limit(context: Run, table: TableId, rows: int) -> None:
    """Raise SnapshotTooLarge, and say so in the table's error, for more rows than `resnapshot.max_rows`."""
    most = context.pipeline.settings(table).resnapshot.max_rows
    if rows > most:
        record_too_large(context, table, most)
        raise larger_than(table, most)


def record_too_large(context: Run, table: TableId, most: int) -> None:
    entry, found = context.ledger.table(table), too_large(most)
    if entry is not None:
        context.ledger.restate_hold(table, restate(entry, found, max_rows=most))


def limit_rows(batches: Iterator[Any], table: TableId, most: int) -> Iterator[Any]:
    """Pass the driver's data frames on up to `most` rows."""
    rows = 0
    for batch in batches:
        rows += batch.num_rows()
        if rows > most:
            raise larger_than(table, most)
        yield batch


def larger_than(table: TableId, most: int) -> SnapshotTooLarge:
    return SnapshotTooLarge(
        f"the table has more than {most} rows, the most that is snapshotted again by itself",
        cure=f"raise `resnapshot.max_rows`, or run `redolake snapshot {table} --replace`, which has no limits",
        table=table,
    )
