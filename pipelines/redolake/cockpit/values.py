"""What the cockpit shows, as values. Times are aware, in UTC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from redolake.records.shown_facts import ChoiceFact, HistoryFact, LogKind, ProofFact

State = Literal["on time", "waiting for a log", "late", "stopped", "source away", "paused", "not started"]
Tone = Literal["good", "notice", "bad", "quiet"]

TONES: Mapping[State, Tone] = {
    "on time": "good",
    "waiting for a log": "notice",
    "late": "notice",
    "stopped": "bad",
    "source away": "bad",
    "paused": "quiet",
    "not started": "quiet",
}


@dataclass(frozen=True, slots=True)
class Health:
    """`sentence` is what a person reads first; `more` are the facts beside it, and `cure` what to do. `known_at` is the age of
    the whole: when a step last wrote what it found at the source."""

    state: State
    tone: Tone
    sentence: str
    more: tuple[str, ...] = ()
    cure: str = ""
    complete_to_at: datetime | None = None
    complete_to_scn: int | None = None
    lag_seconds: float | None = None
    known_at: datetime | None = None


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
class Proof:
    at: datetime
    result: ProofFact


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The history of a table's rows: its kind by the configuration, and how far it is; `state` is None where none has begun."""

    kind: str
    state: HistoryFact | None


@dataclass(frozen=True, slots=True)
class TableLine:
    """`inserted`, `updated` and `deleted` are rows of the last 24 hours; `behind` is true where others are further. A table
    that is no longer `listed` in pipelines.yml keeps its Delta table as it is."""

    name: str
    target: str
    state: str
    complete_to_scn: int | None
    delta_version: int | None
    behind: bool
    inserted: int
    updated: int
    deleted: int
    changed_at: datetime | None
    proofs: tuple[Proof, ...]
    snapshot: str
    code: str | None = None
    error: str | None = None
    where: str = ""
    cure: str = ""
    held_at: datetime | None = None
    complete_to_at: datetime | None = None  # when the source wrote that SCN; None where no step recorded it
    listed: bool = True
    quarantined_keys: int = 0
    nulled: int = 0  # values that are NULL by rule, by the last comparison of all rows, else by the load
    history: HistoryLine | None = None

    @property
    def counted_as(self) -> str:
        return self.state if self.listed else "not listed"

    @property
    def proof(self) -> Proof | None:
        """The comparison that counts: the newest, but for samples that found nothing. A repair has a share of 0."""
        return next(self._counting, None)

    @property
    def differs(self) -> bool:
        """Whether the last comparison that came to an end found rows that differ."""
        found = next((proof for proof in self._counting if proof.result.error is None), None)
        return found is not None and not found.result.is_equal

    @property
    def history_differs(self) -> bool:
        """Whether the last comparison of its history found that it says something else than the table."""
        found = next((proof.result.history for proof in self.proofs if proof.result.history is not None), None)
        return found is not None and not found.is_equal

    @property
    def _counting(self) -> Iterator[Proof]:
        return (p for p in self.proofs if p.result.share in (0, 1) or p.result.error or not p.result.is_equal)


@dataclass(frozen=True, slots=True)
class TransactionLine:
    xid: str
    con_id: int
    thread: int
    start_scn: int
    rows: int
    bytes: int
    username: str | None
    age_seconds: float | None


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
    choices: tuple[ChoiceFact, ...]
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


@dataclass(frozen=True, slots=True)
class BatchLine:
    """What one of the last batches did to all tables. `rows` are change rows by what became of them, those that are 0 left out.
    The commit times are of the applied ones, in UTC. `landed_at` is when the first of its windows landed."""

    name: str
    end_scn: int
    landed_at: datetime | None
    applied_at: datetime
    first_commit_at: datetime | None
    last_commit_at: datetime | None
    read: int
    inserted: int
    updated: int
    deleted: int
    masked: int
    nulled: int
    rows: Mapping[str, int]
    ddl: Mapping[str, int]
    seconds: float


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
    transactions: tuple[TransactionLine, ...] = ()
    transaction_count: int = 0
    transaction_rows: int = 0
    decisions: tuple[DecisionLine, ...] = ()
    recovery: Recovery | None = None
    runway: Mapping[str, Any] | None = None
    last_batch_seconds: Mapping[str, float] = field(default_factory=dict)
    ddl: Mapping[str, int] = field(default_factory=dict)
    batches: tuple[BatchLine, ...] = ()  # the last ones, newest first
