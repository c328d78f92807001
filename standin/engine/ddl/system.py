"""ALTER SESSION, ALTER SYSTEM and ALTER DATABASE."""

from __future__ import annotations

from standin.engine.database.recovery import Recovery
from standin.engine.database.redo_threads import RedoThreads
from standin.engine.ddl.supplemental_logging import logging_kinds
from standin.engine.sessions.privileges import require
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import PDB, ROOT

_FLAGS = {"ALL COLUMN LOGGING": "ALL", "PRIMARY KEY LOGGING": "PK", "UNIQUE KEY LOGGING": "UI", "FOREIGN KEY LOGGING": "FK"}
_DESTINATION_STATE = "LOG_ARCHIVE_DEST_STATE_"
# Errors with which Oracle refuses some sessions to switch the container: thin drivers, migratable sessions, global users.
SET_CONTAINER_REFUSALS = {
    1435: "user does not exist",
    24964: "ALTER SESSION SET CONTAINER error",
    65053: "A global user cannot change the container in the session.",
    65135: "cannot perform ALTER SESSION SET CONTAINER operation in this context",
}
_INTEGER_PARAMETERS = frozenset({"ARCHIVE_LAG_TARGET", "UNDO_RETENTION"})


def alter_session(session: EngineSession, cursor: Cursor) -> None:
    for word in ("ENABLE", "DISABLE", "FORCE"):
        if cursor.accept(word, "PARALLEL", "DML"):
            degree = int(cursor.take().value) if cursor.accept("PARALLEL") else None
            cursor.end()
            if session.in_transaction:
                raise OraError(12841, "Cannot alter the session parallel DML state within a transaction")
            session.parallel.alter(word, degree)
            return
    if cursor.accept("CLOSE", "DATABASE") or cursor.accept("ENABLE") or cursor.accept("DISABLE") or cursor.accept("FORCE"):
        cursor.skip_rest()  # parallel queries and DDL, resumable space and database links have no effect here
        return
    cursor.expect("SET")
    if cursor.accept("CONTAINER"):
        cursor.expect("=")
        token = cursor.take()
        if token.kind == "quoted" and session.database.options.refuses_quoted_containers:
            raise OraError(65015, "missing or invalid container name")
        name = f"CDB${cursor.take().value}" if token.value == "CDB" else token.value
        _set_container(session, name)
        return
    if cursor.accept("ROW", "ARCHIVAL", "VISIBILITY"):
        cursor.expect("=")
        session.settings["ROW ARCHIVAL VISIBILITY"] = cursor.take().value
        cursor.end()
        return
    while cursor.next.kind == "word":
        name = cursor.take().value
        cursor.expect("=")
        token = cursor.take()
        sign = token.value if token.value in ("+", "-") and token.kind == "sign" else ""
        value = sign + (cursor.take().value if sign else token.value)
        if name == "CURRENT_SCHEMA":
            session.set_current_schema(value)
        elif name.startswith("NLS_") or name == "TIME_ZONE":
            session.set_nls(name, value)
        else:
            session.settings[name] = value
    cursor.end()


def _set_container(session: EngineSession, name: str) -> None:
    state = session.database.state
    refusal = session.database.refuses_set_container
    if refusal is not None:
        raise OraError(refusal, SET_CONTAINER_REFUSALS[refusal])
    if session.database.options.switches_by_typed_name and session.typed_user.strip('"') != session.user:
        raise OraError(1435, SET_CONTAINER_REFUSALS[1435])
    if not state.is_cdb:
        raise OraError(65090, "operation only allowed in a container database")
    require(session.account, "SET CONTAINER")
    if not session.account.is_common:
        raise OraError(1031, "insufficient privileges")
    containers = {"CDB$ROOT": ROOT, state.pdb_name: PDB}
    if name not in containers:
        raise OraError(65011, f"Pluggable database {name} does not exist.")
    if containers[name] == PDB and not state.pdb_is_open:
        raise OraError(1033, "ORACLE initialization or shutdown in progress")
    if session.transaction is not None and containers[name] != session.container:
        raise OraError(65023, f"active transaction exists in container {state.container_name(session.container)}")
    session.container = containers[name]


def alter_system(session: EngineSession, cursor: Cursor) -> None:
    require(session.account, "ALTER SYSTEM")
    database = session.database
    if cursor.accept("SWITCH", "LOGFILE"):
        cursor.end()
        in_root(session)
        database.await_redo(session, to_switch=True)
        database.switch_log(session.thread)
    elif cursor.accept("SWITCH", "ALL", "LOGFILE"):
        cursor.end()
        in_root(session)
        database.await_redo(session, to_switch=True)
        for thread in database.state.threads.values():
            if thread.is_open:
                database.switch_log(thread.number)
    elif cursor.accept("ARCHIVE", "LOG"):
        _archive_log(session, cursor)
    elif cursor.accept("CHECKPOINT") or cursor.accept("FLUSH"):
        cursor.skip_rest()
    elif cursor.accept("SET"):
        _set_parameter(session, cursor)
    elif cursor.accept("KILL", "SESSION"):
        number = cursor.take().value.split(",")[0]
        database.kill(int(number))
    else:
        raise OraError(3001, f"unimplemented feature: ALTER SYSTEM {cursor.next.value}")


def _archive_log(session: EngineSession, cursor: Cursor) -> None:
    database = session.database
    in_root(session)
    if cursor.accept("STOP"):
        cursor.end()
        database.archiver.stop()
    elif cursor.accept("START"):
        cursor.end()
        database.archiver.start()
    else:
        cursor.expect("CURRENT")
        cursor.end()
        database.await_redo(session, to_switch=True)
        database.archive_current()


def in_root(session: EngineSession) -> None:
    if session.container not in (0, ROOT):
        raise OraError(65040, "operation not allowed from within a pluggable database")


def _set_parameter(session: EngineSession, cursor: Cursor) -> None:
    name = cursor.name()
    cursor.expect("=")
    value = cursor.take().value
    while cursor.next.kind == "word":  # SCOPE = BOTH, SID = '*'
        cursor.take()
        cursor.expect("=")
        cursor.take()
    cursor.end()
    if name in _INTEGER_PARAMETERS and not value.isdigit():
        raise OraError(2017, "integer value required")
    if name.startswith(_DESTINATION_STATE):
        _set_destination_state(session, name.removeprefix(_DESTINATION_STATE), value.upper())
        return
    known = session.database.state.parameters
    if name.lower() not in known:
        raise OraError(2065, "illegal option for ALTER SYSTEM")
    known[name.lower()] = value


def _set_destination_state(session: EngineSession, number: str, value: str) -> None:
    for destination in session.database.state.destinations:
        if str(destination.dest_id) == number and value in ("ENABLE", "DEFER"):
            destination.status = "VALID" if value == "ENABLE" else "DEFERRED"
            session.database.archiver.archive_backlog()
            return
    raise OraError(2097, "parameter cannot be modified because specified value is invalid")


def flashback_database(session: EngineSession, cursor: Cursor) -> None:
    """Run FLASHBACK DATABASE TO SCN n."""
    require(session.account, "ALTER DATABASE")
    cursor.accept(session.database.state.name)
    cursor.expect("TO", "SCN")
    scn = int(cursor.take().value)
    cursor.end()
    Recovery(session.database).flash_back(scn)


def _open(session: EngineSession, cursor: Cursor) -> None:
    if cursor.accept("RESETLOGS"):
        cursor.end()
        Recovery(session.database).open_resetlogs()
    else:
        cursor.accept("NORESETLOGS")
        cursor.end()
        Recovery(session.database).open()


def _close(session: EngineSession, cursor: Cursor) -> None:
    cursor.end()
    Recovery(session.database).close(session)


def _recover(session: EngineSession, cursor: Cursor) -> None:
    """Run ALTER DATABASE RECOVER DATABASE UNTIL CANCEL | CHANGE n, which excludes SCN n."""
    cursor.accept("DATABASE")
    cursor.expect("UNTIL")
    recovery = Recovery(session.database)
    if cursor.accept("CANCEL"):
        cursor.end()
        recovery.recover_until_cancel()
        return
    cursor.expect("CHANGE")
    scn = int(cursor.take().value)
    cursor.end()
    recovery.flash_back(scn - 1)


def _thread_number(cursor: Cursor) -> int:
    cursor.expect("THREAD")
    return int(cursor.take().value)


def _enable(session: EngineSession, cursor: Cursor) -> None:
    public = cursor.accept("PUBLIC")
    number = _thread_number(cursor)
    cursor.end()
    RedoThreads(session.database).enable(number, public=public)


def _disable(session: EngineSession, cursor: Cursor) -> None:
    number = _thread_number(cursor)
    cursor.end()
    RedoThreads(session.database).disable(number)


def _add_logfile(session: EngineSession, cursor: Cursor) -> None:
    """Run ALTER DATABASE ADD LOGFILE THREAD n. The stand-in chooses groups, files and sizes."""
    number = _thread_number(cursor)
    cursor.skip_rest()
    RedoThreads(session.database).add(number)


_ALTER_DATABASE = {
    ("OPEN",): _open,
    ("CLOSE",): _close,
    ("RECOVER",): _recover,
    ("ENABLE",): _enable,
    ("DISABLE",): _disable,
    ("ADD", "LOGFILE"): _add_logfile,
}


def alter_database(session: EngineSession, cursor: Cursor) -> None:
    require(session.account, "ALTER DATABASE")
    state = session.database.state
    for words, statement in _ALTER_DATABASE.items():
        if cursor.accept(*words):
            in_root(session)
            statement(session, cursor)
            return
    if cursor.accept("FORCE", "LOGGING"):
        state.force_logging = True
        return
    if cursor.accept("NO", "FORCE", "LOGGING"):
        state.force_logging = False
        return
    _alter_logging(session, cursor)


def _alter_logging(session: EngineSession, cursor: Cursor) -> None:
    """Change supplemental logging: of the whole database from the root, of the PDB alone from the PDB."""
    adding = cursor.accept("ADD", "SUPPLEMENTAL", "LOG")
    if not adding and not cursor.accept("DROP", "SUPPLEMENTAL", "LOG"):
        raise OraError(3001, f"unimplemented feature: ALTER DATABASE {cursor.next.value}")
    if cursor.is_next("DATA") and cursor.ahead(1).value == "(":
        flags = {_FLAGS[kind] for kind in logging_kinds(cursor)}
    else:
        cursor.expect("DATA")
        flags = {"MIN"}
    cursor.end()
    change_logging(session, flags, adding=adding)


def change_logging(session: EngineSession, flags: set[str], *, adding: bool) -> None:
    """Add or drop supplemental logging of the database, or in a PDB of that PDB. Raises ORA-32589."""
    state = session.database.state
    logged = state.pdb_supplemental if state.is_cdb and session.container == PDB else state.supplemental
    if adding:
        logged |= flags
    elif flags == {"MIN"} and logged - {"MIN"}:
        raise OraError(32589, "unable to drop minimal supplemental logging")
    else:
        logged -= flags
    session.database.tables.refresh_all()
