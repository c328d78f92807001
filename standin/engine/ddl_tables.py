"""CREATE, DROP, TRUNCATE, RENAME and COMMENT of tables, and the recycle bin."""

from __future__ import annotations

import copy

from standin.engine.ddl_columns import archive_state, column_of, period, period_column
from standin.engine.ddl_constraints import add_constraint
from standin.engine.ddl_redo import INTERNAL_DDL, lock_exclusively, write_ddl
from standin.engine.definitions import (
    ColumnClause,
    ConstraintClause,
    column_clause,
    starts_constraint,
    table_constraint,
    table_options,
)
from standin.engine.names import table_named
from standin.engine.privileges import holds, require, require_on
from standin.engine.session import EngineSession
from standin.engine.storage import TableStore
from standin.engine.tokens import Cursor
from standin.interface import OraError
from standin.model import TableDef


def create_table(session: EngineSession, cursor: Cursor) -> None:
    owner, name = _new_name(session, cursor, "CREATE")
    if not cursor.is_next("("):
        raise OraError(3001, "unimplemented feature: CREATE TABLE AS SELECT")
    cursor.expect("(")
    columns: list[ColumnClause] = []
    clauses: list[ConstraintClause] = []
    periods: list[str] = []
    while True:
        if cursor.accept("PERIOD", "FOR"):
            periods.append(period(cursor))
        elif starts_constraint(cursor):
            clauses.append(table_constraint(cursor))
        else:
            columns.append(column_clause(cursor))
            clauses += columns[-1].constraints
        if not cursor.accept(","):
            break
    cursor.expect(")")
    archival = table_options(cursor)
    names = [c.name for c in columns]
    if len(set(names)) < len(names):
        raise OraError(957, "duplicate column name")
    database = session.database
    object_id = database.next_object_id()
    now = database.ddl_time()
    table = TableDef(
        owner, name, session.container, object_id, object_id, 1,
        [archive_state(1)] if archival else [], created=now, last_ddl=now,
    )  # fmt: skip
    for column in columns:
        table.columns.append(column_of(session, table, column))
    table.columns += [period_column(name) for name in periods]
    store = TableStore(table, database.clock.scn)
    store.pad = (None,) * len(table.columns)
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
    database.state.policies = [p for p in database.state.policies if (p.owner, p.table) != (table.owner, table.name)]
    if purge:
        write_ddl(session, cursor.text, table)
        return
    recycled = copy.deepcopy(table)
    recycled.last_ddl = database.ddl_time()
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
    table.last_ddl = session.database.ddl_time()
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
    table.name, table.last_ddl = new, database.ddl_time()
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
