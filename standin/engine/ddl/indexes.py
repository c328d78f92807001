"""CREATE, ALTER and DROP INDEX. A key that is an expression, or DESC, is a hidden virtual column, as in Oracle."""

from __future__ import annotations

import re

from sqlglot import exp

from standin.engine.ddl.columns import with_virtual
from standin.engine.ddl.redo import lock_exclusively, write_ddl
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Frame, NotCompilable
from standin.engine.queries.access import table_scope
from standin.engine.sessions.names import table_named
from standin.engine.sessions.privileges import require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import Index, TableStore
from standin.engine.text.parse import identifier, parse_as_written
from standin.engine.text.storage_clauses import Storage, read_storage
from standin.engine.text.tokens import Cursor
from standin.engine.types.datatypes import type_of_info
from standin.interface import OraError
from standin.model import TableColumn

_DIRECTION = re.compile(r"\s+(ASC|DESC)$", re.IGNORECASE)
_OPTIONS = frozenset({"REVERSE", "VISIBLE", "INVISIBLE", "NOSORT", "SORT", "LOCAL", "GLOBAL", "ONLINE", "USABLE"})


def add_index(session: EngineSession, store: TableStore, index: Index, duplicate_code: int = 1452) -> None:
    index.object_id = index.object_id or session.database.next_object_id()
    store.indexes.append(index)
    session.database.tables.refresh(store)
    store.reindex(index)
    if not index.unique:
        return
    seen = set()
    for _, values in store.visible(session.database.clock.scn, session.transaction):
        key = index.key_of(values)
        if key is not None and key in seen:
            store.indexes.remove(index)
            text = {1452: "cannot CREATE UNIQUE INDEX; duplicate keys found"}.get(
                duplicate_code, f"cannot validate ({store.definition.owner}.{index.name}) - duplicate keys found"
            )
            raise OraError(duplicate_code, text)
        seen.add(key)


def require_free_name(session: EngineSession, owner: str, name: str) -> None:
    """Raise ORA-00955 if an index of the schema has the name: indexes have a name space of their own."""
    for store in session.database.tables.stores.values():
        here = (store.definition.con_id, store.definition.owner) == (session.container, owner)
        if here and any(i.name == name and i.kind for i in store.indexes):
            raise OraError(955, "name is already used by an existing object")


def create_index(session: EngineSession, cursor: Cursor) -> None:
    words = cursor.text[: cursor.next.start].upper().split()
    owner, name = cursor.qualified()
    cursor.expect("ON")
    if cursor.is_next("CLUSTER"):
        _index_of_cluster(session, cursor)
        return
    table_owner, table_name = cursor.qualified()
    store = table_named(session, table_owner or session.schema, table_name)
    require_on(session.account, "INDEX", store.definition)
    if cursor.next.kind == "word":  # an alias
        cursor.take()
    keys = cursor.expressions()
    kind = _options(cursor, "BITMAP" if "BITMAP" in words else "NORMAL")
    require_free_name(session, owner or session.schema, name)
    lock_exclusively(session, store)
    before = len(store.definition.columns)
    columns = tuple(_key_column(session, store, key) for key in keys)
    if any(i.columns == columns and i.kind for i in store.indexes):
        raise OraError(1408, "such column list already indexed")
    if len(store.definition.columns) > before:
        kind = f"FUNCTION-BASED {kind}"
    try:
        add_index(session, store, Index(name, columns, "UNIQUE" in words, kind=kind))
    except OraError:
        del store.definition.columns[before:]
        store.pad = store.pad[:before]
        session.database.tables.refresh(store)
        raise
    write_ddl(session, cursor.text, store.definition, name=name)


def _index_of_cluster(session: EngineSession, cursor: Cursor) -> None:
    cursor.skip_rest()
    write_ddl(session, cursor.text)


def _options(cursor: Cursor, kind: str) -> str:
    """Read the options, and return INDEX_TYPE."""
    while cursor.next.kind == "word":
        if read_storage(cursor, Storage()):
            continue
        word = cursor.take().value
        if word == "REVERSE":
            kind = "NORMAL/REV"
        elif word == "PARTITION" and cursor.accept("BY"):  # of a global index; its partitions are not modelled
            cursor.skip_rest()
        elif word == "COMPUTE" and cursor.accept("STATISTICS"):
            continue
        elif word == "INDEXTYPE":
            raise OraError(29833, "indextype does not exist")
        elif word not in _OPTIONS:
            raise OraError(3001, f"unimplemented feature: {word} of an index")
        elif word in ("LOCAL", "GLOBAL") and cursor.is_next("("):
            cursor.parenthesised()
    cursor.end()
    return kind


def _key_column(session: EngineSession, store: TableStore, key: str) -> str:
    """Return the column of a key; for an expression, and for DESC, a hidden virtual column that Oracle adds."""
    direction = _DIRECTION.search(key)
    text = key[: direction.start()] if direction else key
    tree = parse_as_written(f"select {text} from dual").expressions[0]
    descends = direction is not None and direction[1].upper() == "DESC"
    if isinstance(tree, exp.Column) and not tree.args.get("table"):
        name = identifier(tree.this)
        if store.definition.column(name) is None:
            raise OraError(904, f'"{name}": invalid identifier')
        if not descends:
            return name
    try:
        info = Compiler(table_scope(store, None)).compile(tree).info
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in an index") from None
    table = store.definition
    name = f"SYS_NC{len(table.columns) + 1:05d}$"
    table.columns.append(TableColumn(name, type_of_info(info), 0, hidden=True, kind="index", virtual=text))
    session.database.tables.refresh(store)
    frame = Frame(session, ())
    for versions in store.rows.values():
        for version in versions:
            if version.values is not None:
                version.values = with_virtual(store, store.padded(version.values), frame)
    return name


def alter_index(session: EngineSession, cursor: Cursor) -> None:
    """REBUILD, UNUSABLE, RENAME TO, VISIBLE and storage. Partitions of an index are not modelled."""
    owner, name = cursor.qualified()
    store, index = _index_named(session, owner or session.schema, name)
    if cursor.accept("RENAME", "TO"):
        index.name = cursor.name()
        for constraint in store.definition.constraints:
            constraint.index = index.name if constraint.index == name else constraint.index
    elif cursor.accept("UNUSABLE"):
        index.usable = False
    elif cursor.accept("REBUILD"):
        index.usable = True
    elif cursor.next.value in ("MODIFY", "SPLIT", "DROP"):
        raise OraError(3001, f"unimplemented feature: ALTER INDEX {cursor.next.value}")
    write_ddl(session, cursor.text, store.definition, name=name)


def drop_index(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    store, index = _index_named(session, owner or session.schema, name)
    if any(c.index == name and c.enabled for c in store.definition.constraints):
        raise OraError(2429, "cannot drop index used for enforcement of unique/primary key")
    store.indexes.remove(index)
    own = {column.name for column in store.definition.columns if column.kind == "index"}
    for added in own.intersection(index.columns):
        at = store.layout.position[added]
        del store.definition.columns[at]
        store.pad = store.pad[:at] + store.pad[at + 1 :]
        for versions in store.rows.values():
            for version in versions:
                if version.values is not None:
                    version.values = version.values[:at] + version.values[at + 1 :]
        session.database.tables.refresh(store)
    write_ddl(session, cursor.text, store.definition, name=name)


def _index_named(session: EngineSession, owner: str, name: str) -> tuple[TableStore, Index]:
    for store in session.database.tables.stores.values():
        if store.definition.owner == owner and store.definition.con_id == session.container:
            for index in store.indexes:
                if index.name == name and index.kind:
                    return store, index
    raise OraError(1418, "specified index does not exist")
