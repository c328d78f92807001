"""Receive the streams of a window, each until it has passed the target, and find where the window ends.

The streams are received one after another, the one that is least far first, each up to where the one before has come: the
window ends at the lowest end. What only the database knows is asked of it (`stream_database`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial

from redolake.config import Pipeline
from redolake.context import Run
from redolake.context import now as utc_now
from redolake.errors import ReplicatorRefused, ReplicatorUnavailable, StreamLost
from redolake.reconcile.redo_loss import record_redo_loss
from redolake.records.codec import to_body
from redolake.records.readers import SECONDS, slice_facts
from redolake.records.shown_facts import StreamFact, StreamsFact
from redolake.records.windows import WindowManifest
from redolake.source.olr import Connection, Cut, Selection, Sequencer, connect, open_stream
from redolake.source.olr.messages import Checkpoint, Message, no_checkpoints, refuse
from redolake.steps.capture.received_rows import HeldBack, Received, Spool, Taken, open_spool
from redolake.steps.capture.stream_database import Database
from redolake.steps.capture.stream_start import Start
from redolake.steps.shared.redo_streams import Stream
from redolake.values.redo import Position

PAUSE_SECONDS = 1.0
ZONE_SECONDS = 15 * 60  # by multiples of which zones differ
MOST_SECONDS_OFF = 300
MOST_WITHOUT_CHECKPOINT = 32  # times `window.max_bytes`: the JSON of one transaction is several times as large as its redo
EMPTY_AFTER_SECONDS = 60  # a window without rows lands when the last one ended so long ago


def receive(
    context: Run, database: Database, position: Position, spools: ExitStack, start: Start
) -> Received | HeldBack | None:
    """Receive each stream until it has passed the source's SCN of now, or enough for a window. Return where the window ends;
    None where nothing has changed."""
    taken = list[Taken]()
    target, most = database.target, database.target
    try:
        database.prove_earlier(start)
        streams = database.streams(start)
        numbers = {thread: number for number, thread in enumerate(sorted(stream.thread for stream in streams))}
        for stream in streams:
            spool = spools.enter_context(open_spool(context.pipeline.source.container, stream.thread, numbers[stream.thread]))
            found = take_stream(context, database, position, stream, spool, start, target)
            taken.append(found)
            reach = found.reach(most)
            if reach is None or reach <= position.scn:
                record_streams(context, taken, streams, database.unproved_scn(start), held_by=stream.thread)
                return held_back(context.pipeline, found, is_only=len(streams) == 1)
            target = reach - 1 if target is None else min(target, reach - 1)
        received = Received(min(one.reach(most) or 0 for one in taken), tuple(sorted(taken, key=lambda one: one.spool.number)))
        database.check_close(received, start)
    except StreamLost as error:
        record_redo_loss(context, error, "mine", position, ())
        raise
    record_streams(context, taken, streams, database.unproved_scn(start))
    if start.last is not None and received.rows == 0 and not is_due(start.last, received, most):
        return None
    for cut in received.cuts:
        check_clock(cut, most, database.clock_ahead)
    return received


def take_stream(
    context: Run,
    database: Database,
    position: Position,
    stream: Stream,
    spool: Spool,
    start: Start,
    target: int | None,
) -> Taken:
    """Receive one stream until it has passed the target, or the end of a closed thread."""
    settings, selection = context.pipeline.source, database.selection()
    with connect(stream.address, settings.container, timeout_seconds=settings.silent_seconds) as connection:
        begins, state = (
            open_stream(connection, stream.state.anchor, partial(database.first, start, stream.thread)),
            stream.state,
        )
        if begins is not None:
            state = database.state_of_started(stream, begins)
        sequencer = Sequencer(int(position.scn), state.anchor, stream.logs)
        whole = take_messages(context.pipeline, connection, sequencer, selection, spool, stream, target)
    return Taken(stream, state, sequencer, spool, whole)


def held_back(pipeline: Pipeline, found: Taken, *, is_only: bool) -> HeldBack:
    """Return which thread holds windows back. Raises ReplicatorUnavailable once its last checkpoint is older than a run may
    wait. The only stream may wait for the end of a log, if it reads archived logs."""
    held, at = HeldBack(found), found.sequencer.checkpoint
    if at is None or at.seconds is None or (is_only and found.stream.following(at.sequence) is None):
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


def check_clock(cut: Cut, current_scn: int | None, ahead: timedelta | None) -> None:
    """Raise ReplicatorRefused where the stream's times are off: a checkpoint that has just come was written just now.

    `ahead` is the database host's clock minus UTC by ours: a zone and a wrong clock are in it, and a stream that is right has
    only the latter. Without asking the database, a stream that is behind looks like one whose times are behind.
    """
    if cut.seconds is None or (current_scn is not None and cut.end <= current_scn):
        return  # it is behind, and its times too
    off = cut.seconds - time.time()
    half = ZONE_SECONDS // 2
    wrong_clock = 0.0 if ahead is None else (ahead.total_seconds() + half) % ZONE_SECONDS - half
    if off - wrong_clock > MOST_SECONDS_OFF or (ahead is not None and wrong_clock - off > MOST_SECONDS_OFF):
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
    target: int | None,
) -> Cut | None:
    """Take messages until a cut is behind the target, or none come. Return the cut at a closed thread's end."""
    connection.set_pause(min(PAUSE_SECONDS, pipeline.source.silent_seconds))
    confirmed, began, started = sequencer.anchor is None, time.monotonic(), time.time()
    longest = pipeline.wait_max_minutes * 60 + pipeline.source.silent_seconds
    connection.expect_checkpoints(longest, MOST_WITHOUT_CHECKPOINT * pipeline.window.max_bytes)
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
        elapsed = time.monotonic() - began
        if target is None and elapsed >= PAUSE_SECONDS:  # a clock may be fast by a moment
            target = present_scn(started, sequencer.checkpoint)
        is_full = connection.received >= pipeline.window.max_bytes or elapsed >= longest
        is_long = elapsed >= pipeline.source.silent_seconds
        if is_enough(sequencer.cut, target, is_full=is_full, is_pause=message is None, is_long=is_long):
            if sequencer.lacks_checkpoints:
                raise no_checkpoints(f"whole transactions have come from {stream.address}, and none")
            return None
    return None


def is_enough(cut: Cut | None, target: int | None, *, is_full: bool, is_pause: bool, is_long: bool) -> bool:
    """Return whether the stream has given enough: it has passed the target, or a window is full. In a pause it reads archived
    logs only, or waits for one. Without a target nobody says when it has passed the present."""
    if cut is None:
        return is_pause and is_long
    if is_full or (target is not None and cut.end > target):
        return True
    return (is_pause and bool(cut.rows)) or (is_long and (is_pause or target is None))


def present_scn(started: float, last: Checkpoint | None) -> int | None:
    """Return the SCN of a checkpoint that was written since the receiver was started; None of an older one. It stands for the
    source's SCN of now where nobody was asked for it."""
    return None if last is None or last.seconds is None or last.seconds < started else last.c_scn


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
    context: Run,
    taken: Iterable[Taken],
    streams: Iterable[Stream],
    unproved_since: int | None,
    held_by: int | None = None,
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
    now = utc_now().isoformat(timespec="seconds")
    context.ledger.record_fact("streams", to_body(StreamsFact(ordered, now, unproved_since)))


def is_due(last: WindowManifest, cut: Received, current_scn: int | None) -> bool:
    """Return whether a window without rows lands: it says that nothing has changed up to its end. One that ends before the
    source's SCN of now always does, for more follows it."""
    if current_scn is not None and cut.end <= current_scn:
        return True
    before = next((facts[SECONDS] for facts in slice_facts(last) if SECONDS in facts), None)
    return before is None or cut.seconds is None or cut.seconds - int(before) >= EMPTY_AFTER_SECONDS
