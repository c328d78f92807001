"""What the cockpit shows, as values. Times are aware, in UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from redolake.ledger.batch_stats import RowStats
from redolake.records.batches.manifest import HistoryFact
from redolake.records.shown_facts import Choice, LogKind, ProofFact
from redolake.values.terms import OF_ACCOUNT, RowCounts

State = Literal[
    "on time", "incomplete", "wrong", "waiting for a log", "late", "stopped", "source away", "paused", "snapshotting",
    "not started",
]  # fmt: skip
Tone = Literal["good", "notice", "bad", "quiet"]
WORST_FIRST: tuple[Tone, ...] = ("bad", "notice", "good", "quiet")

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

# Why a captured table is not as the source. Each is a fact of the ledger, and none is left out of a summary.
Fault = Literal["differs", "history differs", "gap", "dropped", "held", "quarantine", "not loaded"]
FAULT_TONES: Mapping[Fault, Tone] = {
    "differs": "bad",
    "history differs": "bad",
    "gap": "notice",
    "dropped": "notice",
    "held": "notice",
    "quarantine": "notice",
    "not loaded": "notice",
}


def worst(tones: Iterable[Tone]) -> Tone:
    """Return the tone that comes first: a fact that is bad is not hidden by others that are good."""
    return min(tones, key=WORST_FIRST.index)


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
class Proof:
    at: datetime
    result: ProofFact

    @property
    def word(self) -> str:
        """Return what the comparison found. A repair has a share of 0."""
        found = self.result
        if found.error is not None:
            return "not compared"
        if not found.is_equal:
            return "DIFFERS"
        if found.quarantined_keys:
            return "equal but for quarantine"
        return "equal" if found.share else "repaired"


@dataclass(frozen=True, slots=True)
class OpenGap:
    """A declared gap that a table still lacks. The SCNs are the first and the last that were not read."""

    first_scn: int
    last_scn: int
    at: datetime


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The history of a table's rows: its kind by the configuration, and how far it is; `state` is None where none has begun."""

    kind: str
    state: HistoryFact | None


@dataclass(frozen=True, slots=True)
class TableLine(RowCounts):
    """`inserted`, `updated` and `deleted` are rows of the last 24 hours; `behind` is true where others are further. A table
    that is no longer `listed` in pipelines.yml, or was dropped in Oracle at `dropped_at`, keeps its Delta table as it is. It
    lacks the changes of `gaps` and `dropped_transactions`."""

    table: str
    target: str
    state: str
    complete_to_scn: int | None
    delta_version: int | None
    behind: bool
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
    snapshot_scn: int | None = None
    dropped_at: int | None = None
    gaps: tuple[OpenGap, ...] = ()
    dropped_transactions: tuple[str, ...] = ()

    @property
    def is_captured(self) -> bool:
        """Whether the table is expected to be as the source is."""
        return self.listed and self.dropped_at is None

    @property
    def counted_as(self) -> str:
        return self.state if self.is_captured else "not listed" if not self.listed else "dropped"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return why the table is not as the source, as far as the ledger knows; none for a table that is not captured."""
        if not self.is_captured:
            return ()
        has: Mapping[Fault, bool] = {
            "differs": self.differs,
            "history differs": self.history_differs,
            "gap": bool(self.gaps),
            "dropped": bool(self.dropped_transactions),
            "held": self.state == "held",
            "quarantine": self.quarantined_keys > 0,
            "not loaded": self.state in ("new", "snapshotting") or (self.state == "live" and self.complete_to_scn is None),
        }
        return tuple(fault for fault, is_so in has.items() if is_so)

    @property
    def tone(self) -> Tone:
        if not self.is_captured:
            return "quiet"
        if self.state == "held":
            return "bad"
        return worst(["notice" if self.behind else "good", *(FAULT_TONES[fault] for fault in self.faults)])

    @property
    def state_text(self) -> str:
        """Return the state with all that makes it less than it says."""
        beside = {
            "behind": self.behind,
            "lacks a gap": bool(self.gaps),
            "lacks a dropped transaction": bool(self.dropped_transactions),
            "dropped in Oracle": self.dropped_at is not None,
            "not listed": not self.listed,
        }
        return ", ".join([self.state, *(words for words, is_so in beside.items() if is_so)])

    @property
    def proof_word(self) -> str:
        """Return what the comparison that counts found, and whether the contents have changed since other than by redo."""
        last = self.proof
        if last is None:
            return "not compared yet"
        is_old = last.result.is_equal and self._is_older(last)
        return f"{last.word}, before the last gap or snapshot" if is_old else last.word

    def _is_older(self, proof: Proof) -> bool:
        scn = proof.result.scn
        if scn is None:
            return False
        return scn < (self.snapshot_scn or 0) or any(proof.at <= gap.at or scn < gap.last_scn for gap in self.gaps)

    @property
    def proved(self) -> Proof | None:
        """The last comparison, if it proves that the present contents are equal: of all rows and keys, and of no contents from
        before a declared gap or a snapshot."""
        last = self.proof
        if last is None or self.state != "live" or not self.is_captured or self.history_differs:
            return None
        found = last.result
        is_whole = found.is_equal and found.share == 1 and not found.quarantined_keys and found.scn is not None
        return last if is_whole and not self._is_older(last) else None

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
    transactions: tuple[TransactionLine, ...] = ()
    transaction_count: int = 0
    transaction_rows: int = 0
    decisions: tuple[DecisionLine, ...] = ()
    recovery: Recovery | None = None
    runway: Mapping[str, Any] | None = None
    last_batch_seconds: Mapping[str, float] = field(default_factory=dict)
    ddl: Mapping[str, int] = field(default_factory=dict)
    batches: tuple[BatchLine, ...] = ()  # the last ones, newest first
