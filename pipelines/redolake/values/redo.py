"""Oracle's redo as values: operations, threads, log files, incarnations, and the windows cut from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from redolake.values.scn import ChainPosition, Scn, ScnRange


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a PDB's internal bytes store text and local times: NLS_CHARACTERSET, NLS_NCHAR_CHARACTERSET, DBTIMEZONE."""

    text: str = "AL32UTF8"
    national: str = "AL16UTF16"
    time_zone: str = "+00:00"


class Operation(IntEnum):
    """What a landed row is, whichever source it comes from; the numbers and names are those of V$LOGMNR_CONTENTS."""

    INSERT = 1
    DELETE = 2
    UPDATE = 3
    DDL = 5
    START = 6
    COMMIT = 7
    ROLLBACK = 36


CHANGES = (Operation.INSERT, Operation.DELETE, Operation.UPDATE)
TRANSACTION_ENDS = (Operation.COMMIT, Operation.ROLLBACK)
TRANSACTION_BOUNDS = (Operation.START, *TRANSACTION_ENDS)
# Not a change of a row.
CONTROL = (Operation.DDL, *TRANSACTION_BOUNDS)
NO_XID = "0.0.0"
UNKNOWN_SEQUENCE = ".4294967295"  # the end of an xid whose transaction LogMiner does not know
LARGEST_LAG_SECONDS = 1800  # of ARCHIVE_LAG_TARGET: a log that is open for longer belongs to an idle thread

# Columns that order committed changes: assemble writes them, apply sorts by them.
COMMIT_ORDER = ("commit_scn", "commit_thread", "commit_rs_id")
CHANGE_ORDER = (*COMMIT_ORDER, "window_start", "slice", "ordinal")


def check_xid(text: str) -> None:
    """Raise ValueError for a text that is no transaction's number."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise ValueError(f"{text!r} is no transaction, such as 5.12.4711")


def names_no_transaction(xid: object) -> bool:
    return xid is None or xid == NO_XID or str(xid).endswith(UNKNOWN_SEQUENCE)


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A row of V$DATABASE_INCARNATION."""

    resetlogs_id: int
    resetlogs_scn: Scn
    status: str  # CURRENT, PARENT, ORPHAN
    prior_resetlogs_scn: Scn


@dataclass(frozen=True, slots=True)
class PdbIncarnation:
    """A row of V$PDB_INCARNATION; (`database`, `number`) identifies it. Number 0 began with the database's own incarnation."""

    database: int
    number: int
    set_back_to: int | None
    opened_scn: int | None  # END_RESETLOGS_SCN: the PDB's redo from here on is of this incarnation
    is_current: bool
    prior: tuple[int, int]

    @property
    def name(self) -> tuple[int, int]:
        return self.database, self.number


@dataclass(frozen=True, slots=True)
class ContainerIdentity:
    """What distinguishes a PDB from another one of the same name, and from itself after it was set back.

    `incarnation` is None where V$PDB_INCARNATION has no row.
    """

    guid: str
    con_uid: int
    dbid: int
    incarnation: PdbIncarnation | None


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """A PDB as V$PDBS and V$PDB_INCARNATION describe it."""

    name: str
    identity: ContainerIdentity
    incarnations: tuple[PdbIncarnation, ...]


@dataclass(frozen=True, slots=True)
class RedoThread:
    """A row of V$THREAD; the zeros Oracle writes for "never" are None here."""

    number: int
    is_open: bool
    enabled: str  # DISABLED, PUBLIC, PRIVATE
    checkpoint_scn: Scn | None
    enable_scn: Scn | None
    disable_scn: Scn | None
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class LogCopy:
    """One archived copy of a log: a row of V$ARCHIVED_LOG. The file may be missing all the same."""

    dest_id: int
    name: str | None
    status: str  # A available, D deleted, U unavailable, X expired
    deleted: bool = False
    standby: bool = False
    archived: bool = True

    @property
    def is_claimed(self) -> bool:
        """Return whether the control file lists the copy as a local file that can be opened."""
        return self.archived and not self.deleted and not self.standby and self.status == "A" and bool(self.name)


@dataclass(frozen=True, slots=True)
class LogFile:
    """One log of one redo thread: SCNs [first_scn, next_scn), next_scn None while it is current."""

    thread: int
    sequence: int
    resetlogs_id: int
    first_scn: Scn
    next_scn: Scn | None
    copies: tuple[LogCopy, ...] = ()
    bytes: int = 0
    first_at: datetime | None = None
    is_archived: bool = False  # by V$LOG; V$ARCHIVED_LOG, which is read later, must then contain it

    @property
    def claimed(self) -> tuple[LogCopy, ...]:
        """Return the copies to try, lowest destination first."""
        return tuple(sorted((c for c in self.copies if c.is_claimed), key=lambda c: c.dest_id))


@dataclass(frozen=True, slots=True)
class RedoFacts:
    """The redo as the control file describes it, read in this order: CURRENT_SCN, logs, threads."""

    dbid: int
    current_scn: Scn
    threads: tuple[RedoThread, ...]
    archived: tuple[LogFile, ...]
    online: tuple[LogFile, ...]  # V$LOG; copies empty
    incarnations: tuple[Incarnation, ...]
    history: tuple[LogFile, ...] = ()  # V$LOG_HISTORY: logs that existed, even when no other view contains them
    is_standby: bool = False  # its V$THREAD does not show which threads run on the primary

    @property
    def current_incarnation(self) -> Incarnation:
        return next(i for i in self.incarnations if i.status == "CURRENT")


@dataclass(frozen=True, slots=True)
class RedoDictionary:
    """A complete dictionary that DBMS_LOGMNR_D.BUILD has written into logs [first_sequence, last_sequence] of a redo thread.

    SCNs [begin_scn, end_scn) are those of the logs."""

    thread: int
    resetlogs_id: int
    first_sequence: int
    last_sequence: int
    begin_scn: Scn
    end_scn: Scn


@dataclass(frozen=True, slots=True)
class Position:
    """The start of the pipeline's next window: everything below `scn` of this incarnation has landed."""

    dbid: int
    resetlogs_id: int
    scn: Scn

    @property
    def chain_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, int(self.scn))


@dataclass(frozen=True, slots=True)
class Slice:
    """Contiguous logs of one redo thread, mined by one LogMiner session."""

    number: int  # order within the window: by thread, then sequence
    thread: int
    logs: tuple[LogFile, ...]

    @property
    def first_scn(self) -> Scn:
        return self.logs[0].first_scn

    @property
    def next_scn(self) -> Scn:
        end = self.logs[-1].next_scn
        assert end is not None, "only archived logs are mined"
        return end


def logs_text(thread: int, first: int, last: int) -> str:
    """Return the name that people see for contiguous logs of a redo thread."""
    return f"redo thread {thread}, " + (f"log {first}" if first == last else f"logs {first}-{last}")


@dataclass(frozen=True, slots=True)
class Window:
    """A sealed SCN range of one incarnation and the logs that hold its redo."""

    dbid: int
    resetlogs_id: int
    scns: ScnRange
    slices: tuple[Slice, ...]
    # The SCN before a RESETLOGS at which the window ends, where a log goes on after it: the RESETLOGS may have undone its redo.
    doubtful_scn: Scn | None = None
    # Where names come from a dictionary in the redo: the logs of all redo threads from it to the window's end, its own first.
    dictionary_logs: tuple[LogFile, ...] = ()
    # Where LogMiner goes on after another reader: before every transaction that was open at the window's start. Changes from
    # there on are landed too.
    reads_from: Scn | None = None

    @property
    def lowest_scn(self) -> Scn:
        return self.scns.start if self.reads_from is None else self.reads_from

    @property
    def start_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, int(self.scns.start))

    @property
    def lowest_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, int(self.lowest_scn))

    @property
    def name(self) -> str:
        """Fixed width, so that listing order is SCN order within an incarnation."""
        return f"{self.resetlogs_id:010d}-{self.scns.start:020d}-{self.scns.end:020d}"
