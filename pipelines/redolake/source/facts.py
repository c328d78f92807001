"""Read facts about redo, database and open transactions from the V$ views, as values.

The V$ views are not consistent with each other. So they are read again until no log was switched in between. CURRENT_SCN is
read first and the threads last, so any other change in between makes the facts look older than they are, never newer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redolake.errors import SourceBusy, SourceRefused
from redolake.source.oracle import Source
from redolake.source.supplemental import DatabaseLogging, LoggedColumns, logged_columns
from redolake.values.redo import (
    ContainerFacts,
    ContainerIdentity,
    Encoding,
    Incarnation,
    LogCopy,
    LogFile,
    PdbIncarnation,
    RedoDictionary,
    RedoFacts,
    RedoThread,
)
from redolake.values.scn import Scn, known_end

PRIMARY = "PRIMARY"
ROLES = frozenset({PRIMARY, "PHYSICAL STANDBY"})  # databases whose redo is the primary's

RECURSIVE_START = 1  # START_SCN 0 and 1 are no SCNs
ALL_LOGS = -1
FORM_PARAMETERS = ("compatible", "db_block_size", "max_string_size")  # the forms of redo may depend on them
READINGS = 5  # of the views, until no log is switched meanwhile


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """V$DATABASE, V$INSTANCE and the parameters that matter."""

    dbid: int
    name: str
    log_mode: str
    force_logging: str
    supplemental_min: str  # YES, IMPLICIT, NO
    supplemental: frozenset[LoggedColumns]  # for every table
    is_cdb: bool
    role: str
    open_mode: str
    version: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def forces_logging(self) -> bool:
        return self.force_logging.startswith("YES")


@dataclass(frozen=True, slots=True)
class ActiveTransaction:
    """A row of GV$TRANSACTION."""

    xid: str  # usn.slt.sqn
    start_scn: Scn
    con_id: int | None


@dataclass(frozen=True, slots=True)
class UnknownStart:
    """A row of GV$TRANSACTION with undo, or prepared, whose START_SCN is NULL, 0 or 1: its changes may have any SCN."""

    xid: str
    instance: int
    con_id: int | None
    status: str
    undo_records: int | None

    def __str__(self) -> str:
        undo = "an unknown number of" if self.undo_records is None else self.undo_records
        return f"{self.xid} ({self.status}, instance {self.instance}, container {self.con_id}, {undo} undo records)"


def read_redo_facts(source: Source, since: Scn | None = None) -> RedoFacts:
    """Read everything the window planner needs, from the root. Raises SourceRefused where a PDB does not show it.

    With `since`, leave out the logs that a plan from that SCN does not look at: those before the newest that had ended there,
    of each redo thread and incarnation. The control file may list many thousands.
    """
    source.use_container(None)
    ended = {"since": ALL_LOGS if since is None else int(since)}
    for _ in range(READINGS):
        head = source.query("redo_head")[0]
        require_role(head.database_role)
        groups, history = source.query("online_logs"), source.query("log_history", **ended)
        lines, files = source.query("incarnations"), source.query("archived_logs", **ended)
        running = source.query("redo_threads")
        if _find_switched(source.query("online_logs"), source.query("log_history", **ended)) == _find_switched(groups, history):
            break
    else:
        raise SourceBusy(
            f"redo logs were switched during each of {READINGS} readings of the views",
            cure="wait; larger redo logs are advised",
        )
    incarnations = tuple(map(_incarnation, lines))
    current = next((i.resetlogs_id for i in incarnations if i.status == "CURRENT"), 0)
    online = tuple(_online(row, current) for row in _with_range(groups))
    archived, threads = _archived_logs(_with_range(files)), tuple(map(_thread, running))
    if source.pdb_only:
        shown = {"V$DATABASE_INCARNATION": current, "V$THREAD": threads, "V$LOG": online}
        require_shown({**shown, "V$LOG_HISTORY": history or not archived, "V$ARCHIVED_LOG": archived or not history})
    return RedoFacts(
        dbid=int(head.dbid),
        current_scn=Scn(int(head.current_scn or 0)),  # NULL while the database is only mounted
        threads=tuple(sorted(threads, key=lambda t: t.number)),
        archived=archived,
        online=online,
        incarnations=incarnations,
        history=_traces(_with_range(history), lines),
        is_standby=head.database_role != PRIMARY,
    )


def require_role(role: str) -> None:
    """Raise SourceRefused for a database whose redo is not the primary's: a snapshot standby is opened with RESETLOGS, and its
    incarnation would be followed into changes that are undone later."""
    if role not in ROLES:
        cure = "connect to the primary or a physical standby; a snapshot standby: wait until it is a physical standby again"
        raise SourceRefused(f"the database is a {role}: its redo is its own, not the primary's", cure=cure)


def _find_switched(groups: list[Any], history: list[Any]) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """Return what changes in V$LOG and V$LOG_HISTORY when a log is switched. That a log is archived may be seen late."""
    online = {(row.thread, row.sequence_no, row.first_scn, _online_end(row)) for row in groups}
    return online, {(row.thread, row.sequence_no, row.first_scn, row.resetlogs_scn) for row in history}


def read_redo_dictionaries(source: Source) -> tuple[RedoDictionary, ...]:
    """Return the complete dictionaries that archived logs contain, from the root, in the order in which they end."""
    source.use_container(None)
    by_thread: defaultdict[tuple[int, int], list[Any]] = defaultdict(list)
    for row in _with_range(source.query("dictionary_logs")):
        by_thread[int(row.thread), int(row.resetlogs_id or 0)].append(row)
    found = []
    for (thread, resetlogs_id), rows in by_thread.items():
        begin = None
        for row in sorted(rows, key=lambda row: int(row.sequence_no)):
            begin = row if row.dictionary_begin == "YES" else begin
            end = _end(row.next_scn)
            if row.dictionary_end == "YES" and begin is not None and end is not None:
                sequences = int(begin.sequence_no), int(row.sequence_no)
                found.append(RedoDictionary(thread, resetlogs_id, *sequences, Scn(int(begin.first_scn)), end))
    return tuple(sorted(found, key=lambda one: one.end_scn))


def _with_range(rows: list[Any]) -> list[Any]:
    """Leave out rows without a sequence or FIRST_CHANGE#. They show no redo; a log that no other row shows is then missing."""
    return [row for row in rows if row.sequence_no is not None and row.first_scn is not None]


def require_shown(rows: Mapping[str, object]) -> None:
    """Raise SourceRefused for views without rows. From inside a PDB Oracle may hide them, and then nothing proves that the
    archived logs are complete."""
    hidden = [name for name, found in rows.items() if not found]
    if hidden:
        raise SourceRefused(
            f"{' and '.join(hidden)} show no rows inside this PDB, so nothing proves that no archived log is missing",
            cure="connect to the root, without pdb_only; this database cannot be captured from inside the PDB",
        )


def _scn_unless_zero(scn: Any) -> Scn | None:
    """Return None for 0, which Oracle writes for "never"."""
    return Scn(int(scn)) if scn else None


def _incarnation(row: Any) -> Incarnation:
    return Incarnation(int(row.resetlogs_id), Scn(int(row.resetlogs_scn)), row.status, Scn(int(row.prior_resetlogs_scn or 0)))


def _traces(rows: list[Any], incarnations: list[Any]) -> tuple[LogFile, ...]:
    """Add the RESETLOGS_ID that V$LOG_HISTORY lacks; RESETLOGS_TIME separates incarnations that began at one SCN."""
    by_scn = {int(i.resetlogs_scn): int(i.resetlogs_id) for i in incarnations}
    by_time = {(int(i.resetlogs_scn), i.resetlogs_at): int(i.resetlogs_id) for i in incarnations}

    def resetlogs_id(row: Any) -> int:
        scn = int(row.resetlogs_scn)
        return by_time.get((scn, row.resetlogs_at), by_scn.get(scn, 0))

    return tuple(
        LogFile(int(row.thread), int(row.sequence_no), resetlogs_id(row), Scn(int(row.first_scn)), _end(row.next_scn))
        for row in rows
    )


def _thread(row: Any) -> RedoThread:
    return RedoThread(
        number=int(row.thread),
        is_open=row.status == "OPEN",
        enabled=row.enabled,
        checkpoint_scn=_scn_unless_zero(row.checkpoint_scn),
        enable_scn=_scn_unless_zero(row.enable_scn),
        disable_scn=_scn_unless_zero(row.disable_scn),
        instance=row.instance,
    )


def _end(next_scn: Any) -> Scn | None:
    return known_end(None if next_scn is None else int(next_scn))


def _online_end(row: Any) -> Scn | None:
    return None if (row.status or "CURRENT").startswith("CURRENT") else _end(row.next_scn)


def _online(row: Any, resetlogs_id: int) -> LogFile:
    return LogFile(
        thread=int(row.thread),
        sequence=int(row.sequence_no),
        resetlogs_id=resetlogs_id,
        first_scn=Scn(int(row.first_scn)),
        next_scn=_online_end(row),
        bytes=int(row.bytes or 0),
        first_at=row.first_at,
        is_archived=row.archived == "YES",
    )


def _archived_logs(rows: list[Any]) -> tuple[LogFile, ...]:
    """Return one log per thread, sequence, incarnation and SCN range, with the copies of every destination.

    Copies with different ends stay separate logs, because a failover may cut one short and the gate must notice it.
    """
    copies: defaultdict[tuple[int, int, int, int, int], list[Any]] = defaultdict(list)
    for row in rows:
        end = _end(row.next_scn) or 0
        copies[int(row.thread), int(row.sequence_no), int(row.resetlogs_id or 0), int(row.first_scn), end].append(row)
    return tuple(_log(key, rows) for key, rows in sorted(copies.items()))


def _log(key: tuple[int, int, int, int, int], rows: list[Any]) -> LogFile:
    thread, sequence, resetlogs_id, first_scn, end = key
    return LogFile(
        thread=thread,
        sequence=sequence,
        resetlogs_id=resetlogs_id,
        first_scn=Scn(first_scn),
        next_scn=_scn_unless_zero(end),
        copies=tuple(_copy(row) for row in sorted(rows, key=lambda row: int(row.dest_id or 0))),
        bytes=max(int(row.bytes or 0) for row in rows),
        first_at=rows[0].first_at,
    )


def _copy(row: Any) -> LogCopy:
    return LogCopy(
        dest_id=int(row.dest_id or 0),
        name=row.name,
        status=row.status,
        deleted=row.deleted == "YES",
        standby=row.standby_dest == "YES",
        archived=row.archived == "YES",
    )


def read_database(source: Source) -> DatabaseFacts:
    """Read the database's identity and settings."""
    source.use_container(None)
    row = source.query("database")[0]
    return DatabaseFacts(
        dbid=int(row.dbid),
        name=row.name,
        log_mode=row.log_mode,
        force_logging=row.force_logging,
        supplemental_min=_minimal_logging(source, row.supplemental_min),
        supplemental=logged_columns(row.supplemental_pk, row.supplemental_all),
        is_cdb=row.cdb == "YES",
        role=row.database_role,
        open_mode=row.open_mode,
        version=source.query("release")[0].version_full,
        parameters=read_parameters(source),
    )


def read_parameters(source: Source) -> dict[str, str]:
    return {row.name: row.value for row in source.query("parameters")}


def read_encoding(source: Source, container: str | None) -> Encoding:
    """Read how the PDB encodes what LogMiner shows as internal bytes."""
    source.use_container(container)
    sets = {row.parameter: row.value for row in source.query("character_sets")}
    zone = source.query("database_time_zone")[0].time_zone
    return Encoding(sets.get("NLS_CHARACTERSET", ""), sets.get("NLS_NCHAR_CHARACTERSET", ""), str(zone))


def read_container(source: Source, container: str | None) -> ContainerFacts | None:
    """Read what identifies the PDB, after the redo facts: where it is the recorded one, the facts are of that PDB too."""
    if container is None:
        return None
    source.use_container(container)
    rows = source.query("container_identity")
    if not rows:
        raise SourceRefused(
            f"V$PDBS shows no row inside {container}", cure="GRANT SELECT ON SYS.V_$PDBS TO the user in the PDB"
        )
    incarnations = tuple(map(_pdb_incarnation, source.query("container_incarnations")))
    current = next((row for row in incarnations if row.is_current), None)
    guid = rows[0].guid
    identity = ContainerIdentity(
        guid.hex().upper() if isinstance(guid, bytes) else str(guid), int(rows[0].con_uid), int(rows[0].dbid), current
    )
    return ContainerFacts(container, identity, incarnations)


def _pdb_incarnation(row: Any) -> PdbIncarnation:
    return PdbIncarnation(
        int(row.db_incarnation),
        int(row.pdb_incarnation),
        _scn_unless_zero(row.incarnation_scn),
        _scn_unless_zero(row.end_resetlogs_scn),
        row.status == "CURRENT",
        (int(row.prior_db or 0), int(row.prior_pdb or 0)),
    )


def _minimal_logging(source: Source, of_database: str) -> str:
    """Return the setting of the database; without one, that of the PDB which is mined from inside."""
    if of_database != "NO" or not source.pdb_only:
        return of_database
    try:
        return str(source.query("container_logging")[0].minimal)
    except SourceRefused:
        return of_database


def read_database_logging(source: Source, container: str | None) -> DatabaseLogging:
    """Read the supplemental logging that the database and the container apply to every table."""
    source.use_container(None)
    row = source.query("database")[0]
    return DatabaseLogging(logged_columns(row.supplemental_pk, row.supplemental_all), read_container_logging(source, container))


def read_container_logging(source: Source, container: str | None) -> frozenset[LoggedColumns] | None:
    """Return None where the user may not read it: older grants lack it, and few databases need it."""
    if container is None:
        return frozenset()
    source.use_container(container)
    try:
        row = source.query("container_logging")[0]
    except SourceRefused:
        return None
    return logged_columns(row.primary_key, row.all_column)


def read_current_scn(source: Source) -> Scn:
    """Return CURRENT_SCN, an upper bound: redo up to it may not be written yet."""
    return Scn(int(source.query("current_scn")[0].current_scn))


def read_active_transactions(source: Source) -> tuple[tuple[ActiveTransaction, ...], tuple[UnknownStart, ...]]:
    """Return the transactions of all instances, oldest first, and those whose start is unknown.

    A row without a start and without undo is left out: whatever it changes has a higher SCN than this moment.
    """
    source.use_container(None)
    found, unknown = [], []
    for row in source.query("active_transactions"):
        xid = f"{int(row.xidusn)}.{int(row.xidslot)}.{int(row.xidsqn)}"
        con_id = None if row.con_id is None else int(row.con_id)
        undo = None if row.used_urec is None else int(row.used_urec)
        if row.start_scn is not None and int(row.start_scn) > RECURSIVE_START:
            found.append(ActiveTransaction(xid, Scn(int(row.start_scn)), con_id))
        elif undo != 0 or row.status != "ACTIVE":
            unknown.append(UnknownStart(xid, int(row.inst_id), con_id, str(row.status), undo))
    return tuple(sorted(found, key=lambda t: t.start_scn)), tuple(unknown)
