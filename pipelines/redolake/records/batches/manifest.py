"""The result of a batch, which is also the batch's manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from redolake.records.batches.carry import OpenTransaction, ParkedRows
from redolake.records.batches.spec import BatchSpec
from redolake.records.file_digest import FileDigest
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from redolake.values.terms import OF_ACCOUNT, REPORTED, ChangeCounts

CARRIED_IN = "carried in"  # the account of rows that come from before the batch's windows


@dataclass(frozen=True, slots=True)
class DroppedRows:
    """The rows of a dropped transaction that a batch has read: change rows by table, and its end once that is read."""

    con_id: int
    xid: str
    start_scn: int
    rows: Mapping[str, int] = field(default_factory=dict)
    end_scn: int | None = None
    committed: bool | None = None


@dataclass(frozen=True, slots=True)
class RowAccount:
    """The terms of the row accounting (values/terms.py), in change rows; `landed` and `carried_in` are counted before
    anything is joined."""

    landed: int = 0
    carried_in: int = 0
    applied: int = 0
    undone: int = 0  # cancelled by a partial rollback: the change and its undo
    rolled_back: int = 0
    carried_out: int = 0
    before_position: int = 0  # the table already is complete to their commit: snapshot or an earlier attempt
    held: int = 0
    dropped: int = 0  # of dropped transactions, committed or not
    filtered: int = 0  # changes after which the filter of the table (`where`) leaves the row out
    left_out: int = 0  # changes of large objects, in a table all of whose large objects are left out
    quarantined: int = 0  # changes in the table's quarantine, each there once

    @property
    def difference(self) -> int:
        ended: int = sum(getattr(self, term.name) for term in OF_ACCOUNT)
        return self.landed + self.carried_in - ended


@dataclass(frozen=True, slots=True)
class HistoryFact:
    """A table's history after a batch: it is complete to `position`. Its newest epoch began at SCN `since`, because of `why`;
    None where the log does not say. `bytes` is the size of its files."""

    epoch: int
    position: int | None
    since: int | None = None
    why: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TableResult(ChangeCounts):
    """`complete_to` is None only for a held table that never had a position. `position` is the one in the Delta log; it is
    lower than `complete_to` where the last commits changed nothing. `delta_version` is the table's version that is complete to
    `complete_to`."""

    table: TableId
    state: Literal["applied", "held"]
    complete_to: int | None
    error: Mapping[str, Any] | None = None
    delta_version: int | None = None
    balance: RowAccount = RowAccount()
    position: int | None = None
    seconds: float = 0.0
    merge_seconds: float = 0.0  # of them, those of its MERGE
    ddl: Mapping[str, int] = field(default_factory=dict)  # changes of the table by followed DDL, by their ChangeKind
    first_commit_at: str | None = None  # of the applied changes, by the database host's clock
    last_commit_at: str | None = None
    quarantined_keys: int | None = None  # open in the quarantine afterwards; None where the batch did not look
    unknown: int = 0  # of changes that were written as they are, those with columns whose values their redo does not contain
    history: HistoryFact | None = None

    @property
    def reported(self) -> dict[str, int]:
        """The count of each reported term."""
        return {term.name: getattr(self.balance if term.counts == "read" else self, term.name) for term in REPORTED}

    @property
    def reported_text(self) -> str:
        """Return what was done, for people, such as `applied to SCN 99, +1 ~2 -0, 1 in quarantine`. A held table may be
        complete to a later SCN than that of its last commit, so none is said of it."""
        counts, to = self.reported, f" to SCN {self.complete_to}" if self.state == "applied" else ""
        others = [f"{counts[term.name]} {term.text}" for term in REPORTED if term.counts != "table" and counts[term.name]]
        return ", ".join([f"{self.state}{to}", self.short_text, *others])


@dataclass(frozen=True, slots=True)
class BatchResult:
    pipeline: str
    resetlogs_id: int
    start: int
    end: int
    token: str
    windows: tuple[str, ...]
    tables: tuple[TableResult, ...]
    open_transactions: tuple[OpenTransaction, ...]
    carry_files: tuple[str, ...]
    foreign_rows: int = 0  # change rows of objects that are not captured
    dropped: tuple[DroppedRows, ...] = ()
    accounts: Mapping[str, RowAccount] = field(default_factory=dict)  # by window name, and CARRIED_IN
    assemble_seconds: float = 0.0
    apply_seconds: float = 0.0  # for all tables: some run side by side
    read_to: str | None = None  # the time of the newest redo row, by the database host's clock
    parked: tuple[ParkedRows, ...] = ()
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # of the files with rows of open transactions, by path
    applied_at: str | None = None  # in UTC; None where an older Redolake wrote it
    # The highest SCN of the changes with no known transaction or end, by OWNER.NAME: an open one may have made them.
    without_transaction: Mapping[str, int] = field(default_factory=dict)
    events_error: str = ""  # why the lake's log could not be written

    FORMAT: ClassVar[int] = 11

    @property
    def carried(self) -> tuple[str, ...]:
        """All files with rows of open transactions."""
        return (*self.carry_files, *(file for one in self.parked for file in one.files))

    def with_carried(self, locate: Callable[[str], str]) -> BatchResult:
        """Return the result with these locations of the files with rows of open transactions."""
        return replace(
            self,
            carry_files=tuple(map(locate, self.carry_files)),
            parked=tuple(replace(one, files=tuple(map(locate, one.files))) for one in self.parked),
            digests={locate(file): digest for file, digest in self.digests.items()},
        )

    @property
    def start_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.start)

    @property
    def end_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.end)

    def is_of(self, spec: BatchSpec) -> bool:
        """Return whether this is the result of that specification, whichever attempt ran it."""
        dropped = {(d.con_id, d.xid, d.start_scn) for d in self.dropped}
        mine = (self.pipeline, self.resetlogs_id, self.start, self.end, self.windows, {t.table for t in self.tables}, dropped)
        return mine == (
            spec.pipeline,
            spec.resetlogs_id,
            spec.start,
            spec.end,
            tuple(w.name for w in spec.redo.windows),
            {t.table for t in spec.tables},
            {(d.con_id, d.xid, d.start_scn) for d in spec.redo.dropped},
        )
