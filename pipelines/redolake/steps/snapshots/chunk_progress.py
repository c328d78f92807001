"""How far snapshots in chunks are, whoever reads them, and which ones people have paused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from redolake.context import Run, now, reader, step
from redolake.records.pauses import SnapshotPause
from redolake.records.snapshots import ChunkManifest, ChunkPlan
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.snapshots.chunk_plan import find_unfinished
from redolake.values.table import TableId

LISTED_AT_ONCE = 16


@step
def pause_snapshots(context: Run, tables: Sequence[str], *, paused: bool) -> tuple[str, ...]:
    """Let no more chunks of the tables be read, or let them be read again. Chunks that have begun are finished. Raises
    ConfigurationError for a name that means no table of the pipeline."""
    chosen = named_tables(context, tables)
    at = now().isoformat(timespec="seconds")
    for table in chosen:
        context.landing.chunks.pause(table, SnapshotPause(paused, context.decided_by, at))
    return tuple(map(str, chosen))


@dataclass(frozen=True, slots=True)
class ChunkedTable:
    """A table that is read in chunks: how many there are, and how many are read, by whichever process."""

    table: str
    scn: int
    chunks: int
    read: int
    rows: int
    bytes: int
    total_bytes: int
    seconds_left: float | None
    paused_by: str | None = None
    scns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PausedTable:
    """A table whose snapshots read no further chunk, as `by` decided."""

    table: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """The tables that are read in chunks, and the paused ones, whether a snapshot of them is under way or not."""

    tables: tuple[ChunkedTable, ...]
    paused: tuple[PausedTable, ...]


@reader
def read_snapshot_progress(context: Run) -> SnapshotProgress:
    pauses = context.landing.chunks.pauses(table.id for table in context.pipeline.tables)
    paused = tuple(PausedTable(str(table), pause.by, pause.at) for table, pause in pauses.items())
    return SnapshotProgress(read_chunked_tables(context), paused)


@reader
def read_chunked_tables(context: Run) -> tuple[ChunkedTable, ...]:
    """Return the tables whose snapshot is read in chunks, by whichever process, and is not loaded yet."""
    loaded = {e.table: e.snapshot_scn for e in context.ledger.tables() if e.state in ("live", "held")}
    tables = [table.id for table in context.pipeline.tables]
    with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:  # a table that was not read since its load costs one listing
        newest = list(pool.map(lambda table: max(context.landing.snapshots.scns(table), default=None), tables))
    begun = [t for t, scn in zip(tables, newest, strict=True) if scn is not None and scn != loaded.get(t)]
    found = (chunked_table(context, table) for table in begun)
    return tuple(one for one in found if one is not None)


def chunked_table(context: Run, table: TableId) -> ChunkedTable | None:
    """Return the progress of the table's snapshot in chunks; None where none is under way."""
    scn = find_unfinished(context, table)
    plan = None if scn is None else context.landing.chunks.plan(table, scn)
    if scn is None or plan is None:
        return None
    return progress_of(plan, context.landing.chunks.read(table, scn), context.landing.chunks.pause_of(table))


def progress_of(plan: ChunkPlan, read: Mapping[int, ChunkManifest], pause: SnapshotPause | None) -> ChunkedTable:
    """Return how far a plan is carried out. The time left is what the read chunks took for each byte, one after the other; it
    is shorter with several sessions."""
    sizes = {chunk.number: chunk.bytes for chunk in plan.chunks}
    done, total = sum(sizes[number] for number in read), sum(sizes.values())
    seconds = sum(one.seconds for one in read.values())
    left = None if not done else seconds / done * (total - done)
    scns = tuple(sorted({one.scn for one in read.values()}))
    return ChunkedTable(
        plan.table,
        plan.scn,
        len(plan.chunks),
        len(read),
        sum(one.rows for one in read.values()),
        done,
        total,
        left,
        None if pause is None else pause.by,
        scns,
    )
