"""Receive: take committed transactions from OpenLogReplicator, end a window where a checkpoint proves it, and land it.

Messages are kept in a temporary file until the window's end is known. Only what has landed is confirmed, by the next receiver:
whoever dies in between leaves nothing, and the next one receives the same again. Each redo thread has a stream, which is a
slice of the window.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from redolake.context import Run, step
from redolake.reconcile.ledger import reconcile_once
from redolake.records.readers import NOT_PROVED, SECONDS, STREAMS, UNPROVED, OpenTransactions, is_received
from redolake.records.windows import SliceRecord
from redolake.source import Source, read_redo_facts
from redolake.steps.capture.receive_streams import receive
from redolake.steps.capture.received_rows import Received, sequence_of
from redolake.steps.capture.stream_database import AskedDatabase, Database, UnaskedDatabase
from redolake.steps.capture.stream_start import Start, start_at
from redolake.steps.capture.windows import (
    LandedWindowReport,
    PlanOutcome,
    land_window,
    mine_window_slice,
    plan_next_window,
    plan_of,
)
from redolake.steps.shared.comparison_rows import remove_left_rows
from redolake.steps.shared.leases import receiver_lease
from redolake.steps.shared.reader_change import handed_over, known_open, last_window, read_open, with_open
from redolake.steps.shared.redo_streams import states_body
from redolake.steps.shared.shown_facts import record_plan, recorded_failure
from redolake.values.redo import LogFile, Position, Slice, Window
from redolake.values.scn import Scn, ScnRange


@dataclass(frozen=True, slots=True)
class CapturedWindow:
    """A plan that was carried out. `landed` is None where nothing has changed, or no table has contents."""

    plan: PlanOutcome
    landed: LandedWindowReport | None = None

    @property
    def rows(self) -> int:
        return 0 if self.landed is None else self.landed.rows


@step
def receive_next_window(context: Run) -> CapturedWindow:
    """Receive and land the next window; return it, or why there is none. After windows of LogMiner, it lands further ones until
    OpenLogReplicator can go on.

    Raises ReplicatorUnavailable, ReplicatorRefused and StreamLost, and LeaseHeld while another one receives.
    """
    reconcile_once(context)
    remove_left_rows(context)
    position = context.ledger.position()
    if position is None:
        reason = f"no table has contents yet: run {context.name}_snapshot, or `redolake snapshot`"
        return CapturedWindow(PlanOutcome("nothing", reason))
    with recorded_failure(context), database_of(context, position) as (database, start):
        with receiver_lease(context) as check_lease:
            received = None if start is None else receive_window(context, database, position, start)
            check_lease()
        now = database.open
    if received is None:
        return mine_toward_handover(context, now)
    outcome, written = received
    return CapturedWindow(outcome, land_window(context, written[0].window, written) if written else None)


@contextmanager
def database_of(context: Run, position: Position) -> Iterator[tuple[Database, Start | None]]:
    """Yield the database, which is asked where the pipeline has a connection, and where the receiver goes on."""
    if context.pipeline.source.connection is None:
        last = last_window(context, position)
        is_first = last is not None and not is_received(last)
        yield UnaskedDatabase(context, position), Start(last, known_open(context, position), is_first=is_first)
        return
    with context.oracle() as oracle:
        yield ask(context, oracle, position), start_at(context, oracle, position)


def ask(context: Run, oracle: Source, position: Position) -> AskedDatabase:
    facts = read_redo_facts(oracle, position.scn)
    return AskedDatabase(context, oracle, position, facts, read_open(oracle, facts))


def receive_window(context: Run, database: Database, position: Position, start: Start) -> tuple[PlanOutcome, list[SliceRecord]]:
    """Receive a window and write its rows; return the plan and the slices, none where nothing has changed."""
    database.begin()
    database.match_tables()
    with ExitStack() as spools:
        found = receive(context, database, position, spools, start)
        if not isinstance(found, Received):
            reason = found.reason if found else "OpenLogReplicator has sent no change since the last window"
            outcome = PlanOutcome("nothing", reason)
            record_plan(context, outcome.outcome, outcome.reason, None)
            return outcome, []
        database.match_tables()  # a RENAME may have come meanwhile
        window, unproved = window_of(position, found), database.unproved_scn(start)
        ends_at = None if found.seconds is None else datetime.fromtimestamp(found.seconds, UTC)
        outcome = database.plan(context, window, ends_at)
        outcome = replace(outcome, reason=f"SCN {window.scns}, {found.rows} row(s) received{remark(start, unproved)}")
        record_plan(context, outcome.outcome, outcome.reason, None)
        records = write_rows(context, window, found, start, unproved)
    database.check_rows(records)
    now = database.open
    known = now if now is not None and now.at <= found.end else start.known
    records = [with_open(record, known) for record in records]
    return outcome, [handed_over(record) for record in records] if start.is_first else records


def remark(start: Start, unproved: int | None) -> str:
    """Return what a plan says beside its size."""
    if unproved is not None:
        return f"; without a connection since SCN {unproved}: {NOT_PROVED}"
    return ": OpenLogReplicator goes on after LogMiner" if start.is_first else ""


def mine_toward_handover(context: Run, now: OpenTransactions | None) -> CapturedWindow:
    """Land one more window by LogMiner, and note beside it since when transactions are open.

    Once LogMiner has passed the SCN of such a reading, OpenLogReplicator goes on."""
    planned = plan_next_window(context)
    why = "LogMiner reads on to where OpenLogReplicator can take over"
    if now is None:
        why += ", which is not known: V$TRANSACTION does not show when each open transaction began. Is it a standby?"
    outcome = replace(planned, reason=f"{why}: {planned.reason}")
    if planned.window is None:
        return CapturedWindow(outcome)
    mined = [mine_window_slice(context, planned.window, number) for number in planned.slices]
    records = [with_open(one, now) if isinstance(one, SliceRecord) else one for one in mined]
    return CapturedWindow(outcome, land_window(context, planned.window, records))


def window_of(position: Position, received: Received) -> Window:
    """Return the window with a slice and a log per stream, by whose end the stream's position is known."""
    end = Scn(received.end)
    slices = []
    for one in received.taken:
        log = LogFile(one.stream.thread, sequence_of(one, received.end), position.resetlogs_id, position.scn, end)
        slices.append(Slice(one.spool.number, one.stream.thread, (log,)))
    return Window(position.dbid, position.resetlogs_id, ScnRange(position.scn, end), tuple(slices))


def write_rows(context: Run, window: Window, received: Received, start: Start, unproved: int | None) -> list[SliceRecord]:
    made = plan_of(context, window.name)
    states = {
        **start.states,
        **{one.stream.thread: replace(one.state, anchor=one.cut_at(received.end).anchor) for one in received.taken},
    }
    facts = {STREAMS: states_body(states), SECONDS: received.seconds}
    if unproved is not None:
        facts[UNPROVED] = unproved
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
