"""Columns of tables: added, dropped and unused ones, with those that Oracle adds itself.

A nullable ADD .. DEFAULT writes the default into the dictionary only. A guard column, a bitmap that is NULL in older rows,
says which of these columns a row stores itself. The first such ADD puts it in front of its column. A default that differs by
row (NEXTVAL, an identity column) is written into the rows.
"""

from __future__ import annotations

from typing import Any

from standin.engine.ddl.sequences import sequence_options
from standin.engine.ddl.user_types import resolved, storage_columns
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Frame, NotCompilable, Scope
from standin.engine.queries.access import table_scope
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.engine.text.definitions import ColumnClause
from standin.engine.text.parse import parse_as_written
from standin.engine.text.tokens import Cursor
from standin.engine.types.datatypes import column_type, info_of_column, type_of_info
from standin.engine.types.values import coercer_of, encoder_of, is_lob
from standin.interface import OraError
from standin.model import SqlType, TableColumn, TableDef

GUARD_BYTES = 513  # of the guard column's RAW, as published of 26ai

ARCHIVE_STATE = "ORA_ARCHIVE_STATE"
_NUMBER = SqlType("NUMBER")
_ARCHIVE_TYPE = SqlType("VARCHAR2", 4000, 4000)


def column_of(session: EngineSession, table: TableDef, clause: ColumnClause) -> TableColumn:
    """Return the column that a clause declares, as the next one of the table; create the sequence of an identity column."""
    if clause.type is None:
        clause.type = _inferred(session, table, clause)
    segment_id = 0 if clause.virtual is not None else table.next_segment_id
    kind = column_type(resolved(session, clause.type), extended=session.database.options.extended_strings)
    column = TableColumn(clause.name, kind, segment_id, clause.nullable is not False, clause.default)
    column.hidden, column.virtual, column.identity = bool(clause.hidden), clause.virtual, clause.identity
    column.default_on_null = clause.default_on_null
    column.rank = max((c.rank for c in table.columns), default=0)
    if clause.identity is not None:
        sequence = f"ISEQ$$_{table.object_id}"
        session.database.sequences[table.con_id, table.owner, sequence] = sequence_options(clause.sequence)
        column.default_on_null = clause.identity == "BY DEFAULT ON NULL"
        column.default = f'"{table.owner}"."{sequence}".nextval'
    return column


def _inferred(session: EngineSession, table: TableDef, clause: ColumnClause) -> SqlType:
    """Return the type of a virtual column's expression."""
    if clause.virtual is None:
        raise OraError(902, "invalid datatype")
    scope = Scope({c.name: (i, info_of_column(c)) for i, c in enumerate(table.columns)})
    try:
        info = Compiler(scope).compile(parse_as_written(f"select {clause.virtual} from dual").expressions[0]).info
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in a virtual column") from None
    return type_of_info(info)


def archive_state(segment_id: int) -> TableColumn:
    return TableColumn(ARCHIVE_STATE, _ARCHIVE_TYPE, segment_id, default="'0'", hidden=True, kind="archive")


def chain_columns(segment_id: int) -> list[TableColumn]:
    """Return the columns that Oracle adds to an immutable table: its rows have the two that have a default here."""
    kinds = {
        "INST_ID": _NUMBER, "CHAIN_ID": _NUMBER, "SEQ_NUM": _NUMBER,
        "CREATION_TIME": SqlType("TIMESTAMP WITH TIME ZONE", 13, scale=6), "USER_NUMBER": _NUMBER, "HASH": SqlType("RAW", 2000),
        "SIGNATURE": SqlType("RAW", 2000), "SIGNATURE_ALG": _NUMBER, "SIGNATURE_CERT": SqlType("RAW", 16),
        "SPARE": SqlType("RAW", 2000),
    }  # fmt: skip
    values = {"CREATION_TIME": "SYSTIMESTAMP", "USER_NUMBER": "107"}
    return [
        TableColumn(f"ORABCTAB_{name}$", kind, number, default=values.get(name), hidden=True, kind="chain")
        for number, (name, kind) in enumerate(kinds.items(), segment_id)
    ]


def period(cursor: Cursor) -> str:
    """Read the rest of PERIOD FOR name (start, end). Columns of Oracle's own are not modelled."""
    name = cursor.name()
    cursor.names()
    return name


def period_column(name: str) -> TableColumn:
    """Return the hidden virtual column of a valid-time dimension."""
    return TableColumn(name, SqlType("NUMBER"), 0, hidden=True, kind="period", virtual="null")


def append_statistics(session: EngineSession, store: TableStore, name: str) -> None:
    """Add the hidden virtual column of extended statistics."""
    column = TableColumn(name, SqlType("NUMBER"), 0, hidden=True, kind="statistics", virtual="null")
    append_column(session, store, column, None)


def differs_by_row(clause: ColumnClause) -> bool:
    """Return whether each row gets a value of its own."""
    default = (clause.default or "").upper()
    return clause.identity is not None or ".NEXTVAL" in default or "SYS_GUID" in default


def fill_rows(session: EngineSession, store: TableStore, column: TableColumn) -> None:
    """Write the default of a new column into each row, by an UPDATE in the transaction of the DDL or without redo of rows."""
    database, at = session.database, store.layout.position[column.name]
    expression = Compiler(EMPTY_SCOPE).compile(parse_as_written(f"select {column.default} from dual").expressions[0])
    coerce, frame = coercer_of(column.type, column.name), Frame(session, ())
    for row, values in list(store.visible(database.clock.scn, None)):
        new = (*values[:at], coerce(expression.run((), frame), session.nls), *values[at + 1 :])
        if database.options.logs_filled_columns:
            old = store.stored(row, database.clock.scn, None)
            assert old is not None
            database.rows.update(database.transactions.of(session), store, row, old, new, frozenset({at}))
        else:
            store.rows[row][-1].values = new


def add_column(session: EngineSession, store: TableStore, clause: ColumnClause) -> TableColumn | None:
    """Add the column to the dictionary. Existing rows show its default without being rewritten. Return the column if
    its default differs by row, and must be written into the rows."""
    table = store.definition
    if table.column(clause.name) is not None:
        raise OraError(1430, "column being added already exists in table")
    has_rows = any(True for _ in store.visible(session.database.clock.scn, None))
    if clause.nullable is False and clause.default is None and clause.identity is None and has_rows:
        raise OraError(1758, "table must be empty to add mandatory (NOT NULL) column")
    shown = _default_value(session, store, clause)
    if shown is not None and clause.nullable is not False:
        _add_guard(session, store)
    column = column_of(session, table, clause)
    append_column(session, store, column, shown)
    for part in storage_columns(table, column):
        append_column(session, store, part, None)
    if column.virtual is not None:
        _compute(session, store)
    return column if differs_by_row(clause) else None


def append_column(session: EngineSession, store: TableStore, column: TableColumn, shown: Any) -> None:
    table = store.definition
    if shown is not None:
        column.stored_default = encoder_of(column.type, store.database_zone)(shown)
        if column.nullable and any(c.kind == "guard" for c in table.columns):
            column.guard_bit = 1 + max((c.guard_bit for c in table.columns if c.guard_bit is not None), default=-1)
    table.columns.append(column)
    store.pad = (*store.pad, shown)
    session.database.tables.refresh(store)


def _add_guard(session: EngineSession, store: TableStore) -> None:
    """Add the guard column unless there is one. A table with a LOB has none: Oracle writes the default into its rows."""
    table = store.definition
    options = session.database.options
    if not options.guards_added_columns or any(is_lob(c.type) for c in table.columns):
        return
    if all(c.kind != "guard" for c in table.columns):
        name, type_ = _guard_name(len(table.columns)), SqlType("RAW", GUARD_BYTES)
        append_column(session, store, TableColumn(name, type_, table.next_segment_id, hidden=True, kind="guard"), None)


def _guard_name(place: int) -> str:
    return f"SYS_NC{place + 1:05d}$"


def rename_guard(store: TableStore) -> None:
    """Give the guard the name of its place, which DROP COLUMN may have changed."""
    for place, column in enumerate(store.definition.columns):
        if column.kind == "guard":
            column.name = _guard_name(place)
    store.refresh(frozenset())


def add_archive_state(session: EngineSession, store: TableStore) -> None:
    """ALTER TABLE .. ROW ARCHIVAL: rows whose state is not 0 are archived, and not shown by default."""
    if store.definition.column(ARCHIVE_STATE) is not None:
        raise OraError(38396, "table is already enabled for row archival")
    _add_guard(session, store)
    append_column(session, store, archive_state(store.definition.next_segment_id), "0")


def _default_value(session: EngineSession, store: TableStore, clause: ColumnClause) -> Any:
    if clause.default is None or differs_by_row(clause):
        return None
    assert clause.type is not None
    expression = parse_as_written(f"select {clause.default} from dual").expressions[0]
    value = Compiler(EMPTY_SCOPE).compile(expression).run((), Frame(session, ()))
    where = f'"{store.definition.owner}"."{store.definition.name}"."{clause.name}"'
    return None if value is None else coercer_of(clause.type, where)(value, session.nls)


def _compute(session: EngineSession, store: TableStore) -> None:
    """Give the existing rows the values of their virtual columns, which no redo contains."""
    frame = Frame(session, ())
    for versions in store.rows.values():
        for version in versions:
            if version.values is not None:
                version.values = with_virtual(store, store.padded(version.values), frame)


def with_virtual(store: TableStore, values: tuple[Any, ...], frame: Frame) -> tuple[Any, ...]:
    """Return the row with its virtual columns computed."""
    if not store.layout.virtual:
        return values
    compiler, row = Compiler(table_scope(store, None)), list(values)
    for at, text in store.layout.virtual:
        expression = parse_as_written(f"select {text} from dual").expressions[0]
        value = compiler.compile(expression).run(values, frame)
        row[at] = None if value is None else store.layout.coercers[at](value, frame.nls)
    return tuple(row)


def set_unused(session: EngineSession, store: TableStore, cursor: Cursor) -> None:
    """Hide columns for good: they keep their data and their place in the segment under a name that Oracle generates."""
    names = [cursor.name()] if cursor.accept("COLUMN") else cursor.names()
    cascade = cursor.accept("CASCADE", "CONSTRAINTS")
    cursor.accept("ONLINE")
    at = session.database.clock.second()
    for name in names:
        column = _release(store, name, cascade=cascade)
        if not column.segment_id:  # a virtual column has nothing to keep
            drop_column(store, name, cascade=cascade)
            continue
        number = store.definition.columns.index(column) + 1
        column.name = f"SYS_C{number:05d}_{at:%y%m%d%H:%M:%S}$"
        column.hidden, column.kind, column.nullable = True, "unused", True
        column.default = column.identity = None
    session.database.tables.refresh(store)


def drop_unused(store: TableStore) -> None:
    for column in [c for c in store.definition.columns if c.kind == "unused"]:
        drop_column(store, column.name, cascade=False)


def drop_needless_guard(store: TableStore) -> None:
    columns = store.definition.columns
    guard = next((c for c in columns if c.kind == "guard"), None)
    if guard is not None and all(c.guard_bit is None for c in columns):
        guard.kind = "unused"
        drop_column(store, guard.name, cascade=False)


def _release(store: TableStore, name: str, *, cascade: bool) -> TableColumn:
    """Remove the column from all constraints and indexes."""
    table = store.definition
    column = table.column(name)
    if column is None:
        raise OraError(904, f'"{name}": invalid identifier')
    if column.kind == "guard":
        raise OraError(14148, "DML and DDL operations are not directly allowed on the guard-column.")
    if len(table.columns) == 1:
        raise OraError(12983, "cannot drop all columns in a table")
    for constraint in [c for c in table.constraints if name in c.columns]:
        if len(constraint.columns) > 1 and not cascade:
            raise OraError(12991, "column is referenced in a multi-column constraint")
        table.constraints.remove(constraint)
        store.indexes = [i for i in store.indexes if i.name != constraint.name]
    store.indexes = [i for i in store.indexes if name not in i.columns]
    return column


def drop_column(store: TableStore, name: str, *, cascade: bool) -> None:
    """Drop the column from every row. Like Oracle, renumber the segment's columns."""
    table = store.definition
    for part in [c.name for c in table.columns if c.part_of == name]:
        drop_column(store, part, cascade=cascade)
    column = _release(store, name, cascade=cascade)
    at = table.columns.index(column)
    table.columns.remove(column)
    stored = sorted((c for c in table.columns if c.segment_id), key=lambda c: c.segment_id)
    for number, rest in enumerate(stored, 1):
        rest.segment_id = number
    store.pad = store.pad[:at] + store.pad[at + 1 :]
    for versions in store.rows.values():
        for version in versions:
            if version.values is not None:
                version.values = version.values[:at] + version.values[at + 1 :]
    store.refresh(frozenset())
