"""Questions about values: dates that are none, and what the driver fetches."""

from __future__ import annotations

import oracledb
import pyarrow

from tests.oracle.conftest import Database
from tests.oracle.questions.asking import LOGGED, change, code_of, empty_scratch, mines, rows
from tests.oracle.questions.question import asks


@asks("Is `NLS_CALENDAR` accepted as TO_CHAR's third argument", "no error")
def name_a_calendar(database: Database) -> str:
    query = "SELECT TO_CHAR(SYSDATE, 'SYYYY-MM-DD', 'NLS_CALENDAR=GREGORIAN') FROM dual"
    return code_of(lambda: rows(database, query))


DATES = "CREATE TABLE q_dates (id NUMBER(9) PRIMARY KEY, born DATE)"
NO_DATES = ("787D0D0F1A0101", "787D0D0F190101", "64640101010101")  # hour 24 of a month 13, month 13, year 0


def insert_stored(number: int, stored: str) -> str:
    """Return a block that inserts a DATE of these bytes: DBMS_STATS does not check what it converts."""
    convert = f"DBMS_STATS.CONVERT_RAW_VALUE(HEXTORAW('{stored}'), d)"
    return f"DECLARE d DATE; BEGIN {convert}; INSERT INTO q_dates VALUES ({number}, d); END;"


@asks("Does the driver refuse every such date when it fetches Arrow")
def fetch_no_date(database: Database) -> str:
    found = []
    change(database, DATES)
    try:
        for number, stored in enumerate(NO_DATES):
            change(database, insert_stored(number, stored))
            found.append(f"{stored}: {frame_of(database, f'SELECT born FROM q_dates WHERE id = {number}')}")
    finally:
        empty_scratch(database)
    return "\n".join(found)


@asks("Can the driver fetch XMLSERIALIZE, JSON_SERIALIZE and VECTOR_SERIALIZE as CLOB")
def fetch_serialized(database: Database) -> str:
    table = "CREATE TABLE q_documents (id NUMBER(9) PRIMARY KEY, a XMLTYPE)"
    try:
        change(database, table, "INSERT INTO q_documents VALUES (1, XMLTYPE('<a>x</a>'))")
        return frame_of(database, "SELECT XMLSERIALIZE(CONTENT a AS CLOB) AS text FROM q_documents")
    finally:
        empty_scratch(database)


def frame_of(database: Database, query: str) -> str:
    """Return what the driver fetches as a data frame, or its error."""
    who = database.scratch
    with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
        try:
            return str(pyarrow.table(connection.fetch_df_all(query)).to_pylist())
        except (oracledb.Error, ValueError) as error:
            return f"{type(error).__name__} {str(error).splitlines()[0]}"


@asks("What does TO_CHAR show for stored bytes that are no date")
def store_no_date(database: Database) -> str:
    found = []
    change(database, DATES)
    try:
        for number, stored in enumerate(NO_DATES):
            change(database, insert_stored(number, stored))
            query = f"SELECT TO_CHAR(born, 'SYYYY-MM-DD HH24:MI:SS'), DUMP(born) FROM q_dates WHERE id = {number}"
            code = code_of(lambda query=query: rows(database, query))
            found.append(f"{stored}: {code if code != 'no error' else rows(database, query)[0]}")
    finally:
        empty_scratch(database)
    return "\n".join(found)


mines(
    "How does LogMiner write such a date in SQL_REDO",
    DATES,
    LOGGED.format("q_dates"),
    *(insert_stored(number, stored) for number, stored in enumerate(NO_DATES)),
)
