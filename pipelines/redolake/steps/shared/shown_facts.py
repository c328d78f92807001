"""Record what the page and the metrics show, at the moment it is known. Nothing decides by these facts."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from redolake.context import Run, now
from redolake.errors import SourceBusy, SourceRefused, SourceUnavailable
from redolake.reconcile.table_state import proofs_in
from redolake.records.codec import from_body, to_body
from redolake.records.shown_facts import (
    Choice,
    ChoicesFact,
    FailureFact,
    LogFact,
    PlanFact,
    RedoFact,
    SettingsFact,
    SnapshotFact,
    SourceFact,
    ThreadFact,
)
from redolake.source import Source
from redolake.steps.shared.scn_times import last_snapshot, snapshot_time
from redolake.steps.shared.wait import AwaitedLog
from redolake.values.redo import Position, RedoFacts, Window
from redolake.values.table import TableId
from redolake.window.redo_of_threads import LOGS_SHOWN, end_time, redo_of_threads


@contextmanager
def recorded_failure(context: Run) -> Iterator[None]:
    """Record an error that says that the source cannot be asked, and raise it."""
    try:
        yield
    except (SourceUnavailable, SourceBusy, SourceRefused) as error:
        since = now().isoformat(timespec="seconds")
        if (before := context.ledger.fact("source failure")) is not None:
            since = from_body(FailureFact, before, "the last failure in the ledger").since
        context.ledger.record_fact("source failure", to_body(FailureFact(error.code, error.what, error.cure, since)))
        raise


def host_clock_ahead(oracle: Source) -> timedelta:
    """Return the database host's clock minus UTC by this host's clock. FIRST_TIME of a log is in the host's time."""
    oracle.use_container(None)
    host: datetime = oracle.query("database_clock")[0].now_at
    return timedelta(seconds=round((host - now().replace(tzinfo=None)).total_seconds()))


def record_redo(
    context: Run, position: Position, facts: RedoFacts, ahead: timedelta, lags: Mapping[str, float], *, is_all: bool
) -> None:
    """Record the contact with the source, how far a standby is behind, and what its views show. A plan reads only the newer
    logs (`is_all` false); those that were read before it stay listed."""
    found = redo_of_threads(position, facts, ahead)
    before = None if is_all else context.ledger.fact("redo")
    if before is not None:
        found = with_older_logs(found, from_body(RedoFact, before, "the redo in the ledger"))
    contact = to_body(SourceFact(ahead.total_seconds(), lags))
    context.ledger.record_facts({("source", ""): contact, ("redo", ""): to_body(found)}, forget=["source failure"])


def with_older_logs(found: RedoFact, before: RedoFact) -> RedoFact:
    """Add logs that are older than any in `found`; all of them are read."""
    if found.resetlogs_id != before.resetlogs_id:
        return found
    earlier = {thread.thread: thread for thread in before.threads}
    return replace(found, threads=tuple(join_threads(thread, earlier.get(thread.thread)) for thread in found.threads))


def join_threads(thread: ThreadFact, before: ThreadFact | None) -> ThreadFact:
    if before is None or not thread.logs:
        return thread
    first = thread.logs[0].sequence
    older: tuple[LogFact, ...] = tuple(replace(log, kind="read") for log in before.logs if log.sequence < first)
    kept = (*older, *thread.logs)
    cut = kept[:-LOGS_SHOWN]
    older_from = before.older_from or (cut[0].begins_at if cut else None)
    return replace(thread, logs=kept[-LOGS_SHOWN:], older_logs=before.older_logs + len(cut), older_from=older_from)


def record_plan(context: Run, outcome: str, reason: str, awaited: AwaitedLog | None = None) -> None:
    """Record the answer of a plan. A log that is awaited since an earlier plan keeps its first time."""
    since = at = now().isoformat(timespec="seconds")
    thread, sequence = (None, None) if awaited is None else (awaited.thread, awaited.sequence)
    body = context.ledger.fact("plan")
    if body is not None:
        before = from_body(PlanFact, body, "the last plan in the ledger")
        if (before.outcome, before.thread, before.sequence) == (outcome, thread, sequence):
            since = before.since
    settings = SettingsFact(context.pipeline.settings_hash, socket.gethostname(), at)
    plan = PlanFact(outcome, reason, since, thread, sequence)
    context.ledger.record_facts({("plan", ""): to_body(plan), ("settings", ""): to_body(settings)})


def record_choices(context: Run, position: Position, choices: Sequence[Choice], rman: Sequence[str]) -> None:
    context.ledger.record_fact("choices", to_body(ChoicesFact(int(position.scn), tuple(choices), tuple(rman))))


def record_snapshot(context: Run, tables: Iterable[TableId], fact: SnapshotFact) -> None:
    """Record how far the snapshot of tables is. The time of its SCN stays as it was recorded first."""
    timed = {table: replace(fact, scn_at=fact.scn_at or snapshot_time(context, table, fact.scn)) for table in tables}
    context.ledger.record_facts({("snapshot", str(table)): to_body(one) for table, one in timed.items()})


def expected_rows(context: Run, table: TableId) -> int | None:
    """Return how many rows the table had at its last comparison, or else at its last snapshot; one that was cut off expected
    as many."""
    fact = context.ledger.fact("proofs", str(table))
    compared = (proof.rows for proof in (() if fact is None else proofs_in(fact, str(table))))
    snapshot = last_snapshot(context, table)
    read = None if snapshot is None else snapshot.expected if snapshot.state == "reading" else snapshot.rows
    return next((rows for rows in compared if rows is not None), read)


def utc_end_time(window: Window, facts: RedoFacts, ahead: timedelta) -> datetime | None:
    """Return when the window's end was written, in UTC."""
    found = end_time(window, facts)
    return None if found is None else (found - ahead).replace(tzinfo=UTC)
