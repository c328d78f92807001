"""Compose what an operator sees of a pipeline from one reading of its ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta

from redolake.cockpit.health import health_of, unproved_scn
from redolake.cockpit.latency import latency_of
from redolake.cockpit.redo_chart import redo_chart
from redolake.cockpit.texts import count
from redolake.cockpit.values import (
    Batch,
    BatchLine,
    DecisionLine,
    Overview,
    Recovery,
    RedoChart,
    StreamLine,
    WindowLine,
)
from redolake.cockpit.window_account import account_parts
from redolake.config import Pipeline
from redolake.land import layout
from redolake.ledger import open_ledger_to_read
from redolake.ledger.batch_stats import clock_difference, table_stats, total
from redolake.ledger.entries import BatchEntry, Decision, Json
from redolake.ledger.reading import LedgerReading, WindowRow
from redolake.reconcile.doubt import doubt_in, doubt_text
from redolake.reconcile.dropped_transactions import OpenTransactionReport
from redolake.reconcile.table_state import one, table_lines
from redolake.records.codec import from_body
from redolake.records.gaps import DeclaredGap
from redolake.records.shown_facts import (
    ChoicesFact,
    LogFact,
    RedoFact,
    RunwayFact,
    SourceFact,
    StreamFact,
    StreamsFact,
)
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition

WINDOWS, TABLES, EVERY_TABLE = 30, 100, 1_000_000


def read_overview(
    pipeline: Pipeline,
    url: str,
    now: datetime,
    *,
    paused: bool = False,
    windows: int = WINDOWS,
    before: str | None = None,
    tables: int = TABLES,
    search: str = "",
) -> Overview:
    """Read the ledger at `url` and return what it knows. Nothing is corrected or written, and no other system is asked.

    `before` is the `next_windows` of an overview: older windows are listed. `search` is a part of tables' names."""
    start = None if before is None else ChainPosition.parse(before)
    with closing(open_ledger_to_read(url, pipeline.name, lambda: now)) as ledger:
        reading = ledger.reading(windows=windows, before=start)
        newest = reading if start is None else ledger.reading(windows=windows)
    return overview_of(pipeline, reading, now, newest=newest, paused=paused, tables=tables, search=search)


def overview_of(
    pipeline: Pipeline,
    reading: LedgerReading,
    now: datetime,
    *,
    newest: LedgerReading | None = None,
    paused: bool = False,
    tables: int = TABLES,
    search: str = "",
) -> Overview:
    """`newest` has the newest windows, of which health and latency are, where `reading` has older ones to list."""
    newest = newest or reading
    lines = table_lines(pipeline, newest)
    is_stream = pipeline.source.is_stream
    contact = contact_of(newest)
    lags = {} if contact is None else contact.lags
    latency = latency_of(newest.windows, newest.batch_starts, is_stream=is_stream, lags=lags)
    chosen = [line for line in lines if search.upper() in line.table.upper()]
    windows = tuple(window_line(pipeline, row, older) for row, older in with_older(reading.windows))
    last = reading.windows[-1] if reading.older_windows else None
    return Overview(
        pipeline=pipeline.name,
        at=now,
        health=health_of(pipeline.name, newest, lines, latency, paused=paused, is_stream=is_stream),
        is_stream=is_stream,
        streams=stream_lines(reading) if is_stream else (),
        unproved_since=unproved_scn(reading) if is_stream else None,
        schedule=pipeline.schedule,
        redo=chart_of(reading),
        latency=latency,
        windows=windows,
        next_windows=None if last is None else f"{last.resetlogs_id}-{last.start_scn}",
        waiting_windows=reading.window_counts.get("landed", 0),
        tables=tuple(chosen[:tables]),
        table_counts=dict(Counter(line.counted_as for line in lines)),
        found_tables=len(chosen),
        batch=batch_of(reading),
        transactions=tuple(transaction_lines(reading)),
        transaction_count=reading.open_count,
        transaction_rows=reading.open_rows,
        decisions=tuple(decision_lines(reading)),
        recovery=recovery_of(reading),
        runway=runway_of(reading),
        doubt=None if (doubt := doubt_in(reading)) is None else doubt_text(doubt),
        last_batch_seconds=batch_seconds(reading),
        ddl=reading.ddl,
        batches=tuple(batch_line(batch, reading) for batch in reading.batches),
    )


def with_older(windows: Sequence[WindowRow]) -> list[tuple[WindowRow, WindowRow | None]]:
    older: list[WindowRow | None] = [*windows, None]
    return list(zip(windows, older[1:], strict=True))


def contact_of(reading: LedgerReading) -> SourceFact | None:
    fact = one(reading, "source")
    return None if fact is None else from_body(SourceFact, fact.body, "the last contact in the ledger")


def ahead_of(reading: LedgerReading) -> timedelta:
    contact = contact_of(reading)
    return timedelta(0) if contact is None else timedelta(seconds=contact.ahead_seconds)


# --- windows


def window_line(pipeline: Pipeline, row: WindowRow, older: WindowRow | None) -> WindowLine:
    """`age_seconds` is that of the oldest change of the window when it was in Delta."""
    begins = None if older is None else older.ends_at
    age = None if row.applied_at is None or begins is None else (row.applied_at - begins).total_seconds()
    parts, difference = account_parts(row.account)
    return WindowLine(
        name=row.name,
        state=row.state,
        resetlogs_id=row.resetlogs_id,
        start_scn=row.start_scn,
        end_scn=row.end_scn,
        rows=row.row_count,
        logs=row.log_count,
        redo_bytes=row.redo_bytes,
        planned_at=row.planned_at,
        ends_at=row.ends_at,
        landed_at=row.landed_at,
        applied_at=row.applied_at,
        age_seconds=age,
        mine_seconds=row.mine_seconds,
        batch=row.batch,
        manifest=f"{pipeline.landing_folder}/{layout.window_manifest(row.name)}",
        parts=parts,
        difference=difference,
    )


# --- redo, transactions, batch


def missing_logs(reading: LedgerReading) -> set[tuple[int, int]]:
    return set() if reading.loss is None else {(log["thread"], log["sequence"]) for log in reading.loss.missing}


def chart_of(reading: LedgerReading) -> RedoChart | None:
    fact = one(reading, "redo")
    if fact is None:
        return None
    edge = next((row.ends_at for row in reading.windows if row.state in ("landed", "applied") and row.ends_at), None)
    found = mark_landed_logs(from_body(RedoFact, fact.body, "the redo in the ledger"), reading.position)
    return redo_chart(found, fact.at, edge, reading.read_at, missing_logs(reading))


def mark_landed_logs(fact: RedoFact, position: Position | None) -> RedoFact:
    """Return the redo with the logs as read that landed after it was recorded."""
    if position is None or position.resetlogs_id != fact.resetlogs_id:
        return fact

    def now(log: LogFact) -> LogFact:
        is_read = log.kind == "unread" and log.next_scn is not None and log.next_scn <= position.scn
        return replace(log, kind="read") if is_read else log

    return replace(fact, threads=tuple(replace(thread, logs=tuple(map(now, thread.logs))) for thread in fact.threads))


def stream_lines(reading: LedgerReading) -> tuple[StreamLine, ...]:
    fact = one(reading, "streams")
    if fact is None:
        return ()
    found = from_body(StreamsFact, fact.body, "the streams in the ledger")
    return tuple(
        StreamLine(
            thread=stream.thread,
            address=stream.address,
            scn=stream.scn,
            sequence=stream.sequence,
            offset=stream.offset,
            behind_seconds=seconds_behind(stream, fact.at),
            closed_at=stream.closed_at,
            holds_back=stream.holds_back,
        )
        for stream in found.streams
    )


def seconds_behind(stream: StreamFact, at: datetime) -> float | None:
    if stream.written_at is None:
        return None
    return max(0.0, (at - datetime.fromisoformat(stream.written_at)).total_seconds())


def transaction_lines(reading: LedgerReading) -> list[OpenTransactionReport]:
    ahead = ahead_of(reading)
    return [
        OpenTransactionReport(**asdict(found), age_seconds=age_of(found.first_at, reading.read_at, ahead))
        for found in reading.open_transactions
    ]


def age_of(first_at: str | None, now: datetime, ahead: timedelta) -> float | None:
    """Return the age of a time of the database host's clock."""
    if first_at is None:
        return None
    return max(0.0, (now - (datetime.fromisoformat(first_at) - ahead).replace(tzinfo=UTC)).total_seconds())


def batch_of(reading: LedgerReading) -> Batch | None:
    found = reading.batch_under_way
    if found is None:
        return None
    seconds = (reading.read_at - found.created_at).total_seconds()
    is_held = reading.lease_owner is not None and reading.lease_until is not None and reading.lease_until > reading.read_at
    return Batch(found.name, found.created_at, seconds, is_held)


def batch_line(batch: BatchEntry, reading: LedgerReading) -> BatchLine:
    found = total(table_stats(batch, clock_difference(ahead_of(reading).total_seconds())).values())
    landed = [row.landed_at for row in reading.windows if row.batch == batch.name and row.landed_at is not None]
    return BatchLine(
        name=batch.name,
        end_scn=batch.scns.end,
        landed_at=min(landed, default=None),
        applied_at=batch.changed_at,
        read=found.size,
        **{one.name: getattr(found, one.name) for one in fields(found)},
    )


def batch_seconds(reading: LedgerReading) -> dict[str, float]:
    """Return the seconds of the last batch for assembling, for decoding and merging, and altogether."""
    last = reading.last_batch
    if last is None or not (seconds := (last.result or {}).get("seconds")):
        return {}
    return {
        "assemble": seconds["assemble"],
        "merge": seconds["apply"],
        "batch": (last.changed_at - last.created_at).total_seconds(),
    }


def runway_of(reading: LedgerReading) -> Mapping[str, object] | None:
    fact = one(reading, "runway")
    if fact is None:
        return None
    found = from_body(RunwayFact, fact.body, "the runway in the ledger")
    return {**asdict(found), "at": fact.at}


# --- what people decided


def decision_lines(reading: LedgerReading) -> list[DecisionLine]:
    """Return the declared gaps and the other decisions, newest first."""
    gaps = [gap_line(gap, reading) for gap in reading.gaps]
    return sorted([*gaps, *map(decision_line, reading.decisions)], key=lambda line: line.at, reverse=True)


def gap_line(gap: DeclaredGap, reading: LedgerReading) -> DecisionLine:
    lacking = reading.lacking_tables(gap)
    what = f"SCN {count(int(gap.start.scn))} to {count(int(gap.last_position.scn))} was never read"
    if gap.dropped:
        what += f"; {len(gap.dropped)} open transactions with {count(gap.dropped_rows)} rows were dropped"
    if lacking:
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        what += f"; missing from {', '.join(lacking[:5])}{more} until the gap is closed or they are snapshotted again"
    return DecisionLine("declared gap", what, gap.reason, gap.by, gap.at, bool(lacking), int(gap.start.scn), int(gap.end.scn))


# The fields of a decision that are shown, and their words.
DECIDED = {
    "table": "table",
    "xid": "transaction",
    "start_scn": "from SCN",
    "from_scn": "from SCN",
    "tables": "tables",
    "policy": "policy",
    "choice": "choice",
}


def to_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return count(value) if isinstance(value, int) else str(value)


def decision_line(found: Decision) -> DecisionLine:
    body: Json = found.body
    names = [f"{word} {to_text(body[name])}" for name, word in DECIDED.items() if body.get(name)]
    return DecisionLine(found.kind, ", ".join(names), str(body.get("reason", "")), found.who, found.at.isoformat())


def recovery_of(reading: LedgerReading) -> Recovery | None:
    loss = reading.loss
    if loss is None:
        return None
    fact = one(reading, "choices")
    listed = None if fact is None else from_body(ChoicesFact, fact.body, "the choices in the ledger")
    if listed is not None and listed.scn != loss.position.get("scn"):
        listed = None
    missing = tuple(f"redo thread {log['thread']}, log {log['sequence']}: {log['why']}" for log in loss.missing)
    return Recovery(
        what=loss.error["what"],
        cure=loss.error["cure"],
        since=loss.since,
        missing=missing,
        choices=() if listed is None else listed.choices,
        rman=() if listed is None else listed.rman,
    )
