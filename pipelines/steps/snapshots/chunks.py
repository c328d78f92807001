"""Read a large table in chunks, by several sessions, processes or hosts. Rows that were read are never read again.

All chunks are read AS OF one SCN while undo reaches it. Chunks that it no longer reaches are read AS OF a newer one, where the
table's redo makes both equal (docs/architecture/snapshots.md); else the snapshot begins again.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.config import Pipeline
from pipelines.context import PipelineContext, Report, now, open_context, open_pipeline_source, open_to_read, owner
from pipelines.errors import (
    ChunksNeedOneScn,
    LandingDamaged,
    RedolakeError,
    SnapshotPaused,
    SnapshotTooEarly,
    SourceRefused,
    Terminal,
)
from pipelines.host import crash
from pipelines.host.progress import Progress
from pipelines.land.chunks import as_written, later_files
from pipelines.land.parquet import WrittenFile
from pipelines.reconcile.batches import is_loaded
from pipelines.reconcile.chosen_columns import chosen_columns
from pipelines.reconcile.mappings import with_mapping
from pipelines.reconcile.pushed_filter import pushed_for, read_by_another_filter
from pipelines.reconcile.snapshot_pauses import pause_now
from pipelines.reconcile.snapshot_start import chain_epoch, check_followed
from pipelines.records.pauses import SnapshotPause
from pipelines.records.shown_facts import SnapshotFact
from pipelines.records.snapshots import ChunkManifest, ChunkPlan, ChunkScn, SnapshotManifest
from pipelines.schema import baseline
from pipelines.source import (
    ConnectParams,
    Part,
    Source,
    TableSize,
    cut_table,
    part_for,
    read_handover_and_tables,
    read_redo_facts,
    read_sizes,
)
from pipelines.steps.shared.shown_facts import record_snapshot
from pipelines.steps.shared.table_rows import read_rows
from pipelines.steps.snapshots.resnapshot import check_limit
from pipelines.values.amounts import duration, size
from pipelines.values.chunks import Chunk
from pipelines.values.delivery import allows_several_scns, deliveries_of
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.mapping import computes_key
from pipelines.values.ora_codes import NO_SUCH_PARTITION, OUT_OF_REACH
from pipelines.values.scn import Scn
from pipelines.values.table import TableId

log = logging.getLogger(__name__)

MORE_SCNS = 8  # newer SCNs for one chunk: undo that is shorter than a chunk is read is no use
LOOK_SECONDS = 30.0
LISTED_AT_ONCE = 16
_choosing = threading.Lock()  # one thread chooses a newer SCN, which the others then use


@dataclass(frozen=True, slots=True)
class Worker:
    """One of several that read chunks of a table at once, each its share."""

    number: int = 0
    of: int = 1

    def takes(self, chunk: Chunk) -> bool:
        return chunk.number % self.of == self.number


EVERYTHING = Worker()


@dataclass(frozen=True, slots=True)
class ReadTask:
    """What one process reads of one table, AS OF the SCN at which its snapshot was begun.

    `by_itself`: a policy reads it again, within the limits of `resnapshot`. `waits`: it waits for the hours in which chunks may
    begin. Once `stop` is set, no further chunk is read.
    """

    pipeline: Pipeline
    source: ConnectParams | None
    table: TableId
    scn: int
    report: Report
    worker: Worker = EVERYTHING
    by_itself: bool = False
    waits: bool = True
    stop: threading.Event | None = None

    def seconds_ahead(self, rows: int, begun_at: float) -> float:
        """Return how long to wait where so many rows came faster than `rows_per_second`."""
        most = self.pipeline.snapshot_settings(self.table).rows_per_second
        return 0.0 if most is None else max(0.0, rows / most - (time.monotonic() - begun_at))


# --- The plan ---------------------------------------------------------------------------------------------------------


@crash.writer
def plan_chunks(context: PipelineContext, oracle: Source, tables: Sequence[DictionaryTable], scn: int) -> None:
    """Publish how each large table is cut."""
    sizes = read_sizes(oracle, [table.in_oracle for table in tables], context.pipeline.source.container)
    for table in tables:
        plan = plan_table(context, oracle, table, scn, sizes[table.in_oracle])
        if plan is not None:
            context.landing.chunks.begin(table.table, scn, plan)


def plan_table(context: PipelineContext, oracle: Source, table: DictionaryTable, scn: int, size: TableSize) -> ChunkPlan | None:
    """Return how the table is cut; None for one that is read in one piece."""
    settings = context.pipeline.snapshot_settings(table.table)
    cut = cut_table(oracle, table, size, settings.chunk_bytes, context.pipeline.source.container)
    if cut is None:
        return None
    log.info("%s is read in %s chunks by %s: %s", table.table, len(cut.chunks), cut.by, size_text(size))
    pushed, chosen = pushed_for(context.pipeline, table), settings_of(context.pipeline, table.table)
    return ChunkPlan(
        str(table.table), scn, cut.by, cut.chunks, cut.column, cut.type, chosen, "" if pushed is None else pushed.record
    )


def size_text(size: TableSize) -> str:
    return f"{size.bytes} bytes{'' if size.is_measured else ' by statistics'}, {size.rows or 'unknown'} rows by statistics"


def settings_of(pipeline: Pipeline, table: TableId) -> str:
    """Return a hash of the settings that decide what is read of a table."""
    own = pipeline.table(table)
    said = (own.key_policy, pipeline.choice(table), sorted(own.columns.items()), pipeline.invalid_text_of(table))
    text = repr(said) if own.where is None else repr((*said, own.where))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_unfinished(context: PipelineContext, table: TableId) -> int | None:
    """Return the SCN of the table's newest snapshot in chunks that was begun, and neither loaded nor given up."""
    scns = context.landing.snapshots.scns(table)
    epoch = chain_epoch(context) if scns else ""
    for scn in reversed(scns):
        if context.landing.chunks.is_given_up(table, scn) or not context.landing.snapshots.was_begun(table, scn, epoch):
            continue
        try:
            plan = context.landing.chunks.plan(table, scn)
        except LandingDamaged as error:
            log.warning("the snapshot of %s AS OF SCN %s is not continued: %s", table, scn, error)
            continue
        if plan is None:
            continue
        is_usable = plan.settings == settings_of(context.pipeline, table) and not is_loaded(context, table, scn)
        return scn if is_usable else None
    return None


# --- Reading ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ChunkReading:
    """What the threads of one process share: where they are, and whether they have to stop."""

    task: ReadTask
    plan: ChunkPlan
    rows: int = 0
    done: int = 0
    bytes_read: int = 0  # of the chunks that this process has read
    begun_at: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Return whether no further chunk is to be read."""
        return self.stopped.is_set() or (self.task.stop is not None and self.task.stop.is_set())

    def count(self, rows: int) -> None:
        """Count rows that were fetched, and wait where they came faster than `rows_per_second`."""
        with self.lock:
            self.rows += rows
            ahead = self.task.seconds_ahead(self.rows, self.begun_at)
            self.task.report(Progress("", f"chunks of {self.task.table}", self.done, len(self.plan.chunks)))
        if ahead > 0:
            self.stopped.wait(ahead)

    def finish(self, chunk: ChunkManifest, found: SnapshotFact) -> None:
        """Report a chunk that was read, and how far the table is."""
        with self.lock:
            self.done = found.chunks_read or 0
            left = "" if found.seconds_left is None else f", some {duration(found.seconds_left)} left"
            line = (
                f"{self.task.table}: chunk {self.done} of {found.chunks}, {chunk.rows} rows AS OF SCN {chunk.scn}; "
                f"{size(found.bytes_read)} of {size(found.bytes)}{left}"
            )
            self.task.report(Progress(line, f"chunks of {self.task.table}", self.done, len(self.plan.chunks)))

    def progress(self, read: Collection[int]) -> SnapshotFact:
        """Return how far the table is; the time left is what this process has taken for each byte so far."""
        sizes = {chunk.number: chunk.bytes for chunk in self.plan.chunks}
        done, total = sum(sizes[number] for number in read if number in sizes), sum(sizes.values())
        took = time.monotonic() - self.begun_at
        left = round(took / self.bytes_read * (total - done), 1) if self.bytes_read else None
        return SnapshotFact(
            "reading", self.task.scn, chunks=len(sizes), chunks_read=len(read), bytes=total, bytes_read=done, seconds_left=left
        )


def read_chunks(task: ReadTask) -> SnapshotManifest | None:
    """Read the worker's share of the chunks that nobody has read yet. Return the snapshot's manifest once all chunks are read;
    None while others read the rest."""
    table, scn, worker = task.table, task.scn, task.worker
    with open_context(task.pipeline) as context:
        plan = context.landing.chunks.plan(table, scn)
        assert plan is not None, "the caller has seen it"
        there = context.landing.chunks.read(table, scn)
        own = [chunk for chunk in plan.chunks if worker.takes(chunk)]
        missing = [chunk for chunk in own if not context.landing.chunks.is_whole(table, scn, chunk.number)]
    if missing:
        sessions = task.pipeline.snapshot_settings(table).sessions if worker == EVERYTHING else 1
        read_side_by_side(ChunkReading(task, plan, done=len(there)), missing, sessions)
    with open_context(task.pipeline) as context:
        return publish_if_complete(context, table, scn, plan)


def read_side_by_side(reading: ChunkReading, missing: Sequence[Chunk], sessions: int) -> None:
    """Read chunks with several sessions. After an error the others end their chunk; the first error is raised."""
    waiting, lock = list(reversed(missing)), threading.Lock()

    def take() -> Chunk | None:
        with lock:
            return None if reading.is_over or not waiting else waiting.pop()

    def work() -> None:
        try:
            read_until_none(reading, take)
        except BaseException:
            reading.stopped.set()
            raise

    with ThreadPoolExecutor(min(sessions, len(missing)), "chunk") as threads:
        for future in [threads.submit(work) for _ in range(min(sessions, len(missing)))]:
            future.result()


def read_until_none(reading: ChunkReading, take: Callable[[], Chunk | None]) -> None:
    """Read chunks one after the other, with one session."""
    pipeline = reading.task.pipeline
    with open_context(pipeline) as context:
        found = context.landing.snapshots.dictionary(reading.task.table, reading.task.scn)
        assert found is not None, "a plan is published with the dictionary"
        with open_pipeline_source(pipeline, reading.task.source, pipeline.source.container) as oracle:
            while (chunk := take()) is not None:
                check_may_read(context, reading)
                if not context.landing.chunks.is_whole(
                    reading.task.table, reading.task.scn, chunk.number
                ):  # another host may have it
                    done = read_chunk(context, oracle, reading, found, chunk)
                    reading.finish(done, record_chunks(context, reading, chunk))


def record_chunks(context: PipelineContext, reading: ChunkReading, chunk: Chunk) -> SnapshotFact:
    """Record for the page how far the table is, and return it."""
    with reading.lock:
        reading.bytes_read += chunk.bytes
    found = reading.progress(context.landing.chunks.numbers(reading.task.table, reading.task.scn))
    record_snapshot(context, [reading.task.table], found)
    return found


def check_may_read(context: PipelineContext, reading: ChunkReading) -> None:
    """Raise SnapshotPaused where a person has paused the table, or outside its hours; with `waits`, wait for these."""
    table, was_told = reading.task.table, False
    while not reading.is_over and (paused := pause_now(context, table, now())) is not None:
        if paused.by_person or not reading.task.waits:
            raise SnapshotPaused(f"{paused.what}; what was read stays", cure=paused.cure, table=table)
        if not was_told:
            reading.task.report(f"{table}: {paused.what}: waiting for them")
            was_told = True
        reading.stopped.wait(LOOK_SECONDS)


def read_chunk(
    context: PipelineContext, oracle: Source, reading: ChunkReading, found: DictionaryTable, chunk: Chunk
) -> ChunkManifest:
    """Read a chunk AS OF the snapshot's SCN, or the newest SCN that others had to choose, or one that is chosen now."""
    scn = newest_scn(context, reading)
    for attempt in range(MORE_SCNS + 1):
        try:
            return read_chunk_as_of(context, oracle, reading, found, chunk, scn)
        except RedolakeError as error:
            if error.ora_code == NO_SUCH_PARTITION:
                raise partition_gone(reading.task.table, chunk, error) from error
            if error.ora_code not in OUT_OF_REACH:
                raise
            if attempt == MORE_SCNS:
                raise undo_too_short(reading.task.table, chunk, scn, error) from error
            scn = later_than(context, reading, found, scn, error)
            log.warning("chunk %s of %s is read AS OF SCN %s: %s", chunk.number, reading.task.table, scn, error.what)
    raise AssertionError("the last attempt returns or raises")


def partition_gone(table: TableId, chunk: Chunk, error: RedolakeError) -> ChunksNeedOneScn:
    """Return the error of a chunk whose partition was dropped or renamed: the plan has no such rows at any SCN."""
    return ChunksNeedOneScn(
        f"partition {chunk.part} is gone or has another name since the chunks were planned: {error.what}",
        cure=f"run `redolake snapshot {table} --replace --restart`, which reads it from the beginning",
        table=table,
    )


def undo_too_short(table: TableId, chunk: Chunk, scn: int, error: RedolakeError) -> SourceRefused:
    """Return the error of a chunk that lasts longer than undo. To begin again would read the other chunks for nothing."""
    return SourceRefused(
        f"chunk {chunk.number} cannot be read AS OF SCN {scn} either, the last of {MORE_SCNS} newer ones: {error.what}",
        cure=f"raise UNDO_RETENTION, then run `redolake snapshot {table} --replace`: chunks that were read stay. Or make "
        "`snapshot.chunk_bytes` smaller, and add --restart",
        table=table,
        scn=scn,
    )


def read_chunk_as_of(
    context: PipelineContext, oracle: Source, reading: ChunkReading, found: DictionaryTable, chunk: Chunk, scn: int
) -> ChunkManifest:
    table, plan, started = reading.task.table, reading.plan, time.monotonic()
    part = part_of_filter(context, plan, found, part_for(chunk, plan.by, plan.column, plan.type))
    by_rowid, token = context.pipeline.table(table).key == "rowid", uuid.uuid4().hex

    def count(answers: Iterator[Any]) -> Iterator[Any]:
        for answer in answers:
            reading.count(answer.num_rows())
            yield answer

    def write(answers: Iterator[Any]) -> WrittenFile:
        return context.landing.chunks.write_rows(table, reading.task.scn, count(answers), token)

    file = read_rows(context, reading.task.source, oracle, found, Scn(scn), by_rowid, write, part)
    seconds = round(time.monotonic() - started, 3)
    done = ChunkManifest(str(table), chunk.number, scn, file.rows, file.name, file.digest, seconds)
    published = context.landing.chunks.publish(table, reading.task.scn, done)
    if reading.task.by_itself:
        check_limit(context, table, sum(one.rows for one in context.landing.chunks.read(table, reading.task.scn).values()))
    return published


def part_of_filter(context: PipelineContext, plan: ChunkPlan, found: DictionaryTable, part: Part) -> Part:
    """Return the rows of a chunk that are read: by the filter that all chunks of the plan have."""
    pushed = pushed_for(context.pipeline, found) if plan.filter else None
    if plan.filter and (pushed is None or pushed.record != plan.filter):
        raise read_by_another_filter(found.table, plan.scn)
    return part if pushed is None else pushed.within(part)


def publish_if_complete(context: PipelineContext, table: TableId, scn: int, plan: ChunkPlan) -> SnapshotManifest | None:
    """Publish the snapshot once each chunk is read; return None while one is missing."""
    chunks = context.landing.chunks.read(table, scn)
    if len(chunks) < len(plan.chunks):
        return None
    return context.landing.snapshots.publish_manifest(table, scn, as_written(chunks), later_files(chunks, scn), plan.filter)


# --- A newer SCN ------------------------------------------------------------------------------------------------------


def newest_scn(context: PipelineContext, reading: ChunkReading) -> int:
    return max([reading.task.scn, *context.landing.chunks.later_scns(reading.task.table, reading.task.scn)])


def later_than(context: PipelineContext, reading: ChunkReading, found: DictionaryTable, scn: int, error: RedolakeError) -> int:
    """Return an SCN after `scn`, which undo no longer reaches: one that another reader has chosen, else a new one.

    Raises ChunksNeedOneScn where chunks of several SCNs would not make the table."""
    with _choosing:
        known = newest_scn(context, reading)
        if known > scn:
            return known
        check_several_scns(context, reading, found, error)
        later = choose_scn(context, reading, found)
        context.landing.chunks.record_later(reading.task.table, reading.task.scn, ChunkScn(later, error.what))
        return later


def check_several_scns(context: PipelineContext, reading: ChunkReading, found: DictionaryTable, error: RedolakeError) -> None:
    table = reading.task.table
    policy, choice = context.pipeline.table(table).key_policy, context.pipeline.choice(table)
    version = baseline(found, found.scn_before, None, policy, choice)
    mapping = with_mapping(context.pipeline, version, has_key=False).mapping
    if computes_key(mapping, version.key) or not allows_several_scns(deliveries_of((version,))):
        raise ChunksNeedOneScn(
            f"the table was to be read AS OF SCN {reading.task.scn}: {error.what}. Its redo cannot make chunks of several SCNs "
            "equal: it has no key, its key may be NULL or an expression computes it, or its rows or large objects are read "
            "again or assembled",
            cure="raise UNDO_RETENTION or `snapshot.sessions`, or read it at a quieter time; then run `redolake snapshot "
            f"{table} --replace`",
            table=table,
            scn=reading.task.scn,
        )


def choose_scn(context: PipelineContext, reading: ChunkReading, found: DictionaryTable) -> int:
    """Return the current SCN, at which the table is still as it was when the snapshot began."""
    table, pipeline = reading.task.table, context.pipeline
    with open_pipeline_source(pipeline, reading.task.source) as oracle:
        check_followed(context, read_redo_facts(oracle))
        handover, tables = read_handover_and_tables(oracle, [table], pipeline.source.container, pipeline.renamed)
        present = chosen_columns(pipeline, tables).get(table)
    if not context.landing.snapshots.was_begun(table, reading.task.scn, chain_epoch(context)):
        raise SnapshotTooEarly(
            "a RESETLOGS or a declared gap lies between the chunks", cure="begin the snapshot again", table=table
        )
    if present is None or replace(present, scn_before=found.scn_before, scn_after=found.scn_after) != found:
        raise ChunksNeedOneScn(
            f"a DDL has changed the table since SCN {reading.task.scn}, and undo no longer reaches it",
            cure=f"run `redolake snapshot {table} --replace`, which reads it from the beginning",
            table=table,
            scn=reading.task.scn,
        )
    return int(handover.snapshot_scn)


# --- What people decide -----------------------------------------------------------------------------------------------


def pause_snapshots(pipeline: Pipeline, tables: Sequence[str], *, paused: bool, by: str = "") -> tuple[str, ...]:
    """Let no more chunks of the tables be read, or let them be read again. Chunks that have begun are finished. Raises Terminal
    for a table that is none of the pipeline."""
    with open_context(pipeline) as context:
        configured = tuple(table.id for table in context.pipeline.tables)
        chosen = tuple(TableId.parse(text) for text in tables) or configured
        for table in chosen:
            if table not in configured:
                raise Terminal("is no table of the pipeline", cure="`redolake status` names its tables", table=table)
        at = now().isoformat(timespec="seconds")
        for table in chosen:
            context.landing.chunks.pause(table, SnapshotPause(paused, by or owner(), at))
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


def read_snapshot_progress(pipeline: Pipeline) -> SnapshotProgress:
    with open_to_read(pipeline) as context:
        pauses = context.landing.chunks.pauses(table.id for table in context.pipeline.tables)
        paused = tuple(PausedTable(str(table), pause.by, pause.at) for table, pause in pauses.items())
    return SnapshotProgress(read_chunked_tables(pipeline), paused)


def read_chunked_tables(pipeline: Pipeline) -> tuple[ChunkedTable, ...]:
    """Return the tables whose snapshot is read in chunks, by whichever process, and is not loaded yet."""
    with open_to_read(pipeline) as context:
        loaded = {e.table: e.snapshot_scn for e in context.ledger.tables() if e.state in ("live", "held")}
        tables = [table.id for table in context.pipeline.tables]
        with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:  # a table that was not read since its load costs one listing
            newest = list(pool.map(lambda table: max(context.landing.snapshots.scns(table), default=None), tables))
        begun = [t for t, scn in zip(tables, newest, strict=True) if scn is not None and scn != loaded.get(t)]
        found = (chunked_table(context, table) for table in begun)
        return tuple(one for one in found if one is not None)


def chunked_table(context: PipelineContext, table: TableId) -> ChunkedTable | None:
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
