"""Check everything a pipeline needs before it may start: facts in, all findings out, each with its cure.

The checks are pure; source/probe.py reads the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from pipelines.dictionary_table import DictionaryColumn, DictionaryTable
from pipelines.errors import Finding
from pipelines.redo import LARGEST_LAG_SECONDS, ContainerFacts, Encoding, RedoFacts
from pipelines.source.facts import DatabaseFacts
from pipelines.source.rds import RdsFacts
from pipelines.source.supplemental import DatabaseLogging, LoggedColumns, logging_findings, logging_note
from pipelines.table import ALL_COLUMNS, PRIMARY, ColumnChoice, KeyPolicy, OracleType, TableId

Supported = Callable[[OracleType, str | int | None, ColumnChoice], str | None]  # (type, rule, ..) -> why not captured, or None

LONGEST_MINED_NAME_BYTES = 30
LONGEST_PLAIN_BYTES = {"VARCHAR2": 4000, "NVARCHAR2": 4000, "RAW": 2000}  # beyond: MAX_STRING_SIZE = EXTENDED
WHOLE_ROWS_UNSUPPORTED = frozenset({"BOOLEAN", "JSON", "VECTOR"})  # measured on 23ai
MAYBE_IGNORED = frozenset({"BFILE", "NESTED TABLE", "VARRAY", "REF"})  # manuals of different releases name them as unsupported
NOLOGGING = "is NOLOGGING, and the database does not force logging: direct-path loads would leave no redo"
CONTAINER_DATA = "in the root, for the user of the connection: ALTER USER <user> SET CONTAINER_DATA = ALL CONTAINER = CURRENT"
READABLE = frozenset({"READ WRITE", "READ ONLY", "READ ONLY WITH APPLY"})
ROLES = frozenset({"PRIMARY", "PHYSICAL STANDBY"})


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
    rds: RdsFacts | None = None

    @property
    def database_logging(self) -> DatabaseLogging:
        database = frozenset[LoggedColumns]() if self.database is None else self.database.supplemental
        return DatabaseLogging(database, self.container_logging)


@dataclass(frozen=True, slots=True)
class ConfiguredTable:
    """A table of the configuration, with its column rules, its key, and the columns that it leaves out."""

    table: TableId
    rules: Mapping[str, str | int] = field(default_factory=dict)
    key: KeyPolicy = PRIMARY
    choice: ColumnChoice = ALL_COLUMNS


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
        cure = "nothing, if its rows are wanted: a refresh changes them like other statements, or truncates the table first"
        yield Finding(str(wanted.table), probed.special[table.in_oracle], cure, "warning")
    yield from capture_findings(table, wanted, supported)
    if probed.database is not None and not table.logging and not probed.database.forces_logging:
        yield Finding(str(wanted.table), NOLOGGING, nologging_cure(table))
    yield from logging_findings(table, wanted.key, probed.database_logging)


def capture_findings(table: DictionaryTable, wanted: ConfiguredTable, supported: Supported) -> Iterator[Finding]:
    """Check whether a table can be captured with these settings, whatever the database logs of it."""

    def refused(type_: OracleType, rule: str | int | None) -> str | None:
        return supported(type_, rule, wanted.choice)

    table = table.chosen(
        wanted.choice, wanted.key, lambda column: refused(column.type, wanted.rules.get(column.name)) is not None
    )
    yield from kind_findings(table)
    yield from choice_findings(table, wanted)
    yield from logminer_findings(table)
    yield from key_findings(table, wanted.key)
    yield from column_findings(table, wanted.rules, refused)


def _unknown(table: TableId, probed: ProbeResult) -> Finding:
    if table in probed.special:
        return Finding(str(table), probed.special[table], f"remove {table} from `tables`")
    visible = probed.tables_of_owner.get(table.owner, ())
    near = get_close_matches(table.name, visible, n=3, cutoff=0.6)
    if near:
        cure = "did you mean " + " or ".join(f"{table.owner}.{name}" for name in near) + "?"
    elif visible:
        cure = f"correct the name, or GRANT SELECT, FLASHBACK ON {table} to the user of the connection"
    else:
        cure = f"correct the owner, or GRANT SELECT, FLASHBACK on the tables of {table.owner} to the user of the connection"
    return Finding(str(table), "does not exist, or this user may not see it", cure)


def kind_findings(table: DictionaryTable) -> Iterator[Finding]:
    name = str(table.table)
    if table.temporary:
        yield Finding(name, "is a temporary table: the redo does not contain its rows", "remove it from `tables`")
    if (table.partitioned or table.iot) and not table.parts:
        what = "its partitions" if table.partitioned else "the index that contains its rows"
        yield Finding(
            name,
            f"this user does not see {what}, whose OBJECT_IDs the redo contains",
            f"GRANT SELECT ON {table.table}, and SELECT ANY DICTIONARY, to the user of the connection",
        )
    if table.columnar:
        what = "has hybrid columnar compression, which gives updated rows new ROWIDs"
        yield Finding(name, what, "ALTER TABLE .. MOVE [PARTITION ..] ROW STORE COMPRESS ADVANCED, or remove it from `tables`")
    if table.external:
        yield Finding(name, "is an external table: the redo does not contain its rows", "remove it from `tables`")


def logminer_findings(table: DictionaryTable) -> Iterator[Finding]:
    """Report what makes LogMiner show all rows of the table as UNSUPPORTED, and hidden columns of an unknown kind."""
    name = str(table.table)
    remove = f"remove {name} from `tables`"
    leave_out = "leave the column out (`exclude` of the table)"
    names = (table.in_oracle.owner, table.in_oracle.name, *(c.name for c in table.columns if not c.system))
    too_long = [n for n in names if len(n.encode()) > LONGEST_MINED_NAME_BYTES]
    if too_long:
        what = f"has names over {LONGEST_MINED_NAME_BYTES} bytes, for which LogMiner shows changes as UNSUPPORTED: "
        yield Finding(name, what + ", ".join(too_long), f"use shorter names, or {remove}")
    for column in table.columns:
        if column.left_out is None and (column.bytes or 0) > LONGEST_PLAIN_BYTES.get(column.type.name, column.bytes or 0):
            what = (
                f"{column.type}: an extended string, which Oracle stores as a large object and LogMiner does not show as text"
            )
            yield Finding(
                f"{name}.{column.name}", what, f"declare at most {LONGEST_PLAIN_BYTES[column.type.name]} bytes, or {leave_out}"
            )
        rowless = column.left_out is None and not table.rereads_rows
        if rowless and column.stored and column.type.name in WHOLE_ROWS_UNSUPPORTED:
            what = (
                f"{column.type}: LogMiner shows each change of a row of such a table as UNSUPPORTED, also of its other columns"
            )
            cure = f"`unsupported_columns: reread` reads its changed rows again, or {remove}"
            yield Finding(f"{name}.{column.name}", what, cure)
        if column.virtual and column.system and not column.name.startswith("SYS_"):
            what = "is a valid-time period (PERIOD FOR), whose tables LogMiner does not support"
            yield Finding(f"{name}.{column.name}", what, remove)
    refused = {column.column_id for column in table.unshown if column.stored and column.column_id is not None}
    for column in table.unknown_storage:
        if column.column_id in refused:
            continue  # it stores a part of a column that has a finding of its own
        what = f"{column.type}: a hidden column of Oracle's own, which may store an object or XMLTYPE column"
        yield Finding(f"{name}.{column.name}", what, f"{leave_out}, or {remove}")


def choice_findings(table: DictionaryTable, wanted: ConfiguredTable) -> Iterator[Finding]:
    """Name the columns that the configuration leaves out, those of the key, and patterns without a column."""
    name, choice = str(table.table), wanted.choice
    key = [column for column in table.key if wanted.key.kind == "primary" and choice.names(column)]
    if key:
        what = f"`exclude` names {', '.join(key)}, which is part of the primary key: rows need their key"
        yield Finding(name, what, "remove it from `exclude`, or declare another `key` for the table")
    for pattern in (*choice.exclude, *choice.include):
        if not any(ColumnChoice((pattern,)).names(column.name) for column in table.columns if not column.system):
            what = f"no column has a name like {pattern}, which `exclude` or `include` contains"
            yield Finding(name, what, "nothing, if a later column is meant; else correct the name", "warning")
    objects = [column.name for column in table.large_objects]
    if choice.large_objects == "reread" and objects and table.iot:
        what = (
            f"large objects ({', '.join(objects)}) are read again by ROWID, which rows of an index-organized table do not have"
        )
        yield Finding(name, what, "leave them out: `large_objects: exclude` of the table")
    if table.rereads_rows:
        yield from reread_findings(table, wanted.key)
    for column in table.columns:
        if not column.system and column.type.name in MAYBE_IGNORED:
            yield ignored_finding(column, name)
        if column.left_out is None or column.system:
            continue
        kind = f"{column.type}: "
        why = (
            "left out, as pipelines.yml says"
            if column.left_out == "excluded"
            else "left out, because its type is not supported"
        )
        yield Finding(f"{name}.{column.name}", kind + why, severity="note")
        if column.type.name in WHOLE_ROWS_UNSUPPORTED and not table.rereads_rows:
            what = f"{kind}LogMiner may show each change of a row of such a table as UNSUPPORTED, also of its other columns"
            cure = f"if the table is held for that reason, `unsupported_columns: reread`, or remove {name} from `tables`"
            yield Finding(f"{name}.{column.name}", what, cure, "warning")


def ignored_finding(column: DictionaryColumn, name: str) -> Finding:
    """Warn of a column because of which LogMiner may show no change of the table at all."""
    of = " of some releases" if column.type.name == "VARRAY" else ""
    what = f"{column.type}: by its manual{of}, LogMiner ignores tables with such a column, so that changes could be missed"
    return Finding(
        f"{name}.{column.name}", what, f"compare with `redolake verify {name}`, or remove {name} from `tables`", "warning"
    )


def reread_findings(table: DictionaryTable, key: KeyPolicy) -> Iterator[Finding]:
    """Check that changed rows can be read again whole, and name the columns for which they are."""
    name, unshown = str(table.table), ", ".join(f"{column.name} ({column.type})" for column in table.unshown)
    if table.iot:
        what = f"{unshown}: changed rows are read again by ROWID, which rows of an index-organized table do not have"
        yield Finding(name, what, f"remove {name} from `tables`")
    elif key.kind == "append":
        what = f"{unshown}: changed rows are read again, which needs a key that finds a row, and `append` is none"
        yield Finding(name, what, "declare `key: primary`, `key: rowid` or the columns of a unique index")
    else:
        yield Finding(name, f"changed rows are read again whole, because of {unshown}", severity="note")


def nologging_cure(table: DictionaryTable) -> str:
    return f'ALTER TABLE "{table.in_oracle.owner}"."{table.in_oracle.name}" LOGGING, or ALTER DATABASE FORCE LOGGING'


def key_findings(table: DictionaryTable, key: KeyPolicy) -> Iterator[Finding]:
    """Check that the declared key identifies rows, and suggest keys that do."""
    name, candidates = str(table.table), [index.columns for index in table.key_candidates]
    certain = [columns for columns in candidates if not table.nullable(columns)] or candidates
    listed = " or ".join(f"`key: {KeyPolicy('columns', columns)}`" for columns in certain)
    without = (f"{listed}, " if listed else "") + "`key: rowid`, or `key: append` where rows are only inserted"
    if key.kind == "primary" and not table.key:
        cure = f"declare a key in `tables`: {without}; or ALTER TABLE {name} ADD PRIMARY KEY (...)"
        yield Finding(name, "has no enabled primary key", cure)
    if key.kind == "rowid" and table.iot:
        yield Finding(name, "`key: rowid`: rows of an index-organized table have no ROWIDs", "declare `key: primary`")
    computed = sorted(set(table.key) - {column.name for column in table.captured})
    if key.kind == "primary" and computed:
        yield Finding(
            name, f"the primary key has columns that are not stored: {', '.join(computed)}", f"declare a key: {without}"
        )
    if key.kind == "columns" and not any(set(columns) == set(key.columns) for columns in candidates):
        what = f"`key: {key}`: no valid unique index covers exactly these columns"
        yield Finding(name, what, f"create one, or declare {'`key: primary`, ' if table.key else ''}{without}")
    elif key.kind == "columns" and (nullable := table.nullable(key.columns)):
        stops = table.rereads_rows or table.large_objects or table.iot
        then = "a change of such a row holds the table" if stops else "such a row is known by all its columns"
        what = f"`key: {key}`: {', '.join(nullable)} may be NULL, and {then}"
        yield Finding(name, what, f"ALTER TABLE {name} MODIFY (.. NOT NULL), or declare `key: rowid`", "warning")


def column_findings(
    table: DictionaryTable, rules: Mapping[str, str | int], refused: Callable[[OracleType, str | int | None], str | None]
) -> Iterator[Finding]:
    names = {c.name for c in table.columns}
    for rule in sorted(set(rules) - names):
        near = get_close_matches(rule.upper(), names, n=1)
        cure = f"did you mean {near[0]}?" if near else "remove the rule from `columns`"
        yield Finding(f"{table.table}.{rule}", "has a rule in `columns` and is not a column of the table", cure)
    for column in table.captured:
        reason = refused(column.type, rules.get(column.name))
        if reason is not None:
            out = (
                "" if column.name in table.key else "leave it out (`exclude` of the table, or `unsupported_columns: exclude`), "
            )
            cure = f"{out}drop or move the column, or remove {table.table} from `tables`"
            yield Finding(f"{table.table}.{column.name}", f"{column.type}: {reason}", cure)
