"""CREATE and DROP SEQUENCE."""

from __future__ import annotations

from standin.engine.ddl_redo import write_ddl
from standin.engine.privileges import require
from standin.engine.session import EngineSession
from standin.engine.tokens import Cursor
from standin.interface import OraError


def create_sequence(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    require(session.account, "CREATE SEQUENCE")
    options = _options(cursor)
    key = (session.container, owner or session.schema, name)
    if key in session.database.sequences:
        raise OraError(955, "name is already used by an existing object")
    session.database.sequences[key] = options
    write_ddl(session, cursor.text)


def sequence_options(text: str) -> list[int]:
    """Return the last number and the step of a new sequence, from the options of an identity column."""
    return _options(Cursor(text))


def _options(cursor: Cursor) -> list[int]:
    start, step = None, 1
    while cursor.next.kind == "word":
        if cursor.accept("START", "WITH"):
            start = _signed(cursor)
        elif cursor.accept("INCREMENT", "BY"):
            step = _signed(cursor)
        elif cursor.next.value in ("CACHE", "MAXVALUE", "MINVALUE"):
            word = cursor.take().value
            value = _signed(cursor)
            start = value if word == "MINVALUE" and start is None and value > 1 else start
        elif cursor.next.value in (
            "NOCACHE", "NOCYCLE", "NOORDER", "ORDER", "NOMAXVALUE", "NOMINVALUE", "KEEP", "NOKEEP", "GLOBAL", "SESSION",
            "NOSCALE",
        ):  # fmt: skip
            cursor.take()
        else:
            raise OraError(933, "SQL command not properly ended", cursor.next.start)
    return [(1 if start is None else start) - step, step]


def _signed(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    return sign * int(cursor.take().value)


def drop_sequence(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    if session.database.sequences.pop((session.container, owner or session.schema, name), None) is None:
        raise OraError(2289, "sequence does not exist")
    write_ddl(session, cursor.text)
