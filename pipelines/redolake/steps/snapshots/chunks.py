"""Read a large table in chunks, by several sessions, processes or hosts. Rows that were read are never read again.

All chunks are read AS OF one SCN while undo reaches it. Chunks that it no longer reaches are read AS OF a newer one, where the
table's redo makes both equal (docs/architecture/snapshots.md); else the snapshot begins again.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from redolake.context import Run, now
from redolake.errors import (
    ChunksNeedOneScn,
    RedolakeError,
    SnapshotPaused,
    SourceRefused,
)
from redolake.host.progress import Progress
from redolake.land.chunks import as_written, later_files
from redolake.land.parquet import WrittenFile
from redolake.reconcile.pushed_filter import pushed_for, read_by_another_filter
from redolake.reconcile.snapshot_pauses import pause_now
from redolake.records.shown_facts import SnapshotFact
from redolake.records.snapshots import ChunkManifest, ChunkPlan, SnapshotManifest
from redolake.source import (
    Part,
    Source,
    part_for,
)
from redolake.steps.shared.shown_facts import record_snapshot
from redolake.steps.shared.table_rows import read_rows
from redolake.steps.snapshots.chunk_scns import later_than, newest_scn
from redolake.steps.snapshots.read_task import EVERYTHING, ReadTask
from redolake.steps.snapshots.resnapshot import check_limit
from redolake.values.amounts import duration, size
from redolake.values.chunks import Chunk
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.ora_codes import NO_SUCH_PARTITION, OUT_OF_REACH
from redolake.values.scn import Scn
from redolake.values.table import TableId

log = logging.getLogger(__name__)

MORE_SCNS = 8  # newer SCNs for one chunk: undo that is shorter than a chunk is read is no use
LOOK_SECONDS = 30.0


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
            self.task.run.report(Progress("", f"chunks of {self.task.table}", self.done, len(self.plan.chunks)))
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
            self.task.run.report(Progress(line, f"chunks of {self.task.table}", self.done, len(self.plan.chunks)))

    def progress(self, read: Collection[int]) -> SnapshotFact:
        """Return how far the table is; the time left is what this process has taken for each byte so far."""
        sizes = {chunk.number: chunk.bytes for chunk in self.plan.chunks}
        done, total = sum(sizes[number] for number in read if number in sizes), sum(sizes.values())
        took = time.monotonic() - self.begun_at
        left = round(took / self.bytes_read * (total - done), 1) if self.bytes_read else None
        return SnapshotFact(
            "reading", self.task.scn, chunks=len(sizes), chunks_read=len(read), bytes=total, bytes_read=done,
            seconds_left=left, rows_per_second=round(self.rows / took, 1) if took else None,
        )  # fmt: skip


def read_chunks(task: ReadTask) -> SnapshotManifest | None:
    """Read the worker's share of the chunks that nobody has read yet. Return the snapshot's manifest once all chunks are read;
    None while others read the rest."""
    table, scn, (number, of), chunks = task.table, task.scn, task.worker, task.run.landing.chunks
    plan = chunks.plan(table, scn)
    assert plan is not None, "the caller has seen it"
    there = chunks.read(table, scn)
    own = [chunk for chunk in plan.chunks if chunk.number % of == number]
    missing = [chunk for chunk in own if not chunks.is_whole(table, scn, chunk.number)]
    if missing:
        sessions = task.run.pipeline.settings(table).snapshot.sessions if task.worker == EVERYTHING else 1
        read_side_by_side(ChunkReading(task, plan, done=len(there)), missing, sessions)
    return publish_if_complete(task.run, table, scn, plan)


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
    with reading.task.run.fork() as context:
        found = context.landing.snapshots.dictionary(reading.task.table, reading.task.scn)
        assert found is not None, "a plan is published with the dictionary"
        with context.oracle(context.pipeline.source.container) as oracle:
            while (chunk := take()) is not None:
                check_may_read(context, reading)
                if not context.landing.chunks.is_whole(
                    reading.task.table, reading.task.scn, chunk.number
                ):  # another host may have it
                    done = read_chunk(context, oracle, reading, found, chunk)
                    reading.finish(done, record_chunks(context, reading, chunk))


def record_chunks(context: Run, reading: ChunkReading, chunk: Chunk) -> SnapshotFact:
    """Record for the page how far the table is, and return it."""
    with reading.lock:
        reading.bytes_read += chunk.bytes
    found = reading.progress(context.landing.chunks.numbers(reading.task.table, reading.task.scn))
    record_snapshot(context, [reading.task.table], found)
    return found


def check_may_read(context: Run, reading: ChunkReading) -> None:
    """Raise SnapshotPaused where a person has paused the table, or outside its hours; with `waits`, wait for these."""
    table, was_told = reading.task.table, False
    while not reading.is_over and (paused := pause_now(context, table, now())) is not None:
        if not paused.passing or not reading.task.waits:
            raise SnapshotPaused(f"{paused.what}; what was read stays", cure=paused.cure, table=table)
        if not was_told:
            reading.task.run.report(f"{table}: {paused.what}: waiting for them")
            was_told = True
        reading.stopped.wait(LOOK_SECONDS)


def read_chunk(context: Run, oracle: Source, reading: ChunkReading, found: DictionaryTable, chunk: Chunk) -> ChunkManifest:
    """Read a chunk AS OF the snapshot's SCN, or the newest SCN that others had to choose, or one that is chosen now."""
    scn = newest_scn(context, reading.task)
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
            scn = later_than(context, reading.task, found, scn, error)
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
    context: Run, oracle: Source, reading: ChunkReading, found: DictionaryTable, chunk: Chunk, scn: int
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

    file = read_rows(context, oracle, found, Scn(scn), by_rowid, write, part)
    seconds = round(time.monotonic() - started, 3)
    done = ChunkManifest(str(table), chunk.number, scn, file.rows, file.name, file.digest, seconds)
    published = context.landing.chunks.publish(table, reading.task.scn, done)
    if reading.task.by_itself:
        check_limit(context, table, sum(one.rows for one in context.landing.chunks.read(table, reading.task.scn).values()))
    return published


def part_of_filter(context: Run, plan: ChunkPlan, found: DictionaryTable, part: Part) -> Part:
    """Return the rows of a chunk that are read: by the filter that all chunks of the plan have."""
    pushed = pushed_for(context.pipeline, found) if plan.filter else None
    if plan.filter and (pushed is None or pushed.record != plan.filter):
        raise read_by_another_filter(found.table, plan.scn)
    return part if pushed is None else pushed.within(part)


def publish_if_complete(context: Run, table: TableId, scn: int, plan: ChunkPlan) -> SnapshotManifest | None:
    """Publish the snapshot once each chunk is read; return None while one is missing."""
    chunks = context.landing.chunks.read(table, scn)
    if len(chunks) < len(plan.chunks):
        return None
    return context.landing.snapshots.publish_manifest(table, scn, as_written(chunks), later_files(chunks, scn), plan.filter)
