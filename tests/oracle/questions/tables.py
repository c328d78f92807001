"""Questions about tables: their columns in the dictionary, DDL, and queries AS OF an SCN."""

from __future__ import annotations

import time

import oracledb

from tests.oracle.conftest import Database
from tests.oracle.questions.asking import LOGGED, Step, change, code_of, empty_scratch, rows
from tests.oracle.questions.question import NOT_TRIED, asks
from tests.support.waiting import first_answer


@asks("Does EXCHANGE PARTITION WITH TABLE take a synonym", r"ORA-\d+|no error")
def exchange_with_a_synonym(database: Database) -> str:
    create = (
        "CREATE TABLE q_parts (id NUMBER(9) PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (10))",
        "CREATE TABLE q_partner (id NUMBER(9) PRIMARY KEY)",
    )
    synonym = f"CREATE SYNONYM {database.scratch.user}.q_synonym FOR {database.scratch.user}.q_partner"
    exchange = "ALTER TABLE q_parts EXCHANGE PARTITION p1 WITH TABLE q_synonym"
    try:
        change(database, *create)
        database.run(database.dba, [synonym], database.pdb_dsn)
        return code_of(lambda: database.run(database.scratch, [exchange]))
    finally:
        empty_scratch(database)


def columns_after(database: Database, *steps: Step) -> str:
    """Return the columns of the one table that the steps leave in the scratch schema, those of Oracle's own too."""
    try:
        change(database, *steps)
        query = (
            "SELECT column_name, data_type, column_id, segment_column_id, internal_column_id, hidden_column, virtual_column,"
            " user_generated FROM user_tab_cols ORDER BY internal_column_id"
        )
        found = rows(database, query)
    finally:
        empty_scratch(database)
    head = "name, type, COLUMN_ID, SEGMENT_COLUMN_ID, INTERNAL_COLUMN_ID, HIDDEN, VIRTUAL, USER_GENERATED"
    return "\n".join([head, *(", ".join("NULL" if value is None else str(value) for value in row) for row in found)])


@asks("Does the guard stay when all its columns are dropped")
def drop_what_is_guarded(database: Database) -> str:
    create = "CREATE TABLE q_guard (id NUMBER(9) PRIMARY KEY, a NUMBER(9))"
    add, drop = "ALTER TABLE q_guard ADD (b NUMBER(9) DEFAULT 7)", "ALTER TABLE q_guard DROP COLUMN b"
    return columns_after(database, create, "INSERT INTO q_guard (id) VALUES (1)", add, drop)


@asks("What do ALL_TAB_COLS show of an XMLTYPE column")
def describe_documents(database: Database) -> str:
    return columns_after(database, "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)")


@asks("What are HIDDEN_COLUMN, VIRTUAL_COLUMN and USER_GENERATED of ORABCTAB_ columns")
def describe_a_period(database: Database) -> str:
    return columns_after(database, "CREATE TABLE q_period (id NUMBER(9) PRIMARY KEY, PERIOD FOR valid)")


@asks("Does `ALTER SESSION SET ROW ARCHIVAL VISIBILITY = ALL` work with AS OF SCN", r"no error|ORA-\d+")
def read_archived_rows(database: Database) -> str:
    who, table = database.reader, f"{database.scratch.user}.q_archival"
    create = "CREATE TABLE q_archival (id NUMBER(9) PRIMARY KEY) ROW ARCHIVAL"
    try:
        change(
            database, create, f"GRANT SELECT, FLASHBACK ON q_archival TO {who.user}", "INSERT INTO q_archival (id) VALUES (1)"
        )
        ((scn,),) = database.as_sysdba("SELECT current_scn FROM v$database")
        with oracledb.connect(user=who.user, password=who.password, dsn=database.pdb_dsn) as connection:
            cursor = connection.cursor()
            cursor.execute("ALTER SESSION SET ROW ARCHIVAL VISIBILITY = ALL")
            return code_of(lambda: cursor.execute(f"SELECT id, ora_archive_state FROM {table} AS OF SCN {scn}").fetchall())
    finally:
        empty_scratch(database)


@asks("For how long after a DDL is AS OF SCN refused with ORA-01466")
def look_back_after_a_ddl(database: Database) -> str:
    if not database.is_real:
        return f"{NOT_TRIED}the stand-in's clock need not be waited for"
    began = time.monotonic()

    def first_seconds() -> float | None:
        """Return how many seconds after the DDL an SCN is that is not refused, if it is."""
        ((scn,),) = database.as_sysdba("SELECT current_scn FROM v$database")
        seconds = time.monotonic() - began
        is_refused = code_of(lambda: rows(database, f"SELECT COUNT(*) FROM q_altered AS OF SCN {scn}")) != "no error"
        return None if is_refused else seconds

    try:
        change(database, "CREATE TABLE q_altered (id NUMBER(9) PRIMARY KEY)", LOGGED.format("q_altered"))
        seconds = first_answer(first_seconds, 30)
        if seconds is not None:
            return f"the SCN of {seconds:.1f} s after it is the first that is not refused"
        return "for more than 30 s"
    finally:
        empty_scratch(database)
