"""CREATE and DROP MATERIALIZED VIEW: a container table with the rows of the query. Refreshes are not modelled."""

from __future__ import annotations

from standin.engine.ddl.redo import write_ddl
from standin.engine.ddl.tables import create_table, drop_table
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import SchemaObject


def create_materialized_view(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    owner = owner or session.schema
    if cursor.next.value == "ON" or name == "LOG":
        raise OraError(3001, "unimplemented feature: CREATE MATERIALIZED VIEW LOG")
    while not (cursor.is_next("AS") and cursor.ahead(1).value in ("SELECT", "WITH", "(")):
        if cursor.take().kind == "end":
            raise OraError(905, "missing keyword")
    cursor.expect("AS")
    query = cursor.text[cursor.next.start :]
    create_table(session, Cursor(f'"{owner}"."{name}" AS {query}'))
    found = SchemaObject("MATERIALIZED VIEW", owner, name, session.container, session.database.next_object_id(), query)
    found.created = session.database.ddl_time()
    session.database.state.objects[session.container, owner, f"MATERIALIZED VIEW {name}"] = found
    write_ddl(session, cursor.text)


def drop_materialized_view(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    owner = owner or session.schema
    if session.database.state.objects.pop((session.container, owner, f"MATERIALIZED VIEW {name}"), None) is None:
        raise OraError(12003, f'materialized view or zonemap "{owner}"."{name}" does not exist')
    drop_table(session, Cursor(f'"{owner}"."{name}" PURGE'))
    write_ddl(session, cursor.text)
