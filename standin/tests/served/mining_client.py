"""LogMiner calls through the real driver."""

from __future__ import annotations

import oracledb

SET_NLS = (
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9' "
    "NLS_NUMERIC_CHARACTERS = '.,'"
)
ADD = "BEGIN DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :name, OPTIONS => DBMS_LOGMNR.{}); END;"
START = """BEGIN DBMS_LOGMNR.START_LOGMNR(STARTSCN => :first, ENDSCN => :last, OPTIONS =>
    DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + DBMS_LOGMNR.NO_SQL_DELIMITER + DBMS_LOGMNR.NO_ROWID_IN_STMT); END;"""
END = "BEGIN DBMS_LOGMNR.END_LOGMNR; END;"


def run(connection, *statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def query(connection, sql, **binds):
    with connection.cursor() as cursor:
        return cursor.execute(sql, binds).fetchall()


def add(connection, *names):
    with connection.cursor() as cursor:
        for number, name in enumerate(names):
            cursor.execute(ADD.format("ADDFILE" if number else "NEW"), name=name)


def start(connection, first=0, last=0):
    with connection.cursor() as cursor:
        cursor.execute(START, first=first, last=last)


def archived(connection, *, dest_id=1):
    """Return the names of the archived logs, ordered by thread and sequence."""
    sql = "SELECT name FROM v$archived_log WHERE dest_id = :dest_id AND name IS NOT NULL ORDER BY thread#, sequence#"
    return [name for (name,) in query(connection, sql, dest_id=dest_id)]


def failure(call, *arguments, **named):
    """Return the Oracle error of a call that must fail."""
    try:
        call(*arguments, **named)
    except oracledb.Error as error:
        return error.args[0]
    raise AssertionError("the call did not fail")
