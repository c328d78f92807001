"""CREATE, DROP, TRUNCATE and RENAME of tables, indexes, sequences, and the recycle bin."""

from __future__ import annotations

import copy

from standin.engine.ddl_redo import INTERNAL_DDL, lock_exclusively, write_ddl
from standin.engine.definitions import (
    ColumnClause,
    ConstraintClause,
    column_clause,
    starts_constraint,
    table_constraint,
)
from standin.engine.names import table_named
from standin.engine.privileges import holds, require, require_on
from standin.engine.session import EngineSession
from standin.engine.storage import Index, TableStore
from standin.engine.tokens import Cursor
from standin.interface import OraError
from standin.model import Constraint, TableColumn, TableDef

_STORAGE_WORDS = frozenset(["TABLESPACE", "LOGGING", "NOCOMPRESS", "PCTFREE", "INITRANS", "SEGMENT"])


def create_table(session: EngineSession, cursor: Cursor) -> None:
    owner, name = _new_name(session, cursor, "CREATE")
    if not cursor.is_next("("):
        raise OraError(3001, "unimplemented feature: CREATE TABLE AS SELECT")
    cursor.expect("(")
    columns: list[ColumnClause] = []
    clauses: list[ConstraintClause] = []
    while True:
        if starts_constraint(cursor):
            clauses.append(table_constraint(cursor))
        else:
            columns.append(column_clause(cursor))
            clauses += columns[-1].constraints
        if not cursor.accept(","):
            break
    cursor.expect(")")
    _table_options(cursor)
    names = [c.name for c in columns]
    if len(set(names)) < len(names):
        raise OraError(957, "duplicate column name")
    database = session.database
    object_id = database.next_object_id()
    now = database.clock.second()
    table = TableDef(
        owner, name, session.container, object_id, object_id, 1,
        [column_of(c, i + 1) for i, c in enumerate(columns)], created=now, last_ddl=now,
    )  # fmt: skip
    store = TableStore(table, database.clock.scn)
    store.pad = (None,) * len(columns)
    store.refresh(database.state.logged_in(table.con_id))
    for clause in clauses:
        add_constraint(session, store, clause)
    database.tables.add(store)
    store.created_scn = store.structure_scn = write_ddl(session, cursor.text, table)


def _new_name(session: EngineSession, cursor: Cursor, verb: str) -> tuple[str, str]:
    qualifier, name = cursor.qualified()
    owner = qualifier or session.schema
    if owner != session.user:
        require(session.account, f"{verb} ANY TABLE")
    elif not holds(session.account, f"{verb} TABLE"):
        raise OraError(1031, "insufficient privileges")
    if owner not in session.database.state.users:
        raise OraError(1918, f"user '{owner}' does not exist")
    if (session.container, owner, name) in session.database.tables.stores:
        raise OraError(955, "name is already used by an existing object")
    return owner, name


def _table_options(cursor: Cursor) -> None:
    """Skip storage options; raise ORA-03001 for an option that would change how rows behave."""
    while cursor.next.kind == "word":
        word = cursor.take().value
        if word not in _STORAGE_WORDS:
            raise OraError(3001, f"unimplemented feature: {word} of a table")
        if word in ("TABLESPACE", "PCTFREE", "INITRANS"):
            cursor.take()
        if word == "SEGMENT":
            cursor.expect("CREATION")
            cursor.take()
    cursor.end()


def column_of(clause: ColumnClause, segment_id: int) -> TableColumn:
    assert clause.type is not None
    return TableColumn(clause.name, clause.type, segment_id, clause.nullable is not False, clause.default)


def add_constraint(session: EngineSession, store: TableStore, clause: ConstraintClause) -> None:
    """Add the constraint and its index, after checking the existing rows."""
    table = store.definition
    name = clause.name or f"SYS_C{session.database.next_constraint_number():08d}"
    if any(
        c.name == name
        for s in session.database.tables.stores.values()
        for c in s.definition.constraints
        if s.definition.owner == table.owner
    ):
        raise OraError(2264, "name already used by an existing constraint")
    for column in clause.columns:
        if table.column(column) is None:
            raise OraError(904, f'"{column}": invalid identifier')
    references = _referenced_key(session, store, clause) if clause.kind == "R" else None
    if clause.kind == "P":
        if any(c.kind == "P" for c in table.constraints):
            raise OraError(2260, "table can have only one primary key")
        for column in clause.columns:
            found = table.column(column)
            assert found is not None
            found.nullable = False
    table.constraints.append(Constraint(name, clause.kind, clause.columns, references=references, check=clause.check))
    if clause.kind in ("P", "U", "R"):
        add_index(session, store, Index(name, tuple(clause.columns), clause.kind != "R"), 2437 if clause.kind == "P" else 2299)
    session.database.tables.refresh(store)


def _referenced_key(session: EngineSession, store: TableStore, clause: ConstraintClause) -> tuple[str, str]:
    assert clause.parent is not None
    owner, name = clause.parent
    own = name == store.definition.name and owner in (None, store.definition.owner)
    parent = store.definition if own else table_named(session, owner or store.definition.owner, name).definition
    for constraint in parent.constraints:
        if constraint.kind == "P" and not clause.parent_columns:
            return parent.owner, constraint.name
        if constraint.kind in ("P", "U") and constraint.columns == clause.parent_columns:
            return parent.owner, constraint.name
    raise OraError(2270, "no matching unique or primary key for this column-list")


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
    _table_options(cursor)
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


def _existing(session: EngineSession, cursor: Cursor, privilege: str) -> TableStore:
    owner, name = cursor.qualified()
    store = table_named(session, owner or session.schema, name)
    require_on(session.account, privilege, store.definition)
    return store


def drop_table(session: EngineSession, cursor: Cursor) -> None:
    store = _existing(session, cursor, "DROP")
    cascade = cursor.accept("CASCADE", "CONSTRAINTS")
    purge = cursor.accept("PURGE")
    cursor.end()
    lock_exclusively(session, store)
    database, table = session.database, store.definition
    children = [(child, c) for child, c in database.tables.children_of(store) if child is not store]
    if children and not cascade:
        raise OraError(2449, "unique/primary keys in table referenced by foreign keys")
    for child, constraint in children:
        child.definition.constraints.remove(constraint)
        database.tables.refresh(child)
    database.tables.remove(store)
    if purge:
        write_ddl(session, cursor.text, table)
        return
    recycled = copy.deepcopy(table)
    recycled.last_ddl = database.clock.second()
    database.state.dropped[table.object_id] = recycled
    bin_name = table.recycled_name
    write_ddl(session, f'ALTER TABLE "{table.owner}"."{table.name}" RENAME TO "{bin_name}"', table, info=INTERNAL_DDL)
    write_ddl(session, f'{cursor.text.strip()} AS "{bin_name}"', table)


def purge_table(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    dropped = session.database.state.dropped
    for object_id, table in list(dropped.items()):
        if table.owner == (owner or session.schema) and name in (table.name, table.recycled_name):
            del dropped[object_id]
            write_ddl(session, cursor.text, table)
            return
    raise OraError(38307, "object not in RECYCLE BIN")


def purge_recyclebin(session: EngineSession, cursor: Cursor) -> None:
    dropped = session.database.state.dropped
    for object_id in [i for i, t in dropped.items() if t.owner == session.schema and t.con_id == session.container]:
        table = dropped.pop(object_id)
        write_ddl(session, f'purge table "{table.recycled_name}"', table)


def truncate_table(session: EngineSession, cursor: Cursor) -> None:
    store = _existing(session, cursor, "DROP")
    if not cursor.accept("DROP", "STORAGE"):
        cursor.accept("REUSE", "STORAGE")
    cursor.end()
    lock_exclusively(session, store)
    if any(child is not store for child, _ in session.database.tables.children_of(store)):
        raise OraError(2266, "unique/primary keys in table referenced by enabled foreign keys")
    store.rows.clear()
    store.next_row = 0
    store.freed.clear()
    for index in store.indexes:
        index.entries.clear()
    table = store.definition
    text_table = copy.copy(table)
    table.data_object_id = session.database.next_object_id()
    table.last_ddl = session.database.clock.second()
    store.structure_scn = write_ddl(session, cursor.text, text_table)


def rename_table(session: EngineSession, cursor: Cursor) -> None:
    old = cursor.name()
    cursor.expect("TO")
    rename_to(session, table_named(session, session.schema, old), cursor)


def rename_to(session: EngineSession, store: TableStore, cursor: Cursor) -> None:
    new = cursor.name()
    cursor.end()
    table, database = store.definition, session.database
    if (table.con_id, table.owner, new) in database.tables.stores:
        raise OraError(955, "name is already used by an existing object")
    lock_exclusively(session, store)
    old = table.name
    database.tables.remove(store)
    table.name, table.last_ddl = new, database.clock.second()
    database.tables.add(store)
    write_ddl(session, cursor.text, table, name=old)


def comment(session: EngineSession, cursor: Cursor) -> None:
    """Write the COMMENT to the redo; no view shows it here."""
    object_type = cursor.take().value
    owner, name = cursor.qualified()
    if object_type == "COLUMN":
        rest = cursor.name() if cursor.accept(".") else None
        owner, name = (owner, name) if rest is not None else (None, owner or name)
    store = table_named(session, owner or session.schema, name)
    write_ddl(session, cursor.text, store.definition)


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
