"""ALTER TABLE: columns, constraints, supplemental logging, RENAME TO and MOVE."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from standin.engine.ddl.alter_partitions import change_partition
from standin.engine.ddl.columns import (
    add_archive_state,
    add_column,
    drop_column,
    drop_needless_guard,
    drop_unused,
    fill_rows,
    rename_guard,
    set_unused,
)
from standin.engine.ddl.constraints import add_constraint, drop_constraint, keys_first, set_state
from standin.engine.ddl.maintenance import maintain
from standin.engine.ddl.redo import lock_exclusively, write_ddl
from standin.engine.ddl.supplemental_logging import add_logging, drop_logging
from standin.engine.ddl.tables import rename_to
from standin.engine.ddl.user_types import resolved
from standin.engine.sessions.names import require_mutable, table_named
from standin.engine.sessions.privileges import require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.segment import Rows
from standin.engine.storage.storage import TableStore
from standin.engine.text.definitions import ColumnClause, ConstraintClause, column_clause, starts_constraint, table_constraint
from standin.engine.text.storage_clauses import Storage, read_storage
from standin.engine.text.tokens import Cursor
from standin.engine.types.datatypes import column_type
from standin.engine.types.values import coercer_of
from standin.interface import OraError
from standin.model import Constraint, LogGroup, TableColumn

_OF_IMMUTABLE = (  # what an immutable table allows
    ("ADD", "SUPPLEMENTAL"), ("DROP", "SUPPLEMENTAL"), ("ADD", "CONSTRAINT"), ("ENABLE",), ("DISABLE",),
)  # fmt: skip


def alter_table(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    store = table_named(session, owner or session.schema, name)
    require_on(session.account, "ALTER", store.definition)
    if not any(cursor.is_next(*words) for words in _OF_IMMUTABLE):
        require_mutable(store.definition)
    for word in ("ENABLE", "DISABLE"):
        if cursor.accept(word, "TABLE", "LOCK"):
            store.definition.table_lock = word == "ENABLE"
            write_ddl(session, cursor.text, store.definition)
            return
    if not (session.database.options.nonblocking_ddl and _does_not_block(cursor)):
        lock_exclusively(session, store)
    if cursor.accept("RENAME", "TO"):
        rename_to(session, store, cursor)
        return
    if cursor.is_next("MOVE") and not (cursor.is_next("MOVE", "PARTITION") or cursor.is_next("MOVE", "SUBPARTITION")):
        cursor.take()
        _move(session, store, cursor)
        return
    filled: list[TableColumn] = []
    structural = _change_all(session, store, cursor, filled)
    table, database = store.definition, session.database
    if structural:
        table.object_version += 1
    table.last_ddl = database.ddl_time()
    database.tables.refresh(store)

    def fill() -> None:
        for column in filled:
            fill_rows(session, store, column)

    scn = write_ddl(session, cursor.text, table, then=fill)
    if structural:
        store.structure_scn = scn


def _does_not_block(cursor: Cursor) -> bool:
    """Return whether the statement only adds columns or sets them unused, so that open transactions may go on."""
    if cursor.is_next("ADD"):
        return re.search(r"\b(MODIFY|DROP|CONSTRAINT|KEY|UNIQUE|CHECK|NEXTVAL|IDENTITY)\b", cursor.text, re.IGNORECASE) is None
    return cursor.is_next("SET", "UNUSED")


def _move(session: EngineSession, store: TableStore, cursor: Cursor) -> None:
    """Move the rows into a new segment, where each has a new ROWID. The redo is of blocks, so LogMiner shows the DDL alone.

    Without ONLINE and UPDATE INDEXES the table's indexes are UNUSABLE then.
    """
    keeps_indexes = False
    while cursor.next.kind != "end":
        if cursor.accept("ONLINE") or cursor.accept("UPDATE", "INDEXES"):
            keeps_indexes = True
        elif not read_storage(cursor, Storage()):
            cursor.end()
    if store.definition.partitioning:
        raise OraError(14511, "cannot perform operation on a partitioned object")
    if store.definition.iot:
        raise OraError(3001, "unimplemented feature: MOVE of an index-organized table")
    database, table, before = session.database, store.definition, copy.copy(store.definition)
    live = [versions[-1] for _, versions in sorted(store.rows.items()) if versions[-1].values is not None]
    store.rows = Rows((row, [version]) for row, version in enumerate(live))
    store.next_row = len(live)
    store.freed.clear()
    for index in store.indexes:
        store.reindex(index)
        index.usable = index.usable and (keeps_indexes or not index.kind)
    table.data_object_id, table.last_ddl = database.next_object_id(), database.ddl_time()
    database.tables.refresh(store)
    store.structure_scn = write_ddl(session, cursor.text, before)


def _change_all(session: EngineSession, store: TableStore, cursor: Cursor, filled: list[TableColumn]) -> bool:
    """Apply all clauses, or none when one fails. Return whether the columns have changed; columns to fill go to `filled`."""
    table = store.definition
    before = copy.deepcopy((table.columns, table.constraints, table.log_groups))
    indexes, pad, structural = list(store.indexes), store.pad, False
    try:
        while cursor.next.kind == "word":
            structural = _change(session, store, cursor, filled) or structural
        cursor.end()
    except OraError:
        table.columns, table.constraints, table.log_groups = before
        store.indexes, store.pad = indexes, pad
        session.database.tables.refresh(store)
        raise
    return structural


def _change(session: EngineSession, store: TableStore, cursor: Cursor, filled: list[TableColumn]) -> bool:
    """Apply one clause. Return whether the columns have changed."""
    if _accept_storage(store, cursor) or _change_constraint(session, store, cursor):
        return False
    if change_partition(session, store, cursor) or maintain(session, store, cursor):
        return False
    for word in ("ENABLE", "DISABLE"):
        if cursor.accept(word, "LOGICAL", "REPLICATION"):
            store.definition.logical_replication = word == "ENABLE"
            return False
    if cursor.accept("ADD"):
        return _add(session, store, cursor, filled)
    if cursor.accept("DROP"):
        return _drop(session, store, cursor)
    if cursor.accept("MODIFY"):
        for clause in _list_of(cursor, lambda: column_clause(cursor, modifying=True)):
            _modify(session, store, clause)
        cursor.accept("DROP", "DOMAIN")
        return True
    if cursor.accept("SET", "UNUSED"):
        set_unused(session, store, cursor)
        return True
    if _change_archival(session, store, cursor):
        return True
    if cursor.accept("RENAME", "COLUMN"):
        old = cursor.name()
        cursor.expect("TO")
        _rename_column(store, old, cursor.name())
        return not session.database.options.renames_keep_version
    raise OraError(3001, f"unimplemented feature: ALTER TABLE {cursor.next.value}")


def _change_archival(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    if cursor.accept("ROW", "ARCHIVAL"):
        add_archive_state(session, store)
        return True
    if cursor.accept("NO", "ROW", "ARCHIVAL"):
        drop_column(store, "ORA_ARCHIVE_STATE", cascade=False)
        return True
    return False


def _accept_storage(store: TableStore, cursor: Cursor) -> bool:
    """Accept an option that decides only how the table is stored."""
    table = store.definition
    storage = Storage(table.compress, table.logging, table.row_movement)
    if not read_storage(cursor, storage):
        return False
    table.compress, table.logging, table.row_movement = storage.compress, storage.logging, storage.row_movement
    return True


def _change_constraint(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    """Run ENABLE, DISABLE and MODIFY of constraints, ENABLE and DISABLE ALL TRIGGERS, and RENAME CONSTRAINT."""
    table = store.definition
    for word in ("ENABLE", "DISABLE"):
        if cursor.accept(word, "ALL", "TRIGGERS"):
            for found in session.database.state.objects.values():
                if (found.kind, found.con_id, found.target) == ("TRIGGER", table.con_id, (table.owner, table.name)):
                    found.enabled = word == "ENABLE"
            return True
        if cursor.is_next(word) and not cursor.is_next(word, "LOGICAL"):
            set_state(session, store, cursor)
            return True
    if cursor.is_next("MODIFY", "CONSTRAINT") or cursor.is_next("MODIFY", "PRIMARY"):
        set_state(session, store, cursor)
        return True
    if cursor.accept("RENAME", "CONSTRAINT"):
        old = cursor.name()
        cursor.expect("TO")
        constraint = next((c for c in table.constraints if c.name == old), None)
        if constraint is None:
            raise OraError(23292, "The constraint does not exist")
        _rename_constraint(session, store, constraint, cursor.name())
        return True
    return False


def _rename_constraint(session: EngineSession, store: TableStore, constraint: Constraint, new: str) -> None:
    for _, foreign in session.database.tables.children_of(store):
        if foreign.references == (store.definition.owner, constraint.name):
            foreign.references = (store.definition.owner, new)
    for index in store.indexes:
        index.constraint = new if index.constraint == constraint.name else index.constraint
    constraint.name = new


def _list_of(cursor: Cursor, one: Callable[[], Any]) -> list[Any]:
    """Read one clause, or several in parentheses."""
    if not cursor.accept("("):
        return [one()]
    found = [one()]
    while cursor.accept(","):
        found.append(one())
    cursor.expect(")")
    return found


def _add(session: EngineSession, store: TableStore, cursor: Cursor, filled: list[TableColumn]) -> bool:
    if cursor.accept("SUPPLEMENTAL", "LOG"):
        add_logging(store, cursor)
        return False
    if starts_constraint(cursor):
        add_constraint(session, store, table_constraint(cursor))
        return False
    cursor.accept("COLUMN")

    constraints = list[ConstraintClause]()

    def one() -> ColumnClause | None:
        if starts_constraint(cursor):
            constraints.append(table_constraint(cursor))
            return None
        clause = column_clause(cursor)
        column = add_column(session, store, clause)
        if column is not None:
            filled.append(column)
        constraints.extend(clause.constraints)
        return clause

    found = [clause is not None for clause in _list_of(cursor, one)]
    for constraint in keys_first(constraints):
        add_constraint(session, store, constraint)
    return any(found)


def _drop(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    if cursor.accept("SUPPLEMENTAL", "LOG"):
        drop_logging(store, cursor)
        return False
    if cursor.accept("CONSTRAINT"):
        name = cursor.name()
        cascade = cursor.accept("CASCADE")
        _accept_index_fate(cursor)
        drop_constraint(session, store, name, cascade=cascade)
        return False
    if cursor.accept("UNIQUE"):
        columns = cursor.names()
        unique = next((c.name for c in store.definition.constraints if c.kind == "U" and c.columns == columns), None)
        if unique is None:
            raise OraError(2442, "Cannot drop nonexistent unique key")
        cascade = cursor.accept("CASCADE")
        _accept_index_fate(cursor)
        drop_constraint(session, store, unique, cascade=cascade)
        return False
    if cursor.accept("PRIMARY", "KEY"):
        key = next((c.name for c in store.definition.constraints if c.kind == "P"), None)
        if key is None:
            raise OraError(2441, "Cannot drop nonexistent primary key")
        cascade = cursor.accept("CASCADE")
        _accept_index_fate(cursor)
        drop_constraint(session, store, key, cascade=cascade)
        return False
    if cursor.accept("UNUSED", "COLUMNS") or cursor.accept("COLUMNS", "CONTINUE"):
        drop_unused(store)
        return True
    names = [cursor.name()] if cursor.accept("COLUMN") else cursor.names()
    cascade = cursor.accept("CASCADE", "CONSTRAINTS")
    for name in names:
        drop_column(store, name, cascade=cascade)
    if not session.database.options.keeps_guards:
        drop_needless_guard(store)
    drop_unused(store)  # "and all columns currently marked as unused" (SQL Language Reference)
    rename_guard(store)
    return True


def _accept_index_fate(cursor: Cursor) -> None:
    if cursor.is_next("KEEP", "INDEX"):
        raise OraError(3001, "unimplemented feature: KEEP INDEX")
    cursor.accept("DROP", "INDEX")


def _modify(session: EngineSession, store: TableStore, clause: ColumnClause) -> None:
    table = store.definition
    column = table.column(clause.name)
    if column is None:
        raise OraError(904, f'"{clause.name}": invalid identifier')
    at = table.columns.index(column)
    scn = session.database.clock.scn
    if clause.hidden is not None:
        if column.hidden and not clause.hidden:
            column.rank = 1 + max(c.rank for c in table.columns)
        column.hidden = clause.hidden
    if clause.type is not None:
        clause.type = column_type(resolved(session, clause.type), extended=session.database.options.extended_strings)
    if clause.type is not None and clause.type != column.type:
        _convert(session, store, at, clause)
        column.type = clause.type
    if clause.has_default:
        column.default = clause.default
    if clause.nullable is False:
        if any(values[at] is None for _, values in store.visible(scn, None)):
            raise OraError(2296, f"cannot enable ({table.owner}.) - null values found")
        column.nullable = False
    elif clause.nullable is True:
        column.nullable = True
    for constraint in clause.constraints:
        add_constraint(session, store, constraint)


def _convert(session: EngineSession, store: TableStore, at: int, clause: ColumnClause) -> None:
    """Convert the stored values, which must all fit; pad a CHAR that grows."""
    column = store.definition.columns[at]
    assert clause.type is not None
    family = {"CHAR": "VARCHAR2", "NCHAR": "NVARCHAR2", "FLOAT": "NUMBER", "DATE": "TIMESTAMP"}
    same = family.get(column.type.name, column.type.name) == family.get(clause.type.name, clause.type.name)
    coerce = coercer_of(clause.type, clause.name)
    rows = store.visible(session.database.clock.scn, None)
    if not same and any(values[at] is not None for _, values in rows):
        raise OraError(1439, "column to be modified must be empty to change datatype")
    for versions in store.rows.values():
        for version in versions:
            values = version.values
            if values is not None and at < len(values) and values[at] is not None:
                # An older version of another type is never read again: flashback cannot cross the statement.
                value = _converted(coerce, values[at], session, clause.type.name) if same else None
                version.values = (*values[:at], value, *values[at + 1 :])


def _converted(coerce: Callable[..., Any], value: Any, session: EngineSession, type_name: str) -> Any:
    number = type_name in ("NUMBER", "FLOAT")
    refused = OraError(
        1440 if number else 1441,
        "column to be modified must be empty to decrease precision or scale"
        if number
        else "cannot decrease column length because some value is too big",
    )
    try:
        fitted = coerce(value.rstrip(" ") if type_name == "CHAR" else value, session.nls)
    except OraError:
        raise refused from None
    if number and fitted != value:
        raise refused
    return fitted


def _rename_column(store: TableStore, old: str, new: str) -> None:
    table = store.definition
    column = table.column(old)
    if column is None:
        raise OraError(904, f'"{old}": invalid identifier')
    if table.column(new) is not None:
        raise OraError(957, "duplicate column name")
    column.name = new
    parts: list[Constraint | LogGroup] = [*table.constraints, *table.log_groups]
    for part in parts:
        part.columns = [new if name == old else name for name in part.columns]
    for index in store.indexes:
        index.columns = tuple(new if name == old else name for name in index.columns)
