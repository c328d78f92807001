"""CREATE, DROP, TRUNCATE, RENAME and COMMENT of tables, and the recycle bin."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from standin.engine.ddl.columns import archive_state, chain_columns, column_of, period, period_column, with_virtual
from standin.engine.ddl.constraints import add_constraint, keys_first
from standin.engine.ddl.objects import drop_triggers
from standin.engine.ddl.partitions import numbered, partition_of
from standin.engine.ddl.redo import INTERNAL_DDL, USER_DDL, lock_exclusively, write_ddl
from standin.engine.ddl.supplemental_logging import add_log_groups, log_groups
from standin.engine.ddl.user_types import resolved, storage_columns
from standin.engine.expressions.frame import Frame
from standin.engine.queries.query import QueryPlan, compile_query
from standin.engine.sessions.names import require_mutable, table_named
from standin.engine.sessions.privileges import holds, require, require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.definitions import (
    ColumnClause,
    ConstraintClause,
    column_clause,
    starts_constraint,
    table_constraint,
)
from standin.engine.text.table_clauses import TableClauses, table_clauses
from standin.engine.text.tokens import Cursor
from standin.engine.types.datatypes import type_of_info
from standin.interface import ColumnInfo, OraError
from standin.model import (
    ROOT,
    UNRESOLVED,
    IndexOrganization,
    LogGroup,
    Partition,
    Partitioning,
    SchemaObject,
    SqlType,
    TableDef,
)


def create_table(session: EngineSession, cursor: Cursor, *, info: str = USER_DDL) -> None:
    words = cursor.text[: cursor.next.start].upper().split()
    temporary, chained = "TEMPORARY" in words, "BLOCKCHAIN" in words
    immutable = chained or "IMMUTABLE" in words
    owner, name = _new_name(session, cursor, "CREATE")
    of_type = _object_columns(session, cursor)
    columns, clauses, periods, logging = _columns_and_constraints(cursor, named=bool(of_type))
    if of_type:
        columns = _of_attributes(of_type, columns)
    found = table_clauses(cursor, immutable=immutable, chained=chained)
    _require_possible(session, found, clauses, temporary=temporary, immutable=immutable)
    query = None if found.query is None else compile_query(session, found.query.strip())
    if query is not None:
        columns = _queried_columns(columns, query.columns)
    names = [c.name for c in columns]
    if len(set(names)) < len(names):
        raise OraError(957, "duplicate column name")
    database = session.database
    object_id = database.next_object_id()
    now = database.ddl_time()
    table = TableDef(
        owner, name, session.container, object_id, object_id, 1,
        [archive_state(1)] if found.archival else [], created=now, last_ddl=now, temporary=temporary,
        keeps_rows=found.keeps_rows, immutable=immutable, idle_days=found.idle_days, chains={} if chained else None,
        compress=found.storage.compress, logging=found.storage.logging, row_movement=found.storage.row_movement,
        lobs=found.storage.lobs,
    )  # fmt: skip
    _add_columns(session, table, columns, periods)
    table.nested = found.nested
    table.is_object_table = bool(of_type)
    if not of_type:
        _require_storage(table)
    if found.index_organized:
        _organize_by_index(session, table, clauses, overflow=found.overflow)
    if found.cluster is not None:
        _join_cluster(session, table, found.cluster)
    rows = [] if query is None else _queried_rows(session, query)
    store = TableStore(table, database.clock.scn)
    store.pad = (None,) * len(table.columns)
    database.tables.add(store)
    try:
        for clause in keys_first(clauses):
            add_constraint(session, store, clause)
        add_log_groups(table, logging)
        if found.partitioning is not None:
            _partition(session, store, found.partitioning)
    except OraError:
        database.tables.remove(store)
        raise
    store.created_scn = store.structure_scn = write_ddl(session, cursor.text, table, info=info)
    if query is not None:
        _insert_queried(session, store, rows)


def _add_columns(session: EngineSession, table: TableDef, columns: Sequence[ColumnClause], periods: Sequence[str]) -> None:
    for column in columns:
        table.columns.append(column_of(session, table, column))
        table.columns += storage_columns(table, table.columns[-1])
    table.columns += [period_column(name) for name in periods]
    if table.immutable:
        table.columns += chain_columns(table.next_segment_id)


def _require_possible(
    session: EngineSession, found: TableClauses, clauses: list[ConstraintClause], *, temporary: bool, immutable: bool
) -> None:
    if immutable and session.container == ROOT:
        raise OraError(5729, "blockchain or immutable table cannot be created in root container")
    if temporary:
        _require_temporary(found, clauses)


def _require_temporary(found: TableClauses, clauses: list[ConstraintClause]) -> None:
    if found.partitioning or found.index_organized or found.cluster or found.nested:
        raise OraError(14451, "unsupported feature with temporary table")
    if any(clause.kind == "R" for clause in clauses):
        raise OraError(14455, "attempt to create referential integrity constraint on temporary table")


def _object_columns(session: EngineSession, cursor: Cursor) -> tuple[tuple[str, SqlType], ...]:
    """Read OF type, and return the columns of such an object table."""
    if not cursor.accept("OF"):
        return ()
    owner, name = cursor.qualified()
    is_xml = name == "XMLTYPE"
    kind = SqlType(name, 2000) if is_xml else resolved(session, SqlType(name, owner=owner or "", kind=UNRESOLVED))
    return kind.parts or (("SYS_NC_ROWINFO$", kind),)


def _of_attributes(kinds: tuple[tuple[str, SqlType], ...], declared: list[ColumnClause]) -> list[ColumnClause]:
    """Return the columns of an object table, with what the statement declares for some of them."""
    known = {clause.name: clause for clause in declared}
    found = [known.get(name, ColumnClause(name, None)) for name, _ in kinds]
    for clause, (_, kind) in zip(found, kinds, strict=True):
        clause.type = kind
    return found


def _require_storage(table: TableDef) -> None:
    for column in table.columns:
        if column.type.kind == "TABLE" and not column.part_of and column.name not in table.nested:
            raise OraError(22913, f"must specify table name for nested table column or attribute: {column.name}")


def _columns_and_constraints(
    cursor: Cursor, *, named: bool
) -> tuple[list[ColumnClause], list[ConstraintClause], list[str], list[LogGroup]]:
    """Read the list of columns, which CREATE TABLE .. AS SELECT may lack: columns, constraints, names of periods, and
    supplemental logging. With `named`, columns have no types."""
    columns: list[ColumnClause] = []
    clauses: list[ConstraintClause] = []
    periods: list[str] = []
    logging: list[LogGroup] = []
    if not cursor.accept("("):
        return columns, clauses, periods, logging
    while True:
        if cursor.accept("PERIOD", "FOR"):
            periods.append(period(cursor))
        elif cursor.accept("SUPPLEMENTAL", "LOG"):
            logging += log_groups(cursor)
        elif starts_constraint(cursor):
            clauses.append(table_constraint(cursor))
        else:
            columns.append(column_clause(cursor, modifying=named or _has_query(cursor)))
            clauses += columns[-1].constraints
        if not cursor.accept(","):
            cursor.expect(")")
            return columns, clauses, periods, logging


def _organize_by_index(session: EngineSession, table: TableDef, clauses: list[ConstraintClause], *, overflow: bool) -> None:
    if not any(clause.kind == "P" for clause in clauses):
        raise OraError(25175, "no PRIMARY KEY constraint found")
    database = session.database
    table.iot = IndexOrganization(f"SYS_IOT_TOP_{table.object_id}", database.next_object_id())
    if overflow:
        table.iot.overflow, table.iot.overflow_id = f"SYS_IOT_OVER_{table.object_id}", database.next_object_id()


def _has_query(cursor: Cursor) -> bool:
    """Return whether the column list belongs to CREATE TABLE .. AS SELECT, where columns have no types."""
    return cursor.next.kind in ("word", "quoted") and cursor.ahead(1).value in (",", ")")


def _queried_columns(declared: list[ColumnClause], selected: Sequence[ColumnInfo]) -> list[ColumnClause]:
    """Return the columns of a query, under the names that were declared. NOT NULL of a plain column is taken over."""
    if declared and len(declared) != len(selected):
        raise OraError(1730, "invalid number of column names specified")
    named = declared or [ColumnClause(info.name, None) for info in selected]
    for clause, info in zip(named, selected, strict=True):
        clause.type = type_of_info(info)
        clause.nullable = info.nullable and clause.nullable is not False
    return named


def _queried_rows(session: EngineSession, query: QueryPlan) -> list[Row]:
    batches = query.open(session, Frame(session, ()))
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def _insert_queried(session: EngineSession, store: TableStore, rows: list[Row]) -> None:
    frame, database, store = Frame(session, ()), session.database, store.of_session(session.number)
    tx = database.transactions.of(session)
    own = (None,) * sum(c.kind == "chain" for c in store.definition.columns)
    for row in rows:
        coerced = (None if v is None else c(v, session.nls) for c, v in zip(store.layout.coercers, row + own, strict=True))
        values = with_virtual(store, tuple(coerced), frame)
        database.rows.insert(tx, store, values, partition_of(session, store, values))
    session.commit()


def _join_cluster(session: EngineSession, table: TableDef, name: str) -> None:
    """Put the table into a cluster: its rows are in the cluster's segment."""
    found = session.database.state.objects.get((session.container, table.owner, name))
    if found is None or found.kind != "CLUSTER":
        raise OraError(943, "cluster does not exist")
    table.cluster, table.data_object_id = name, found.object_id


def _partition(session: EngineSession, store: TableStore, how: Partitioning) -> None:
    table = store.definition
    names = [*how.columns, *(how.sub.columns if how.sub else [])]
    for column in names:
        if table.column(column) is None:
            raise OraError(904, f'"{column}": invalid identifier')
    if how.reference is not None:
        foreign = next((c for c in table.constraints if c.name == how.reference and c.kind == "R"), None)
        if foreign is None:
            raise OraError(14652, "reference partitioning foreign key is not supported")
        parent = session.database.tables.parent_of(table, foreign).definition.partitioning
        if parent is None:
            raise OraError(14653, "parent table of a reference-partitioned table must be partitioned")
        how.partitions = how.partitions or [Partition(leaf.name, 0, 0) for leaf in parent.leaves]
        for partition, leaf in zip(how.partitions, parent.leaves, strict=True):
            partition.parent = leaf.name
    for partition in how.partitions:
        numbered(session, partition, how)
    table.partitioning = how


def _new_name(session: EngineSession, cursor: Cursor, verb: str) -> tuple[str, str]:
    qualifier, name = cursor.qualified()
    owner = qualifier or session.schema
    if owner != session.user:
        require(session.account, f"{verb} ANY TABLE")
    elif not holds(session.account, f"{verb} TABLE"):
        raise OraError(1031, "insufficient privileges")
    if owner not in session.database.state.users:
        raise OraError(1918, f"user '{owner}' does not exist")
    require_new_name(session, owner, name)
    return owner, name


def require_new_name(session: EngineSession, owner: str, name: str) -> None:
    """Raise ORA-00955 if a table, sequence, view or another object of that name space has the name."""
    database, key = session.database, (session.container, owner, name)
    if key in database.tables.stores or key in database.sequences or key in database.state.objects:
        raise OraError(955, "name is already used by an existing object")


def _existing(session: EngineSession, cursor: Cursor, privilege: str) -> TableStore:
    owner, name = cursor.qualified()
    store = table_named(session, owner or session.schema, name)
    require_on(session.account, privilege, store.definition)
    return store


def drop_table(session: EngineSession, cursor: Cursor) -> None:
    store = _existing(session, cursor, "DROP")
    cascade = cursor.accept("CASCADE", "CONSTRAINTS") or cursor.accept("CASCADE", "CONSTRAINT")
    purge = cursor.accept("PURGE")
    cursor.end()
    lock_exclusively(session, store)
    database, table = session.database, store.definition
    if table.immutable and table.idle_days != 0 and any(True for _ in store.visible(database.clock.scn, None)):
        raise OraError(5723, f"drop blockchain or immutable table {table.name} not allowed")
    children = [(child, c) for child, c in database.tables.children_of(store) if child is not store]
    if children and not cascade:
        raise OraError(2449, "unique/primary keys in table referenced by foreign keys")
    for child, constraint in children:
        child.definition.constraints.remove(constraint)
        child.indexes = [i for i in child.indexes if i.constraint != constraint.name]
        database.tables.refresh(child)
    database.tables.remove(store)
    database.state.policies = [p for p in database.state.policies if (p.owner, p.table) != (table.owner, table.name)]
    for column in table.columns:
        if column.identity is not None:
            database.sequences.pop((table.con_id, table.owner, f"ISEQ$$_{table.object_id}"), None)
    drop_triggers(session, table)
    if purge:
        write_ddl(session, cursor.text, table)
        return
    recycled = copy.deepcopy(table)
    recycled.last_ddl = database.ddl_time()
    database.state.dropped[table.object_id] = recycled
    database.tables.recycled[table.object_id] = store
    bin_name = table.recycled_name
    write_ddl(session, f'ALTER TABLE "{table.owner}"."{table.name}" RENAME TO "{bin_name}"', table, info=INTERNAL_DDL)
    write_ddl(session, f'{cursor.text.strip()} AS "{bin_name}"', table)


def take_back_table(session: EngineSession, cursor: Cursor, owner: str | None, name: str) -> None:
    """Run TO BEFORE DROP [RENAME TO n] for the newest table that was dropped under the name, or that of the bin.

    Its constraints, indexes and triggers keep the names that they have in the recycle bin; foreign keys are lost.
    """
    new = cursor.name() if cursor.accept("RENAME", "TO") else None
    cursor.end()
    database, owner = session.database, owner or session.schema
    found = [t for t in database.state.dropped.values() if t.owner == owner and name in (t.name, t.recycled_name)]
    if not found or found[-1].object_id not in database.tables.recycled:
        raise OraError(38305, "object not in RECYCLE BIN")
    recycled = database.state.dropped[found[-1].object_id]
    require_new_name(session, owner, new or recycled.name)
    store = database.tables.recycled.pop(recycled.object_id)
    del database.state.dropped[recycled.object_id]
    table, bin_name = store.definition, recycled.recycled_name
    table.name, table.last_ddl = new or recycled.name, database.ddl_time()
    table.constraints = [c for c in table.constraints if c.kind != "R"]
    for number, constraint in enumerate(table.constraints):
        recycled_as = f"{bin_name[: -4 - len(str(number))]}{number}==$0"
        for index in (i for i in store.indexes if i.constraint == constraint.name):
            index.name = index.constraint = recycled_as
        constraint.name = recycled_as
    database.tables.add(store)
    if database.options.restore_redo == "rename":
        text = f'ALTER TABLE "{owner}"."{bin_name}" RENAME TO "{table.name}"'
        write_ddl(session, text, table, info=INTERNAL_DDL, name=bin_name)
    write_ddl(session, cursor.text, table, name=bin_name if database.options.restore_redo == "bin" else "")


def purge_table(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    dropped = session.database.state.dropped
    for object_id, table in list(dropped.items()):
        if table.owner == (owner or session.schema) and name in (table.name, table.recycled_name):
            del dropped[object_id]
            session.database.tables.recycled.pop(object_id, None)
            write_ddl(session, cursor.text, table)
            return
    raise OraError(38307, "object not in RECYCLE BIN")


def purge_recyclebin(session: EngineSession, cursor: Cursor) -> None:
    dropped = session.database.state.dropped
    for object_id in [i for i, t in dropped.items() if t.owner == session.schema and t.con_id == session.container]:
        table = dropped.pop(object_id)
        session.database.tables.recycled.pop(object_id, None)
        write_ddl(session, f'purge table "{table.recycled_name}"', table)


def truncate_table(session: EngineSession, cursor: Cursor) -> None:
    """Remove all rows. With CASCADE, also those of tables that refer to it ON DELETE CASCADE, and of those that refer to them:
    their redo is the statement of the first table alone."""
    store = _existing(session, cursor, "DROP")
    if not cursor.accept("DROP", "STORAGE"):
        cursor.accept("REUSE", "STORAGE")
    cascade = cursor.accept("CASCADE")
    cursor.end()
    require_mutable(store.definition)
    if store.definition.temporary:
        store.of_session(session.number).remove_rows()
        write_ddl(session, cursor.text, store.definition)
        return
    stores = _with_children(session, store) if cascade else [store]
    if not cascade and any(child is not store for child, _ in session.database.tables.children_of(store)):
        raise OraError(2266, "unique/primary keys in table referenced by enabled foreign keys")
    for one in stores:
        lock_exclusively(session, one)
    text_table = copy.copy(store.definition)
    for one in stores:
        _remove_rows(session, one)
    scn = write_ddl(session, cursor.text, text_table)
    for one in stores:
        one.structure_scn = scn


def truncate_cluster(session: EngineSession, cursor: Cursor) -> None:
    """Remove all rows of the tables in an index cluster; their redo is the statement of the cluster alone."""
    found, stores = cluster_named(session, cursor)
    while cursor.accept("DROP", "STORAGE") or cursor.accept("REUSE", "STORAGE"):
        pass
    cursor.end()
    if "HASHKEYS" in found.text.upper():
        raise OraError(3293, "Cluster to be truncated is a HASH CLUSTER")
    for store in stores:
        lock_exclusively(session, store)
    segment = session.database.next_object_id()
    for store in stores:
        _remove_rows(session, store)
        store.definition.data_object_id = segment
    scn = write_ddl(session, cursor.text)
    for store in stores:
        store.structure_scn = scn


def drop_cluster(session: EngineSession, cursor: Cursor) -> None:
    """Drop a cluster, INCLUDING TABLES its tables too, which do not go to the recycle bin."""
    found, stores = cluster_named(session, cursor)
    if stores and not cursor.accept("INCLUDING", "TABLES"):
        raise OraError(951, "cluster not empty")
    cursor.accept("CASCADE", "CONSTRAINTS")
    cursor.end()
    for store in stores:
        lock_exclusively(session, store)
        session.database.tables.remove(store)
    objects = session.database.state.objects
    objects.pop(next(key for key, one in objects.items() if one is found))
    write_ddl(session, cursor.text)


def cluster_named(session: EngineSession, cursor: Cursor) -> tuple[SchemaObject, list[TableStore]]:
    """Return the cluster that comes next in the text, and its tables."""
    owner, name = cursor.qualified()
    found = session.database.state.objects.get((session.container, owner or session.schema, name))
    if found is None or found.kind != "CLUSTER":
        raise OraError(943, "cluster does not exist")
    stores = session.database.tables.stores.values()
    return found, [s for s in stores if (s.definition.owner, s.definition.cluster) == (found.owner, name)]


def _with_children(session: EngineSession, store: TableStore) -> list[TableStore]:
    """Return the table and those that TRUNCATE .. CASCADE reaches from it."""
    found = [store]
    for one in found:
        for child, key in session.database.tables.children_of(one):
            if key.on_delete != "CASCADE":
                text = "unable to truncate table referenced by enabled foreign keys that are not ON DELETE CASCADE"
                raise OraError(14705, text)
            if all(child is not known for known in found):
                found.append(child)
    return found


def _remove_rows(session: EngineSession, store: TableStore) -> None:
    store.remove_rows()
    table = store.definition
    table.data_object_id = session.database.next_object_id()
    for leaf in table.partitioning.leaves if table.partitioning else ():
        leaf.data_object_id = session.database.next_object_id()
    table.last_ddl = session.database.ddl_time()


def rename_table(session: EngineSession, cursor: Cursor) -> None:
    old = cursor.name()
    cursor.expect("TO")
    rename_to(session, table_named(session, session.schema, old), cursor)


def rename_to(session: EngineSession, store: TableStore, cursor: Cursor) -> None:
    new = cursor.name()
    cursor.end()
    table, database = store.definition, session.database
    require_new_name(session, table.owner, new)
    lock_exclusively(session, store)
    old = table.name
    database.tables.remove(store)
    table.name, table.last_ddl = new, database.ddl_time()
    database.tables.add(store)
    write_ddl(session, cursor.text, table, name=old)


def comment(session: EngineSession, cursor: Cursor) -> None:
    """Keep the COMMENT of a table or column, and write it to the redo."""
    object_type = " ".join([cursor.take().value, *([cursor.take().value] if cursor.is_next("VIEW") else [])])
    owner, name = cursor.qualified()
    column = None
    if object_type == "COLUMN":
        column = cursor.name() if cursor.accept(".") else None
        owner, name, column = (owner, name, column) if column is not None else (None, owner or name, name)
    key = (session.container, owner or session.schema, name)
    if session.database.state.objects.get(key) is not None and key not in session.database.tables.stores:
        write_ddl(session, cursor.text)
        return
    store = table_named(session, owner or session.schema, name)
    if column is not None and store.definition.column(column) is None:
        raise OraError(904, f'"{column}": invalid identifier')
    cursor.expect("IS")
    store.definition.comments[column or ""] = cursor.take().value
    write_ddl(session, cursor.text, store.definition)
