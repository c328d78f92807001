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
    start, step = 1, 1
    while cursor.next.kind == "word":
        if cursor.accept("START", "WITH"):
            start = _signed(cursor)
        elif cursor.accept("INCREMENT", "BY"):
            step = _signed(cursor)
        elif cursor.next.value in ("CACHE", "MAXVALUE", "MINVALUE"):
            cursor.take()
            _signed(cursor)
        elif cursor.next.value in ("NOCACHE", "NOCYCLE", "NOORDER", "ORDER", "NOMAXVALUE", "NOMINVALUE"):
            cursor.take()
        else:
            raise OraError(933, "SQL command not properly ended", cursor.next.start)
    key = (session.container, owner or session.schema, name)
    if key in session.database.sequences:
        raise OraError(955, "name is already used by an existing object")
    session.database.sequences[key] = [start - step, step]
    write_ddl(session, cursor.text)


def _signed(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    return sign * int(cursor.take().value)


def drop_sequence(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    if session.database.sequences.pop((session.container, owner or session.schema, name), None) is None:
        raise OraError(2289, "sequence does not exist")
    write_ddl(session, cursor.text)
