"""Write the script that a DBA runs before the first `doctor`: the user, its grants and supplemental logging.

It is a script for SQL*Plus or SQLcl. No comment contains an ampersand: SQL*Plus would ask for a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from redolake.errors import ConfigurationError, Finding
from redolake.values.table import TableId
from redolake.values.table_pattern import NamePattern, TablePattern


class Flavour(StrEnum):
    """Where the script runs, and so which statements its reader may use."""

    cdb = "cdb"
    non_cdb = "non-cdb"
    rds = "rds"
    pdb_only = "pdb-only"


class KeyLogging(StrEnum):
    """Whether supplemental logging of keys is set per captured table, or for all tables of the PDB or database."""

    table = "table"
    database = "database"


class Grants(StrEnum):
    """Whether the user may read all tables of the database, or those that are captured."""

    any = "any"
    table = "table"


CDB, NON_CDB, RDS, PDB_ONLY = Flavour
RDS_HOST = ".rds.amazonaws.com"
RDS_HOURS = 48
LONGEST_BYTES = 128
# A user and a container are also in questions and texts of the script, where a quote or `&` would mean more than itself.
# SQL*Plus looks for the end of a statement, and for comments, inside of quotes too.
IN_COMMANDS = re.compile(r"""["'&;\\]|--|/\*""")
IN_QUOTES = re.compile(r"""[";]|--|/\*""")  # an ampersand is only a character after SET DEFINE OFF
SIMPLE = re.compile(r"[A-Za-z][A-Za-z0-9_$#]*")
DEFINED_CONTAINER = "&container"

HEADINGS: Mapping[Flavour, tuple[str, str]] = {
    CDB: ("a container database", "as SYSDBA in the root:  sqlplus / as sysdba @setup.sql"),
    NON_CDB: ("a database without containers", "as SYSDBA:  sqlplus / as sysdba @setup.sql"),
    RDS: ("Amazon RDS", "as the master user, in the tenant database where RDS has containers"),
    PDB_ONLY: ("one PDB, without access to the root", "as SYSDBA of the PDB; on Autonomous Database as ADMIN"),
}


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege on an object of SYS. `optional` says what it is good for, where Redolake can work without it."""

    target: str
    privilege: str = "SELECT"
    optional: str = ""
    only: tuple[Flavour, ...] = tuple(Flavour)


GRANTS: Mapping[str, tuple[Grant, ...]] = {
    "LogMiner.": (
        Grant("DBMS_LOGMNR", "EXECUTE"),
        Grant("V_$LOGMNR_CONTENTS"),
        Grant("V_$LOGMNR_LOGS"),
        Grant("V_$LOGMNR_PARAMETERS"),
    ),
    "Redo logs, redo threads and incarnations.": (
        Grant("V_$DATABASE"),
        Grant("V_$DATABASE_INCARNATION"),
        Grant("V_$THREAD"),
        Grant("V_$LOG"),
        Grant("V_$ARCHIVED_LOG"),
        Grant("V_$LOG_HISTORY"),
        Grant("V_$DATAGUARD_STATS", optional="lets `redolake doctor` and `runway` say how far a standby is behind"),
        Grant("V_$RECOVERY_FILE_DEST", optional="lets `redolake runway` report how full the recovery area is"),
    ),
    "Transactions that are open while a snapshot is taken.": (
        Grant("GV_$TRANSACTION"),
        Grant("CDB_2PC_PENDING"),
        Grant("GV_$DATABASE", optional="needed where the pipeline of a standby has this user on its primary too"),
    ),
    "Where the rows of large tables are.": (
        Grant("DBA_SEGMENTS", optional="says which tables are large enough to be read in chunks"),
        Grant(
            "DBA_EXTENTS", optional="lets snapshots read a large table in ranges of ROWIDs; without it, in ranges of its key"
        ),
    ),
    "Release, parameters, containers.": (
        Grant("V_$INSTANCE"),
        Grant("V_$PARAMETER"),
        Grant("V_$PDBS", only=(CDB, PDB_ONLY)),
        Grant("V_$PDBS", only=(RDS,), optional="needed in a tenant database, where RDS has containers"),
        Grant("V_$PDB_INCARNATION", only=(CDB, PDB_ONLY)),
        Grant("V_$PDB_INCARNATION", only=(RDS,), optional="needed in a tenant database, where RDS has containers"),
        Grant("CDB_TABLES", only=(CDB,)),
        Grant("REDACTION_POLICIES"),
        Grant("V_$OPTION"),
        Grant("DBA_SUPPLEMENTAL_LOGGING", optional="shows supplemental logging that is set for a whole PDB"),
    ),
}


OF_PRIMARY: Mapping[str, tuple[Grant, ...]] = {
    "The open transactions, of which containers, and current SCNs: everything else is read on the standby.": (
        Grant("GV_$DATABASE"),
        Grant("GV_$TRANSACTION"),
        Grant("CDB_2PC_PENDING"),
        Grant("V_$PDBS", only=(CDB, PDB_ONLY)),
        Grant("V_$PDBS", only=(RDS,), optional="needed in a tenant database, where RDS has containers"),
    ),
}


@dataclass(frozen=True, slots=True)
class SetupChoices:
    """What the script is to contain. `tables` are the captured tables with the columns to log; empty where not known yet.

    Those that `patterns` match and `excluded` do not are captured too; they may not exist yet."""

    flavour: Flavour
    user: str
    container: str | None = None  # of cdb; None: the script asks
    tables: Mapping[TableId, str] = field(default_factory=dict)
    key_logging: KeyLogging = KeyLogging.table
    force_logging: bool = False
    archive_lag_seconds: int | None = None
    retention_hours: int = RDS_HOURS
    prompts: bool = True  # False: the caller DEFINEs `password`
    patterns: tuple[TablePattern, ...] = ()
    excluded: tuple[TablePattern, ...] = ()
    grants: Grants | None = None  # None: of tables, if all are known
    rereads_types: bool = False
    primary: bool = False  # the user of `source.primary`

    @property
    def grants_any(self) -> bool:
        return self.grants == Grants.any or (self.grants is None and bool(self.patterns or not self.tables))


def default_user(flavour: Flavour) -> str:
    return "c##redolake" if flavour == CDB else "redolake"


def likely_flavour(
    user: str | None, dsn: str | None, container: str | None, *, pdb_only: bool = False, configured: bool
) -> Flavour:
    """Return the flavour that the connection and the configuration suggest; `cdb` where nothing is known."""
    if dsn is not None and RDS_HOST in dsn.lower():
        return RDS
    if pdb_only:
        return PDB_ONLY
    if user is not None and user.upper().startswith("C##"):
        return CDB
    if container is not None:
        return CDB if user is None else PDB_ONLY
    return NON_CDB if configured else CDB


def setup_sql(choices: SetupChoices) -> str:
    """Return the script. Raises ConfigurationError for choices that exclude each other."""
    if findings := list(_contradictions(choices)):
        raise ConfigurationError(findings)
    parts: tuple[Callable[[SetupChoices], Iterator[str]], ...] = (_head, _user, _grants)
    if not choices.primary:
        parts += (_database_logging, _options, _enter_container, _tables)
    parts += (_end,)
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part(choices)))) + "\n"


def _contradictions(choices: SetupChoices) -> Iterator[Finding]:
    yield from _unfit("--user", choices.user, IN_COMMANDS)
    if choices.container is not None:
        yield from _unfit("--container", choices.container, IN_COMMANDS)
    patterns = (part for one in (*choices.patterns, *choices.excluded) for part in (one.owner.text, one.name.text))
    for part in (*(part for table in choices.tables for part in (table.owner, table.name)), *patterns):
        yield from _unfit("--table", part, IN_QUOTES)
    common = choices.user.upper().startswith("C##")
    if choices.flavour == CDB and not common:
        yield Finding("--user", f"{choices.user} is not a common user", "begin the name with C##, or use --flavour pdb-only")
    if choices.flavour != CDB and common:
        cure = "leave C## out of the name, or use --flavour cdb"
        yield Finding("--user", f"{choices.user} is a name of common users, which exist in a root only", cure)
    if choices.flavour == PDB_ONLY and (choices.force_logging or choices.archive_lag_seconds is not None):
        what = "FORCE LOGGING and ARCHIVE_LAG_TARGET concern the whole database, and are not set from a PDB"
        yield Finding("--flavour pdb-only", what, "leave the options out, and ask the administrators of the root")
    if choices.flavour == RDS and choices.archive_lag_seconds is not None:
        what = "RDS sets ARCHIVE_LAG_TARGET by the DB parameter group, 300 s unless changed"
        yield Finding("--archive-lag-target", what, "leave the option out")


def _unfit(option: str, name: str, characters: re.Pattern[str]) -> Iterator[Finding]:
    """Yield a finding for a name that is none of Oracle's, or with which SQL*Plus could read the script otherwise."""
    if not name or len(name.encode(errors="replace")) > LONGEST_BYTES:
        yield Finding(option, f"not an Oracle identifier: {name[:200]!r}", "correct the name")
    elif not name.isprintable() or (found := characters.search(name)):
        what = f"no script is written for the name {name!r}"
        if name.isprintable() and found:
            what = f"{what}: it contains {found[0]}"
        yield Finding(option, what, "correct the name, or leave it out and write its statements by hand")


def _head(choices: SetupChoices) -> Iterator[str]:
    what, run = HEADINGS[choices.flavour]
    subject = (
        "the user of the primary of a standby, and its grants"
        if choices.primary
        else "the user, its grants and supplemental logging"
    )
    option = " --primary" if choices.primary else ""
    yield f"-- Redolake: {subject}, for {what}."
    yield f"-- Written by `redolake setup-sql --flavour {choices.flavour}{option}`. Read it, then run it in SQL*Plus or SQLcl,"
    yield f"-- {run}"
    yield "-- It stops at an error, but for the user and the key logging of tables, which may exist: read their answers."
    yield "-- After the cause is removed, run it again."
    yield "SET DEFINE ON"
    yield "SET VERIFY OFF"
    yield "WHENEVER SQLERROR EXIT FAILURE"
    if choices.flavour == CDB:
        yield "ALTER SESSION SET CONTAINER = CDB$ROOT;"


def _user(choices: SetupChoices) -> Iterator[str]:
    if choices.prompts:
        yield f"ACCEPT password CHAR PROMPT 'Password for {choices.user}: ' HIDE"
        if choices.flavour == CDB and choices.container is None and not choices.primary:
            yield "ACCEPT container CHAR PROMPT 'PDB with the captured tables: '"
    yield "-- If the user exists (ORA-01920), it stays as it is. If it cannot be created, the first GRANT fails."
    yield "WHENEVER SQLERROR CONTINUE"
    yield f'CREATE USER {_name(choices.user)} IDENTIFIED BY "&password"{_everywhere(choices)};'
    yield "WHENEVER SQLERROR EXIT FAILURE"
    yield "UNDEFINE password"
    if choices.flavour != CDB or choices.container is not None or choices.primary:
        yield "SET DEFINE OFF"


def _grants(choices: SetupChoices) -> Iterator[str]:
    user, everywhere = _name(choices.user), _everywhere(choices)
    system = "CREATE SESSION, LOGMINING" + (", SET CONTAINER" if choices.flavour == CDB else "")
    system = "CREATE SESSION" if choices.primary else system
    yield f"GRANT {system} TO {user}{everywhere};"
    if choices.flavour == CDB:
        yield "-- Without CONTAINER_DATA the views below show no row of other containers, and raise no error."
        yield f"ALTER USER {user} SET CONTAINER_DATA = ALL CONTAINER = CURRENT;"
    if choices.flavour == PDB_ONLY and not choices.primary:
        yield "-- If START_LOGMNR is still refused with ORA-01031, also run, as the Utilities manual demands for a single PDB:"
        yield f"--   EXECUTE DBMS_GOLDENGATE_AUTH.GRANT_ADMIN_PRIVILEGE({_text(_stored_name(choices.user))})"
    for subject, grants in (OF_PRIMARY if choices.primary else GRANTS).items():
        wanted = [grant for grant in grants if choices.flavour in grant.only]
        yield ""
        yield f"-- {subject}"
        if choices.flavour == RDS:
            yield from _rds_block(_rds_grants(wanted, choices.user))
            continue
        for grant in wanted:
            if grant.optional:
                yield f"-- Optional: {grant.optional}."
            yield f"GRANT {grant.privilege} ON SYS.{grant.target} TO {user}{everywhere};"


def _rds_grants(grants: list[Grant], user: str) -> Iterator[str]:
    for grant in grants:
        if grant.optional:
            yield f"-- Optional: {grant.optional}."
        yield f"rdsadmin.rdsadmin_util.grant_sys_object('{grant.target}', {_text(_stored_name(user))}, '{grant.privilege}');"


def _rds_block(calls: Iterator[str]) -> Iterator[str]:
    yield "BEGIN"
    yield from (f"  {call}" for call in calls)
    yield "END;"
    yield "/"


def _database_logging(choices: SetupChoices) -> Iterator[str]:
    yield "-- Minimal supplemental logging: without it LogMiner cannot assemble rows. It waits for open transactions."
    if choices.flavour == RDS:
        yield from _rds_block(iter(["rdsadmin.rdsadmin_util.alter_supplemental_logging('ADD');"]))
    elif choices.flavour == PDB_ONLY:
        yield "-- ORA-31541 and ORA-60518 mean that only the administrators of the root can set it."
        yield "ALTER PLUGGABLE DATABASE ADD SUPPLEMENTAL LOG DATA;"
    else:
        yield "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;"


def _options(choices: SetupChoices) -> Iterator[str]:
    if choices.flavour == PDB_ONLY:
        yield "-- Set in the root by its administrators: FORCE LOGGING, so that direct-path loads are in the redo; and"
        yield "-- ARCHIVE_LAG_TARGET, so that a quiet database switches logs: only archived logs are mined."
        return
    rds = choices.flavour == RDS
    yield "-- Redo for direct-path loads, which NOLOGGING would leave out (--force-logging)."
    force = "ALTER DATABASE FORCE LOGGING;"
    if rds:
        force = "EXECUTE rdsadmin.rdsadmin_util.force_logging(p_enable => true)"
    yield force if choices.force_logging else f"--   {force.rstrip(';')}"
    if rds:
        yield "-- RDS deletes archived logs that are older, 0 hours unless set (--retention-hours)."
        yield from _rds_block(
            iter([f"rdsadmin.rdsadmin_util.set_configuration('archivelog retention hours', '{choices.retention_hours}');"])
        )
        yield "COMMIT;"
        return
    yield "-- Only archived logs are mined, and a quiet database switches none: force a switch (--archive-lag-target SECONDS)."
    lag = "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = {} SCOPE = BOTH"
    yield f"--   {lag.format(300)}" if choices.archive_lag_seconds is None else f"{lag.format(choices.archive_lag_seconds)};"


def _enter_container(choices: SetupChoices) -> Iterator[str]:
    if choices.flavour == CDB:
        name = DEFINED_CONTAINER if choices.container is None else _name(choices.container)
        yield "-- The PDB with the captured tables."
        yield f"ALTER SESSION SET CONTAINER = {name};"
        if choices.container is None:
            yield "SET DEFINE OFF"


def _tables(choices: SetupChoices) -> Iterator[str]:
    user = _name(choices.user)
    yield "-- The captured tables: their definitions, and their rows as of one SCN."
    if choices.patterns:
        yield "-- They are captured by pattern, tables that are created later too."
    if choices.grants_any:
        yield "-- With these two the user reads EVERY table of EVERY schema here (but those of SYS), also those that are"
        yield "-- created later, and as they were in the past. For the captured tables alone: --grants table, or for each table"
        yield f"--   GRANT SELECT, FLASHBACK ON owner.name TO {user}"
        yield f"GRANT SELECT ANY TABLE, FLASHBACK ANY TABLE TO {user};"
    else:
        for table in choices.tables:
            yield f"GRANT SELECT, FLASHBACK ON {_qualify(table)} TO {user};"
        if choices.patterns:
            yield from _grants_matching_now(choices)
        elif not choices.tables:
            yield "-- For each captured table:"
            yield f"--   GRANT SELECT, FLASHBACK ON owner.name TO {user}"
    if choices.rereads_types:
        yield ""
        yield from _types(choices, f"GRANT EXECUTE ON owner.type TO {user}")
    yield ""
    yield from _key_logging(choices)


def _grants_matching_now(choices: SetupChoices) -> Iterator[str]:
    """Yield a block that grants on each table that a pattern matches now."""
    uncommon = [one for one in (*choices.patterns, *choices.excluded) if not (one.owner.is_common and one.name.is_common)]
    if uncommon:
        shown = ", ".join(f"/{part.text}/" for one in uncommon for part in (one.owner, one.name) if not part.is_common)
        yield f"-- Oracle cannot compare names with {shown.replace(chr(10), ' ')}. For each table that matches:"
        yield f"--   GRANT SELECT, FLASHBACK ON owner.name TO {_name(choices.user)}"
        return
    wanted = " OR ".join(map(_like, choices.patterns))
    yield "-- Each table that a pattern matches now. Run this block again when more are created: doctor names those without."
    yield "BEGIN"
    yield "  FOR t IN (SELECT owner, table_name FROM dba_tables"
    yield "             WHERE temporary = 'N' AND secondary = 'N' AND nested = 'NO' AND dropped = 'NO'"
    yield "               AND NVL(iot_type, 'IOT') = 'IOT'"
    yield "               AND owner IN (SELECT username FROM dba_users WHERE oracle_maintained = 'N')"
    yield f"               AND ({wanted})"
    for pattern in choices.excluded:
        yield f"               AND NOT ({_like(pattern)})"
    yield "           ) LOOP"
    grant = f"'GRANT SELECT, FLASHBACK ON \"' || t.owner || '\".\"' || t.table_name || '\" TO {_name(choices.user)}'"
    yield f"    EXECUTE IMMEDIATE {grant};"
    yield "  END LOOP;"
    yield "END;"
    yield "/"


def _like(pattern: TablePattern) -> str:
    return f"{_match_condition('owner', pattern.owner)} AND {_match_condition('table_name', pattern.name)}"


def _match_condition(column: str, part: NamePattern) -> str:
    if part.is_literal:
        return f"{column} = {_text(part.text)}"
    if part.is_regex:
        return f"REGEXP_LIKE({column}, {_text('^(' + part.expression.replace('(?:', '(') + ')$')}, 'cn')"
    like = re.sub(r"[%_\\]", r"\\\g<0>", part.text).replace("*", "%").replace("?", "_")
    return f"{column} LIKE {_text(like)} ESCAPE '\\'"


def _types(choices: SetupChoices, grant: str) -> Iterator[str]:
    """Yield the privilege that shows object types and VARRAYs of other users, for `unsupported_columns: reread`."""
    yield "-- Object types and VARRAYs of columns that are read again."
    if choices.grants_any:
        yield f"-- Of every schema, also later ones. Narrower: for each type {grant}"
        yield f"GRANT EXECUTE ANY TYPE TO {_name(choices.user)};"
    else:
        yield f"-- For each type, if there are any; doctor names them: {grant}"


def _key_logging(choices: SetupChoices) -> Iterator[str]:
    """Yield the logging of keys. PRIMARY KEY makes little redo; a table without a primary key needs ALL."""
    tables = dict(choices.tables)
    yield "-- The key of every changed row. (ALL) COLUMNS instead of (PRIMARY KEY) also logs the columns that did not change:"
    yield "-- more redo, and a cheaper merge. A table without a primary key needs it."
    if choices.key_logging == KeyLogging.database:
        tables = {table: columns for table, columns in tables.items() if columns != "PRIMARY KEY"}
        if choices.flavour == RDS:
            yield from _rds_block(iter(["rdsadmin.rdsadmin_util.alter_supplemental_logging('ADD', 'PRIMARY KEY');"]))
        else:
            what = "DATABASE" if choices.flavour == NON_CDB else "PLUGGABLE DATABASE"
            yield f"ALTER {what} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;"
    elif not tables:
        yield "-- For each captured table:"
        yield "--   ALTER TABLE owner.name ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"
    if tables:
        yield "-- A table that has it already answers ORA-32588."
        yield "WHENEVER SQLERROR CONTINUE"
        for table, columns in tables.items():
            yield f"ALTER TABLE {_qualify(table)} ADD SUPPLEMENTAL LOG DATA ({columns}) COLUMNS;"
        yield "WHENEVER SQLERROR EXIT FAILURE"


def _end(choices: SetupChoices) -> Iterator[str]:
    yield "PROMPT Done. Next: redolake doctor"


def _everywhere(choices: SetupChoices) -> str:
    return " CONTAINER = ALL" if choices.flavour == CDB else ""


def _stored_name(name: str) -> str:
    """Return the name as the dictionary has it."""
    return name.upper() if SIMPLE.fullmatch(name) else name


def _name(name: str) -> str:
    return name if SIMPLE.fullmatch(name) else _quote(name)


def _qualify(table: TableId) -> str:
    return f"{_quote(table.owner)}.{_quote(table.name)}"


def _quote(name: str) -> str:
    return f'"{name}"'


def _text(text: str) -> str:
    """Return a text of SQL."""
    return "'" + text.replace("'", "''") + "'"
