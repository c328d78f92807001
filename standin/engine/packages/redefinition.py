"""DBMS_REDEFINITION: an interim table is filled from the original, and at the end both exchange their names.

Each keeps its OBJECT_ID and its rows, so the original's name passes to another object. The interim table is kept up to date by
comparison, where Oracle reads a materialized view log.
"""

from __future__ import annotations

from typing import Any

from standin.engine.ddl.columns import with_virtual
from standin.engine.ddl.partitions import partition_of
from standin.engine.ddl.redo import RECURSIVE_DDL, USER_DDL, lock_exclusively, write_ddl
from standin.engine.ddl.redo_dictionary import write_changes
from standin.engine.expressions.frame import Frame
from standin.engine.queries.query import compile_query
from standin.engine.sessions.names import table_named
from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.interface import OraError

CONS_USE_PK, CONS_USE_ROWID = 1, 2


def start(session: EngineSession, uname: Any, orig_table: Any, int_table: Any, col_mapping: Any, options_flag: Any) -> None:
    """Copy the rows. `col_mapping` is a list of `expression column`; without one, columns correspond by their names."""
    session.commit()
    with session.database.lock:
        original, interim = _pair(session, uname, orig_table, int_table)
        if int(options_flag or CONS_USE_PK) != CONS_USE_PK:
            raise OraError(3001, "unimplemented feature: redefinition by ROWID")
        for store in (original, interim):
            if not any(c.kind == "P" for c in store.definition.constraints):
                raise OraError(12089, f'cannot online redefine table "{store.definition.name}" with no primary key')
        session.database.redefinitions[_key(original, interim)] = str(col_mapping or "")
        _refresh(session, original, interim)


def sync(session: EngineSession, uname: Any, orig_table: Any, int_table: Any) -> None:
    """Bring the interim table up to date."""
    session.commit()
    with session.database.lock:
        original, interim = _started(session, uname, orig_table, int_table)
        _refresh(session, original, interim)


def finish(session: EngineSession, uname: Any, orig_table: Any, int_table: Any) -> None:
    """Bring the interim table up to date a last time, and exchange the names while nobody else uses the tables."""
    session.commit()
    with session.database.lock:
        original, interim = _started(session, uname, orig_table, int_table)
        lock_exclusively(session, original)
        lock_exclusively(session, interim)
        _refresh(session, original, interim)
        database = session.database
        del database.redefinitions[_key(original, interim)]
        for store in (original, interim):
            database.tables.remove(store)
        table, other = original.definition, interim.definition
        table.name, other.name = other.name, table.name
        for store in (original, interim):
            store.definition.last_ddl = database.ddl_time()
            database.tables.add(store)
        _write_exchange(session, original, interim)
        write_changes(session)
        original.structure_scn = interim.structure_scn = database.clock.scn


def abort(session: EngineSession, uname: Any, orig_table: Any, int_table: Any) -> None:
    """Forget the redefinition. The interim table stays, with its rows."""
    session.commit()
    with session.database.lock:
        original, interim = _pair(session, uname, orig_table, int_table)
        session.database.redefinitions.pop(_key(original, interim), None)


def _pair(session: EngineSession, uname: Any, orig_table: Any, int_table: Any) -> tuple[TableStore, TableStore]:
    owner = str(uname).upper()
    return table_named(session, owner, str(orig_table).upper()), table_named(session, owner, str(int_table).upper())


def _key(original: TableStore, interim: TableStore) -> tuple[int, int]:
    return original.definition.object_id, interim.definition.object_id


def _started(session: EngineSession, uname: Any, orig_table: Any, int_table: Any) -> tuple[TableStore, TableStore]:
    original, interim = _pair(session, uname, orig_table, int_table)
    if _key(original, interim) not in session.database.redefinitions:
        raise OraError(42009, "error occurred while synchronizing the redefinition")
    return original, interim


def _refresh(session: EngineSession, original: TableStore, interim: TableStore) -> None:
    """Give the interim table the rows of the original, in a transaction of its own: insert, update and delete what differs."""
    database, table = session.database, original.definition
    mapping = database.redefinitions[_key(original, interim)] or ", ".join(f'"{c.name}"' for c in table.shown)
    query = compile_query(session, f'SELECT {mapping} FROM "{table.owner}"."{table.name}"')
    layout, frame = interim.layout, Frame(session, ())
    places = [layout.position[column.name] for column in query.columns]
    key = next(index for index in interim.indexes if index.unique)
    wanted: dict[Any, tuple[Any, ...]] = {}
    for batch in list(query.open(session, frame)):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            values: list[Any] = [None] * len(layout.names)
            for place, value in zip(places, row, strict=True):
                values[place] = None if value is None else layout.coercers[place](value, session.nls)
            complete = with_virtual(interim, tuple(values), frame)
            wanted[key.key_of(complete)] = complete
    tx = database.transactions.of(session)
    for number, old in list(interim.visible(database.clock.scn, tx)):
        new = wanted.pop(key.key_of(old), None)
        if new is None:
            database.rows.delete(tx, interim, number, old)
        elif changed := frozenset(n for n in places if new[n] != old[n]):
            database.rows.update(tx, interim, number, old, new, changed)
    for new in wanted.values():
        database.rows.insert(tx, interim, new, partition_of(session, interim, new))
    session.commit()


def _write_exchange(session: EngineSession, original: TableStore, interim: TableStore) -> None:
    """Write the DDL that LogMiner shows of the exchange, as far as it shows any."""
    shown = session.database.options.redefinition_redo
    if shown == "none":
        return
    now, between, then = original.definition.name, f"SYS_REDEF${original.definition.object_id}", interim.definition.name
    moves = ((original, then, between), (interim, now, then), (original, between, now))
    for store, old, new in moves:
        table = store.definition
        text = f'ALTER TABLE "{table.owner}"."{old}" RENAME TO "{new}"'
        write_ddl(session, text, table, name=old, info=USER_DDL if shown == "user" else RECURSIVE_DDL)


def register() -> None:
    tables: list[Parameter | str] = ["uname", "orig_table", "int_table"]
    procedures.constant("DBMS_REDEFINITION.CONS_USE_PK", CONS_USE_PK)
    procedures.constant("DBMS_REDEFINITION.CONS_USE_ROWID", CONS_USE_ROWID)
    mapping = [*tables, Parameter("col_mapping", None), Parameter("options_flag", CONS_USE_PK)]
    procedures.register("DBMS_REDEFINITION.START_REDEF_TABLE", start, mapping, public=True)
    for name, run in (("SYNC_INTERIM_TABLE", sync), ("FINISH_REDEF_TABLE", finish), ("ABORT_REDEF_TABLE", abort)):
        procedures.register(f"DBMS_REDEFINITION.{name}", run, tables, public=True)
