"""What steps leave in the ledger for people: the source's redo, the last plan, the runway, proofs, snapshots in progress.

Times are ISO texts in UTC by this host's clock. Nothing decides by these records; each replaces the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from redolake.records.codec import Time
from redolake.records.proofs import ProvedHistory

LogKind = Literal["read", "unread", "online", "due", "missing"]


@dataclass(frozen=True, slots=True)
class SourceFact:
    """The last contact. `ahead_seconds` is the database host's clock minus ours, its time zone included. `lags` are seconds by
    the names of a standby's V$DATAGUARD_STATS."""

    FORMAT: ClassVar[int] = 2
    ahead_seconds: Annotated[float, Field(gt=-1e9, lt=1e9)]
    lags: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailureFact:
    """The error of the last attempt to reach the source, and when the first of such attempts failed."""

    code: str
    what: str
    cure: str
    since: Time


@dataclass(frozen=True, slots=True)
class PlanFact:
    """The answer of the last plan; `since` is when it was given first. `thread` and `sequence` are those of an awaited log."""

    outcome: str
    reason: str
    since: Time
    thread: int | None = None
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class SettingsFact:
    """A hash of the settings with which the last plan was made, and where."""

    hash: str
    host: str
    at: Time


@dataclass(frozen=True, slots=True)
class LogFact:
    """A log of one redo thread. `kind`: read (and still kept), archived and unread, online, switched and due, missing."""

    sequence: int
    first_scn: int
    next_scn: int | None
    begins_at: Time | None
    bytes: int
    kind: LogKind


@dataclass(frozen=True, slots=True)
class ThreadFact:
    """`logs` are the newest, oldest first; `older_logs` more are kept, the oldest of them from `older_from` on."""

    thread: int
    instance: str | None
    logs: tuple[LogFact, ...]
    older_logs: int = 0
    older_from: Time | None = None


@dataclass(frozen=True, slots=True)
class RedoFact:
    """The redo of each thread, and the SCN up to which it is landed."""

    resetlogs_id: int
    landed_to: int
    current_scn: int
    threads: tuple[ThreadFact, ...]


@dataclass(frozen=True, slots=True)
class StreamFact:
    """How far OpenLogReplicator has read a redo thread, by its last checkpoint. `holds_back`: no window ends before it goes on.
    `closed_at` is the end of a thread that is closed."""

    thread: int
    address: str
    scn: int | None
    sequence: int | None
    offset: int | None
    written_at: Time | None
    closed_at: int | None = None
    holds_back: bool = False


@dataclass(frozen=True, slots=True)
class StreamsFact:
    """The streams as they were received last. `unproved_since`: the SCN since which the database was not asked."""

    streams: tuple[StreamFact, ...]
    at: Time
    unproved_since: int | None = None

    FORMAT: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class RunwayFact:
    """The last measure. `is_floor`: no log was ever deleted, so that there may be more hours."""

    state: str
    summary: str
    hours_left: float | None
    is_floor: bool
    unread_bytes: int
    bytes_per_hour: int | None
    archive_lag_target_seconds: int | None
    warn_below_hours: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to continue after lost redo: `costs` says what is lost by it."""

    name: str
    what: str
    costs: str
    command: str


@dataclass(frozen=True, slots=True)
class ChoicesFact:
    """The ways to continue after lost redo, for the loss at `scn`, and the commands that restore the logs."""

    scn: int
    choices: tuple[Choice, ...]
    rman: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofFact:
    """A comparison of a table with the source, of a `share` of its buckets. `error` is set where it could not be compared.
    The ledger notes `at` which time it recorded it."""

    FORMAT: ClassVar[int] = 6

    scn: int | None
    delta_version: int | None
    rows: int | None
    missing_rows: int = 0
    extra_rows: int = 0
    differing_cells: int = 0
    error: str | None = None
    share: float = 1.0
    quarantined_keys: int = 0  # whose rows were not compared
    nulled: int = 0  # values that are NULL by rule
    history: ProvedHistory | None = None
    at: Time | None = None

    @property
    def has_equal_rows(self) -> bool:
        return self.error is None and not (self.missing_rows or self.extra_rows or self.differing_cells)

    @property
    def equal(self) -> bool:
        """Whether the rows are equal, and the history says the same."""
        return self.has_equal_rows and (self.history is None or self.history.is_equal)

    @property
    def when(self) -> datetime:
        assert self.at is not None, "the ledger has noted it"
        return datetime.fromisoformat(self.at)

    @property
    def word(self) -> str:
        """Return what the comparison found. A repair has a share of 0."""
        if self.error is not None:
            return "not compared"
        if not self.has_equal_rows:
            return "DIFFERS"
        if not self.equal:
            return "HISTORY DIFFERS"
        if self.quarantined_keys:
            return "equal but for quarantine"
        return "equal" if self.share else "repaired"


@dataclass(frozen=True, slots=True)
class QuarantineFact:
    """How many keys of a table are in quarantine, and not dropped by a person."""

    keys: int


@dataclass(frozen=True, slots=True)
class DropFact:
    """A dropped transaction that committed, or may have, by `end_scn`. `tables` lack its changes unless read again since."""

    xid: str
    end_scn: int
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropsFact:
    """The dropped transactions whose changes some table lacked when a batch last met one."""

    drops: tuple[DropFact, ...]


@dataclass(frozen=True, slots=True)
class DoubtFact:
    """Transactions that may have been open at snapshots of a standby, and began before all redo that was read: before
    `read_from_scn`. `committed` of them have committed, the last at `last_scn`; `open` have changed rows since and not ended.
    From `gone_scn` on none is open, as a primary has shown; None while none has."""

    resetlogs_id: int
    read_from_scn: int
    committed: int = 0
    last_scn: int | None = None
    open: tuple[str, ...] = ()
    gone_scn: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotFact:
    """A table's snapshot. `scn` was the source's current one at `scn_at`; `seconds` are those of reading the table. While it is
    read in one piece, `rows` of those `expected` are there. For a large table, all processes together have read `chunks_read`
    of its `chunks` and `bytes_read` of its `bytes` in Oracle; `seconds_left` and `rows_per_second` are what the process that
    said so last expects and reads. `nulled` values are NULL by rule."""

    FORMAT: ClassVar[int] = 5

    state: Literal["chosen", "reading", "read", "loaded"]
    scn: int
    rows: int | None = None
    seconds: float | None = None
    scn_at: str | None = None
    chunks: int | None = None
    chunks_read: int | None = None
    nulled: int = 0
    bytes: int | None = None
    bytes_read: int | None = None
    seconds_left: float | None = None
    expected: int | None = None
    rows_per_second: float | None = None

    @property
    def share(self) -> float | None:
        """Return how much of the table is read, 0 to 1; None where that is not known."""
        done, total = (self.rows, self.expected) if self.chunks is None else (self.bytes_read, self.bytes)
        return None if self.state != "reading" or done is None or not total else done / total
