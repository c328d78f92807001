"""Receive: take committed transactions from OpenLogReplicator, end a window where a checkpoint proves it, and land it.

Messages are kept in a temporary file until the window's end is known. Only what has landed is confirmed, by the next receiver:
whoever dies in between leaves nothing, and the next one receives the same again.

Each redo thread has a stream, which is a slice of the window. They are received one after another, the one that is least far
first, each up to where the one before has come: the window ends at the lowest end.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from pipelines.config import Pipeline
from pipelines.context import PipelineContext, open_context, open_pipeline_source
from pipelines.context import now as utc_now
from pipelines.errors import PdbChanged, ReplicatorRefused, ReplicatorUnavailable, StreamLost
from pipelines.reconcile.ledger import reconcile_ledger
from pipelines.reconcile.redo_loss import record_redo_loss
from pipelines.reconcile.table_versions import object_ids
from pipelines.records.codec import to_body
from pipelines.records.readers import SECONDS, STREAMS, OpenTransactions, is_received, slice_facts
from pipelines.records.shown_facts import StreamFact, StreamsFact
from pipelines.records.windows import SliceRecord, WindowManifest
from pipelines.source import ConnectParams, Source, read_redo_facts, read_tables
from pipelines.source.olr import Connection, Cut, First, Selection, Sequencer, connect, open_stream
from pipelines.source.olr.messages import Checkpoint, Message, refuse
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
    begin_of,
    check_given,
    handed_over,
    known_open,
    last_window,
    read_open,
    with_open,
)
from pipelines.steps.received_rows import HeldBack, Received, Spool, Taken, open_spool, sequence_of
from pipelines.steps.redo_streams import (
    Stream,
    StreamState,
    check_anchor,
    check_started_after_ddl,
    check_tables,
    logs_of,
    needed_streams,
    read_table_hashes,
    states_body,
    states_of,
)
from pipelines.steps.same_container import read_same_container, record_pdb_change
from pipelines.steps.shown_facts import host_clock_ahead, record_plan, record_redo, recorded_failure
from pipelines.values.redo import LogFile, Position, RedoFacts, Slice, Window
from pipelines.values.scn import Scn, ScnRange

PAUSE_SECONDS = 1.0
ZONE_SECONDS = 15 * 60  # by multiples of which zones differ
MOST_SECONDS_OFF = 300
EMPTY_AFTER_SECONDS = 60  # a window without rows lands when the last one ended so long ago


@dataclass(frozen=True, slots=True)
class ReceivedWindow:
    """`landed` is None where nothing has changed, or no table has contents."""

    plan: PlanOutcome
    landed: LandedWindowReport | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Where the receiver goes on. `known` is what is known of the transactions that are open at the position; with `is_first`,
    LogMiner has read up to there."""

    last: WindowManifest | None
    known: OpenTransactions | None
    is_first: bool = False

    @property
    def states(self) -> dict[int, StreamState]:
        return {} if self.is_first else states_of(self.last)


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
                received = None if start is None else receive_window(context, pipeline, oracle, position, facts, start, now)
                check_lease()
    if received is None:
        return mine_toward_handover(pipeline, source, now)
    outcome, written = received
    return ReceivedWindow(outcome, land_window(pipeline, written[0].window, written, source) if written else None)


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


def first_of(oracle: Source, position: Position, start: Start, thread: int) -> First | None:
    """Return where a stream must begin that does not run yet: before every transaction that is open at the position."""
    known = start.known
    if known is None:
        return None
    facts = read_redo_facts(oracle, Scn(known.begins))
    begin = position.scn if start.last is None else begin_of(facts, known, position)
    return First(int(begin), log_with(position, begin, facts, thread))


def receive_window(
    context: PipelineContext,
    configured: Pipeline,
    oracle: Source,
    position: Position,
    facts: RedoFacts,
    start: Start,
    now: OpenTransactions | None,
) -> tuple[PlanOutcome, list[SliceRecord]]:
    """Receive a window and write its rows; return the plan and the slices, none where nothing has changed."""
    try:
        container = read_same_container(context, oracle)
    except PdbChanged as error:
        record_pdb_change(context, error, position, facts)
        raise
    record_redo(context, position, facts, host_clock_ahead(oracle), is_all=False)
    context = with_matched_tables(context, oracle, configured)
    with ExitStack() as spools:
        found = receive(context, oracle, position, facts, spools, start)
        if not isinstance(found, Received):
            reason = found.reason if found else "OpenLogReplicator has sent no change since the last window"
            outcome = PlanOutcome("nothing", reason)
            record_plan(context, outcome.outcome, outcome.reason, None)
            return outcome, []
        context = with_matched_tables(context, oracle, configured)  # a RENAME may have come meanwhile
        window = window_of(position, found)
        ends_at = None if found.seconds is None else datetime.fromtimestamp(found.seconds, UTC)
        outcome = plan_slices(context, oracle, window, position.resetlogs_id, container, ends_at)
        began = ": OpenLogReplicator goes on after LogMiner" if start.is_first else ""
        outcome = replace(outcome, reason=f"SCN {window.scns}, {found.rows} row(s) received{began}")
        record_plan(context, outcome.outcome, outcome.reason, None)
        records = write_rows(context, window, found, start)
    known = now if now is not None and now.at <= found.end else start.known
    records = [with_open(record, known) for record in records]
    return outcome, [handed_over(record) for record in records] if start.is_first else records


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
    context: PipelineContext, oracle: Source, position: Position, facts: RedoFacts, spools: ExitStack, start: Start
) -> Received | HeldBack | None:
    """Receive each stream until it has passed the source's SCN of now, or enough for a window. Return where the window ends;
    None where nothing has changed."""
    streams, taken = needed_streams(context.pipeline, position, facts, start.states), list[Taken]()
    numbers = {thread: number for number, thread in enumerate(sorted(stream.thread for stream in streams))}
    target = int(facts.current_scn)
    try:
        for stream in streams:
            container = context.pipeline.source.container
            spool = spools.enter_context(open_spool(container, stream.thread, numbers[stream.thread]))
            found = take_stream(context, oracle, position, facts, stream, spool, start, target)
            taken.append(found)
            reach = found.reach(facts)
            if reach is None or reach <= position.scn:
                record_streams(context, taken, streams, held_by=stream.thread)
                return held_back(context.pipeline, found) if len(streams) > 1 else None
            target = min(target, reach - 1)
        received = Received(min(one.reach(facts) or 0 for one in taken), tuple(sorted(taken, key=lambda one: one.spool.number)))
        check_close(context, oracle, position, received, start)
    except StreamLost as error:
        record_redo_loss(context, error, "mine", position, ())
        raise
    record_streams(context, taken, streams)
    if start.last is not None and received.rows == 0 and not is_due(start.last, received, facts):
        return None
    for cut in received.cuts:
        check_clock(cut, facts, host_clock_ahead(oracle))
    return received


def take_stream(
    context: PipelineContext,
    oracle: Source,
    position: Position,
    facts: RedoFacts,
    stream: Stream,
    spool: Spool,
    start: Start,
    target: int,
) -> Taken:
    """Receive one stream until it has passed the target, or the end of a closed thread."""
    settings, selection = context.pipeline.source, selection_of(context, oracle)
    with connect(stream.address, settings.container, timeout_seconds=settings.silent_seconds) as connection:
        first = partial(first_of, oracle, position, start, stream.thread)
        opened, state = open_stream(connection, stream.state.anchor, first), stream.state
        if opened.begins is not None:
            state = start_state(context.pipeline, oracle, stream, opened.begins)
        sequencer = Sequencer(int(position.scn), state.anchor, stream.logs)
        whole = take_messages(context.pipeline, connection, sequencer, selection, spool, stream, target)
    return Taken(stream, state, sequencer, spool, whole)


def start_state(pipeline: Pipeline, oracle: Source, stream: Stream, scn: int) -> StreamState:
    """Return the state of a stream that was started at an SCN. Raises ReplicatorRefused where it may not know the tables."""
    if stream.address.thread is None:
        return StreamState()
    hashes, ddl_at = read_table_hashes(pipeline, oracle)
    check_started_after_ddl(pipeline, oracle, stream.address, scn, ddl_at)
    return StreamState(None, hashes)


def check_close(context: PipelineContext, oracle: Source, position: Position, received: Received, start: Start) -> None:
    """Read the control file again, after the streams: a redo thread may have opened, and its logs must be those of the streams.
    Where there are several streams, the tables must be as they were when these were started."""
    facts = read_redo_facts(oracle, position.scn)
    needed_streams(context.pipeline, position, facts, start.states)
    for one in received.taken:
        logs = logs_of(position, facts, one.stream.thread)
        cut = one.whole or one.sequencer.cut
        check_anchor(one.stream, None if cut is None else cut.anchor, logs, is_standby=facts.is_standby)
    if context.pipeline.source.streams:
        check_tables({one.stream.thread: one.state for one in received.taken}, read_table_hashes(context.pipeline, oracle)[0])


def held_back(pipeline: Pipeline, found: Taken) -> HeldBack:
    """Return which thread holds windows back. Raises ReplicatorUnavailable once its last checkpoint is older than a run may
    wait."""
    held, at = HeldBack(found), found.sequencer.checkpoint
    if at is None or at.seconds is None:
        return held
    minutes = (time.time() - at.seconds) / 60
    if minutes > pipeline.wait_max_minutes:
        raise ReplicatorUnavailable(
            f"{held.reason}, written {minutes:.0f} minutes ago",
            cure="see that it runs, reads that thread's logs, and does not wait for one: ALTER SYSTEM ARCHIVE LOG CURRENT ends "
            "the logs of all threads. The step is retried",
            thread=found.stream.thread,
        )
    return held


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
    stream: Stream,
    target: int,
) -> Cut | None:
    """Take messages until a cut is behind the target, or none come. Return the cut at a closed thread's end."""
    connection.set_pause(min(PAUSE_SECONDS, pipeline.source.silent_seconds))
    confirmed, began = sequencer.anchor is None, time.monotonic()
    for message in connection.messages():
        if isinstance(message, Message):
            check_thread(message, stream)
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
        if (whole := end_of_closed(stream, sequencer)) is not None:
            return whole
        cut = sequencer.cut
        if cut is not None and (cut.end > target or connection.received >= pipeline.window.max_bytes):
            return None
        if message is None and ((cut is not None and cut.rows) or time.monotonic() - began >= pipeline.source.silent_seconds):
            return None  # it reads archived logs only, or waits for one
    return None


def check_thread(message: Message, stream: Stream) -> None:
    """Raise ReplicatorRefused for a message of another redo thread than the stream's."""
    named = stream.address.thread
    if named is None or message.thread == named:
        return
    if message.thread is None:
        raise refuse("a message does not say of which redo thread it is", "redo-thread", 1)
    raise ReplicatorRefused(
        f"OpenLogReplicator at {stream.address} sends redo thread {message.thread}",
        cure="correct `thread` or `address` below `streams` under `source`, or the logs that it reads",
        thread=named,
    )


def end_of_closed(stream: Stream, sequencer: Sequencer) -> Cut | None:
    last = sequencer.checkpoint
    if stream.end is None or last is None or not sequencer.is_past_anchor:
        return None
    return sequencer.end_of_thread(int(stream.end), stream.following(last.sequence))


def iso_utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def record_streams(
    context: PipelineContext, taken: Iterable[Taken], streams: Iterable[Stream], held_by: int | None = None
) -> None:
    """Record for people where each stream stands."""
    read = {one.stream.thread: one.sequencer.checkpoint for one in taken}
    facts = []
    for stream in streams:
        at = read.get(stream.thread)
        facts.append(
            StreamFact(
                thread=stream.thread,
                address=f"{stream.address.host}:{stream.address.port}",
                scn=None if at is None else at.c_scn,
                sequence=None if at is None else at.sequence,
                offset=None if at is None else at.offset,
                written_at=None if at is None or at.seconds is None else iso_utc(at.seconds),
                closed_at=None if stream.end is None else int(stream.end),
                holds_back=stream.thread == held_by,
            )
        )
    ordered = tuple(sorted(facts, key=lambda one: one.thread))
    context.ledger.record_fact("streams", to_body(StreamsFact(ordered, utc_now().isoformat(timespec="seconds"))))


def selection_of(context: PipelineContext, oracle: Source) -> Selection:
    """Return which transactions are landed: by the object ids that captured tables have or had, and by their names."""
    ids = tuple(table.id for table in context.pipeline.tables)
    dictionary = read_tables(oracle, ids, context.pipeline.source.container, context.pipeline.renamed)
    names = {*ids, *context.pipeline.renamed.values()}
    return Selection(frozenset(object_ids(context, dictionary)), frozenset((table.owner, table.name) for table in names))


def is_due(last: WindowManifest, cut: Received, facts: RedoFacts) -> bool:
    """Return whether a window without rows lands: it says that nothing has changed up to its end. One that ends before the
    source's SCN of now always does, for more follows it."""
    if cut.end <= facts.current_scn:
        return True
    before = next((facts[SECONDS] for facts in slice_facts(last) if SECONDS in facts), None)
    return before is None or cut.seconds is None or cut.seconds - int(before) >= EMPTY_AFTER_SECONDS


def log_with(position: Position, scn: Scn, facts: RedoFacts, thread: int) -> int | None:
    """Return the sequence of the thread's log that contains the SCN, or of the first one after it (a closed thread)."""
    logs = logs_of(position, facts, thread)
    held = [number for number, (first, end) in logs.items() if first <= scn and (end is None or scn < end)]
    return min(held or [number for number, (first, _) in logs.items() if first > scn], default=None)


def window_of(position: Position, received: Received) -> Window:
    """Return the window with a slice and a log per stream, by whose end the stream's position is known."""
    end = Scn(received.end)
    slices = []
    for one in received.taken:
        log = LogFile(one.stream.thread, sequence_of(one, received.end), position.resetlogs_id, position.scn, end)
        slices.append(Slice(one.spool.number, one.stream.thread, (log,)))
    return Window(position.dbid, position.resetlogs_id, ScnRange(position.scn, end), tuple(slices))


def write_rows(context: PipelineContext, window: Window, received: Received, start: Start) -> list[SliceRecord]:
    made = plan_of(context, window.name)
    states = {
        **start.states,
        **{one.stream.thread: replace(one.state, anchor=one.cut_at(received.end).anchor) for one in received.taken},
    }
    facts = {STREAMS: states_body(states), SECONDS: received.seconds}
    records = []
    for one in received.taken:
        cut = one.cut_at(received.end)
        record = context.landing.windows.write_slice(
            window,
            one.spool.number,
            one.spool.first(cut.rows, sequence_of(one, received.end), received.end),
            uuid.uuid4().hex,
            tables=made.object_ids,
            names=made.tables,
            renamed=context.pipeline.renamed,
        )
        records.append(replace(record, circumstance={**record.circumstance, **facts}))
    return records
