"""Views of the control file: database, incarnations, threads, online and archived logs, destinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from standin.engine.database.standby import SUFFIX
from standin.model import PDB, ArchivedCopy
from standin.views.registration import Row, fixed_view, yes_no

if TYPE_CHECKING:
    from standin.engine.sessions.session import EngineSession

Rows = Callable[["EngineSession"], Iterator[Row]]
_BLOCK = 512
_MINIMAL_BY_KEYS = frozenset({"PK", "UI", "FK", "ALL"})

_DATABASE_COLUMNS = """DBID NUMBER, NAME VARCHAR2(9), DB_UNIQUE_NAME VARCHAR2(30), CREATED DATE, RESETLOGS_CHANGE# NUMBER,
    RESETLOGS_TIME DATE, PRIOR_RESETLOGS_CHANGE# NUMBER, LOG_MODE VARCHAR2(12), CHECKPOINT_CHANGE# NUMBER,
    ARCHIVE_CHANGE# NUMBER, CONTROLFILE_TYPE VARCHAR2(7), CONTROLFILE_CHANGE# NUMBER, OPEN_MODE VARCHAR2(20),
    DATABASE_ROLE VARCHAR2(16), CURRENT_SCN NUMBER, FORCE_LOGGING VARCHAR2(39), SUPPLEMENTAL_LOG_DATA_MIN VARCHAR2(8),
    SUPPLEMENTAL_LOG_DATA_PK VARCHAR2(3), SUPPLEMENTAL_LOG_DATA_UI VARCHAR2(3), SUPPLEMENTAL_LOG_DATA_FK VARCHAR2(3),
    SUPPLEMENTAL_LOG_DATA_ALL VARCHAR2(3), SUPPLEMENTAL_LOG_DATA_PL VARCHAR2(3), SUPPLEMENTAL_LOG_DATA_SR VARCHAR2(3),
    CDB VARCHAR2(3), PLATFORM_ID NUMBER, PLATFORM_NAME VARCHAR2(101), FLASHBACK_ON VARCHAR2(18), CON_ID NUMBER,
    PRIMARY_DB_UNIQUE_NAME VARCHAR2(30)"""


def database(session: EngineSession) -> Iterator[Row]:
    state = session.database.state
    scn = session.current_scn + (session.database.options.standby_scn_ahead if session.on_standby else 0)
    logged = state.supplemental
    minimal = "YES" if "MIN" in logged else "IMPLICIT" if logged & _MINIMAL_BY_KEYS else "NO"
    incarnation = state.incarnation
    checkpoint = max((t.checkpoint_scn for t in state.threads.values()), default=0)
    yield (
        state.dbid, state.name, _unique_name(session), state.created, incarnation.resetlogs_scn, incarnation.resetlogs_at,
        incarnation.prior_resetlogs_scn, "ARCHIVELOG" if state.archivelog else "NOARCHIVELOG", checkpoint,
        max((c.next_scn for c in state.archived), default=0), "STANDBY" if session.on_standby else "CURRENT", scn,
        *_mode_and_role(session), scn,
        yes_no(state.force_logging), minimal, yes_no("PK" in logged), yes_no("UI" in logged), yes_no("FK" in logged),
        yes_no("ALL" in logged), "NO", "NO", yes_no(state.is_cdb), 13, "Linux x86 64-bit", "NO", 0,
        state.unique_name if session.on_standby else None,
    )  # fmt: skip


def _unique_name(session: EngineSession) -> str:
    name = session.database.state.unique_name
    if not session.on_standby:
        return name
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else name + SUFFIX


def _mode_and_role(session: EngineSession) -> tuple[str, str]:
    if session.on_standby:
        return session.database.standby.open_mode, session.database.standby.role
    return "MOUNTED" if session.database.state.is_mounted else "READ WRITE", "PRIMARY"


def incarnations(session: EngineSession) -> Iterator[Row]:
    by_number = {i.number: i for i in session.database.state.incarnations}
    for i in session.database.state.incarnations:
        prior = by_number.get(i.prior_number)
        yield (
            i.number, i.resetlogs_scn, i.resetlogs_at, i.prior_resetlogs_scn, prior.resetlogs_at if prior else None, i.status,
            i.resetlogs_id, i.prior_number, "NO", 0,
        )  # fmt: skip


def threads(session: EngineSession) -> Iterator[Row]:
    for t in session.database.state.threads.values():
        log = next((log for log in t.logs if log.status == "CURRENT"), None)
        last = max(t.logs, key=lambda log: log.sequence)
        is_open = t.is_open and not session.on_standby
        yield (
            t.number, "OPEN" if is_open else "CLOSED", t.enabled, len(t.logs), t.instance, t.opened_at,
            log.group if log else 0, (log or last).sequence, t.checkpoint_scn, t.checkpoint_at, t.enable_scn, t.enable_at,
            t.disable_scn, t.disable_at, (log or last).sequence, (log or last).used_bytes // _BLOCK, t.last_redo_scn,
            t.last_redo_at, 0,
        )  # fmt: skip


def online_logs(session: EngineSession) -> Iterator[Row]:
    options = session.database.options
    for thread in session.database.state.threads.values():
        for log in thread.logs:
            end = options.open_end if log.next_scn is None else log.next_scn
            if log.status == "UNUSED" or session.on_standby:
                state = (0, "YES", "UNUSED", 0, log.first_at, 0)
            else:
                state = (log.sequence, yes_no(log.archived), log.status, log.first_scn, log.first_at, end)
            sequence, archived, status, first_scn, first_at, next_scn = state
            yield (
                log.group, log.thread, sequence, log.size_bytes, _BLOCK, 1, archived, status, first_scn, first_at, next_scn,
                log.next_at, 0,
            )  # fmt: skip


def log_members(session: EngineSession) -> Iterator[Row]:
    for thread in session.database.state.threads.values():
        for log in thread.logs:
            yield (log.group, None, "ONLINE", log.member, "NO", 0)


def archived_logs(session: EngineSession) -> Iterator[Row]:
    for c in session.database.archived_logs.shown():
        if session.on_standby and not session.database.standby.has(c):
            continue
        yield (
            c.recid, c.recid, c.name, c.dest_id, c.thread, c.sequence, c.resetlogs_scn, c.resetlogs_at, c.resetlogs_id,
            c.first_scn, c.first_at, c.next_scn, c.next_at, c.blocks, c.block_size, "ARCH",
            "RFS" if session.on_standby else "ARCH", yes_no(c.standby_dest), yes_no(c.archived), _applied(session, c),
            yes_no(c.deleted), c.status, c.completed_at,
            yes_no(c.dictionary_begin), yes_no(c.dictionary_end), "NO", 0, None, "NO", "NO", "NO", 0,
        )  # fmt: skip


def _applied(session: EngineSession, copy: ArchivedCopy) -> str:
    if not session.on_standby or copy.first_scn > session.current_scn:
        return "NO"
    return "YES" if copy.next_scn <= session.current_scn + 1 else "IN-MEMORY"


def all_databases(session: EngineSession) -> Iterator[Row]:
    """Yield V$DATABASE of each open instance."""
    for thread in session.database.state.threads.values():
        if thread.is_open:
            yield (thread.number, *next(database(session)))


def lags(session: EngineSession) -> Iterator[Row]:
    """Yield V$DATAGUARD_STATS, which has no rows on a primary."""
    if not session.on_standby:
        return
    clock, standby = session.database.clock, session.database.standby
    now, state = clock.second(), session.database.state
    for name, scn in (("transport lag", standby.arrived_scn), ("apply lag", standby.applied_scn)):
        behind = clock.scn - scn
        at = now if behind <= 0 else clock.time_of(scn) or now
        seconds = int((now - at).total_seconds())
        value = f"+{seconds // 86400:02} {seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        times = (now.strftime("%m/%d/%Y %H:%M:%S"), now.strftime("%m/%d/%Y %H:%M:%S"))
        yield (state.dbid, state.unique_name, name, value, "day(2) to second(0) interval", *times, 0)


def standby_logs(session: EngineSession) -> Iterator[Row]:
    """Yield the standby redo logs: of each thread, the one that its redo arrives in, and one that is free."""
    state, standby = session.database.state, session.database.standby
    for number, thread in enumerate(state.threads.values()):
        log, group = thread.current, 100 + 2 * number
        is_active = session.on_standby and thread.is_open and standby.sends(thread.number)
        if is_active:
            yield (
                group, str(state.dbid), thread.number, log.sequence, log.size_bytes, _BLOCK, log.used_bytes, "YES", "ACTIVE",
                log.first_scn, log.first_at, None, None, standby.arrived_scn, session.database.clock.second(), 0,
            )  # fmt: skip
        for free in range(group + is_active, group + 2):
            yield (free, "UNASSIGNED", thread.number, 0, log.size_bytes, _BLOCK, 0, "NO", "UNASSIGNED", *[None] * 6, 0)


def gaps(session: EngineSession) -> Iterator[Row]:
    """Yield V$ARCHIVE_GAP: of each thread, the logs that are missing before one that has arrived."""
    standby, state = session.database.standby, session.database.state
    if not session.on_standby:
        return
    for number in state.threads:
        copies = [c for c in state.archived if c.thread == number and c.resetlogs_id == state.incarnation.resetlogs_id]
        last = max((c.sequence for c in copies if standby.has(c)), default=0)
        missing = sorted({c.sequence for c in copies if not standby.has(c) and c.sequence < last})
        if missing:
            yield number, missing[0], missing[-1], 1, 0


def destinations(session: EngineSession) -> Iterator[Row]:
    known = {d.dest_id: d for d in session.database.state.destinations}
    for number in range(1, 32):
        dest = known.get(number)
        yield (
            number, f"LOG_ARCHIVE_DEST_{number}", dest.status if dest else "INACTIVE", "OPTIONAL", "SYSTEM", "PRIMARY", "ARCH",
            dest.path if dest else None, dest.error if dest else None, 0,
        )  # fmt: skip


def destination_states(session: EngineSession) -> Iterator[Row]:
    state = session.database.state
    known = {d.dest_id: d for d in state.destinations}
    for number in range(1, 32):
        dest = known.get(number)
        copies = [c for c in state.archived if c.dest_id == number]
        last = max(copies, key=lambda c: (c.thread, c.sequence), default=None)
        yield (
            number, f"LOG_ARCHIVE_DEST_{number}", dest.status if dest else "INACTIVE", "LOCAL", "OPEN" if dest else "UNKNOWN",
            "IDLE", dest.path if dest else None, last.thread if last else 0, last.sequence if last else 0,
            dest.error if dest else None, state.unique_name if dest else "NONE", 0,
        )  # fmt: skip


def history(session: EngineSession) -> Iterator[Row]:
    state = session.database.state
    incarnations = {i.resetlogs_scn: i for i in state.incarnations}
    arrived = {(c.thread, c.sequence, c.resetlogs_scn) for c in state.archived if session.database.standby.has(c)}
    for h in state.history:
        if session.on_standby and (h.thread, h.sequence, h.resetlogs_scn) not in arrived:
            continue
        incarnation = incarnations.get(h.resetlogs_scn)
        yield (
            h.recid, h.recid, h.thread, h.sequence, h.first_scn, h.first_at, h.next_scn, h.resetlogs_scn,
            incarnation.resetlogs_at if incarnation else None, 0,
        )  # fmt: skip


def recovery_area(session: EngineSession) -> Iterator[Row]:
    """Yield the usage of DB_RECOVERY_FILE_DEST. Nothing is reclaimable, since no backup is known."""
    state = session.database.state
    area = state.parameters.get("db_recovery_file_dest", "")
    files = [c for c in state.archived if area and c.name and not c.deleted and c.name.startswith(area)]
    used = sum(c.blocks * c.block_size for c in files)
    yield (area or None, int(state.parameters.get("db_recovery_file_dest_size", "0")), used, 0, len(files), 0)


def _of_control_file(rows: Rows) -> Rows:
    """Hide the rows from sessions in a PDB, where the database is one that does so."""

    def shown(session: EngineSession) -> Iterator[Row]:
        hidden = session.container == PDB and session.database.options.pdb_hides_logs
        return iter(()) if hidden else rows(session)

    return shown


def register() -> None:
    fixed_view("V$DATABASE", _DATABASE_COLUMNS, database)
    fixed_view("GV$DATABASE", f"INST_ID NUMBER, {_DATABASE_COLUMNS}", all_databases)
    fixed_view(
        "V$DATAGUARD_STATS",
        """SOURCE_DBID NUMBER, SOURCE_DB_UNIQUE_NAME VARCHAR2(32), NAME VARCHAR2(32), VALUE VARCHAR2(64), UNIT VARCHAR2(30),
        TIME_COMPUTED VARCHAR2(30), DATUM_TIME VARCHAR2(30), CON_ID NUMBER""",
        lags,
    )
    fixed_view(
        "V$STANDBY_LOG",
        """GROUP# NUMBER, DBID VARCHAR2(40), THREAD# NUMBER, SEQUENCE# NUMBER, BYTES NUMBER, BLOCKSIZE NUMBER, USED NUMBER,
        ARCHIVED VARCHAR2(3), STATUS VARCHAR2(10), FIRST_CHANGE# NUMBER, FIRST_TIME DATE, NEXT_CHANGE# NUMBER, NEXT_TIME DATE,
        LAST_CHANGE# NUMBER, LAST_TIME DATE, CON_ID NUMBER""",
        standby_logs,
    )
    fixed_view(
        "V$ARCHIVE_GAP",
        "THREAD# NUMBER, LOW_SEQUENCE# NUMBER, HIGH_SEQUENCE# NUMBER, DEST_ID NUMBER, CON_ID NUMBER",
        gaps,
    )
    fixed_view(
        "V$DATABASE_INCARNATION",
        """INCARNATION# NUMBER, RESETLOGS_CHANGE# NUMBER, RESETLOGS_TIME DATE, PRIOR_RESETLOGS_CHANGE# NUMBER,
        PRIOR_RESETLOGS_TIME DATE, STATUS VARCHAR2(7), RESETLOGS_ID NUMBER, PRIOR_INCARNATION# NUMBER,
        FLASHBACK_DATABASE_ALLOWED VARCHAR2(26), CON_ID NUMBER""",
        _of_control_file(incarnations),
    )
    fixed_view(
        "V$THREAD",
        """THREAD# NUMBER, STATUS VARCHAR2(6), ENABLED VARCHAR2(8), GROUPS NUMBER, INSTANCE VARCHAR2(80), OPEN_TIME DATE,
        CURRENT_GROUP# NUMBER, SEQUENCE# NUMBER, CHECKPOINT_CHANGE# NUMBER, CHECKPOINT_TIME DATE, ENABLE_CHANGE# NUMBER,
        ENABLE_TIME DATE, DISABLE_CHANGE# NUMBER, DISABLE_TIME DATE, LAST_REDO_SEQUENCE# NUMBER, LAST_REDO_BLOCK NUMBER,
        LAST_REDO_CHANGE# NUMBER, LAST_REDO_TIME DATE, CON_ID NUMBER""",
        _of_control_file(threads),
    )
    fixed_view(
        "V$LOG",
        """GROUP# NUMBER, THREAD# NUMBER, SEQUENCE# NUMBER, BYTES NUMBER, BLOCKSIZE NUMBER, MEMBERS NUMBER,
        ARCHIVED VARCHAR2(3),
        STATUS VARCHAR2(16), FIRST_CHANGE# NUMBER, FIRST_TIME DATE, NEXT_CHANGE# NUMBER, NEXT_TIME DATE, CON_ID NUMBER""",
        _of_control_file(online_logs),
    )
    fixed_view(
        "V$LOGFILE",
        """GROUP# NUMBER, STATUS VARCHAR2(7), TYPE VARCHAR2(7), MEMBER VARCHAR2(513), IS_RECOVERY_DEST_FILE VARCHAR2(3),
        CON_ID NUMBER""",
        _of_control_file(log_members),
    )
    fixed_view(
        "V$ARCHIVED_LOG",
        """RECID NUMBER, STAMP NUMBER, NAME VARCHAR2(513), DEST_ID NUMBER, THREAD# NUMBER, SEQUENCE# NUMBER,
        RESETLOGS_CHANGE# NUMBER, RESETLOGS_TIME DATE, RESETLOGS_ID NUMBER, FIRST_CHANGE# NUMBER, FIRST_TIME DATE,
        NEXT_CHANGE# NUMBER, NEXT_TIME DATE, BLOCKS NUMBER, BLOCK_SIZE NUMBER, CREATOR VARCHAR2(7), REGISTRAR VARCHAR2(7),
        STANDBY_DEST VARCHAR2(3), ARCHIVED VARCHAR2(3), APPLIED VARCHAR2(9), DELETED VARCHAR2(3), STATUS VARCHAR2(1),
        COMPLETION_TIME DATE, DICTIONARY_BEGIN VARCHAR2(3), DICTIONARY_END VARCHAR2(3), END_OF_REDO VARCHAR2(3),
        BACKUP_COUNT NUMBER, END_OF_REDO_TYPE VARCHAR2(10), COMPRESSED VARCHAR2(3), IS_RECOVERY_DEST_FILE VARCHAR2(3),
        FAL VARCHAR2(3), CON_ID NUMBER""",
        _of_control_file(archived_logs),
    )
    fixed_view(
        "V$ARCHIVE_DEST",
        """DEST_ID NUMBER, DEST_NAME VARCHAR2(256), STATUS VARCHAR2(9), BINDING VARCHAR2(9), NAME_SPACE VARCHAR2(7),
        TARGET VARCHAR2(16), ARCHIVER VARCHAR2(10), DESTINATION VARCHAR2(256), ERROR VARCHAR2(256), CON_ID NUMBER""",
        destinations,
    )
    fixed_view(
        "V$ARCHIVE_DEST_STATUS",
        """DEST_ID NUMBER, DEST_NAME VARCHAR2(256), STATUS VARCHAR2(9), TYPE VARCHAR2(16), DATABASE_MODE VARCHAR2(15),
        RECOVERY_MODE VARCHAR2(34), DESTINATION VARCHAR2(256), ARCHIVED_THREAD# NUMBER, ARCHIVED_SEQ# NUMBER,
        ERROR VARCHAR2(256), DB_UNIQUE_NAME VARCHAR2(30), CON_ID NUMBER""",
        destination_states,
    )
    fixed_view(
        "V$RECOVERY_FILE_DEST",
        """NAME VARCHAR2(513), SPACE_LIMIT NUMBER, SPACE_USED NUMBER, SPACE_RECLAIMABLE NUMBER, NUMBER_OF_FILES NUMBER,
        CON_ID NUMBER""",
        recovery_area,
    )
    fixed_view(
        "V$LOG_HISTORY",
        """RECID NUMBER, STAMP NUMBER, THREAD# NUMBER, SEQUENCE# NUMBER, FIRST_CHANGE# NUMBER, FIRST_TIME DATE,
        NEXT_CHANGE# NUMBER, RESETLOGS_CHANGE# NUMBER, RESETLOGS_TIME DATE, CON_ID NUMBER""",
        _of_control_file(history),
    )
