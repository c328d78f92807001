"""The state of the stand-in's database as plain objects: containers, users, tables, redo threads, logs, incarnations.

The engine changes this state. The V$ and dictionary views and LogMiner only read it, and the log files on disk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from standin.redo_file import RedoRecord

UNRESOLVED = "?"  # the kind of a type that is only a name so far
ROOT, PDB = 1, 3  # CON_ID of CDB$ROOT and of the one pluggable database (2 is PDB$SEED)


_IS_JSON = re.compile(r'\s*\(?\s*(?:"([^"]+)"|(\w[\w$#]*))\s+IS\s+JSON\b', re.IGNORECASE)


@dataclass(slots=True)
class User:
    name: str
    password: str
    con_id: int  # ROOT for common users (C##..), which exist in every container
    # System privileges and roles in upper case: "LOGMINING", "SELECT_CATALOG_ROLE".
    privileges: set[str] = field(default_factory=set)
    # Pairs of privilege and object: SELECT with V_$DATABASE or SHOP.ORDERS, EXECUTE with DBMS_LOGMNR.
    grants: set[tuple[str, str]] = field(default_factory=set)
    container_data: bool = False  # CONTAINER_DATA=ALL: the root shows rows of other containers
    with_admin_option: set[str] = field(default_factory=set)  # system privileges that the user may grant
    proxies: set[str] = field(default_factory=set)  # users that may connect as this one

    @property
    def is_common(self) -> bool:
        return self.name.startswith("C##") or self.name in ("SYS", "SYSTEM")


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type as in ALL_TAB_COLS. NUMBER without precision has precision and scale None; TIMESTAMP(p) has scale p.

    A user's type has an owner and a kind: OBJECT, VARRAY, TABLE, REF, INCOMPLETE. `parts` are its attributes, or its element
    without a name. One that a package declares can be a RECORD or an INDEX BY table too; a %ROWTYPE is a RECORD.
    """

    name: str  # NUMBER VARCHAR2 CHAR DATE TIMESTAMP RAW CLOB BLOB FLOAT BINARY_DOUBLE NVARCHAR2 "TIMESTAMP WITH TIME ZONE" ...
    length: int = 22  # DATA_LENGTH in bytes
    chars: int = 0
    precision: int | None = None
    scale: int | None = None
    owner: str = ""
    kind: str = ""
    parts: tuple[tuple[str, SqlType], ...] = ()
    limit: int = 0  # elements of a VARRAY
    package: str = ""  # that declares the type


def is_extended(kind: SqlType) -> bool:
    """Return whether a string is declared beyond the classic limit: it is stored as a LOB."""
    return kind.length > {"VARCHAR2": 4000, "NVARCHAR2": 4000, "RAW": 2000}.get(kind.name, kind.length)


@dataclass(slots=True)
class TableColumn:
    name: str
    type: SqlType
    segment_id: int  # SEGMENT_COLUMN_ID; Oracle renumbers on DROP COLUMN; 0 if it is virtual
    nullable: bool = True
    default: str | None = None  # text, as DATA_DEFAULT shows it
    default_on_null: bool = False
    hidden: bool = False  # INVISIBLE, or of Oracle's own: not in `*`, without a COLUMN_ID
    stored_default: bytes | None = None  # ADD COLUMN .. DEFAULT: the value of older rows, which are not rewritten
    kind: str = (
        "user"  # user, guard, unused, archive, chain, period, statistics, attribute; all but the first are USER_GENERATED = NO
    )
    guard_bit: int | None = None  # of a column whose default rows may not store: its bit in the guard column
    virtual: str | None = None  # the expression of a virtual column, which is not in the segment
    identity: str | None = None  # ALWAYS, BY DEFAULT, BY DEFAULT ON NULL
    rank: int = 0  # order of COLUMN_IDs; a column that was made visible again comes last
    part_of: str = ""  # the object column whose attribute a hidden column stores


@dataclass(slots=True)
class Constraint:
    name: str
    kind: str  # P, U, R, C
    columns: list[str]
    enabled: bool = True
    references: tuple[str, str] | None = None
    check: str | None = None
    index: str | None = None  # the index that enforces a key
    on_delete: str = "NO ACTION"
    validated: bool = True
    deferrable: bool = False
    deferred: bool = False  # checked at the commit


@dataclass(slots=True)
class LogGroup:
    name: str
    kind: str  # "ALL COLUMN LOGGING", "PRIMARY KEY LOGGING", "UNIQUE KEY LOGGING", "USER LOG GROUP"
    columns: list[str] = field(default_factory=list)
    always: bool = True


@dataclass(slots=True)
class Partition:
    """A partition or subpartition. `bound` has HIGH_VALUE's texts; a partition with `parts` has no segment of its own."""

    name: str
    object_id: int
    data_object_id: int
    bound: tuple[str, ...] = ()
    parts: list[Partition] = field(default_factory=list)
    interval: bool = False  # Oracle has created it for a row
    parent: str = ""  # of PARTITION BY REFERENCE: the parent's partition


@dataclass(slots=True)
class Partitioning:
    kind: str  # RANGE, LIST, HASH, REFERENCE
    columns: list[str]
    partitions: list[Partition] = field(default_factory=list)
    interval: str | None = None  # the width of the partitions that Oracle creates itself
    automatic: bool = False  # of a list: Oracle creates a partition for each new value
    reference: str | None = None  # the foreign key that leads to the parent's partition
    sub: Partitioning | None = None  # its partitions are the template

    @property
    def leaves(self) -> list[Partition]:
        """The partitions or subpartitions that have a segment."""
        return [leaf for partition in self.partitions for leaf in (partition.parts or [partition])]


@dataclass(slots=True)
class IndexOrganization:
    """An index-organized table: redo names its top index, and its overflow segment is a table of its own."""

    top: str
    object_id: int
    overflow: str | None = None
    overflow_id: int = 0


@dataclass(slots=True)
class NumberSequence:
    """A sequence of numbers. `last` is the last one that was given; `reserved` the first one that is not in a cache."""

    step: int
    low: int
    high: int
    cycle: bool
    order: bool
    cache: int
    start: int
    last: int | None = None
    reserved: int | None = None

    def restart(self, start: int) -> None:
        self.start, self.last, self.reserved = start, None, None

    def following(self) -> int | None:
        """Return the number after `last`; None at the end of a sequence without CYCLE."""
        if self.last is None:
            return self.start
        found = self.last + self.step
        if self.low <= found <= self.high:
            return found
        return (self.low if self.step > 0 else self.high) if self.cycle else None

    def take(self, number: int) -> int:
        """Give the number; a cache is filled where it is used up."""
        wraps = self.last is not None and (number > self.last) != (self.step > 0)
        used_up = self.reserved is None or wraps or (number >= self.reserved if self.step > 0 else number <= self.reserved)
        if used_up:
            self.reserved = number + self.step * max(self.cache, 1)
        self.last = number
        return number


@dataclass(slots=True)
class SchemaObject:
    """An object besides tables, indexes and sequences. `target` is what a synonym means, or the table of a trigger."""

    kind: str  # VIEW, SYNONYM, TRIGGER, PROCEDURE, FUNCTION, PACKAGE, CLUSTER, MATERIALIZED VIEW ...
    owner: str
    name: str
    con_id: int
    object_id: int
    text: str = ""
    target: tuple[str, str] | None = None
    columns: tuple[str, ...] = ()  # of a view
    enabled: bool = True
    created: datetime = datetime(2026, 1, 1)
    structure: SqlType | None = None  # of a type
    valid: bool = True  # False: compiled with errors


@dataclass(slots=True)
class TableDef:
    owner: str
    name: str
    con_id: int
    object_id: int
    data_object_id: int
    object_version: int
    columns: list[TableColumn]
    constraints: list[Constraint] = field(default_factory=list)
    log_groups: list[LogGroup] = field(default_factory=list)
    logical_replication: bool = True  # False: the table ignores supplemental logging of the whole database or PDB
    created: datetime = datetime(2026, 1, 1)
    last_ddl: datetime = datetime(2026, 1, 1)
    partitioning: Partitioning | None = None
    iot: IndexOrganization | None = None
    temporary: bool = False
    immutable: bool = False  # CREATE IMMUTABLE TABLE and CREATE BLOCKCHAIN TABLE: rows are only inserted
    idle_days: int | None = None  # after which an immutable table may be dropped
    chains: dict[int, tuple[int, bytes]] | None = None  # of a blockchain table: the last SEQ_NUM and HASH, by instance
    keeps_rows: bool = False  # of a temporary table: ON COMMIT PRESERVE ROWS
    cluster: str | None = None
    compress: str = ""  # COMPRESS_FOR
    logging: bool = True
    row_movement: bool = False
    table_lock: bool = True  # False: no DDL
    lobs: dict[str, frozenset[str]] = field(default_factory=dict)  # the words of each LOB's storage parameters, by column
    comments: dict[str, str] = field(default_factory=dict)  # by column name, the table's own under ""
    is_object_table: bool = False  # CREATE TABLE .. OF a type
    nested: dict[str, str] = field(default_factory=dict)  # the tables that store nested tables, by column
    counted_rows: int | None = None  # NUM_ROWS, once statistics were gathered

    @property
    def object_ids(self) -> list[int]:
        """All object ids under which redo of the table's rows may come."""
        leaves = self.partitioning.leaves if self.partitioning else []
        top = [self.iot.object_id] if self.iot else []
        return [self.object_id, *top, *(leaf.object_id for leaf in leaves)]

    @property
    def recycled_name(self) -> str:
        """The table's 30-character name in the recycle bin; a table that is there already keeps its name."""
        return self.name if self.name.startswith("BIN$") else f"BIN${self.object_id:x}".ljust(26, "A") + "==$0"

    @property
    def json_columns(self) -> frozenset[str]:
        """The columns with a constraint IS JSON."""
        checks = [c.check for c in self.constraints if c.kind == "C" and c.enabled and c.check]
        found = [match for check in checks if (match := _IS_JSON.match(check))]
        return frozenset(match[1] or match[2].upper() for match in found)

    def column(self, name: str) -> TableColumn | None:
        return next((c for c in self.columns if c.name == name), None)

    @property
    def shown(self) -> list[TableColumn]:
        """The columns of `*`, in the order of their COLUMN_IDs."""
        return sorted((c for c in self.columns if not c.hidden), key=lambda c: c.rank)

    @property
    def next_segment_id(self) -> int:
        return 1 + max((c.segment_id for c in self.columns), default=0)


@dataclass(slots=True)
class ArchivedCopy:
    """A row of V$ARCHIVED_LOG: one per (thread, sequence, destination)."""

    recid: int
    thread: int
    sequence: int
    resetlogs_id: int
    resetlogs_scn: int
    resetlogs_at: datetime
    first_scn: int
    first_at: datetime
    next_scn: int
    next_at: datetime
    dest_id: int
    name: str | None
    blocks: int
    block_size: int = 512
    archived: bool = True
    deleted: bool = False
    standby_dest: bool = False
    status: str = "A"
    completed_at: datetime | None = None
    dictionary_begin: bool = False
    dictionary_end: bool = False


@dataclass(slots=True)
class OnlineLog:
    """A group of V$LOG with its one member. `records` are the log's records so far, in redo order."""

    group: int
    thread: int
    member: str
    sequence: int
    first_scn: int
    first_at: datetime
    next_scn: int | None = None  # None while CURRENT
    next_at: datetime | None = None
    status: str = "CURRENT"  # UNUSED CURRENT ACTIVE INACTIVE
    archived: bool = False
    size_bytes: int = 50 * 1024 * 1024
    used_bytes: int = 0
    records: list[RedoRecord] = field(default_factory=list)
    dictionary_begin: bool = False  # contains the first record of a dictionary that DBMS_LOGMNR_D.BUILD wrote
    dictionary_end: bool = False  # contains the last one


@dataclass(slots=True)
class RedoThreadState:
    number: int
    instance: str
    is_open: bool = True
    enabled: str = "PUBLIC"
    logs: list[OnlineLog] = field(default_factory=list)
    opened_at: datetime = datetime(2026, 1, 1)
    checkpoint_scn: int = 0
    checkpoint_at: datetime = datetime(2026, 1, 1)
    enable_scn: int = 0
    enable_at: datetime | None = None
    disable_scn: int = 0
    disable_at: datetime | None = None
    last_redo_scn: int = 0
    last_redo_at: datetime = datetime(2026, 1, 1)

    @property
    def current(self) -> OnlineLog:
        return next(log for log in self.logs if log.status == "CURRENT")

    @property
    def free_groups(self) -> list[OnlineLog]:
        return [log for log in self.logs if log.status == "UNUSED" or (log.status == "INACTIVE" and log.archived)]


@dataclass(frozen=True, slots=True)
class LogHistoryRow:
    recid: int
    thread: int
    sequence: int
    first_scn: int
    first_at: datetime
    next_scn: int
    resetlogs_scn: int


@dataclass(slots=True)
class DatabaseIncarnation:
    number: int
    resetlogs_scn: int
    resetlogs_at: datetime
    prior_resetlogs_scn: int
    resetlogs_id: int
    status: str = "CURRENT"
    prior_number: int = 0


@dataclass(slots=True)
class PdbIncarnation:
    """A row of V$PDB_INCARNATION: the PDB was opened with RESETLOGS between two SCNs, after it was set back to `scn`."""

    db_incarnation: int
    number: int
    scn: int
    at: datetime
    begin_scn: int
    end_scn: int
    prior: tuple[int, int] = (0, 0)  # database incarnation and PDB incarnation
    status: str = "CURRENT"


@dataclass(slots=True)
class PdbIdentity:
    """What distinguishes a PDB from another one of the same name."""

    guid: bytes
    con_uid: int
    dbid: int
    incarnations: list[PdbIncarnation]

    @property
    def incarnation(self) -> PdbIncarnation:
        return next(i for i in self.incarnations if i.status == "CURRENT")


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that changes what a SELECT of a table returns: rows that `where` does not admit, or a masked column."""

    name: str
    owner: str
    table: str
    kind: str  # VPD, LABEL (Label Security) or REDACTION
    where: str = ""
    column: str = ""


@dataclass(slots=True)
class ArchiveDestination:
    dest_id: int
    path: str
    status: str = "VALID"  # VALID ERROR DEFERRED; ERROR is tried again with the next log
    error: str | None = None
    is_full: bool = False


@dataclass(slots=True)
class OpenTransaction:
    """A row of GV$TRANSACTION."""

    xid: tuple[int, int, int]
    con_id: int
    thread: int
    start_scn: int
    started_at: datetime
    session: int
    user: str
    undo_records: int = 0
    is_parallel: bool = False
    is_prepared: bool = False  # a branch of a distributed transaction, which waits for its coordinator
    is_listed: bool = True  # in V$TRANSACTION; a prepared branch is not after its instance ended


@dataclass(slots=True)
class DatabaseState:
    name: str = "FREE"
    unique_name: str = "FREE"
    dbid: int = 1455087542
    is_cdb: bool = True
    pdb_name: str = "FREEPDB1"
    created: datetime = datetime(2026, 1, 1)
    archivelog: bool = True
    force_logging: bool = True
    supplemental: set[str] = field(default_factory=set)  # of MIN PK UI FK ALL, database-wide
    pdb_supplemental: set[str] = field(default_factory=set)  # the same, of the PDB alone
    characterset: str = "AL32UTF8"
    pdb_characterset: str | None = None  # of the PDB, where it is not the root's
    national_characterset: str = "AL16UTF16"
    time_zone: str = "+00:00"  # DBTIMEZONE, in which redo has local times
    release: str = "19.23.0.0.0"
    parameters: dict[str, str] = field(default_factory=dict)  # V$PARAMETER
    pdb: PdbIdentity | None = None  # of the one pluggable database
    policies: list[Policy] = field(default_factory=list)  # of tables in the PDB
    users: dict[str, User] = field(default_factory=dict)
    tables: dict[tuple[int, str, str], TableDef] = field(default_factory=dict)  # (con_id, owner, name)
    objects: dict[tuple[int, str, str], SchemaObject] = field(default_factory=dict)  # under names of their own
    dropped: dict[int, TableDef] = field(default_factory=dict)  # object id -> last definition of a dropped table
    threads: dict[int, RedoThreadState] = field(default_factory=dict)
    archived: list[ArchivedCopy] = field(default_factory=list)
    history: list[LogHistoryRow] = field(default_factory=list)
    incarnations: list[DatabaseIncarnation] = field(default_factory=list)
    destinations: list[ArchiveDestination] = field(default_factory=list)
    transactions: dict[tuple[int, tuple[int, int, int]], OpenTransaction] = field(default_factory=dict)  # (con_id, xid)
    hidden_starts: int | None = -1  # START_SCN of every row of V$TRANSACTION; -1: the true one
    last_recid: int = 0
    last_drop_scn: int = 0  # of the last DROP or RENAME of a table; flashback goes no further back
    is_mounted: bool = False  # mounted but not open
    pdb_is_open: bool = True  # while closed, it is MOUNTED
    redo_dictionary: dict[tuple[int, int], str] | None = None  # what the redo says of each table since the last BUILD
    rds_configuration: dict[str, str] = field(default_factory=dict)  # settings of RDSADMIN_UTIL.SET_CONFIGURATION

    def next_recid(self) -> int:
        """Return a new RECID of V$ARCHIVED_LOG, never used before, even by rows that have left the view."""
        self.last_recid += 1
        return self.last_recid

    @property
    def incarnation(self) -> DatabaseIncarnation:
        return next(i for i in self.incarnations if i.status == "CURRENT")

    def logged_in(self, con_id: int) -> frozenset[str]:
        """Return the supplemental logging of every table in a container, beside the table's own log groups."""
        return frozenset(self.supplemental | self.pdb_supplemental if con_id == PDB else self.supplemental)

    def characterset_of(self, con_id: int) -> str:
        return self.pdb_characterset or self.characterset if con_id == PDB else self.characterset

    def container_name(self, con_id: int) -> str:
        return self.name if not self.is_cdb else {ROOT: "CDB$ROOT", 2: "PDB$SEED", PDB: self.pdb_name}[con_id]
