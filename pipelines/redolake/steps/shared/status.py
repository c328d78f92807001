"""Report where a pipeline is, from the ledger and the landing alone, without Oracle or Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from redolake.context import Run, reader, step
from redolake.ledger import Loss, TableEntry
from redolake.ledger.reading import LedgerReading, WindowRow
from redolake.ledger.states import TableState, WindowState
from redolake.reconcile.doubt import doubt_in, doubt_text
from redolake.reconcile.dropped_transactions import DropReport, read_open_drops
from redolake.reconcile.ledger import landed_position, proven_position, reconcile_once
from redolake.reconcile.table_state import one
from redolake.reconcile.table_versions import dropped_tables
from redolake.records.batches.manifest import HistoryFact
from redolake.records.codec import from_body
from redolake.records.gaps import DeclaredGap, GapKind
from redolake.records.shown_facts import DoubtFact, SourceFact, StreamFact, StreamsFact
from redolake.records.split import SplitTransaction
from redolake.records.windows import RereadRows, WindowManifest, single_quote_rows
from redolake.steps.shared.matched_tables import JOIN
from redolake.steps.shared.scn_times import end_time, iso
from redolake.values.amounts import duration
from redolake.values.table import TableId
from redolake.values.utc import beside

LATEST_WINDOWS = 10


@dataclass(frozen=True, slots=True)
class WindowReport:
    """`state` is None where the ledger does not know the window. `logs` and `rows` are None until the window has landed.
    `single_quote_rows` are rows in which LogMiner left the quotes inside a value single. `reread` are the tables whose large
    objects were read again too late, or could not be. `account` is its row accounting by the batch that applied it."""

    name: str
    state: WindowState | None
    from_scn: int
    last_scn: int
    logs: int | None
    rows: int | None
    ends_at: datetime | None = None  # when the source wrote its last SCN
    account: Mapping[str, int] | None = None
    threads: int = 0
    hash: str = ""
    single_quote_rows: int = 0
    reread: tuple[RereadRows, ...] = ()


@dataclass(frozen=True, slots=True)
class TableStatus:
    """`error`, `code`, `where` and `cure` say what holds the table; they are None for a table that is not held. `dropped_at` is
    the SCN at which it was dropped, where `on_ddl: drop_table: keep` keeps the Delta table."""

    table: str
    state: TableState
    complete_to_scn: int | None
    error: str | None = None
    code: str | None = None
    where: Mapping[str, object] | None = None
    cure: str | None = None
    complete_to_at: datetime | None = None  # when the source wrote that SCN; None where no step recorded it
    dropped_at: int | None = None
    listed: bool = True  # in `tables`; a table that is not keeps its Delta table as it is
    history: HistoryFact | None = None  # by the last batch; None of a table without one, or before it has begun


@dataclass(frozen=True, slots=True)
class LossStatus:
    """Lost redo. `missing` is the number of missing logs, `since` an ISO time in UTC."""

    code: str
    what: str
    where: Mapping[str, object]
    cure: str
    step: str  # plan, mine
    since: str
    missing: int


@dataclass(frozen=True, slots=True)
class GapTransaction:
    """A transaction that was open at the start of a declared gap and was dropped there."""

    con_id: int
    xid: str
    thread: int
    start_scn: int
    rows: int


@dataclass(frozen=True, slots=True)
class DeclaredGapReport:
    """`tables` are those that lack the redo of the gap. `split_transactions` is None while no window follows the gap. The
    source had written `from_scn` at `from_at`, in UTC."""

    kind: GapKind
    from_scn: int
    to_scn: int
    to_incarnation: int
    reason: str
    by: str
    at: str
    lost: str
    tables: tuple[str, ...]
    dropped_rows: int
    dropped: tuple[GapTransaction, ...]
    split_transactions: tuple[SplitTransaction, ...] | None = None
    from_at: str | None = None


@dataclass(frozen=True, slots=True)
class AnnouncedTable:
    """A table that a pattern matches and that came later. It is not captured."""

    table: str
    seen_scn: int
    cure: str


@dataclass(frozen=True, slots=True)
class GoneTable:
    """A captured table that the dictionary no longer shows since a listing at this SCN."""

    table: str
    missing_scn: int


@dataclass(frozen=True, slots=True)
class Status:
    """`landed_to_scn` is the last SCN that has landed, None before the first window; `next_start_scn` is the one at which the
    next window starts, after a declared gap a later one. `lacks_ledger`: the ledger is empty, the landing is not; the next
    run rebuilds it."""

    pipeline: str
    landed_to_scn: int | None
    windows: tuple[WindowReport, ...]
    tables: tuple[TableStatus, ...]
    lost: LossStatus | None
    declared_gaps: tuple[DeclaredGapReport, ...]
    dropped: tuple[DropReport, ...]
    open_transactions: int
    announced: tuple[AnnouncedTable, ...] = ()
    gone: tuple[GoneTable, ...] = ()
    lacks_ledger: bool = False
    landed_to_at: str | None = None  # when the source wrote that SCN, in UTC
    pruned_to_scn: int | None = None  # windows before it were removed, the last of them at `pruned_at` by `pruned_by`
    pruned_at: str | None = None
    pruned_by: str | None = None
    streams: tuple[StreamFact, ...] = ()  # of OpenLogReplicator, as they were received last
    unproved_since_scn: int | None = None  # since when they were received without asking the database
    next_start_scn: int | None = None
    lags: Mapping[str, float] = field(default_factory=dict)  # seconds that a standby was behind at the last contact
    doubt: DoubtFact | None = None  # None where each snapshot knew what was open


@step
def read_complete_to(context: Run) -> dict[str, int]:
    """Return the SCN that each table is complete to now, by OWNER.NAME. Tables without contents are left out."""
    reconcile_once(context)
    return {str(e.table): e.complete_to_scn for e in context.ledger.tables() if e.complete_to_scn is not None}


@reader
def read_status(context: Run) -> Status:
    reading, gone_at = context.ledger.reading(windows=LATEST_WINDOWS), dropped_tables(context)
    position, pruned, streams = reading.position, context.landing.pruned, read_streams(context)
    landed = next((row for row in reading.windows if row.state in ("landed", "applied")), None)
    last, contact = None if pruned is None else pruned.steps[-1], one(reading, "source")
    return Status(
        pipeline=context.name,
        landed_to_scn=None if landed is None else landed.end_scn - 1,
        landed_to_at=None if landed is None else iso(landed.ends_at),
        pruned_to_scn=None if last is None else last.scn,
        pruned_at=None if last is None else last.at,
        pruned_by=None if last is None else last.by,
        windows=tuple(window_report(context, row) for row in reversed(reading.windows)),
        tables=tuple(table_status(context, reading, entry, gone_at.get(entry.table)) for entry in reading.tables),
        lost=loss_status(reading.loss),
        declared_gaps=open_gaps(context, reading),
        dropped=read_open_drops(context),
        open_transactions=reading.open_count,
        announced=announced_tables(context),
        gone=gone_tables(context),
        lacks_ledger=position is None and proven_position(context) is not None,
        streams=() if streams is None else streams.streams,
        unproved_since_scn=None if streams is None else streams.unproved_since,
        next_start_scn=None if position is None else int(position.scn),
        lags={} if contact is None else from_body(SourceFact, contact.body, "the last contact in the ledger").lags,
        doubt=doubt_in(reading),
    )


def read_streams(context: Run) -> StreamsFact | None:
    body = context.ledger.fact("streams") if context.pipeline.source.is_stream else None
    return None if body is None else from_body(StreamsFact, body, "the streams in the ledger")


def announced_tables(context: Run) -> tuple[AnnouncedTable, ...]:
    _, recorded = context.landing.captured.newest() if context.pipeline.patterns else (0, None)
    found = {} if recorded is None else recorded.announced
    return tuple(AnnouncedTable(table, scn, JOIN.format(table=table)) for table, scn in found.items())


def gone_tables(context: Run) -> tuple[GoneTable, ...]:
    _, recorded = context.landing.captured.newest() if context.pipeline.patterns else (0, None)
    return () if recorded is None else tuple(GoneTable(table, scn) for table, scn in recorded.gone.items())


def window_report(context: Run, row: WindowRow) -> WindowReport:
    found = of_manifest(context.landing.windows.manifest(row.name))
    scns = (row.start_scn, row.end_scn - 1)
    return WindowReport(row.name, row.state, *scns, row.log_count, row.row_count, row.ends_at, row.account, **found)


def of_manifest(manifest: WindowManifest | None) -> dict[str, Any]:
    """Return what the landing alone knows of a window."""
    if manifest is None:
        return {}
    return {
        "threads": len({log.thread for log in manifest.logs}),
        "hash": manifest.row_hash,
        "single_quote_rows": single_quote_rows(manifest),
        "reread": tuple(one for one in manifest.reread if one.late or one.error),
    }


def table_status(context: Run, reading: LedgerReading, entry: TableEntry, dropped_at: int | None) -> TableStatus:
    hold = entry.hold
    return TableStatus(
        table=str(entry.table),
        state=entry.state,
        complete_to_scn=entry.complete_to_scn,
        error=hold.get("what"),
        code=hold.get("code"),
        where=hold.get("where"),
        cure=hold.get("cure"),
        complete_to_at=reading.contents_at.get(entry.table),
        dropped_at=dropped_at,
        listed=entry.table in context.pipeline.by_id,
        history=history_fact(reading, entry.table),
    )


def history_fact(reading: LedgerReading, table: TableId) -> HistoryFact | None:
    fact = reading.facts.get("history", {}).get(str(table))
    return None if fact is None else from_body(HistoryFact, fact.body, f"the history of {table}")


def loss_status(loss: Loss | None) -> LossStatus | None:
    if loss is None:
        return None
    return LossStatus(**loss.error, step=loss.step, since=loss.since.isoformat(timespec="seconds"), missing=len(loss.missing))


@reader
def list_windows(context: Run, limit: int = 20) -> list[WindowReport]:
    """Return the last landed windows, oldest first."""
    landed_position(context)  # raises for a landing that is not there
    landed = context.landing.windows.last(limit)
    known = context.ledger.windows_named([manifest.name for manifest in landed])
    return [landed_report(manifest, known.get(manifest.name)) for manifest in landed]


def landed_report(one: WindowManifest, row: WindowRow | None) -> WindowReport:
    state, ends_at, account = (None, None, None) if row is None else (row.state, row.ends_at, row.account)
    counts = (len(one.logs), one.change_rows)
    return WindowReport(one.name, state, one.start, one.end - 1, *counts, ends_at, account, **of_manifest(one))


def open_gaps(context: Run, reading: LedgerReading) -> tuple[DeclaredGapReport, ...]:
    """Return the declared gaps that some table still lacks, with those tables."""
    return tuple(
        gap_report(context, gap, tables, context.landing.gaps.split_by(gap))
        for gap in reading.gaps
        if (tables := reading.lacking_tables(gap))
    )


def lacked_gaps(context: Run) -> list[DeclaredGap]:
    """Return the declared gaps that some table still lacks."""
    reading = context.ledger.reading(windows=1)
    return [gap for gap in reading.gaps if reading.lacking_tables(gap)]


def gap_report(
    context: Run, gap: DeclaredGap, tables: Sequence[str], split: tuple[SplitTransaction, ...] | None = None
) -> DeclaredGapReport:
    return DeclaredGapReport(
        kind=gap.kind,
        from_scn=int(gap.start.scn),
        to_scn=int(gap.end.scn),
        to_incarnation=gap.end.resetlogs_id,
        reason=gap.reason,
        by=gap.by,
        at=gap.at,
        lost=gap.lost,
        tables=tuple(tables),
        dropped_rows=gap.dropped_rows,
        dropped=tuple(GapTransaction(t.con_id, t.xid, t.thread, t.start_scn, t.rows) for t in gap.dropped),
        split_transactions=split,
        from_at=end_time(context, gap.start.chain_position),
    )


# --- What tables lack, as lines -----------------------------------------------------------------------------------------

DROPPED_STATES = {
    "open": "not ended yet",
    "committed": "committed at",
    "rolled back": "rolled back, so no table lacks its changes, at",
    "unknown": "its end may lie in redo that was never read, before",
}


def gap_lines(gaps: Sequence[DeclaredGapReport]) -> Iterator[str]:
    """Yield the declared gaps that some table still lacks."""
    for found in gaps:
        yield (
            f"{found.kind}: SCN {found.from_scn}{beside(found.from_at)} to {found.to_scn - 1} was never read, in "
            f"{', '.join(found.tables)}"
        )
        yield f"  {found.reason} ({found.by}, {found.at}); {found.lost}"
        yield from transactions_line("dropped, open at its start", found.dropped)
        yield from transactions_line("split, without their changes before its end", found.split_transactions or ())
        yield "  until `redolake snapshot OWNER.TABLE --replace`; or, once its logs are restored, `redolake close-gap`"


def transactions_line(title: str, transactions: Sequence[GapTransaction | SplitTransaction], most: int = 5) -> Iterator[str]:
    if transactions:
        named = ", ".join(f"{t.xid} ({t.rows} rows)" for t in transactions[:most])
        more = f" and {len(transactions) - most} more" if len(transactions) > most else ""
        yield f"  {title}: {named}{more}"


def standby_lines(status: Status) -> Iterator[str]:
    """Yield how far a standby was behind, and what is known of transactions that may be older than all redo that was read."""
    if status.lags:
        behind = ", ".join(f"{name} {duration(seconds)}" for name, seconds in sorted(status.lags.items()))
        yield f"The standby at the last contact: {behind}"
    if status.doubt is not None:
        yield f"Hand-over: {doubt_text(status.doubt)}"


def dropped_lines(dropped: Sequence[DropReport]) -> Iterator[str]:
    """Yield the dropped transactions that still matter."""
    for found in dropped:
        end = "" if found.end_scn is None else f" SCN {found.end_scn}"
        what = f"start SCN {found.start_scn}; {found.rows} row(s); {DROPPED_STATES[found.state]}{end}"
        yield f"dropped: transaction {found.xid} of container {found.con_id}, {what}"
        yield f"  {found.reason} ({found.by}, {found.at})"
        if found.lacking:
            yield f"  missing from {', '.join(found.lacking)} until `redolake snapshot OWNER.TABLE --replace`"
