"""Views of instances, releases, parameters and containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from standin.engine.settings.nls import NLS_DEFAULTS
from standin.interface import PARSES, ROUND_TRIPS
from standin.model import PDB, ROOT, DatabaseState, RedoThreadState
from standin.views.registration import Row, ViewRow, dictionary_views, fixed_view

if TYPE_CHECKING:
    from standin.engine.database.database import Database
    from standin.engine.sessions.session import EngineSession
    from standin.engine.transactions.session_state import SessionState

_INSTANCE_COLUMNS = """INSTANCE_NUMBER NUMBER, INSTANCE_NAME VARCHAR2(16), HOST_NAME VARCHAR2(64), VERSION VARCHAR2(17),
    VERSION_FULL VARCHAR2(17), STARTUP_TIME DATE, STATUS VARCHAR2(12), PARALLEL VARCHAR2(3), THREAD# NUMBER,
    ARCHIVER VARCHAR2(7), LOG_SWITCH_WAIT VARCHAR2(15), LOGINS VARCHAR2(10), DATABASE_STATUS VARCHAR2(17), CON_ID NUMBER"""
_PARAMETER_DEFAULTS = {
    "db_domain": "",
    "open_cursors": "300",
    "archive_lag_target": "0",
    "compatible": "19.0.0",
    "control_file_record_keep_time": "7",
    "db_block_size": "8192",
    "enable_goldengate_replication": "FALSE",
    "max_string_size": "STANDARD",
    "pga_aggregate_limit": "2147483648",
    "undo_retention": "900",
}
# Counts of a session, or typical values of a database without load; the stand-in's LogMiner uses no PGA.
_STATISTICS = (
    (10, ROUND_TRIPS, None),
    (11, PARSES, None),
    (25, "session uga memory", 1_500_000),
    (37, "session pga memory", 3_000_000),
    (38, "session pga memory max", 4_000_000),
)


def _release(state: DatabaseState) -> tuple[str, str]:
    """Return VERSION and VERSION_FULL, such as 19.0.0.0.0 and 19.23.0.0.0."""
    return f"{state.release.partition('.')[0]}.0.0.0.0", state.release


def _product(state: DatabaseState) -> str:
    major = int(state.release.partition(".")[0])
    return "Oracle Database 23ai Free" if major >= 23 else f"Oracle Database {major}c Enterprise Edition"


def _instance_row(session: EngineSession, thread: RedoThreadState) -> Row:
    database = session.database
    state: DatabaseState = database.state
    version, full = _release(state)
    parallel = "YES" if len(state.threads) > 1 else "NO"
    return (
        thread.number, thread.instance, "standin", version, full, thread.opened_at, "MOUNTED" if state.is_mounted else "OPEN",
        parallel, thread.number, database.archiver.condition, "ARCHIVE LOG" if database.redo.is_blocked(thread) else None,
        "ALLOWED", "ACTIVE", 0,
    )  # fmt: skip


def this_instance(session: EngineSession) -> Iterator[Row]:
    yield _instance_row(session, session.database.state.threads[session.thread])


def all_instances(session: EngineSession) -> Iterator[Row]:
    for thread in session.database.state.threads.values():
        if thread.is_open:
            yield (thread.number, *_instance_row(session, thread))


def active_instances(session: EngineSession) -> Iterator[Row]:
    for thread in session.database.state.threads.values():
        if thread.is_open and len(session.database.state.threads) > 1:
            yield (thread.number, f"standin:{thread.instance}", 0)


def parameters(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    values = {
        **_PARAMETER_DEFAULTS,
        "db_name": state.name,
        "db_unique_name": state.unique_name,
        **{f"log_archive_dest_{d.dest_id}": f"LOCATION={d.path}" for d in state.destinations},
        **{name.lower(): value for name, value in state.parameters.items()},
    }
    for number, (name, value) in enumerate(sorted(values.items()), 1):
        kind = 3 if value.isdigit() else 1 if value in ("TRUE", "FALSE") else 2
        default = "TRUE" if _PARAMETER_DEFAULTS.get(name) == value else "FALSE"
        yield (number, name, kind, value or None, value or None, default, "TRUE", "IMMEDIATE", None, 0)


def _nls_of_session(session: EngineSession) -> dict[str, str]:
    return parameters_in(session.nls)


def parameters_in(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that are NLS parameters: a session's time zone is none."""
    return {name: value for name, value in settings.items() if name.startswith("NLS_")}


def nls_parameters(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    sets = {"NLS_CHARACTERSET": state.characterset_of(session.container), "NLS_NCHAR_CHARACTERSET": state.national_characterset}
    for name, value in {**_nls_of_session(session), **sets}.items():
        yield (name, value, 0)


def nls_session_parameters(session: EngineSession) -> Iterator[Row]:
    yield from _nls_of_session(session).items()


def nls_database_parameters(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    yield from {
        **parameters_in(NLS_DEFAULTS),
        "NLS_CHARACTERSET": state.characterset_of(session.container),
        "NLS_NCHAR_CHARACTERSET": state.national_characterset,
        "NLS_RDBMS_VERSION": _release(state)[0],
    }.items()


def versions(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    banner = f"{_product(state)} Release {_release(state)[0]} - Production"
    yield (banner, f"{banner}\nVersion {state.release}", banner, 0)


def components(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    yield (_product(state), *_release(state), "Production")


def pdbs(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    local = int(session.database.options.local_undo)
    if state.is_cdb and state.pdb is not None:
        yield (2, state.dbid + 2, state.dbid + 2, b"\x02" * 16, "PDB$SEED", "READ ONLY", "NO", local)
        mode = "READ WRITE" if state.pdb_is_open else "MOUNTED"
        yield (PDB, state.pdb.dbid, state.pdb.con_uid, state.pdb.guid, state.pdb_name, mode, "NO", local)


def pdb_incarnations(session: EngineSession) -> Iterator[Row]:
    pdb = session.database.state.pdb
    for i in pdb.incarnations if pdb is not None else ():
        yield (
            i.db_incarnation, i.number, i.status, i.scn, i.at, i.begin_scn, i.at, i.end_scn, i.at, i.prior[0], str(i.prior[1]),
            "NO", PDB,
        )  # fmt: skip


def containers(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    local = int(session.database.options.local_undo)
    if state.is_cdb:
        yield (ROOT, state.dbid, 1, b"\x01" * 16, "CDB$ROOT", "READ WRITE", "NO", local)
        yield from pdbs(session)
    else:
        yield (0, state.dbid, 0, b"\x00" * 16, state.name, "READ WRITE", "NO", local)


def database_properties(session: EngineSession) -> Iterator[Row]:
    if session.database.state.is_cdb:
        yield ("LOCAL_UNDO_ENABLED", str(session.database.options.local_undo).upper(), "true if local undo is enabled")
    yield ("DEFAULT_PERMANENT_TABLESPACE", "USERS", "Name of default permanent tablespace")
    yield ("DEFAULT_TEMP_TABLESPACE", "TEMP", "Name of default temporary tablespace")
    yield ("DBTIMEZONE", session.database.state.time_zone, "DB time zone")


def tablespaces(database: Database) -> Iterator[ViewRow]:
    """Yield the tablespaces that a new container has; others cannot be created here."""
    for con_id in (ROOT, PDB) if database.state.is_cdb else (0,):
        for name, contents in (("SYSTEM", "PERMANENT"), ("SYSAUX", "PERMANENT"), ("UNDOTBS1", "UNDO"), ("TEMP", "TEMPORARY"),
                               ("USERS", "PERMANENT")):  # fmt: skip
            yield ViewRow(con_id, "SYS", None, (name, 8192, "ONLINE", contents, "LOGGING", "LOCAL", "NO"))


def _session_statistics(session: SessionState) -> Iterator[Row]:
    for number, name, typical in _STATISTICS:
        yield session.number, number, session.statistics[name] if typical is None else typical, 0


def _all_statistics(session: EngineSession) -> Iterator[Row]:
    for other in session.database.sessions.values():
        if other.thread == session.thread:
            yield from _session_statistics(other)


def register() -> None:
    fixed_view("V$INSTANCE", _INSTANCE_COLUMNS, this_instance)
    fixed_view("GV$INSTANCE", f"INST_ID NUMBER, {_INSTANCE_COLUMNS}", all_instances)
    fixed_view("V$ACTIVE_INSTANCES", "INST_NUMBER NUMBER, INST_NAME VARCHAR2(60), CON_ID NUMBER", active_instances)
    fixed_view(
        "V$PARAMETER",
        """NUM NUMBER, NAME VARCHAR2(80), TYPE NUMBER, VALUE VARCHAR2(4000), DISPLAY_VALUE VARCHAR2(4000),
        ISDEFAULT VARCHAR2(9),
        ISSES_MODIFIABLE VARCHAR2(5), ISSYS_MODIFIABLE VARCHAR2(9), DESCRIPTION VARCHAR2(255), CON_ID NUMBER""",
        parameters,
    )
    fixed_view("V$NLS_PARAMETERS", "PARAMETER VARCHAR2(64), VALUE VARCHAR2(64), CON_ID NUMBER", nls_parameters, public=True)
    nls_columns = "PARAMETER VARCHAR2(128), VALUE VARCHAR2(64)"
    fixed_view("NLS_SESSION_PARAMETERS", nls_columns, nls_session_parameters, public=True)
    fixed_view("NLS_DATABASE_PARAMETERS", nls_columns, nls_database_parameters, public=True)
    fixed_view(
        "V$VERSION",
        "BANNER VARCHAR2(80), BANNER_FULL VARCHAR2(160), BANNER_LEGACY VARCHAR2(80), CON_ID NUMBER",
        versions,
        public=True,
    )
    fixed_view(
        "PRODUCT_COMPONENT_VERSION",
        "PRODUCT VARCHAR2(80), VERSION VARCHAR2(80), VERSION_FULL VARCHAR2(80), STATUS VARCHAR2(80)",
        components,
        public=True,
    )
    fixed_view(
        "DATABASE_PROPERTIES",
        "PROPERTY_NAME VARCHAR2(128), PROPERTY_VALUE VARCHAR2(4000), DESCRIPTION VARCHAR2(4000)",
        database_properties,
        public=True,
    )
    dictionary_views(
        "TABLESPACES",
        """TABLESPACE_NAME VARCHAR2(30), BLOCK_SIZE NUMBER, STATUS VARCHAR2(9), CONTENTS VARCHAR2(21), LOGGING VARCHAR2(9),
        EXTENT_MANAGEMENT VARCHAR2(10), BIGFILE VARCHAR2(3)""",
        tablespaces,
        only=("DBA", "CDB"),
    )
    container_columns = """CON_ID NUMBER, DBID NUMBER, CON_UID NUMBER, GUID RAW(16), NAME VARCHAR2(128), OPEN_MODE VARCHAR2(10),
        RESTRICTED VARCHAR2(3), LOCAL_UNDO NUMBER"""
    fixed_view("V$PDBS", container_columns, pdbs, con_id=0)
    fixed_view(
        "V$PDB_INCARNATION",
        """DB_INCARNATION# NUMBER, PDB_INCARNATION# NUMBER, STATUS VARCHAR2(7), INCARNATION_SCN NUMBER, INCARNATION_TIME DATE,
        BEGIN_RESETLOGS_SCN NUMBER, BEGIN_RESETLOGS_TIME DATE, END_RESETLOGS_SCN NUMBER, END_RESETLOGS_TIME DATE,
        PRIOR_DB_INCARNATION# NUMBER, PRIOR_PDB_INCARNATION# VARCHAR2(40), FLASHBACK_DATABASE_ALLOWED VARCHAR2(3),
        CON_ID NUMBER""",
        pdb_incarnations,
        con_id=12,
    )
    fixed_view("V$CONTAINERS", container_columns, containers, con_id=0)
    fixed_view(
        "V$STATNAME",
        "STATISTIC# NUMBER, NAME VARCHAR2(64), CLASS NUMBER, STAT_ID NUMBER, DISPLAY_NAME VARCHAR2(64), CON_ID NUMBER",
        lambda _: ((number, name, 1, number, name, 0) for number, name, _ in _STATISTICS),
    )
    values = "SID NUMBER, STATISTIC# NUMBER, VALUE NUMBER, CON_ID NUMBER"
    fixed_view("V$MYSTAT", values, _session_statistics)
    fixed_view("V$SESSTAT", values, _all_statistics)
