"""Check everything a pipeline needs before it may start: facts in, all findings out, each with its cure.

The checks are pure; source/probe.py reads the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from redolake.errors import Finding
from redolake.source.capture_findings import ConfiguredTable, Supported, capture_findings
from redolake.source.facts import ROLES, DatabaseFacts
from redolake.source.rds import RdsFacts
from redolake.source.stored_objects import StoredObject, stored_findings
from redolake.source.supplemental import DatabaseLogging, LoggedColumns, logging_findings, logging_note
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.redo import LARGEST_LAG_SECONDS, ContainerFacts, Encoding, RedoFacts
from redolake.values.table import TableId

NOLOGGING = "is NOLOGGING, and the database does not force logging: direct-path loads would leave no redo"
CONTAINER_DATA = "in the root, for the user of the connection: ALTER USER <user> SET CONTAINER_DATA = ALL CONTAINER = CURRENT"
READABLE = frozenset({"READ WRITE", "READ ONLY", "READ ONLY WITH APPLY"})


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """An archived log given to LogMiner. `refused` is the reason it could not be opened, or None."""

    thread: int
    sequence: int
    dest_id: int
    name: str
    refused: str | None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Everything the probe read. A part that could not be read is None, and `refused` contains the reason."""

    database: DatabaseFacts | None = None
    refused: tuple[Finding, ...] = ()
    container: str | None = None
    visible_containers: Mapping[str, str] = field(default_factory=dict)  # name -> OPEN_MODE
    visible_tables: int | None = None  # tables of other containers seen from the root
    tables: Mapping[TableId, DictionaryTable] = field(default_factory=dict)
    tables_of_owner: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # visible tables by owner
    special: Mapping[TableId, str] = field(default_factory=dict)  # what a table is that no pattern matches
    redo: RedoFacts | None = None
    newest_logs: tuple[OpenedLog, ...] = ()  # of each redo thread, one per destination
    container_logging: frozenset[LoggedColumns] | None = frozenset()  # supplemental logging set on the container
    container_facts: ContainerFacts | None = None
    encoding: Encoding | None = None  # of the container
    policies: tuple[Finding, ...] = ()  # of tables, which change what this user reads
    stored_objects: Mapping[TableId, tuple[StoredObject, ...]] = field(default_factory=dict)  # by the table's name in Oracle
    rds: RdsFacts | None = None

    @property
    def database_logging(self) -> DatabaseLogging:
        database = frozenset[LoggedColumns]() if self.database is None else self.database.supplemental
        return DatabaseLogging(database, self.container_logging)


def preflight_findings(probed: ProbeResult, wanted: tuple[ConfiguredTable, ...], supported: Supported) -> tuple[Finding, ...]:
    """Return all findings. Only those of severity `error` stop a pipeline."""
    found = list(probed.refused)
    if probed.database is not None:
        found += database_findings(probed.database)
        found += log_findings(probed.newest_logs)
        of_container = tuple(container_findings(probed, probed.database))
        found += of_container
        if any(finding.subject.startswith("container") for finding in of_container):
            return tuple(found)  # its tables cannot be checked
    found += probed.policies
    for one in wanted:
        found += table_findings(one, probed, supported)
    return tuple(found)


def database_findings(database: DatabaseFacts) -> Iterator[Finding]:
    """Check archiving, supplemental logging, role, open mode and parameters."""
    name = f"database {database.name}"
    if database.log_mode != "ARCHIVELOG":
        cure = "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN"
        yield Finding(name, f"runs in {database.log_mode} mode: redo is overwritten before it can be read", cure)
    if database.supplemental_min not in ("YES", "IMPLICIT"):
        cure = "in the root: ALTER DATABASE ADD SUPPLEMENTAL LOG DATA"
        yield Finding(name, "has no minimal supplemental logging: LogMiner cannot assemble rows", cure)
    if database.role not in ROLES:
        yield Finding(name, f"is a {database.role}", "connect to the primary or to an open physical standby")
    if database.open_mode not in READABLE:
        yield Finding(name, f"is {database.open_mode}: the online catalogue needs an open database", "ALTER DATABASE OPEN")
    if not database.forces_logging:
        cure = "ALTER DATABASE FORCE LOGGING"
        yield Finding(name, f"FORCE_LOGGING is {database.force_logging}: NOLOGGING operations leave no redo", cure, "warning")
    if database.parameters.get("control_file_record_keep_time") == "0":
        what = "CONTROL_FILE_RECORD_KEEP_TIME is 0: the control file may drop records of archived logs that still exist"
        yield Finding(name, what, "ALTER SYSTEM SET CONTROL_FILE_RECORD_KEEP_TIME = 7 SCOPE = BOTH", "warning")
    lag = int(database.parameters.get("archive_lag_target") or 0)
    if not 0 < lag <= LARGEST_LAG_SECONDS:
        what = f"ARCHIVE_LAG_TARGET is {lag}: an idle thread switches no log, and the changes of all threads wait for it"
        yield Finding(name, what, "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH", "warning")


def log_findings(newest: tuple[OpenedLog, ...]) -> Iterator[Finding]:
    """Report logs that this instance cannot open. On RAC an instance may archive its thread to a disk of its own."""
    cure = "archive to ASM or a file system shared by all instances, or connect to an instance that can read every log"
    for thread in sorted({log.thread for log in newest}):
        logs = [log for log in newest if log.thread == thread]
        refused = [log for log in logs if log.refused is not None]
        severity = "error" if len(refused) == len(logs) else "warning"
        for log in refused:
            what = (
                f"destination {log.dest_id}: this instance cannot open archived log {log.sequence}, {log.name}: {log.refused}"
            )
            yield Finding(f"redo thread {thread}", what, cure, severity)


def preflight_notes(probed: ProbeResult) -> Iterator[Finding]:
    """Return notes about the source. None of them is a problem."""
    database, redo = probed.database, probed.redo
    logged = (logging_note(table, probed.database_logging) for table in probed.tables.values())
    yield from (note for note in logged if note is not None)
    yield from (note for table in probed.tables.values() for note in column_notes(table))
    if database is None or redo is None:
        return
    name, known = f"database {database.name}", probed.encoding
    zone = "unknown" if known is None else known.time_zone
    sets = "unknown character sets" if known is None else f"character sets {known.text} and {known.national}"
    yield Finding(name, f"release {database.version}, {sets}, time zone {zone}", severity="note")
    current = next((i for i in redo.incarnations if i.status == "CURRENT"), None)
    if current is not None:
        since = f"resetlogs id {current.resetlogs_id}, since SCN {current.resetlogs_scn}"
        yield Finding(name, f"DBID {redo.dbid}, incarnation with {since}", severity="note")
    threads = (f"{t.number} {'OPEN' if t.is_open else 'CLOSED'} ({t.instance or 'no instance'})" for t in redo.threads)
    yield Finding("redo threads", ", ".join(threads), severity="note")
    kept = [log.first_at for log in redo.archived if log.claimed and log.first_at is not None]
    days = database.parameters.get("control_file_record_keep_time", "?")
    since = f"archived logs since {min(kept):%Y-%m-%d %H:%M} are available" if kept else "no archived log is available"
    unseen = "RMAN's deletion policy is not visible to this user"
    yield Finding("retention", f"{since}; CONTROL_FILE_RECORD_KEEP_TIME is {days} day(s); {unseen}", severity="note")


def column_notes(table: DictionaryTable) -> Iterator[Finding]:
    """Name the columns that are not captured: virtual ones and those of Oracle's own."""
    virtual = [c.name for c in table.ignored if c.kind == "virtual"]
    if virtual:
        yield Finding(str(table.table), f"virtual columns are not captured: {', '.join(virtual)}", severity="note")
    hidden = [c.name for c in table.ignored if c.kind != "virtual"]
    if hidden:
        yield Finding(
            str(table.table), f"hidden columns of Oracle's own are not captured: {', '.join(hidden)}", severity="note"
        )


def container_findings(probed: ProbeResult, database: DatabaseFacts) -> Iterator[Finding]:
    container = probed.container
    if not database.is_cdb:
        if container is not None:
            yield Finding(f"container {container}", "the database has no containers", "remove `container`")
        return
    if container is None:
        names = ", ".join(sorted(probed.visible_containers)) or "SELECT name FROM v$pdbs"
        yield Finding("container", "is not set, and the database has containers", f"set `container` to one of: {names}")
        return
    if container not in probed.visible_containers:
        names = ", ".join(sorted(probed.visible_containers))
        if names:
            yield Finding(f"container {container}", "does not exist", f"correct `container`: one of {names}")
        else:
            yield Finding(f"container {container}", "is not visible to this user", CONTAINER_DATA)
    elif probed.visible_containers[container] not in READABLE:
        cure = f"ALTER PLUGGABLE DATABASE {container} OPEN"
        yield Finding(f"container {container}", f"is {probed.visible_containers[container]}", cure)
    for other, mode in sorted(probed.visible_containers.items()):
        if other != container and mode not in READABLE:
            what = f"is {mode}: mining waits (ORA-16331) at a log that contains redo of it"
            yield Finding(f"container {other}", what, f"ALTER PLUGGABLE DATABASE {other} OPEN", "warning")
    if probed.visible_tables == 0:
        what = "shows no row to this user from the root: LogMiner would return no rows and no error"
        yield Finding(f"container {container}", what, CONTAINER_DATA)


def table_findings(wanted: ConfiguredTable, probed: ProbeResult, supported: Supported) -> Iterator[Finding]:
    table = probed.tables.get(wanted.table)
    if table is None:
        # Where nothing could be read, a missing table says nothing.
        if probed.tables_of_owner or not probed.refused:
            yield _unknown(wanted.table, probed)
        return
    if table.in_oracle in probed.special:
        cure = "keep it, if its rows are wanted: a refresh changes them like other statements, or truncates the table first"
        yield Finding(str(wanted.table), probed.special[table.in_oracle], cure, "warning")
    yield from capture_findings(table, wanted, supported)
    if probed.database is not None and not table.logging and not probed.database.forces_logging:
        yield Finding(str(wanted.table), NOLOGGING, nologging_cure(table))
    forces_logging = probed.database is not None and probed.database.forces_logging
    stored = probed.stored_objects.get(table.in_oracle, ())
    yield from stored_findings(table, wanted.choice, stored, forces_logging=forces_logging)
    yield from logging_findings(table, wanted.key, probed.database_logging)


def _unknown(table: TableId, probed: ProbeResult) -> Finding:
    if table in probed.special:
        return Finding(str(table), probed.special[table], f"remove {table} from `tables`")
    visible = probed.tables_of_owner.get(table.owner, ())
    if table.name in visible:
        what = "its `renamed_to` names no table, or one that this user may not see; its own name is there"
        return Finding(str(table), what, "correct `renamed_to`, or remove it until the table is renamed")
    near = get_close_matches(table.name, visible, n=3, cutoff=0.6)
    if near:
        cure = "did you mean " + " or ".join(f"{table.owner}.{name}" for name in near) + "?"
    elif visible:
        cure = f"correct the name, or GRANT SELECT, FLASHBACK ON {table.in_sql} to the user of the connection"
    else:
        cure = f"correct the owner, or GRANT SELECT, FLASHBACK on the tables of {table.owner} to the user of the connection"
    return Finding(str(table), "does not exist, or this user may not see it", cure)


def nologging_cure(table: DictionaryTable) -> str:
    return f"ALTER TABLE {table.in_oracle.in_sql} LOGGING, or ALTER DATABASE FORCE LOGGING"
