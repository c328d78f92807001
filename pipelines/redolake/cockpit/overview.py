"""Compose what an operator sees of a pipeline from one reading of its ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta

from redolake.cockpit.health import health_of, one, unproved_scn
from redolake.cockpit.latency import latency_of
from redolake.cockpit.redo_chart import redo_chart
from redolake.cockpit.texts import count
from redolake.cockpit.values import (
    Batch,
    BatchLine,
    DecisionLine,
    HistoryLine,
    OpenGap,
    Overview,
    Proof,
    Recovery,
    RedoChart,
    StreamLine,
    TableLine,
    TransactionLine,
    WindowLine,
)
from redolake.cockpit.window_account import account_parts
from redolake.config import Pipeline
from redolake.config.tables import default_path
from redolake.land import layout
from redolake.ledger import open_ledger_to_read
from redolake.ledger.batch_stats import clock_difference, table_stats, total
from redolake.ledger.entries import BatchEntry, Decision, Json, TableEntry
from redolake.ledger.reading import LedgerReading, WindowRow
from redolake.records.batches.manifest import HistoryFact
from redolake.records.codec import from_body
from redolake.records.gaps import DeclaredGap
from redolake.records.shown_facts import (
    ChoicesFact,
    DropsFact,
    LogFact,
    ProofFact,
    QuarantineFact,
    RedoFact,
    RunwayFact,
    SourceFact,
    StreamFact,
    StreamsFact,
)
from redolake.values.amounts import duration, size
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from redolake.values.terms import RowCounts

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
    latency = latency_of(newest.windows, newest.batch_starts, is_stream=is_stream)
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
        last_batch_seconds=batch_seconds(reading),
        ddl=reading.ddl,
        batches=tuple(batch_line(batch, reading) for batch in reading.batches),
    )


def with_older(windows: Sequence[WindowRow]) -> list[tuple[WindowRow, WindowRow | None]]:
    older: list[WindowRow | None] = [*windows, None]
    return list(zip(windows, older[1:], strict=True))


def ahead_of(reading: LedgerReading) -> timedelta:
    fact = one(reading, "source")
    if fact is None:
        return timedelta(0)
    return timedelta(seconds=from_body(SourceFact, fact.body, "the last contact in the ledger").ahead_seconds)


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


# --- tables


def table_lines(pipeline: Pipeline, reading: LedgerReading) -> list[TableLine]:
    """Return all tables: held ones first, then those that others have passed, then by name."""
    listed = {entry.table for entry in reading.tables if is_listed(pipeline, entry.table)}
    furthest = max((entry.position for entry in reading.tables if entry.state == "live"), default=None)
    gaps = lacked_gaps(reading)
    lake = pipeline.lake.rstrip("/")
    targets = {table.id: f"{lake}/{table.path}" for table in pipeline.tables}
    lines = [
        table_line(
            entry,
            reading,
            targets.get(entry.table) or f"{lake}/{default_path(entry.table)}",  # of a pattern
            furthest is not None and entry.position < furthest,
            entry.table in listed,
            history_line(pipeline, reading, entry.table) if entry.table in listed else None,
            gaps.get(str(entry.table), ()),
        )
        for entry in reading.tables
    ]
    rank = {"held": 0, "snapshotting": 1, "new": 2, "dropped": 5, "not listed": 6}
    return sorted(lines, key=lambda line: (rank.get(line.counted_as, 4), not line.behind, line.table))


def lacked_gaps(reading: LedgerReading) -> dict[str, tuple[OpenGap, ...]]:
    """Return the declared gaps that each table lacks, by its name."""
    found: dict[str, tuple[OpenGap, ...]] = {}
    for gap in reading.gaps:
        opened = OpenGap(int(gap.start.scn), int(gap.last_position.scn), datetime.fromisoformat(gap.at))
        for name in reading.lacking_tables(gap):
            found[name] = (*found.get(name, ()), opened)
    return found


def is_listed(pipeline: Pipeline, table: TableId) -> bool:
    """Return whether `tables` names the table, or a pattern of it matches. The page reads the ledger alone, which does not have
    the tables that patterns have matched."""
    return table in pipeline.by_id or pipeline.match_of(table) is not None


def history_line(pipeline: Pipeline, reading: LedgerReading, table: TableId) -> HistoryLine | None:
    """Return what is known of the table's history; None for a table without one."""
    kind, fact = pipeline.history_kind(table), one(reading, "history", str(table))
    if kind == "none":
        return None
    return HistoryLine(kind, None if fact is None else from_body(HistoryFact, fact.body, f"the history of {table}"))


def table_line(
    entry: TableEntry,
    reading: LedgerReading,
    target: str,
    is_behind: bool,
    listed: bool,
    history: HistoryLine | None,
    gaps: tuple[OpenGap, ...],
) -> TableLine:
    changes, hold = reading.changes.get(entry.table), entry.hold
    return TableLine(
        table=str(entry.table),
        target=target,
        state=entry.state,
        complete_to_scn=entry.complete_to_scn,
        delta_version=entry.delta_version,
        behind=is_behind and entry.state == "live" and listed,
        changed_at=reading.changed_at.get(entry.table),
        proofs=proofs_of(reading, str(entry.table)),
        snapshot=snapshot_text(reading, entry),
        code=hold.get("code"),
        error=hold.get("what"),
        where=", ".join(f"{name} {value}" for name, value in (hold.get("where") or {}).items() if name != "table"),
        cure=hold.get("cure") or "",
        held_at=entry.held_at,
        complete_to_at=reading.contents_at.get(entry.table),
        listed=listed,
        quarantined_keys=quarantined_keys(reading, entry),
        nulled=values_nulled(reading, entry),
        history=history,
        snapshot_scn=entry.snapshot_scn,
        dropped_at=reading.dropped_at.get(entry.table),
        gaps=gaps,
        dropped_transactions=lacked_drops(reading, entry),
        **(changes or RowCounts()).counts,
    )


def lacked_drops(reading: LedgerReading, entry: TableEntry) -> tuple[str, ...]:
    """Return the dropped transactions whose changes the table lacks: it was not read again since their end."""
    fact = one(reading, "drops")
    found = () if fact is None else from_body(DropsFact, fact.body, "the dropped transactions in the ledger").drops
    return tuple(drop.xid for drop in found if str(entry.table) in drop.tables and (entry.snapshot_scn or -1) < drop.end_scn)


def quarantined_keys(reading: LedgerReading, entry: TableEntry) -> int:
    """Return how many keys are in quarantine, by the last batch or command that looked."""
    fact = one(reading, "quarantine", str(entry.table))
    return 0 if fact is None else from_body(QuarantineFact, fact.body, f"the quarantine of {entry.table}").keys


def values_nulled(reading: LedgerReading, entry: TableEntry) -> int:
    """Return how many values were NULL by rule when all rows were last compared, or else when they were loaded."""
    compared = (p.result.nulled for p in proofs_of(reading, str(entry.table)) if p.result.error is None and p.result.share == 1)
    loaded = reading.snapshot_of(entry.table)
    return next(compared, 0 if loaded is None else loaded.nulled)


def proofs_of(reading: LedgerReading, table: str) -> tuple[Proof, ...]:
    """Return the comparisons of a table, newest first."""
    fact = one(reading, "proofs", table)
    if fact is None:
        return ()
    return tuple(
        Proof(
            datetime.fromisoformat(body["at"]),
            from_body(ProofFact, {name: value for name, value in body.items() if name != "at"}, f"a proof of {table}"),
        )
        for body in fact.body["proofs"]
    )


def snapshot_text(reading: LedgerReading, entry: TableEntry) -> str:
    """Say how far a snapshot in progress is; nothing once the table is live."""
    fact, found = one(reading, "snapshot", str(entry.table)), reading.snapshot_of(entry.table)
    if fact is None or found is None:
        return ""
    if found.state == "loaded" or (entry.state == "live" and entry.snapshot_scn == found.scn):
        return ""
    for_seconds = duration((reading.read_at - fact.at).total_seconds())
    if found.state == "read":
        return f"{count(found.rows)} rows read in {duration(found.seconds)}, loading for {for_seconds}"
    if found.chunks is not None:
        how_many = f"{count(found.chunks_read)} of {count(found.chunks)} chunks"
        of_bytes = "" if found.bytes is None else f", {size(found.bytes_read)} of {size(found.bytes)},"
        left = "" if found.seconds_left is None else f", some {duration(found.seconds_left)} left then"
        return f"{how_many}{of_bytes} read AS OF SCN {count(found.scn)}, the last {for_seconds} ago{left}"
    return f"being read AS OF SCN {count(found.scn)} for {for_seconds}" if found.state == "reading" else "waits to be read"


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


def transaction_lines(reading: LedgerReading) -> list[TransactionLine]:
    ahead = ahead_of(reading)
    return [
        TransactionLine(
            xid=found.xid,
            con_id=found.con_id,
            thread=found.thread,
            start_scn=found.start_scn,
            rows=found.rows,
            bytes=found.bytes,
            username=found.username,
            age_seconds=age_of(found.first_at, reading.read_at, ahead),
        )
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
