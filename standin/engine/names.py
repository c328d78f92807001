"""Which table or view a name means to a session. What the user has no privilege on does not exist (ORA-00942)."""

from __future__ import annotations

from sqlglot import exp

from standin.engine.catalog import ViewSource, find_view
from standin.engine.parse import identifier
from standin.engine.privileges import may, sees_view
from standin.engine.session import EngineSession
from standin.engine.storage import TableStore
from standin.interface import OraError


def find_relation(session: EngineSession, owner: str | None, name: str) -> TableStore | ViewSource | None:
    """Return the table of this container or the view, without regard to privileges."""
    store = session.database.tables.stores.get((session.container, owner or session.schema, name))
    return store if store is not None else find_view(owner, name)


def resolve(session: EngineSession, owner: str | None, name: str) -> TableStore | ViewSource | None:
    """Return the table or view that the session may select from; None means DUAL."""
    found, account = find_relation(session, owner, name), session.account
    if isinstance(found, TableStore):
        table = found.definition
        if may(account, "SELECT", table) or any(granted == f"{table.owner}.{table.name}" for _, granted in account.grants):
            return found
    elif found is not None and sees_view(account, found):
        return found
    elif found is None and name == "DUAL" and owner in (None, "SYS"):
        return None
    raise OraError(942, "table or view does not exist")


def dml_target(session: EngineSession, node: exp.Expression) -> TableStore:
    """Return the table that a DML statement changes."""
    return table_named(session, identifier(node.args.get("db")) or session.schema, identifier(node.this))


def table_named(session: EngineSession, owner: str, name: str) -> TableStore:
    store = session.database.tables.stores.get((session.container, owner, name))
    if store is None:
        if find_view(None if owner == session.schema else owner, name) is not None:
            raise OraError(1031, "insufficient privileges")
        raise OraError(942, "table or view does not exist")
    return store
