"""Read tables AS OF the SCN of their snapshot into files: small ones in one piece, large ones in chunks."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

from redolake.context import Run, step
from redolake.errors import ChunksNeedOneScn, RedolakeError, Terminal, Transient
from redolake.host.progress import Progress, count_rows
from redolake.land.parquet import WrittenFile
from redolake.reconcile.pushed_filter import pushed_for
from redolake.records.shown_facts import SnapshotFact
from redolake.records.snapshots import SnapshotManifest
from redolake.source import (
    WHOLE,
    counted_rows,
)
from redolake.steps.shared.scn_times import snapshot_time
from redolake.steps.shared.shown_facts import expected_rows, record_snapshot
from redolake.steps.shared.table_rows import read_rows
from redolake.steps.snapshots.begin import begin_snapshot
from redolake.steps.snapshots.chunks import read_chunks
from redolake.steps.snapshots.read_task import EVERYTHING, ReadTask
from redolake.steps.snapshots.resnapshot import within_limit
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import Scn
from redolake.values.table import TableId

log = logging.getLogger(__name__)

MORE_READS = 2


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table's rows AS OF an SCN, which was the source's current one at `at`, in UTC. It is not `complete` while other workers
    read chunks of it."""

    table: str
    scn: int
    rows: int
    at: str | None = None
    complete: bool = True
    nulled: Mapping[str, int] = field(default_factory=dict)  # values that are NULL by rule, by column; known once it is loaded


@step
def read_snapshot_table(
    context: Run,
    scn: int,
    table: str,
    *,
    by_itself: bool = False,
    worker: tuple[int, int] = EVERYTHING,
    waits: bool = True,
    stop: Event | None = None,
) -> TableSnapshot:
    """Read one table into Parquet AS OF the SCN, or AS OF a newer one where the database can no longer show it at that SCN. A
    table in chunks may be read by several workers, each its share: `worker` is the number of one, and how many there are. Once
    `stop` is set, no further chunk is read.

    A table that was already read is not read again. Raises SnapshotTooLarge for a table that is read again `by_itself` and has
    more rows than its limit; its error then says so.
    """
    task = ReadTask(context, TableId.parse(table), scn, worker, by_itself, waits, stop)
    for _ in range(MORE_READS):
        try:
            return read_table_as_of(task)
        except RedolakeError as error:
            if error.ora_code not in OUT_OF_REACH and not isinstance(error, ChunksNeedOneScn):
                raise
            log.warning(
                "%s cannot be read AS OF SCN %s any more, and is read AS OF a newer one: %s", table, task.scn, error.what
            )
            if context.landing.chunks.plan(task.table, task.scn) is not None:
                context.landing.chunks.give_up(task.table, task.scn, error.what)
        scn = begin_snapshot(context, [table], replace=True).scn_of(table)
        task = replace(task, scn=scn, worker=EVERYTHING)  # the other workers may have ended with their shares of the older one
    return read_table_as_of(task)


def read_table_as_of(task: ReadTask) -> TableSnapshot:
    context, table, scn = task.run, task.table, task.scn
    there = context.landing.snapshots.whole(table, scn)
    plan = context.landing.chunks.plan(table, scn)
    if there is None and plan is None:
        there = read_in_one_piece(task)
    elif there is None:
        assert plan is not None
        done = len(context.landing.chunks.numbers(table, scn))
        record_snapshot(context, [table], SnapshotFact("reading", scn, chunks=len(plan.chunks), chunks_read=done))
        there = read_chunks(task)
        if there is None:  # others read the rest
            return TableSnapshot(str(table), scn, 0, snapshot_time(context, table, scn), complete=False)
        record_snapshot(context, [table], SnapshotFact("read", scn, there.row_count))
    return TableSnapshot(str(table), scn, there.row_count, snapshot_time(context, table, scn))


def read_in_one_piece(task: ReadTask) -> SnapshotManifest:
    context, pipeline, table, scn = task.run, task.run.pipeline, task.table, task.scn
    found, started = dictionary_of(context, table, scn), time.monotonic()
    expected = expected_rows(context, table)  # before this snapshot is recorded in place of the last one
    record_snapshot(context, [table], SnapshotFact("reading", scn))
    with context.oracle(pipeline.source.container) as oracle:
        if expected is None:
            expected = counted_rows(oracle, table, pipeline.source.container)
        by_rowid, token = pipeline.table(table).key == "rowid", uuid.uuid4().hex

        def record(so_far: Progress) -> None:
            with suppress(Transient):  # a ledger that is away for a moment costs no reading of the table
                record_snapshot(context, [table], fact_of(scn, so_far))

        def write(answers: Iterator[Any]) -> WrittenFile:
            counted = count_rows(limit_rate(answers, task), f"rows of {table}", context.report, expected, record)
            return context.landing.snapshots.write_rows(table, scn, counted, token=token)

        chosen = within_limit(context, table, write) if task.by_itself else write
        pushed = pushed_for(pipeline, found)
        parts = [] if pushed is None else [pushed.within(WHOLE)]
        file = read_rows(context, oracle, found, Scn(scn), by_rowid, chosen, *parts)
    filter = "" if pushed is None else pushed.record
    there = context.landing.snapshots.publish_manifest(table, scn, [file], filter=filter)
    record_snapshot(context, [table], SnapshotFact("read", scn, there.row_count, round(time.monotonic() - started, 3)))
    return there


def fact_of(scn: int, so_far: Progress) -> SnapshotFact:
    """Return how far a table is that is read in one piece."""
    left, rate = so_far.seconds_left, so_far.per_second
    return SnapshotFact(
        "reading",
        scn,
        rows=so_far.done,
        seconds_left=None if left is None else round(left, 1),
        expected=so_far.total,
        rows_per_second=None if rate is None else round(rate, 1),
    )


def limit_rate(answers: Iterator[Any], task: ReadTask) -> Iterator[Any]:
    """Pass the driver's data frames on, no more rows a second than `rows_per_second`."""
    rows, begun_at, stop = 0, time.monotonic(), task.stop or Event()
    for answer in answers:
        rows += answer.num_rows()
        yield answer
        stop.wait(task.seconds_ahead(rows, begun_at))


def dictionary_of(context: Run, table: TableId, scn: int) -> DictionaryTable:
    found = context.landing.snapshots.dictionary(table, scn)
    if found is None:
        raise Terminal("no snapshot was begun at this SCN", cure="clear the begin task", table=table, scn=scn)
    return found
