"""Count what batches did: rows by kind and by what became of them, DDL, commit times, sizes. From the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from redolake.context import Run, now, reader
from redolake.ledger.batch_stats import RowStats, clock_difference, table_stats, total
from redolake.ledger.entries import BatchEntry
from redolake.records.codec import from_body
from redolake.records.shown_facts import SourceFact
from redolake.steps.shared.named_tables import named_tables


@dataclass(frozen=True, slots=True)
class TableStats:
    """What the batches did to one table; `batches` counts those that changed it or read changes of it."""

    table: str
    batches: int
    total: RowStats


@dataclass(frozen=True, slots=True)
class BatchStats:
    """`landed_at` is when the first of its windows landed: None where the ledger was rebuilt, or it caught up one table."""

    name: str
    from_scn: int
    to_scn: int
    windows: int
    landed_at: datetime | None
    applied_at: datetime
    total: RowStats


@dataclass(frozen=True, slots=True)
class PipelineStats:
    """`tables` by name, `batches` in their order, oldest first."""

    pipeline: str
    since: datetime
    total: RowStats
    tables: tuple[TableStats, ...]
    batches: tuple[BatchStats, ...]


@reader
def read_stats(context: Run, hours: int, tables: Sequence[str] = ()) -> PipelineStats:
    """Return what the batches of the last `hours` did to the tables; to all of them where none is named. Raises
    ConfigurationError for a name that means no table, of now or before."""
    since = now() - timedelta(hours=hours)
    wanted = {str(table) for table in named_tables(context, tables, past=True)} if tables else set()
    batches, landed = context.ledger.batches_since(since), context.ledger.landed_times(since)
    fact = context.ledger.fact("source")
    ahead = 0.0 if fact is None else from_body(SourceFact, fact, "the last contact in the ledger").ahead_seconds
    found = [(batch, table_stats(batch, clock_difference(ahead), wanted)) for batch in batches]
    by_table: dict[str, list[RowStats]] = {}
    for _, changed in found:
        for table, stats in changed.items():
            by_table.setdefault(table, []).append(stats)
    return PipelineStats(
        context.name,
        since,
        total([stats for changed in by_table.values() for stats in changed]),
        tuple(TableStats(table, len(changed), total(changed)) for table, changed in sorted(by_table.items())),
        tuple(batch_stats(batch, landed.get(batch.name, (0, None)), changed) for batch, changed in found),
    )


def batch_stats(batch: BatchEntry, landed: tuple[int, datetime | None], changed: Mapping[str, RowStats]) -> BatchStats:
    windows, landed_at = landed
    scns = batch.scns
    return BatchStats(batch.name, scns.start, scns.end, windows, landed_at, batch.changed_at, total(changed.values()))
