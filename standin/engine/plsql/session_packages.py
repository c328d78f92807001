"""DBMS_OUTPUT, two functions of DBMS_DEBUG_JDWP, DBMS_SESSION.SLEEP, DBMS_LOCK.SLEEP and DBMS_SQL.RETURN_RESULT."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.engine.types.datatypes import NUMBER
from standin.engine.types.values import to_number
from standin.interface import OraError, Rows

_OUTPUT, _RESULTS = "DBMS_OUTPUT", "DBMS_SQL results"
Lines = deque[str | None]


def sleep(session: EngineSession, seconds: Any) -> None:
    """Wait; a client's cancel ends the wait with ORA-01013."""
    database = session.database
    with database.lock:
        database.changed.wait_for(lambda: session.cancelled or session.killed, float(to_number(seconds)))
    session.check_cancelled()


def _lines(session: EngineSession) -> Lines | None:
    """Return the lines of output that nobody has read; None while output is disabled."""
    found = session.package_state.get(_OUTPUT)
    return found if isinstance(found, deque) else None


def enable(session: EngineSession, buffer_size: Any) -> None:
    session.package_state.setdefault(_OUTPUT, deque())


def disable(session: EngineSession) -> None:
    session.package_state.pop(_OUTPUT, None)


def put_line(session: EngineSession, a: Any) -> None:
    lines = _lines(session)
    if lines is not None:
        lines.append(a if a is None else str(a))


def get_line(session: EngineSession, line: Any, status: Any) -> Mapping[str, Any]:
    """Return the next line with status 0, or status 1 if there is none."""
    lines = _lines(session)
    return {"line": lines.popleft(), "status": 0} if lines else {"line": None, "status": 1}


def return_result(session: EngineSession, rc: Any, to_client: Any) -> None:
    """Give an open cursor to the client, beside the OUT binds of the block."""
    if not isinstance(rc, Rows):
        raise OraError(1001, "invalid cursor")
    results = session.package_state.setdefault(_RESULTS, [])
    assert isinstance(results, list)
    results.append(rc)


def take_results(session: EngineSession) -> list[Rows]:
    found = session.package_state.pop(_RESULTS, [])
    assert isinstance(found, list)
    return found


def register() -> None:
    procedures.register("DBMS_SQL.RETURN_RESULT", return_result, ["rc", Parameter("to_client", True)], public=True)
    for name in ("DBMS_SESSION.SLEEP", "DBMS_LOCK.SLEEP"):
        procedures.register(name, sleep, ["seconds"], public=True)
    for name, number in (("SESSION_ID", lambda session: session.number), ("SESSION_SERIAL", lambda session: session.serial)):
        procedures.register(f"DBMS_DEBUG_JDWP.CURRENT_{name}", number, public=True, returns=NUMBER)
    outs = [Parameter(name, direction="OUT") for name in ("line", "status")]
    procedures.register(f"{_OUTPUT}.ENABLE", enable, [Parameter("buffer_size", 20_000)], public=True)
    procedures.register(f"{_OUTPUT}.DISABLE", disable, public=True)
    procedures.register(f"{_OUTPUT}.PUT_LINE", put_line, ["a"], public=True)
    procedures.register(f"{_OUTPUT}.GET_LINE", get_line, outs, public=True)
