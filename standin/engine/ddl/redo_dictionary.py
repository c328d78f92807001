"""The dictionary in the redo: DBMS_LOGMNR_D.BUILD writes all of it, and every DDL after that what it has changed.

Oracle's redo contains the changes of the dictionary's own tables. Here they are records of their own, from the first BUILD on:
without one, no LogMiner session could use them.
"""

from __future__ import annotations

from collections.abc import Iterable

from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.interface import OraError
from standin.known_tables import known_tables, no_longer
from standin.model import ROOT
from standin.redo_file import DICTIONARY, Op, RedoRecord

STORE_IN_FLAT_FILE, STORE_IN_REDO_LOGS = 1, 2


def build(
    session: EngineSession, dictionary_filename: str | None, dictionary_location: str | None, options: int | None
) -> None:
    """Write all definitions into the redo of the session's thread."""
    session.require_writable()
    state = session.database.state
    if dictionary_filename or dictionary_location or int(options or 0) != STORE_IN_REDO_LOGS:
        raise OraError(3001, "unimplemented feature: DBMS_LOGMNR_D.BUILD with a dictionary file")
    if state.is_cdb and session.container != ROOT:
        raise OraError(65040, "operation not allowed from within a pluggable database")
    if not state.archivelog:
        raise OraError(1325, "archive log mode must be enabled to build into the logstream")
    with session.database.lock:
        found = _definitions(session)
        if not found:
            raise OraError(1336, "specified dictionary file cannot be opened")
        first, *rest = found.values()
        thread = state.threads[session.thread]
        _write(session, [first])
        thread.current.dictionary_begin = True
        _write(session, rest)
        thread.current.dictionary_end = True
        state.redo_dictionary = found


def write_changes(session: EngineSession) -> None:
    """Write the definitions that the last DDL has changed."""
    state = session.database.state
    before = state.redo_dictionary
    if before is None or state.is_mounted:
        return
    now = _definitions(session)
    _write(session, [text for key, text in now.items() if before.get(key) != text])
    _write(session, [no_longer(*key) for key in before if key not in now])
    state.redo_dictionary = now


def _definitions(session: EngineSession) -> dict[tuple[int, int], str]:
    tables = known_tables(session.database.state, session.database.options.catalog_forms)
    return {key: table.as_text(*key) for key, table in tables.items()}


def _write(session: EngineSession, texts: Iterable[str]) -> None:
    for text in texts:
        record = RedoRecord(0, Op.INTERNAL, (0, 0, 0), thread=session.thread, con_id=ROOT, sql=text, info=DICTIONARY)
        session.database.redo.write(record)


def register() -> None:
    procedures.constant("DBMS_LOGMNR_D.STORE_IN_FLAT_FILE", STORE_IN_FLAT_FILE)
    procedures.constant("DBMS_LOGMNR_D.STORE_IN_REDO_LOGS", STORE_IN_REDO_LOGS)
    declared = [Parameter("dictionary_filename", None), Parameter("dictionary_location", None), Parameter("options", 0)]
    procedures.register("DBMS_LOGMNR_D.BUILD", build, declared)
