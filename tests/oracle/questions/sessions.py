"""Questions about LogMiner's sessions, and the logs that they read."""

from __future__ import annotations

from typing import Any

import oracledb

from tests.oracle.conftest import Database
from tests.oracle.questions.asking import LOGGED, MINE, change, code_of, empty_scratch, mined, redo_of_scratch
from tests.oracle.questions.question import asks


@asks("Does BUILD switch the log by itself")
def build_a_dictionary(database: Database) -> str:
    change(database, "CREATE TABLE q_any (id NUMBER(9) PRIMARY KEY)")
    newest = "SELECT MAX(sequence#) FROM v$log"
    ((before,),) = database.as_sysdba(newest)
    build = "BEGIN DBMS_LOGMNR_D.BUILD(OPTIONS => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;"
    try:
        ((after,),) = database.as_sysdba(build, newest)
    finally:
        empty_scratch(database)
    return f"{after - before} log switch(es)"


@asks("Can a row have an SCN outside [FIRST_CHANGE#, NEXT_CHANGE#) of its log", "0 of .+")
def compare_scns_with_logs(database: Database) -> str:
    database.archive_logs()
    logs = database.as_sysdba(
        "SELECT thread#, sequence#, first_change#, next_change#, name FROM v$archived_log"
        " WHERE name IS NOT NULL AND deleted = 'NO' AND standby_dest = 'NO' ORDER BY first_change#"
    )[-20:]
    spans = {(thread, sequence): (first, end) for thread, sequence, first, end, _ in logs}
    adds = [f"BEGIN DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => '{name}'); END;" for *_, name in logs]
    adds[0] = adds[0].replace("')", "', OPTIONS => DBMS_LOGMNR.NEW)")
    start = f"BEGIN DBMS_LOGMNR.START_LOGMNR(OPTIONS => {MINE}); END;"
    found = database.as_sysdba(*adds, start, "SELECT thread#, rbasqn, scn FROM v$logmnr_contents")
    outside = [1 for thread, log, scn in found if (span := spans.get((thread, log))) and not span[0] <= scn < span[1]]
    return f"{len(outside)} of {len(found)} rows in {len(spans)} logs"


@asks("Which STATUS do rows have that were written before `ALTER DATABASE ADD SUPPLEMENTAL LOG DATA`", breaks=True)
def mine_rows_from_before_logging(database: Database) -> str:
    minimal = "ALTER DATABASE {0} SUPPLEMENTAL LOG DATA"
    insert = "INSERT INTO q_before VALUES (1)"

    def stop_logging(_: Any) -> None:
        database.as_sysdba(minimal.format("DROP"))

    def start_logging(connection: Any) -> None:
        connection.commit()  # the statement waits for open transactions
        database.as_sysdba(minimal.format("ADD"))

    create = "CREATE TABLE q_before (id NUMBER(9) PRIMARY KEY)"
    return "\n".join(mined(database, (create, stop_logging, insert, start_logging, "INSERT INTO q_before VALUES (2)")))


@asks("Is redo of a closed PDB refused when LogMiner starts or when its rows are fetched", breaks=True)
def mine_a_closed_pdb(database: Database) -> str:
    ((begin,),) = database.as_sysdba("SELECT current_scn FROM v$database")
    change(database, "CREATE TABLE q_closed (id NUMBER(9) PRIMARY KEY)", "INSERT INTO q_closed VALUES (1)")
    database.archive_logs()
    database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} CLOSE IMMEDIATE")
    try:
        return code_of(lambda: redo_of_scratch(database, begin))
    finally:
        database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} OPEN")
        empty_scratch(database)


@asks("Does START_LOGMNR inside a PDB need DBMS_GOLDENGATE_AUTH.GRANT_ADMIN_PRIVILEGE", r"no error.*|ORA-\d+.*")
def mine_inside_the_pdb(database: Database) -> str:
    """Redolake's own user, who has the grants of `setup-sql` and no more."""
    who = database.reader
    ((begin,),) = database.as_sysdba("SELECT current_scn FROM v$database")
    try:
        change(database, "CREATE TABLE q_inside (id NUMBER(9) PRIMARY KEY)", "INSERT INTO q_inside VALUES (1)")
        database.archive_logs()
        ((end,),) = database.as_sysdba("SELECT current_scn FROM v$database")
        start = f"BEGIN DBMS_LOGMNR.START_LOGMNR(STARTSCN => {begin}, ENDSCN => {end}, OPTIONS => {MINE}); END;"
        with oracledb.connect(user=who.user, password=who.password, dsn=database.pdb_dsn) as connection:
            cursor = connection.cursor()
            code = code_of(lambda: cursor.execute(start))
            if code != "no error":
                return code
            query = f"SELECT COUNT(*) FROM v$logmnr_contents WHERE seg_owner = '{database.scratch.user}'"
            return f"no error; fetching: {code_of(lambda: cursor.execute(query).fetchall())}"
    finally:
        empty_scratch(database)


@asks("With DICT_FROM_REDO_LOGS + DDL_DICT_TRACKING and the dictionary's FIRST_CHANGE# as STARTSCN")
def mine_with_a_redo_dictionary(database: Database) -> str:
    options = MINE.replace("ONLINE_CATALOG", "REDO_LOGS") + " + DBMS_LOGMNR.DDL_DICT_TRACKING"
    logs = "SELECT name, first_change#, next_change#, dictionary_begin, dictionary_end FROM v$archived_log"
    try:
        change(database, "CREATE TABLE q_built (id NUMBER(9) PRIMARY KEY)", LOGGED.format("q_built"))
        database.archive_logs()
        database.as_sysdba("BEGIN DBMS_LOGMNR_D.BUILD(OPTIONS => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;")
        change(database, "INSERT INTO q_built VALUES (1)")
        database.archive_logs()
        here = "name IS NOT NULL AND deleted = 'NO' AND standby_dest = 'NO' ORDER BY first_change#"
        found = database.as_sysdba(f"{logs} WHERE {here}")
        newest = max(n for n, log in enumerate(found) if log[3] == "YES")
        adds = [f"BEGIN DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => '{log[0]}'); END;" for log in found[newest:]]
        adds[0] = adds[0].replace("')", "', OPTIONS => DBMS_LOGMNR.NEW)")
        begin = found[newest][1]
        session = (*adds, f"BEGIN DBMS_LOGMNR.START_LOGMNR(STARTSCN => {begin}, OPTIONS => {options}); END;")
        statuses = sorted({status for (status,) in database.as_sysdba(*session, "SELECT status FROM v$logmnr_logs")})
        ((first,),) = database.as_sysdba(*session, "SELECT MIN(scn) FROM v$logmnr_contents")
    finally:
        empty_scratch(database)
    end = max(log[2] for log in found if log[4] == "YES")
    return f"STATUS {statuses}; the first row is of SCN {first}, the dictionary's logs of [{found[newest][1]}, {end})"
