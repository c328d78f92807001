"""What the cockpit shows, as values. Times are aware, in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from redolake.ledger.batch_stats import RowStats
from redolake.reconcile.dropped_transactions import OpenTransactionReport
from redolake.reconcile.table_state import Fault, TableLine, Tone
from redolake.records.shown_facts import Choice, LogKind
from redolake.values.terms import OF_ACCOUNT

State = Literal[
    "on time", "incomplete", "wrong", "waiting for a log", "late", "stopped", "source away", "paused", "snapshotting",
    "not started",
]  # fmt: skip
TONES: Mapping[State, Tone] = {
    "on time": "good",
    "incomplete": "notice",
    "wrong": "bad",
    "waiting for a log": "notice",
    "late": "notice",
    "stopped": "bad",
    "source away": "bad",
    "paused": "quiet",
    "snapshotting": "quiet",
    "not started": "quiet",
}


@dataclass(frozen=True, slots=True)
class Health:
    """`sentence` is what a person reads first; `more` are the facts beside it, and `cure` what to do. `complete_to_scn` is the
    last SCN that each live table has. `faults` are the captured tables that are not as the source, by why; the others are the
    `right_tables`. `known_at` is the age of the whole: when a step last wrote what it found at the source."""

    state: State
    tone: Tone
    sentence: str
    more: tuple[str, ...] = ()
    cure: str = ""
    complete_to_at: datetime | None = None
    complete_to_scn: int | None = None
    lag_seconds: float | None = None
    known_at: datetime | None = None
    faults: Mapping[Fault, tuple[str, ...]] = field(default_factory=dict)
    right_tables: int = 0
    captured_tables: int = 0
    open_gaps: int = 0


@dataclass(frozen=True, slots=True)
class LogBar:
    """One log, or the whole of the kept logs before those that are listed. `begins` and `ends` are shares of the width."""

    kind: LogKind
    begins: float
    ends: float
    label: str


@dataclass(frozen=True, slots=True)
class ThreadBar:
    thread: int
    instance: str | None
    logs: tuple[LogBar, ...]
    unread: int
    unread_bytes: int
    kept_from: datetime | None
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RedoChart:
    """`edge` is the share at which the landed windows end; `ticks` are shares with their times."""

    threads: tuple[ThreadBar, ...]
    edge: float | None
    edge_at: datetime | None
    ticks: tuple[tuple[float, datetime], ...]
    read_at: datetime


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the time from a change in Oracle to its row in Delta: of the last window, and the median of those before."""

    name: str
    what: str
    seconds: float | None
    usual_seconds: float | None
    has_grown: bool = False


@dataclass(frozen=True, slots=True)
class Latency:
    """`total_seconds` and `usual_total_seconds` are sums over the terms that are known."""

    terms: tuple[Term, ...] = ()
    total_seconds: float | None = None
    usual_total_seconds: float | None = None
    windows: int = 0
    mined_rows_per_second: float | None = None
    mined_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class AccountPart:
    name: str
    rows: int
    share: float

    @property
    def colour(self) -> str | None:
        return next((term.colour for term in OF_ACCOUNT if term.text == self.name), None)


@dataclass(frozen=True, slots=True)
class WindowLine:
    """`parts` add up to the rows, unless `difference` says otherwise; they are empty until the window is applied."""

    name: str
    state: str
    resetlogs_id: int
    start_scn: int
    end_scn: int
    rows: int | None
    logs: int | None
    redo_bytes: int | None
    planned_at: datetime
    ends_at: datetime | None
    landed_at: datetime | None
    applied_at: datetime | None
    age_seconds: float | None
    mine_seconds: float | None
    batch: str | None
    manifest: str
    parts: tuple[AccountPart, ...] = ()
    difference: int = 0

    @property
    def anchor(self) -> str:
        """The id of the window's details on the page."""
        return f"w{self.resetlogs_id}-{self.start_scn}"


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """A person's decision: a declared gap, a dropped transaction, a resumed table. `is_open`: some table still lacks rows.
    `from_scn` and `to_scn` are those of a declared gap."""

    kind: str
    what: str
    reason: str
    who: str
    at: str
    is_open: bool = False
    from_scn: int | None = None
    to_scn: int | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    """Lost redo, and what each way to continue costs. `choices` are empty until *show* has listed them."""

    what: str
    cure: str
    since: datetime
    missing: tuple[str, ...]
    choices: tuple[Choice, ...]
    rman: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch under way: `is_held`, if some process keeps the lease alive."""

    name: str
    began_at: datetime
    seconds: float
    is_held: bool


@dataclass(frozen=True, slots=True)
class StreamLine:
    """How far OpenLogReplicator has read a redo thread. `behind_seconds`: since its last checkpoint was written."""

    thread: int
    address: str
    scn: int | None
    sequence: int | None
    offset: int | None
    behind_seconds: float | None
    closed_at: int | None
    holds_back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLine(RowStats):
    """What one of the last batches did to all tables. `landed_at` is when the first of its windows landed."""

    name: str
    end_scn: int
    landed_at: datetime | None
    applied_at: datetime
    read: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A pipeline at one moment. `is_stream`: OpenLogReplicator's transactions are received, from `streams`.
    `table_counts` counts all tables by state, `tables` may be a part of them. `ddl` are the changes by followed DDL of the last
    24 hours, by kind."""

    pipeline: str
    at: datetime
    health: Health
    schedule: str | None
    is_stream: bool = False
    streams: tuple[StreamLine, ...] = ()
    unproved_since: int | None = None  # the SCN since which the streams were received without asking the database
    redo: RedoChart | None = None
    latency: Latency = Latency()
    windows: tuple[WindowLine, ...] = ()
    next_windows: str | None = None  # the place after which older windows are listed
    waiting_windows: int = 0
    tables: tuple[TableLine, ...] = ()
    table_counts: Mapping[str, int] = field(default_factory=dict)
    found_tables: int = 0
    batch: Batch | None = None
    transactions: tuple[OpenTransactionReport, ...] = ()
    transaction_count: int = 0
    transaction_rows: int = 0
    decisions: tuple[DecisionLine, ...] = ()
    recovery: Recovery | None = None
    runway: Mapping[str, Any] | None = None
    doubt: str | None = None  # what is in doubt after the hand-over on a standby alone
    last_batch_seconds: Mapping[str, float] = field(default_factory=dict)
    ddl: Mapping[str, int] = field(default_factory=dict)
    batches: tuple[BatchLine, ...] = ()  # the last ones, newest first
