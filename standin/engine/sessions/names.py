"""Which table or view a name means to a session. What the user has no privilege on does not exist (ORA-00942)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from standin.engine.sessions.catalog import ViewSource, find_view
from standin.engine.sessions.privileges import may, sees_view
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import identifier
from standin.engine.types.values import to_number
from standin.interface import OraError, Rows
from standin.model import SchemaObject, TableDef

_LONGEST_CHAIN = 20  # of synonyms


def find_relation(session: EngineSession, owner: str | None, name: str) -> TableStore | ViewSource | None:
    """Return the table of this container or the view, without regard to privileges."""
    meant = _meant(session, owner, name)
    store = session.database.tables.stores.get((session.container, *meant))
    if store is not None:
        return store
    view = session.database.state.objects.get((session.container, *meant))
    if view is not None and view.kind == "VIEW":
        return stored_view(session, view)
    return find_view(owner, name) if meant == (owner or session.schema, name) else find_view(*meant)


def _meant(session: EngineSession, owner: str | None, name: str) -> tuple[str, str]:
    """Return owner and name that a name means: those of the object that a synonym leads to."""
    objects, tables = session.database.state.objects, session.database.tables.stores
    meant = (owner or session.schema, name)
    for _ in range(_LONGEST_CHAIN):
        found = objects.get((session.container, *meant))
        if found is None and owner is None and (session.container, *meant) not in tables:
            found = objects.get((session.container, "PUBLIC", meant[1]))
        if found is None or found.target is None or found.kind != "SYNONYM":
            return meant
        meant = found.target
    raise OraError(1775, "looping chain of synonyms")


def stored_view(session: EngineSession, view: SchemaObject) -> ViewSource:
    """Return a user's view, whose query runs in its owner's schema with the rights of the session's user."""
    if not view.enabled:
        raise OraError(3001, f"unimplemented feature: the query of the view {view.owner}.{view.name}")
    selected = _queried(session, view, describe_only=True).columns
    numbers = [info.type == "NUMBER" for info in selected]

    def rows(session: EngineSession, _: frozenset[str]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for batch in _queried(session, view).batches:
            found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return [
            tuple(to_number(v) if is_number and v is not None else v for v, is_number in zip(row, numbers, strict=True))
            for row in found
        ]

    columns = tuple(replace(info, name=name) for info, name in zip(selected, view.columns, strict=True))
    return ViewSource(f"{view.owner}.{view.name}", columns, rows, f"{view.owner}.{view.name}")


def _queried(session: EngineSession, view: SchemaObject, *, describe_only: bool = False) -> Rows:
    schema, session.schema = session.schema, view.owner
    try:
        result = session.execute(view.text, (), describe_only=describe_only)
    finally:
        session.schema = schema
    assert isinstance(result, Rows), "a view's text is a query"
    return result


def resolve(session: EngineSession, owner: str | None, name: str) -> TableStore | ViewSource | None:
    """Return the table or view that the session may select from; None means DUAL."""
    found, account = find_relation(session, owner, name), session.account
    if isinstance(found, TableStore):
        table = found.definition
        if may(account, "SELECT", table) or any(granted == f"{table.owner}.{table.name}" for _, granted in account.grants):
            return found.of_session(session.number)
    elif found is not None and sees_view(account, found):
        return found
    elif found is None and name == "DUAL" and owner in (None, "SYS"):
        return None
    raise OraError(942, "table or view does not exist")


def dml_target(session: EngineSession, node: exp.Expression) -> TableStore:
    """Return the table that a DML statement changes."""
    return table_named(session, identifier(node.args.get("db")) or session.schema, identifier(node.this)).of_session(
        session.number
    )


def require_mutable(table: TableDef) -> None:
    """Raise ORA-05715 for an immutable table, whose rows and columns stay as they are."""
    if table.immutable:
        raise OraError(5715, "operation not allowed on the blockchain or immutable table")


def table_named(session: EngineSession, owner: str, name: str) -> TableStore:
    meant = _meant(session, None if owner == session.schema else owner, name)
    store = session.database.tables.stores.get((session.container, *meant))
    if store is None:
        view = session.database.state.objects.get((session.container, *meant))
        if view is not None and view.kind == "VIEW":
            raise OraError(3001, "unimplemented feature: DML or DDL on a view")
        if find_view(None if owner == session.schema else owner, name) is not None:
            raise OraError(1031, "insufficient privileges")
        raise OraError(942, "table or view does not exist")
    return store
