"""The redo of a DDL statement, and its exclusive lock on a table."""

from __future__ import annotations

from collections.abc import Callable

from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import EXCLUSIVE, wait_for_table
from standin.engine.storage.storage import TableStore
from standin.interface import OraError
from standin.model import TableDef

USER_DDL, INTERNAL_DDL = "USER DDL (PlSql=0 RecDep=0)", "INTERNAL DDL (PlSql=0 RecDep=0)"
RECURSIVE_DDL = "INTERNAL DDL (PlSql=0 RecDep=1)"  # Oracle ran it itself


def write_ddl(
    session: EngineSession,
    text: str,
    table: TableDef | None = None,
    *,
    info: str = USER_DDL,
    name: str = "",
    then: Callable[[], None] = lambda: None,
) -> int:
    """Write the DDL's record in a transaction of its own, do what else belongs to it, and return the commit SCN."""
    transactions = session.database.transactions
    tx = transactions.of(session)
    record = transactions.ddl_record(tx, text, info)
    if table is not None:
        record.object_id, record.data_object_id = table.object_id, table.data_object_id
        record.object_version, record.owner, record.object_name = table.object_version, table.owner, name or table.name
    session.database.redo.write(record)
    then()
    session.database.plans.forget()  # a grant, like a new column, can change what a text compiles to
    return transactions.commit(tx)


def lock_exclusively(session: EngineSession, store: TableStore) -> None:
    """Wait until no other session has a lock on the table or one of its rows. Raise ORA-00054 after DDL_LOCK_TIMEOUT seconds,
    at once ORA-00069 after DISABLE TABLE LOCK, and ORA-14452 while a session has rows of a temporary table.
    """
    if store.is_in_use:
        raise OraError(14452, "attempt to create, alter or drop an index on temporary table already in use")
    if not store.definition.table_lock:
        raise OraError(69, f"cannot acquire lock -- table locks disabled for {store.definition.name}")
    wait_for_table(session, store, EXCLUSIVE, float(session.settings.get("DDL_LOCK_TIMEOUT", "0")))
