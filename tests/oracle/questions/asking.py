"""Statements as the owner of the scratch schema, and what the database then shows: in its views, or in LogMiner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import oracledb

from tests.oracle.conftest import Database
from tests.oracle.questions.question import QUESTIONS, Question

MINE = "DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + DBMS_LOGMNR.NO_SQL_DELIMITER + DBMS_LOGMNR.NO_ROWID_IN_STMT"
PLACEHOLDER = "AAAAAAAAAAAAAAAAAA"
SHOWN = 400  # characters of a statement
PREPARATION = re.compile(r"^ *CREATE TABLE|ADD SUPPLEMENTAL LOG DATA", re.IGNORECASE)
LOGGED = "ALTER TABLE {0} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
Step = str | Callable[[Any], None]  # a statement, or what is done over a connection


def mines(beginning: str, *statements: Step, accepted: str = ".+") -> None:
    """Ask by running the statements as the owner of the scratch schema, and mining what they wrote. Its tables are dropped."""
    QUESTIONS.append(Question(beginning, lambda database: "\n".join(mined(database, statements)), accepted))


def mined(database: Database, steps: tuple[Step, ...]) -> list[str]:
    """Take the steps, archive the redo, and return what LogMiner shows of the scratch schema, and each DDL."""
    ((begin,),) = database.as_sysdba("SELECT current_scn FROM v$database")
    try:
        change(database, *steps)
        database.archive_logs()
        return [shown(*row) for row in redo_of_scratch(database, begin) if not PREPARATION.search(str(row[-1]))]
    finally:
        empty_scratch(database)


def change(database: Database, *steps: Step) -> None:
    """Take the steps in one session, and commit."""
    who = database.scratch
    with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
        for step in steps:
            if isinstance(step, str):
                connection.cursor().execute(step)
            else:
                step(connection)
        connection.commit()


def redo_of_scratch(database: Database, begin: int) -> list[tuple[Any, ...]]:
    files = database.as_sysdba(
        "SELECT name, thread#, sequence# FROM v$archived_log"
        f" WHERE next_change# > {begin} AND name IS NOT NULL AND deleted = 'NO' AND standby_dest = 'NO' ORDER BY 2, 3"
    )
    copies = {(thread, sequence): name for name, thread, sequence in files}
    added = [f"DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => '{name}'); " for name in copies.values()]
    added[0] = added[0].replace("')", "', OPTIONS => DBMS_LOGMNR.NEW)")
    return database.as_sysdba(
        *(f"BEGIN {one}END;" for one in added),
        f"BEGIN DBMS_LOGMNR.START_LOGMNR(OPTIONS => {MINE}); END;",
        "SELECT operation, rollback, status, row_id, info, seg_owner, table_name, sql_redo FROM v$logmnr_contents"
        f" WHERE scn >= {begin} AND (seg_owner = '{database.scratch.user}' OR operation = 'DDL') ORDER BY scn, rs_id, ssn",
    )


def shown(operation: str, undo: int, status: int, row_id: str, info: str, owner: str, table: str, redo: str) -> str:
    """Return a row of LogMiner as a line."""
    kind = operation + (", undo" if undo else "") + (f", STATUS {status} {info}" if status else "")
    where = "no ROW_ID" if row_id == PLACEHOLDER or not row_id else "ROW_ID"
    return f"{kind}, {where}, {owner}.{table}: {' '.join(str(redo).split())[:SHOWN]}"


def empty_scratch(database: Database) -> None:
    names = [name for (name,) in rows(database, "SELECT table_name FROM user_tables")]
    for name in names:
        with suppress(oracledb.DatabaseError):  # dropped with its cluster, or a part of another table
            database.run(database.scratch, [f'DROP TABLE "{name}" CASCADE CONSTRAINTS PURGE'])


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    who = database.scratch
    with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
        return list(connection.cursor().execute(query))


def code_of(attempt: Callable[[], Any]) -> str:
    """Return the ORA- or DPY- code of what is attempted, or "no error"."""
    try:
        attempt()
    except oracledb.Error as error:
        return re.split(r"[: ]", str(error), maxsplit=1)[0]
    return "no error"


@contextmanager
def sysdba(database: Database) -> Iterator[Any]:
    who = database.sys
    with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn, mode=oracledb.AUTH_MODE_SYSDBA) as connection:
        yield connection
