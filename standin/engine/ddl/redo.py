"""The redo of a DDL statement, and its exclusive lock on a table."""

from __future__ import annotations

import re
from collections.abc import Callable

from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import EXCLUSIVE, wait_for_table
from standin.engine.storage.storage import TableStore
from standin.interface import OraError
from standin.model import TableDef

USER_DDL, INTERNAL_DDL = "USER DDL (PlSql=0 RecDep=0)", "INTERNAL DDL (PlSql=0 RecDep=0)"
RECURSIVE_DDL = "INTERNAL DDL (PlSql=0 RecDep=1)"  # Oracle ran it itself

_NAME = r'("[^"]+"|[^\W\d][\w$#]*)'
_NAMED = re.compile(rf"\s*(?:ALTER|CREATE)\b.*?\b(?:TABLE|ON)\s+(?:{_NAME}\s*\.\s*)?{_NAME}", re.IGNORECASE | re.DOTALL)


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


def write_failed(session: EngineSession, text: str) -> None:
    """Write the redo of a DDL that failed after it had begun, whose transaction Oracle rolls back."""
    database, transactions = session.database, session.database.transactions
    if database.options.failed_ddl == "none":
        return
    tx = transactions.of(session)
    if database.options.failed_ddl == "row":
        record, named = transactions.ddl_record(tx, text, USER_DDL), _NAMED.match(text)
        owner, name = (session.schema, "") if named is None else (_spelled(named[1]) or session.schema, _spelled(named[2]))
        store = database.tables.stores.get((session.container, owner, name))
        record.owner, record.object_name = owner, name
        if store is not None:
            table = store.definition
            record.object_id, record.data_object_id = table.object_id, table.data_object_id
            record.object_version = table.object_version
        database.redo.write(record)
    transactions.end_rolled_back(tx)


def _spelled(name: str | None) -> str:
    return (name or "")[1:-1] if (name or "").startswith('"') else (name or "").upper()


def lock_exclusively(session: EngineSession, store: TableStore) -> None:
    """Wait until no other session has a lock on the table or one of its rows. Raise ORA-00054 after DDL_LOCK_TIMEOUT seconds,
    at once ORA-00069 after DISABLE TABLE LOCK, and ORA-14452 while a session has rows of a temporary table.
    """
    if store.is_in_use:
        raise OraError(14452, "attempt to create, alter or drop an index on temporary table already in use")
    if not store.definition.table_lock:
        raise OraError(69, f"cannot acquire lock -- table locks disabled for {store.definition.name}")
    wait_for_table(session, store, EXCLUSIVE, float(session.settings.get("DDL_LOCK_TIMEOUT", "0")))
