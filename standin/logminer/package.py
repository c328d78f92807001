"""The procedures of DBMS_LOGMNR, and the registration of its package and views."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from standin.engine.ddl import redo_dictionary
from standin.engine.sessions.catalog import register_view
from standin.engine.sessions.privileges import require
from standin.engine.sessions.procedures import Parameter, procedures
from standin.interface import OraError
from standin.logminer import contents, listing
from standin.logminer.dictionary import NoCatalog, OnlineCatalog, RedoDictionary
from standin.logminer.literals import Forms, Nls
from standin.logminer.logs import MinedLog, cannot_open, open_log
from standin.logminer.mining import Mining, MiningRange
from standin.logminer.options import ADDFILE, CONSTANTS, StartOption, check_options
from standin.logminer.rows import Catalog, Rendering
from standin.logminer.statements import Layout
from standin.model import PDB, ROOT, DatabaseState

if TYPE_CHECKING:
    from standin.engine.sessions.session import EngineSession

_STATE_KEY = "logminer"
# Years of the default dates, which a caller may pass explicitly: 01-jan-1988 and 31-dec-2110.
_DEFAULT_YEARS = (1988, 2110)


def mining_of(session: EngineSession) -> Mining:
    mining = session.package_state.setdefault(_STATE_KEY, Mining())
    assert isinstance(mining, Mining)
    return mining


def add_logfile(session: EngineSession, logfilename: str | None, options: int | None) -> None:
    _check_root(session)
    with session.database.lock:
        if session.on_standby and not _has_arrived(session, logfilename):
            raise cannot_open(logfilename or "")
        mining_of(session).add(logfilename or "", int(options or ADDFILE), session.database.state)


def _has_arrived(session: EngineSession, name: str | None) -> bool:
    """Return whether the standby has a file: the primary's online logs it has not."""
    state, standby = session.database.state, session.database.standby
    copies = [copy for copy in state.archived if copy.name == name]
    members = {log.member for thread in state.threads.values() for log in thread.logs}
    return name not in members and (not copies or any(map(standby.has, copies)))


def remove_logfile(session: EngineSession, logfilename: str | None) -> None:
    _check_root(session)
    mining_of(session).remove(logfilename or "")


def start_logmnr(
    session: EngineSession,
    startscn: Any,
    endscn: Any,
    starttime: datetime | None,
    endtime: datetime | None,
    dictfilename: str | None,
    options: Any,
) -> None:
    require(session.account, "LOGMINING", "SELECT ANY TRANSACTION")
    if dictfilename:
        raise OraError(3001, "unimplemented feature: DBMS_LOGMNR.START_LOGMNR with a dictionary file")
    if any(time is not None and time.year not in _DEFAULT_YEARS for time in (starttime, endtime)):
        raise OraError(3001, "unimplemented feature: DBMS_LOGMNR.START_LOGMNR by time")
    state = session.database.state
    chosen = check_options(int(options or 0), int(state.release.partition(".")[0]))
    if session.on_standby and StartOption.DICT_FROM_REDO_LOGS in chosen:
        raise OraError(1300, "writable database required for specified LogMiner options")
    start, end = int(startscn or 0), int(endscn or 0)
    with session.database.lock:
        mining = mining_of(session)
        logs = mining.logs if _is_root(session) else _choose_logs(state, start, end)
        if not _is_root(session) and StartOption.DICT_FROM_REDO_LOGS in chosen:
            raise OraError(1371, "Complete LogMiner dictionary not found")
        mining.start(start, end, chosen, logs)


def _log_rows(session: EngineSession, _: frozenset[str]) -> list[listing.Row]:
    hidden = not _is_root(session) and session.database.options.pdb_hides_logs
    return [] if hidden else listing.log_rows(mining_of(session))


def end_logmnr(session: EngineSession) -> None:
    mining_of(session).end()


def _is_root(session: EngineSession) -> bool:
    return session.container == ROOT or not session.database.state.is_cdb


def _check_root(session: EngineSession) -> None:
    if not _is_root(session):
        raise OraError(65040, "operation not allowed from within a pluggable database")


def _choose_logs(state: DatabaseState, start: int, end: int) -> list[MinedLog]:
    """Return the logs of the range, chosen by the server inside a PDB: archived logs, then online logs not archived yet."""
    incarnation = state.incarnation.resetlogs_id
    chosen: dict[tuple[int, int], MinedLog] = {}
    for copy in state.archived:
        key = (copy.thread, copy.sequence)
        usable = copy.name is not None and copy.status == "A" and not copy.deleted and copy.resetlogs_id == incarnation
        if not usable or key in chosen or copy.next_scn <= start or (end and copy.first_scn > end):
            continue
        try:
            chosen[key] = open_log(copy.name or "", state)
        except OraError as gone:
            raise OraError(604, "error occurred at recursive SQL level 1", more=tuple(str(gone).splitlines())) from gone
    for thread in state.threads.values():
        for log in thread.logs:
            if log.status != "UNUSED" and (log.thread, log.sequence) not in chosen and (not end or log.first_scn <= end):
                mined = open_log(log.member, state)
                if mined.header.next_scn > start:
                    chosen[log.thread, log.sequence] = mined
    if not chosen:
        raise OraError(1291, "missing log file")
    return list(chosen.values())


def contents_rows(session: EngineSession, wanted: frozenset[str]) -> Iterator[pa.RecordBatch]:
    mining = mining_of(session)
    mined = mining.required()
    state = session.database.state
    with session.database.lock:
        options = session.database.options
        catalog: Catalog = NoCatalog()
        if mined.dictionary is not None:
            catalog = RedoDictionary(mined.dictionary.records, tracks=StartOption.DDL_DICT_TRACKING in mined.options)
        elif StartOption.DICT_FROM_ONLINE_CATALOG in mined.options:
            catalog = OnlineCatalog(state, options.catalog_forms)
        shows_names = state.is_cdb and (_is_root(session) or session.database.options.names_container_in_pdb)
        names = {con: state.container_name(con) for con in (1, 2, 3)} if shows_names else {}
    layout = Layout(
        Nls.of(session.nls),
        "" if StartOption.NO_SQL_DELIMITER in mined.options else ";",
        StartOption.NO_ROWID_IN_STMT not in mined.options,
        Forms(
            options.quotes,
            options.whole_seconds,
            options.local_zone_call,
            options.national_text,
            options.urowids,
            state.time_zone,
            as_literals=StartOption.STRING_LITERALS_IN_STMT in mined.options,
        ),
        aliases=options.xml_rows != "values",
        blank_in_insert=options.blank_in_insert,
    )
    rendering = Rendering(
        catalog,
        layout,
        forgets_sequences=options.forgets_sequences,
        max_start_scns=options.max_start_scns,
        locators_have_text=options.lob_locators_have_text,
    )
    container = contents.SessionContainer(
        session.container,
        None if _is_root(session) else session.container,
        names,
        closed=frozenset() if state.pdb_is_open else frozenset({PDB}),
        shared_undo=state.is_cdb and not options.local_undo,
    )
    return _fetching(mining, mined, contents.read_contents(mined, rendering, container, wanted))


def _fetching(mining: Mining, mined: MiningRange, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the cursor as fetching until its end. Raises OraError when the LogMiner session changes meanwhile."""
    mining.fetching += 1
    try:
        for batch in batches:
            if mining.started is not mined:
                mining.required()
                raise OraError(1315, "Log file has been added or removed during select")
            yield batch
    finally:
        if mining.started is mined:
            mining.fetching -= 1


def register() -> None:
    """Make DBMS_LOGMNR callable and its views selectable."""
    for name, value in CONSTANTS.items():
        procedures.constant(f"DBMS_LOGMNR.{name}", value)
    procedures.register("DBMS_LOGMNR.ADD_LOGFILE", add_logfile, ["logfilename", Parameter("options", ADDFILE)])
    procedures.register("DBMS_LOGMNR.REMOVE_LOGFILE", remove_logfile, ["logfilename"])
    procedures.register(
        "DBMS_LOGMNR.START_LOGMNR",
        start_logmnr,
        [
            Parameter("startscn", 0),
            Parameter("endscn", 0),
            Parameter("starttime", None),
            Parameter("endtime", None),
            Parameter("dictfilename", ""),
            Parameter("options", 0),
        ],
    )
    procedures.register("DBMS_LOGMNR.END_LOGMNR", end_logmnr)
    redo_dictionary.register()
    register_view("V$LOGMNR_CONTENTS", contents.COLUMNS, contents_rows)
    register_view("V$LOGMNR_LOGS", listing.LOG_COLUMNS, _log_rows)
    register_view(
        "V$LOGMNR_PARAMETERS", listing.PARAMETER_COLUMNS, lambda session, _: listing.parameter_rows(mining_of(session))
    )
