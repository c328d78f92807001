"""Opens a database without a network for the engine's tests, runs SQL in it and reads its redo."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from standin.engine.instance import Instance
from standin.engine.sessions.session import EngineSession
from standin.engine.settings.options import DatabaseOptions
from standin.interface import Called, Done, OraError, Rows
from standin.redo_file import Op, RedoRecord, from_batch, read_records


def open_database(**options: Any) -> Instance:
    """Open a database with the user SHOP in the PDB and minimal supplemental logging; its tables look a minute old."""
    options.setdefault("ddl_age", 60)
    options.setdefault("supplemental", frozenset({"MIN"}))
    database = Instance(DatabaseOptions(background=False, **options))
    dba = logon(database, "SYS")
    run(dba, "CREATE USER shop IDENTIFIED BY tiger")
    run(dba, "GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO shop")
    dba.close()
    return database


def logon(database: Instance, user: str = "SHOP", service: str | None = None, instance: str | None = None) -> EngineSession:
    state = database.state
    service = service or (state.pdb_name if state.is_cdb else state.name)
    return database.logon(user, service, program="test", machine="test", instance=instance)


def run(session: EngineSession, sql: str, *binds: Any) -> Any:
    """Run one statement. Return a query's rows as tuples, with NUMBERs sent as text converted to Decimal."""
    outcome = session.execute(sql, [binds] if binds else ())
    return fetched(outcome) if isinstance(outcome, Rows) else outcome


def fetched(outcome: Rows | Done | Called) -> list[tuple[Any, ...]]:
    assert isinstance(outcome, Rows)
    numbers = [i for i, c in enumerate(outcome.columns) if c.type == "NUMBER"]
    found = []
    for batch in outcome.batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row = list(values)
            for i in numbers:
                row[i] = Decimal(row[i]) if isinstance(row[i], str) else row[i]
            found.append(tuple(row))
    return found


def error_code(session: EngineSession, sql: str, *binds: Any) -> int:
    """Return the ORA code with which the statement fails; 0 when it succeeds."""
    try:
        run(session, sql, *binds)
    except OraError as error:
        return error.code
    return 0


def archived_redo(database: Instance, dest_id: int = 1) -> list[RedoRecord]:
    """Return the records of the archived logs, log by log."""
    return [
        record
        for copy in sorted(database.state.archived, key=lambda c: (c.thread, c.sequence))
        if copy.dest_id == dest_id and copy.name
        for batch in read_records(Path(copy.name))
        for record in from_batch(batch)
    ]


def all_redo(database: Instance) -> list[RedoRecord]:
    """Return all records of archived and online logs, in the order of one thread."""
    online = [log for thread in database.state.threads.values() for log in thread.logs if not log.archived]
    return archived_redo(database) + [r for log in sorted(online, key=lambda log: log.sequence) for r in log.records]


def row_changes(database: Instance, *ops: Op) -> list[RedoRecord]:
    """Return the row changes since the last DDL."""
    records = all_redo(database)
    last_ddl = max((i for i, r in enumerate(records) if r.op == Op.DDL), default=-1)
    wanted = ops or (Op.INSERT, Op.UPDATE, Op.DELETE)
    return [r for r in records[last_ddl + 1 :] if r.op in wanted]
