"""FLASHBACK TABLE .. TO SCN or TIMESTAMP: rows that have changed since are deleted, and inserted as they were, with new ROWIDs.

Oracle notes their ROWIDs in a temporary table SYS_TEMP_FBT, which stays in the schema. Where the DDL's own row stands in the
redo is not published: the option `flashback_redo` says where.
"""

from __future__ import annotations

from standin.engine.ddl.partitions import partition_of
from standin.engine.ddl.redo import RECURSIVE_DDL, lock_exclusively, write_ddl
from standin.engine.ddl.tables import create_table, take_back_table
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Frame
from standin.engine.queries.relations import readable_scn
from standin.engine.sessions.names import require_mutable, table_named
from standin.engine.sessions.privileges import holds, require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import parse_as_written
from standin.engine.text.tokens import Cursor
from standin.interface import OraError

NOTES = "SYS_TEMP_FBT"
_COLUMNS = "schema VARCHAR2(128), object_name VARCHAR2(128), object# NUMBER, rid ROWID, action CHAR(1)"


def flashback_table(session: EngineSession, cursor: Cursor) -> None:
    """Run FLASHBACK TABLE t [, ..] TO SCN n or TO TIMESTAMP at, or t TO BEFORE DROP."""
    named = [cursor.qualified()]
    while cursor.accept(","):
        named.append(cursor.qualified())
    if len(named) == 1 and cursor.accept("TO", "BEFORE", "DROP"):
        take_back_table(session, cursor, *named[0])
        return
    is_time = cursor.accept("TO", "TIMESTAMP")
    if not is_time and not cursor.accept("TO", "SCN"):
        raise OraError(3001, "unimplemented feature: FLASHBACK TABLE to a restore point")
    value = cursor.text[cursor.next.start :].strip()
    if value.upper().endswith(" ENABLE TRIGGERS"):
        raise OraError(3001, "unimplemented feature: FLASHBACK TABLE .. ENABLE TRIGGERS")
    if value.upper().endswith(" DISABLE TRIGGERS"):
        value = value.rsplit(None, 2)[0]
    stores = [_rewindable(session, owner, name) for owner, name in named]
    asked = f"timestamp_to_scn({value})" if is_time else value
    scn = (
        Compiler(EMPTY_SCOPE).compile(parse_as_written(f"select {asked} from dual").expressions[0]).run((), Frame(session, ()))
    )
    for store in stores:
        readable_scn(session, store, scn)
        lock_exclusively(session, store)
    if (session.container, session.schema, NOTES) not in session.database.tables.stores:
        _create_notes(session)
    table, place = stores[0].definition, session.database.options.flashback_redo
    if place == "before":
        write_ddl(session, cursor.text, table)
    _rewind(session, stores, int(scn))
    if place == "after":
        write_ddl(session, cursor.text, table)  # in the transaction of the rows
    else:
        session.commit()


def _create_notes(session: EngineSession) -> None:
    cursor = Cursor(f'CREATE GLOBAL TEMPORARY TABLE "{session.schema}".{NOTES} ({_COLUMNS}) ON COMMIT PRESERVE ROWS')
    cursor.expect("CREATE", "GLOBAL", "TEMPORARY", "TABLE")
    create_table(session, cursor, info=RECURSIVE_DDL)


def _rewindable(session: EngineSession, owner: str | None, name: str) -> TableStore:
    store = table_named(session, owner or session.schema, name)
    table = store.definition
    if not holds(session.account, "FLASHBACK ANY TABLE"):
        require_on(session.account, "FLASHBACK", table)
    for privilege in ("SELECT", "INSERT", "DELETE", "ALTER"):
        require_on(session.account, privilege, table)
    require_mutable(table)
    if table.temporary:
        raise OraError(8193, "Flashback Table operation is not allowed on temporary tables")
    if table.cluster or table.is_object_table:
        raise OraError(3001, "unimplemented feature: FLASHBACK TABLE of such a table")
    if not table.row_movement:
        raise OraError(8189, "cannot flashback the table because row movement is not enabled")
    return store


def _rewind(session: EngineSession, stores: list[TableStore], scn: int) -> None:
    """Write the rows of all tables. Keys are checked at the end; an error takes everything back."""
    database = session.database
    tx = database.transactions.of(session)
    inserted = list[tuple[TableStore, int, Row]]()
    try:
        for store in stores:
            current, then = (dict(store.fixed(at, None)) for at in (database.clock.scn, scn))
            changed = [row for row in sorted(current.keys() | then.keys()) if store.last_scn(row) > scn]
            for row in (row for row in changed if row in current):
                stored = store.stored(row, database.clock.scn, None)
                assert stored is not None
                database.rows.delete(tx, store, row, stored)
                database.keys.defer_children(tx, store, current[row])
            for row in (row for row in changed if row in then):
                values = store.layout.guarded(then[row], store.layout.guard_bits)
                inserted.append((store, database.rows.insert(tx, store, values, partition_of(session, store, values)), values))
        for store, row, values in inserted:
            database.keys.require_unique(tx, store, row, values, store.indexes)
            database.keys.require_parents(tx, store, values, None)
        database.keys.require_deferred(tx)
    except OraError as error:
        session.rollback()
        raise OraError(2091, "transaction rolled back", more=(str(error),)) from error
