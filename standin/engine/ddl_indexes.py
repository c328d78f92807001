"""CREATE and DROP INDEX."""

from __future__ import annotations

from standin.engine.ddl_redo import lock_exclusively, write_ddl
from standin.engine.definitions import table_options
from standin.engine.names import table_named
from standin.engine.privileges import require_on
from standin.engine.session import EngineSession
from standin.engine.storage import Index, TableStore
from standin.engine.tokens import Cursor
from standin.interface import OraError


def add_index(session: EngineSession, store: TableStore, index: Index, duplicate_code: int = 1452) -> None:
    index.object_id = session.database.next_object_id()
    store.indexes.append(index)
    session.database.tables.refresh(store)
    store.reindex(index)
    if not index.unique:
        return
    seen = set()
    for _, values in store.visible(session.database.clock.scn, None):
        key = index.key_of(values)
        if key is not None and key in seen:
            store.indexes.remove(index)
            text = {1452: "cannot CREATE UNIQUE INDEX; duplicate keys found"}.get(
                duplicate_code, f"cannot validate ({store.definition.owner}.{index.name}) - duplicate keys found"
            )
            raise OraError(duplicate_code, text)
        seen.add(key)


def create_index(session: EngineSession, cursor: Cursor) -> None:
    unique = "UNIQUE" in cursor.text[: cursor.next.start].upper().split()
    _, name = cursor.qualified()
    cursor.expect("ON")
    owner, table_name = cursor.qualified()
    store = table_named(session, owner or session.schema, table_name)
    require_on(session.account, "INDEX", store.definition)
    columns = cursor.names()
    for column in columns:
        if store.definition.column(column) is None:
            raise OraError(904, f'"{column}": invalid identifier')
    table_options(cursor)
    if any(i.name == name for i in store.indexes):
        raise OraError(955, "name is already used by an existing object")
    lock_exclusively(session, store)
    add_index(session, store, Index(name, tuple(columns), unique))
    write_ddl(session, cursor.text, store.definition, name=name)


def drop_index(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    for store in session.database.tables.stores.values():
        if store.definition.owner == (owner or session.schema) and store.definition.con_id == session.container:
            for index in store.indexes:
                if index.name == name:
                    if any(c.name == name for c in store.definition.constraints):
                        raise OraError(2429, "cannot drop index used for enforcement of unique/primary key")
                    store.indexes.remove(index)
                    write_ddl(session, cursor.text, store.definition, name=name)
                    return
    raise OraError(1418, "specified index does not exist")
