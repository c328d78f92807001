"""Receive: take committed transactions from OpenLogReplicator, end a window where a checkpoint proves it, and land it.

Messages are kept in a temporary file until the window's end is known. Only what has landed is confirmed, by the next receiver:
whoever dies in between leaves nothing, and the next one receives the same again.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import IO

import pyarrow as pa

from pipelines.config import Pipeline
from pipelines.context import PipelineContext, open_context, open_pipeline_source
from pipelines.errors import PdbChanged, ReplicatorRefused, StreamLost
from pipelines.reconcile.ledger import reconcile_ledger
from pipelines.reconcile.redo_loss import record_redo_loss
from pipelines.reconcile.table_versions import object_ids
from pipelines.records.codec import to_body
from pipelines.records.readers import ANCHOR, SECONDS, OpenTransactions, is_received, slice_facts
from pipelines.records.windows import SliceRecord, WindowManifest
from pipelines.source import ConnectParams, Source, read_redo_facts, read_tables
from pipelines.source.olr import Address, Anchor, Connection, Cut, First, Selection, Sequencer, connect, open_stream, to_batch
from pipelines.source.olr.messages import Checkpoint, Message
from pipelines.source.olr.rows import SLICE
from pipelines.steps.capture import (
    LandedWindowReport,
    PlanOutcome,
    land_window,
    mine_window_slice,
    plan_next_window,
    plan_of,
    plan_slices,
)
from pipelines.steps.comparison_rows import remove_left_rows
from pipelines.steps.leases import receiver_lease
from pipelines.steps.matched_tables import with_matched_tables
from pipelines.steps.reader_change import (
    anchor_of,
    begin_of,
    check_given,
    handed_over,
    known_open,
    last_window,
    read_open,
    with_open,
)
from pipelines.steps.same_container import read_same_container, record_pdb_change
from pipelines.steps.shown_facts import host_clock_ahead, record_plan, record_redo, recorded_failure
from pipelines.values.landed_schema import LANDED_SCHEMA
from pipelines.values.redo import LogFile, LogTrace, Position, RedoFacts, RedoThread, Slice, Window
from pipelines.values.scn import Scn, ScnRange

BATCH_MESSAGES = 5000
PAUSE_SECONDS = 1.0
ZONE_SECONDS = 15 * 60  # by multiples of which zones differ
MOST_SECONDS_OFF = 300
EMPTY_AFTER_SECONDS = 60  # a window without rows lands when the last one ended so long ago


@dataclass(frozen=True, slots=True)
class ReceivedWindow:
    """`landed` is None where nothing has changed, or no table has contents."""

    plan: PlanOutcome
    landed: LandedWindowReport | None = None


class Spool:
    """Rows in a temporary file, in the order in which they came."""

    def __init__(self, file: IO[bytes], container: str | None) -> None:
        self._file, self._container = file, container
        self._waiting: list[Message] = []
        self._writer = pa.ipc.new_stream(file, LANDED_SCHEMA)
        self.rows = 0

    def add(self, message: Message) -> None:
        self._waiting.append(message)
        self.rows += 1
        if len(self._waiting) >= BATCH_MESSAGES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            first = self.rows - len(self._waiting)
            self._writer.write_batch(to_batch(self._waiting, first, self._container))
            self._waiting = []

    def first(self, rows: int, sequence: int) -> Iterator[pa.RecordBatch]:
        """Yield the first rows, as those of one log."""
        self._flush()
        self._writer.close()
        self._file.seek(0)
        left, at = rows, LANDED_SCHEMA.get_field_index("sequence")
        for batch in pa.ipc.open_stream(self._file):
            part = batch.slice(0, left)
            left -= part.num_rows
            log = pa.array([sequence] * part.num_rows, LANDED_SCHEMA.field(at).type)
            yield part.set_column(at, LANDED_SCHEMA.field(at), log)
            if not left:
                return


@contextmanager
def open_spool(container: str | None) -> Iterator[Spool]:
    with tempfile.TemporaryFile(prefix="redolake-stream-") as file:
        yield Spool(file, container)


@dataclass(frozen=True, slots=True)
class Start:
    """Where the receiver goes on. `known` is what is known of the transactions that are open at the position; with `is_first`,
    LogMiner has read up to there."""

    last: WindowManifest | None
    known: OpenTransactions | None
    is_first: bool = False

    @property
    def anchor(self) -> Anchor | None:
        return None if self.last is None or self.is_first else anchor_of(self.last)


def receive_next_window(pipeline: Pipeline, source: ConnectParams | None = None) -> ReceivedWindow:
    """Receive and land the next window; return it, or why there is none. After windows of LogMiner, it lands further ones until
    OpenLogReplicator can go on.

    Raises ReplicatorUnavailable, ReplicatorRefused and StreamLost, and LeaseHeld while another one receives.
    """
    with open_context(pipeline) as context:
        reconcile_ledger(context)
        remove_left_rows(context)
        position = context.ledger.position()
        if position is None:
            reason = f"no table has contents yet: run {pipeline.name}_snapshot, or `redolake snapshot`"
            return ReceivedWindow(PlanOutcome("nothing", reason))
        with recorded_failure(context), open_pipeline_source(pipeline, source) as oracle:
            facts = read_redo_facts(oracle, position.scn)
            now, start = read_open(oracle, facts), start_at(context, oracle, position)
            with receiver_lease(context) as check_lease:
                received = None if start is None else receive_window(context, oracle, position, facts, start, now)
                check_lease()
    if received is None:
        return mine_toward_handover(pipeline, source, now)
    outcome, record = received
    return ReceivedWindow(outcome, None if record is None else land_window(pipeline, record.window, [record], source))


def start_at(context: PipelineContext, oracle: Source, position: Position) -> Start | None:
    """Return where the receiver goes on; None while LogMiner must read on first. Raises ConfigurationError for a table that
    OpenLogReplicator would not give."""
    last, known = last_window(context, position), known_open(context, position)
    if last is None:  # whatever is open from before the beginning ends before the snapshots
        return Start(last, OpenTransactions(int(position.scn), int(position.scn)))
    if is_received(last):
        return Start(last, known)
    check_given(context, oracle)
    return None if known is None else Start(last, known, is_first=True)


def first_of(oracle: Source, position: Position, start: Start) -> First | None:
    """Return where a stream must begin that does not run yet: before every transaction that is open at the position."""
    known = start.known
    if known is None:
        return None
    facts = read_redo_facts(oracle, Scn(known.begins))
    begin = position.scn if start.last is None else begin_of(facts, known, position)
    return First(int(begin), log_with(position, begin, facts))


def receive_window(
    context: PipelineContext,
    oracle: Source,
    position: Position,
    facts: RedoFacts,
    start: Start,
    now: OpenTransactions | None,
) -> tuple[PlanOutcome, SliceRecord | None]:
    """Receive a window and write its rows; return the plan and the slice, None where nothing has changed."""
    try:
        container = read_same_container(context, oracle)
    except PdbChanged as error:
        record_pdb_change(context, error, position, facts)
        raise
    record_redo(context, position, facts, host_clock_ahead(oracle), is_all=False)
    context = with_matched_tables(context, oracle, context.pipeline)
    with open_spool(context.pipeline.source.container) as spool:
        cut = receive(context, oracle, position, facts, spool, start)
        if cut is None:
            outcome = PlanOutcome("nothing", "OpenLogReplicator has sent no change since the last window")
            record_plan(context, outcome.outcome, outcome.reason, None)
            return outcome, None
        window = window_of(position, facts, cut)
        ends_at = None if cut.seconds is None else datetime.fromtimestamp(cut.seconds, UTC)
        outcome = plan_slices(context, oracle, window, position.resetlogs_id, container, ends_at)
        began = ": OpenLogReplicator goes on after LogMiner" if start.is_first else ""
        outcome = replace(outcome, reason=f"SCN {window.scns}, {cut.rows} row(s) received{began}")
        record_plan(context, outcome.outcome, outcome.reason, None)
        record = write_rows(context, window, spool, cut)
    record = with_open(record, now if now is not None and now.at <= cut.end else start.known)
    return outcome, handed_over(record) if start.is_first else record


def mine_toward_handover(pipeline: Pipeline, source: ConnectParams | None, now: OpenTransactions | None) -> ReceivedWindow:
    """Land one more window by LogMiner, and note beside it since when transactions are open.

    Once LogMiner has passed the SCN of such a reading, OpenLogReplicator goes on."""
    planned = plan_next_window(pipeline, source)
    why = "LogMiner reads on to where OpenLogReplicator can take over"
    if now is None:
        why += ", which is not known: V$TRANSACTION does not show when each open transaction began. Is it a standby?"
    outcome = replace(planned, reason=f"{why}: {planned.reason}")
    if planned.window is None:
        return ReceivedWindow(outcome)
    mined = [mine_window_slice(pipeline, source, planned.window, number) for number in planned.slices]
    records = [with_open(one, now) if isinstance(one, SliceRecord) else one for one in mined]
    return ReceivedWindow(outcome, land_window(pipeline, planned.window, records, source))


def receive(
    context: PipelineContext, oracle: Source, position: Position, facts: RedoFacts, spool: Spool, start: Start
) -> Cut | None:
    """Receive until the stream has passed the source's SCN of now, or enough for a window. Return where the window ends, None
    where nothing has changed."""
    check_redo(context.pipeline, position, facts)
    selection = selection_of(context, oracle)
    settings = context.pipeline.source
    address = Address.parse(str(settings.address), str(settings.database))
    try:
        with connect(address, settings.container, timeout_seconds=settings.silent_seconds) as connection:
            is_started = open_stream(connection, start.anchor, lambda: first_of(oracle, position, start))
            sequencer = Sequencer(int(position.scn), None if is_started else start.anchor, logs_of(position, facts))
            cut = take_messages(context.pipeline, connection, sequencer, selection, spool, facts)
    except StreamLost as error:
        record_redo_loss(context, error, "mine", position, ())
        raise
    if cut is None or (start.last is not None and cut.rows == 0 and not is_due(start.last, cut, facts)):
        return None
    check_clock(cut, facts, host_clock_ahead(oracle))
    return cut


def check_clock(cut: Cut, facts: RedoFacts, ahead: timedelta) -> None:
    """Raise ReplicatorRefused where the stream's times are off: a checkpoint that has just come was written just now.

    `ahead` is the database host's clock minus UTC by ours: a zone and a wrong clock are in it, and a stream that is right has
    only the latter.
    """
    if cut.seconds is None or cut.end <= facts.current_scn:
        return  # it is behind, and its times too
    off = cut.seconds - time.time()
    half = ZONE_SECONDS // 2
    wrong_clock = (ahead.total_seconds() + half) % ZONE_SECONDS - half
    if abs(off - wrong_clock) > MOST_SECONDS_OFF:
        raise ReplicatorRefused(
            f"the times of the stream are {off / 3600:+.1f} h off: a checkpoint that was written just now says so",
            cure="set `host-timezone` in OpenLogReplicator.json to the zone of the database's host, and restart it",
        )


def take_messages(
    pipeline: Pipeline,
    connection: Connection,
    sequencer: Sequencer,
    selection: Selection,
    spool: Spool,
    facts: RedoFacts,
) -> Cut | None:
    connection.set_pause(min(PAUSE_SECONDS, pipeline.source.silent_seconds))
    confirmed, began = sequencer.anchor is None, time.monotonic()
    for message in connection.messages():
        if isinstance(message, Message):
            if sequencer.take(message):
                for kept in selection.take(message):
                    spool.add(kept)
            continue
        if isinstance(message, Checkpoint):
            for kept in selection.end():
                spool.add(kept)
            sequencer.take_checkpoint(message, spool.rows)
            if not confirmed and sequencer.anchor is not None and sequencer.is_past_anchor:
                connection.confirm(sequencer.anchor)
                confirmed = True
        cut = sequencer.cut
        if cut is not None and (cut.end > facts.current_scn or connection.received >= pipeline.window.max_bytes):
            return cut
        if message is None and ((cut is not None and cut.rows) or time.monotonic() - began >= pipeline.source.silent_seconds):
            return cut  # it reads archived logs only, or waits for one
    return None


def selection_of(context: PipelineContext, oracle: Source) -> Selection:
    """Return which transactions are landed: by the object ids that captured tables have or had, and by their names."""
    ids = tuple(table.id for table in context.pipeline.tables)
    dictionary = read_tables(oracle, ids, context.pipeline.source.container, context.pipeline.renamed)
    names = {*ids, *context.pipeline.renamed.values()}
    return Selection(frozenset(object_ids(context, dictionary)), frozenset((table.owner, table.name) for table in names))


def check_redo(pipeline: Pipeline, position: Position, facts: RedoFacts) -> None:
    """Raise ReplicatorRefused where one stream is not all of the redo."""
    threads = [thread.number for thread in facts.threads if is_enabled(thread)]
    if len(threads) > 1:
        raise ReplicatorRefused(
            f"the database has {len(threads)} redo threads, and an OpenLogReplicator reads one of them",
            cure="capture it with LogMiner: `kind: logminer` under `source`",
            threads=", ".join(map(str, threads)),
        )
    if position.resetlogs_id != facts.current_incarnation.resetlogs_id:
        raise ReplicatorRefused(
            f"the database was opened with RESETLOGS at SCN {facts.current_incarnation.resetlogs_scn}: this stream ends there",
            cure=f"run `redolake recover -p {pipeline.name} --snapshot`",
            position=int(position.scn),
        )


def is_due(last: WindowManifest, cut: Cut, facts: RedoFacts) -> bool:
    """Return whether a window without rows lands: it says that nothing has changed up to its end. One that ends before the
    source's SCN of now always does, for more follows it."""
    if cut.end <= facts.current_scn:
        return True
    before = next((facts[SECONDS] for facts in slice_facts(last) if SECONDS in facts), None)
    return before is None or cut.seconds is None or cut.seconds - int(before) >= EMPTY_AFTER_SECONDS


def log_with(position: Position, scn: Scn, facts: RedoFacts) -> int | None:
    """Return the sequence of the log that contains the SCN."""
    logs = (*facts.archived, *facts.online)
    own = [log for log in logs if (log.thread, log.resetlogs_id) == (thread_of(facts), position.resetlogs_id)]
    held = (log for log in own if log.first_scn <= scn and (log.next_scn is None or scn < log.next_scn))
    return next((log.sequence for log in held), None)


def logs_of(position: Position, facts: RedoFacts) -> dict[int, tuple[int, int | None]]:
    """Return the SCNs of each log that the control file shows: V$LOG_HISTORY, V$ARCHIVED_LOG and V$LOG."""
    logs: tuple[LogFile | LogTrace, ...] = (*facts.history, *facts.archived, *facts.online)
    thread = thread_of(facts)
    return {
        log.sequence: (int(log.first_scn), None if log.next_scn is None else int(log.next_scn))
        for log in logs
        if (log.thread, log.resetlogs_id) == (thread, position.resetlogs_id)
    }


def thread_of(facts: RedoFacts) -> int:
    """Return the redo thread that is enabled; `check_redo` refuses a second one."""
    return next((one.number for one in facts.threads if is_enabled(one)), facts.threads[0].number)


def is_enabled(thread: RedoThread) -> bool:
    return thread.is_open or thread.enabled != "DISABLED"


def window_of(position: Position, facts: RedoFacts, cut: Cut) -> Window:
    """Return the window with one log, by whose end the stream's position is known."""
    thread = thread_of(facts)
    end = Scn(cut.end)
    log = LogFile(thread, cut.anchor.sequence, position.resetlogs_id, position.scn, end)
    return Window(position.dbid, position.resetlogs_id, ScnRange(position.scn, end), (Slice(SLICE, thread, (log,)),))


def write_rows(context: PipelineContext, window: Window, spool: Spool, cut: Cut) -> SliceRecord:
    made = plan_of(context, window.name)
    record = context.landing.windows.write_slice(
        window,
        SLICE,
        spool.first(cut.rows, cut.anchor.sequence),
        uuid.uuid4().hex,
        tables=made.object_ids,
        names=made.tables,
        renamed=context.pipeline.renamed,
    )
    facts = {ANCHOR: to_body(cut.anchor), SECONDS: cut.seconds}
    return replace(record, circumstance={**record.circumstance, **facts})
