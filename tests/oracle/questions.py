"""Questions of docs/verified-on.md that a database answers by itself: statements of the scratch schema, and what is then seen.

A question is named by its beginning on that page. `accepted` matches the answers under which Redolake is right; another one
fails the test of the question. What a database does not accept, for instance because it is an older release, is "not tried".
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import oracledb
import pyarrow

from tests.oracle.conftest import Database

MINE = "DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + DBMS_LOGMNR.NO_SQL_DELIMITER + DBMS_LOGMNR.NO_ROWID_IN_STMT"
PLACEHOLDER = "AAAAAAAAAAAAAAAAAA"
SHOWN = 400  # characters of a statement
NOT_TRIED = "not tried: "
PREPARATION = re.compile(r"^ *CREATE TABLE|ADD SUPPLEMENTAL LOG DATA", re.IGNORECASE)
LOGGED = "ALTER TABLE {0} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


@dataclass(frozen=True, slots=True)
class Question:
    beginning: str
    ask: Callable[[Database], str]
    accepted: str = ".+"
    breaks: bool = False

    @property
    def name(self) -> str:
        return re.sub(r"\W+", "_", self.beginning.lower()).strip("_")[:50]

    def answer(self, database: Database) -> str:
        """Return what the database answers, or its reason why it cannot be asked."""
        try:
            return self.ask(database)
        except oracledb.DatabaseError as error:
            return NOT_TRIED + str(error).splitlines()[0]

    def accepts(self, answer: str) -> bool:
        return answer.startswith(NOT_TRIED) or re.fullmatch(self.accepted, answer, re.DOTALL) is not None


QUESTIONS: list[Question] = []
Step = str | Callable[[Any], None]  # a statement, or what is done over a connection


def asks(beginning: str, accepted: str = ".+", *, breaks: bool = False) -> Callable[[Callable[[Database], str]], Any]:
    def add(ask: Callable[[Database], str]) -> Callable[[Database], str]:
        QUESTIONS.append(Question(beginning, ask, accepted, breaks))
        return ask

    return add


def mines(beginning: str, *statements: Step, accepted: str = ".+") -> None:
    """Ask by running the statements as the owner of the scratch schema, and mining what they wrote. Its tables are dropped."""
    QUESTIONS.append(Question(beginning, lambda database: "\n".join(mined(database, statements)), accepted))


# --- asking ---


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


# --- connections, views and expressions ---


@asks("Does a statement parsed in one container fail in another", "no error|ORA-65108")
def reuse_a_cursor(database: Database) -> str:
    with sysdba(database) as connection:
        cursor = connection.cursor()
        query = "SELECT COUNT(*) FROM v$database"
        cursor.execute(query).fetchall()
        connection.cursor().execute(f"ALTER SESSION SET CONTAINER = {database.container}")
        return code_of(lambda: cursor.execute(query).fetchall())


@asks("Does SET CONTAINER accept a name in double quotes", r"no error|ORA-\d+")
def quote_a_container(database: Database) -> str:
    with sysdba(database) as connection:
        return code_of(lambda: connection.cursor().execute(f'ALTER SESSION SET CONTAINER = "{database.container}"'))


@asks("Does SET CONTAINER work with python-oracledb's thin mode", r"(upper|lower) case: .+")
def switch_in_either_case(database: Database) -> str:
    def switch(user: str) -> None:
        who = database.reader
        with oracledb.connect(user=user, password=who.password, dsn=who.dsn) as connection:
            for container in (database.container, "CDB$ROOT"):
                connection.cursor().execute(f"ALTER SESSION SET CONTAINER = {container}")

    user = database.reader.user
    return f"upper case: {code_of(lambda: switch(user.upper()))}; lower case: {code_of(lambda: switch(user.lower()))}"


@asks("What does a common user get from a PDB that is mounted", "(ORA-01033|ORA-01109|ORA-12514|DPY-6001).*", breaks=True)
def connect_to_a_mounted_pdb(database: Database) -> str:
    who = database.reader

    def switch() -> None:
        with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
            connection.cursor().execute(f"ALTER SESSION SET CONTAINER = {database.container}")
            connection.cursor().execute("SELECT COUNT(*) FROM all_tables")

    database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} CLOSE IMMEDIATE")
    try:
        service = code_of(lambda: oracledb.connect(user=who.user, password=who.password, dsn=database.pdb_dsn).close())
        return f"{service} from its service, {code_of(switch)} after SET CONTAINER"
    finally:
        database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} OPEN")


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


@asks("Does V$PDB_INCARNATION, read inside a PDB, show its rows", r"\d+ row\(s\)")
def read_pdb_incarnations(database: Database) -> str:
    found = database.as_sysdba("SELECT COUNT(*) FROM v$pdb_incarnation", dsn=database.pdb_dsn)
    return f"{found[0][0]} row(s)"


@asks("Which views show rows inside a PDB")
def read_views_inside_a_pdb(database: Database) -> str:
    views = ("V$LOG", "V$ARCHIVED_LOG", "V$THREAD", "V$LOG_HISTORY", "V$DATABASE_INCARNATION", "V$PDB_INCARNATION")
    counts = {view: database.as_sysdba(f"SELECT COUNT(*) FROM {view}", dsn=database.pdb_dsn)[0][0] for view in views}
    return ", ".join(f"{view}: {count}" for view, count in counts.items())


@asks("Is V$DATABASE.DBID, read inside a PDB, that of the log headers", "yes|no.*")
def compare_database_ids(database: Database) -> str:
    (((inside,),), ((root,),)) = (
        database.as_sysdba("SELECT dbid FROM v$database", dsn=dsn) for dsn in (database.pdb_dsn, None)
    )
    return "yes" if inside == root else "no: it is another number than in the root"


@asks("Which NEXT_CHANGE# do releases show for an open log", r"[\d, ]+|NULL")
def read_the_open_log(database: Database) -> str:
    found = database.as_sysdba("SELECT DISTINCT next_change# FROM v$log WHERE status = 'CURRENT'")
    return ", ".join("NULL" if scn is None else str(scn) for (scn,) in found)


@asks("Do V$LOG_HISTORY and V$ARCHIVED_LOG agree on FIRST_CHANGE# and NEXT_CHANGE#", r"0 of \d+ logs differ.*")
def compare_histories(database: Database) -> str:
    database.archive_logs()
    this = "resetlogs_change# = (SELECT resetlogs_change# FROM v$database)"
    columns = "SELECT thread#, sequence#, first_change#, next_change# FROM"
    ours = {row[:2]: row[2:] for row in database.as_sysdba(f"{columns} v$archived_log WHERE {this}")}
    theirs = {row[:2]: row[2:] for row in database.as_sysdba(f"{columns} v$log_history WHERE {this}")}
    both = ours.keys() & theirs.keys()
    differing = [f"{log}: {ours[log]}, history {theirs[log]}" for log in sorted(both) if ours[log] != theirs[log]]
    return f"{len(differing)} of {len(both)} logs differ" + "".join(f"\n{line}" for line in differing[:5])


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


@asks("Does V$TRANSACTION inside a PDB show each open transaction of the PDB", "yes|no")
def look_for_a_transaction(database: Database) -> str:
    who = database.scratch
    change(database, "CREATE TABLE q_open (id NUMBER(9) PRIMARY KEY)")
    try:
        with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
            connection.cursor().execute("INSERT INTO q_open VALUES (1)")
            query = "SELECT COUNT(*) FROM v$transaction"
            ((found,),) = database.as_sysdba(query, dsn=database.pdb_dsn)
            connection.rollback()
        return "yes" if found else "no"
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


@asks("Is FLASHBACK checked for tables in an EXISTS that is never run", r"ORA-\d+")
def look_back_without_the_grant(database: Database) -> str:
    """Two tables, FLASHBACK on one: Redolake learns which one lacks it if Oracle refuses the whole SELECT."""
    reader, password, owner = "REDOLAKE_Q", "Question_1", database.scratch.user
    exists = [f"EXISTS (SELECT 1 FROM {owner}.{table} AS OF SCN {{0}})" for table in ("q_granted", "q_refused")]
    query = f"SELECT COUNT(*) FROM dual WHERE 1 = 0 AND ({' OR '.join(exists)})"
    database.run(
        database.dba,
        [f'CREATE USER {reader} IDENTIFIED BY "{password}"', f"GRANT CREATE SESSION TO {reader}"],
        database.pdb_dsn,
    )
    try:
        create = [f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY)" for table in ("q_granted", "q_refused")]
        grants = [f"GRANT SELECT, FLASHBACK ON q_granted TO {reader}", f"GRANT SELECT ON q_refused TO {reader}"]
        change(database, *create, *grants)
        ((scn,),) = database.as_sysdba("SELECT current_scn FROM v$database")
        with oracledb.connect(user=reader, password=password, dsn=database.pdb_dsn) as connection:
            return code_of(lambda: connection.cursor().execute(query.format(scn)).fetchall())
    finally:
        database.run(database.dba, [f"DROP USER {reader} CASCADE"], database.pdb_dsn)
        empty_scratch(database)


@asks("Which transactions have START_SCN NULL, 0 or 1 in V$TRANSACTION")
def read_start_scns(database: Database) -> str:
    who = database.scratch
    change(database, "CREATE TABLE q_starts (id NUMBER(9) PRIMARY KEY)")
    try:
        with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
            connection.cursor().execute("INSERT INTO q_starts VALUES (1)")
            found = database.as_sysdba("SELECT status, start_scn, used_urec FROM gv$transaction")
            connection.rollback()
    finally:
        empty_scratch(database)
    odd = [row for row in found if row[1] in (None, 0, 1)]
    return f"{len(odd)} of {len(found)}" + "".join(
        f"\nSTATUS {status}, START_SCN {scn}, USED_UREC {undo}" for status, scn, undo in odd
    )


@asks("Are tables of Label Security listed in ALL_POLICIES, and who may read ALL_SA_TABLE_POLICIES")
def look_for_label_security(database: Database) -> str:
    who = database.reader
    ((value,),) = database.as_sysdba("SELECT value FROM v$option WHERE parameter = 'Oracle Label Security'")
    with oracledb.connect(user=who.user, password=who.password, dsn=database.pdb_dsn) as connection:
        code = code_of(lambda: connection.cursor().execute("SELECT COUNT(*) FROM all_sa_table_policies").fetchall())
    return f"V$OPTION {value}; ALL_SA_TABLE_POLICIES: {code}"


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


@asks("With DICT_FROM_REDO_LOGS + DDL_DICT_TRACKING and neither STARTSCN nor ENDSCN")
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
        session = (*adds, f"BEGIN DBMS_LOGMNR.START_LOGMNR(OPTIONS => {options}); END;")
        statuses = sorted({status for (status,) in database.as_sysdba(*session, "SELECT status FROM v$logmnr_logs")})
        ((first,),) = database.as_sysdba(*session, "SELECT MIN(scn) FROM v$logmnr_contents")
    finally:
        empty_scratch(database)
    end = max(log[2] for log in found if log[4] == "YES")
    return f"STATUS {statuses}; the first row is of SCN {first}, the dictionary's logs of [{found[newest][1]}, {end})"


@asks("Does the row of V$ARCHIVED_LOG come before V$LOG shows ARCHIVED = YES")
def watch_a_log_being_archived(database: Database) -> str:
    with sysdba(database) as connection:
        cursor = connection.cursor()
        ((thread, log),) = cursor.execute(
            "SELECT thread#, sequence# FROM v$log WHERE status = 'CURRENT' AND ROWNUM = 1"
        ).fetchall()
        where = f"thread# = {thread} AND sequence# = {log}"
        database.archive_logs()
        for _ in range(2000):
            ((row,),) = cursor.execute(f"SELECT COUNT(*) FROM v$archived_log WHERE {where}").fetchall()
            ((flag,),) = cursor.execute(f"SELECT COUNT(*) FROM v$log WHERE {where} AND archived = 'YES'").fetchall()
            if row or flag:
                return "both at once" if row and flag else "V$ARCHIVED_LOG first" if row else "V$LOG first"
    return "neither within 2000 looks"


@asks("Are the records of V$LOG_HISTORY reused strictly oldest first")
def count_log_records(database: Database) -> str:
    query = "SELECT records_total, records_used FROM v$controlfile_record_section WHERE type = 'LOG HISTORY'"
    ((total, used),) = database.as_sysdba(query)
    threads = database.as_sysdba("SELECT thread#, MIN(sequence#), MAX(sequence#), COUNT(*) FROM v$log_history GROUP BY thread#")
    spans = "".join(
        f"\nredo thread {thread}: {count} rows for logs {first} to {last}" for thread, first, last, count in threads
    )
    return f"{used} of {total} records are used{spans}"


@asks("For how long after a DDL is AS OF SCN refused with ORA-01466")
def look_back_after_a_ddl(database: Database) -> str:
    if not database.is_real:
        return f"{NOT_TRIED}the stand-in's clock need not be waited for"
    began = time.monotonic()
    try:
        change(database, "CREATE TABLE q_altered (id NUMBER(9) PRIMARY KEY)", LOGGED.format("q_altered"))
        while time.monotonic() < began + 30:
            ((scn,),) = database.as_sysdba("SELECT current_scn FROM v$database")
            seconds = time.monotonic() - began
            if code_of(lambda: rows(database, f"SELECT COUNT(*) FROM q_altered AS OF SCN {scn}")) == "no error":  # noqa: B023
                return f"the SCN of {seconds:.1f} s after it is the first that is not refused"
            time.sleep(0.2)
        return "for more than 30 s"
    finally:
        empty_scratch(database)


# --- what LogMiner shows ---

mines(
    "Do undo rows lack supplemental log data (STATUS 3)",
    "CREATE TABLE q_undo (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_undo"),
    "SAVEPOINT s1",
    "INSERT INTO q_undo VALUES (1, 1)",
    "UPDATE q_undo SET a = 2",
    "ROLLBACK TO SAVEPOINT s1",
    accepted=".*, undo.*",
)
mines(
    "Does LogMiner show the value of a UROWID column",
    "CREATE TABLE q_urowid (id NUMBER(9) PRIMARY KEY, at UROWID)",
    LOGGED.format("q_urowid"),
    "INSERT INTO q_urowid VALUES (1, 'AAAR0xAAMAAAACDAAA')",
)
mines(
    "Which ADDs bring a guard column",
    "CREATE TABLE q_guard (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_guard"),
    "INSERT INTO q_guard (id) VALUES (1)",
    "ALTER TABLE q_guard ADD (b NUMBER(9) DEFAULT 7)",
    "INSERT INTO q_guard (id) VALUES (2)",
    "UPDATE q_guard SET b = 8",
)
mines(
    "Does SQL_REDO show guard and unused columns by name",
    "CREATE TABLE q_unused (id NUMBER(9) PRIMARY KEY, a NUMBER(9), b NUMBER(9))",
    LOGGED.format("q_unused"),
    "INSERT INTO q_unused VALUES (1, 2, 3)",
    "ALTER TABLE q_unused SET UNUSED (a)",
    "ALTER TABLE q_unused ADD (c NUMBER(9) DEFAULT 7)",
    "INSERT INTO q_unused (id, b) VALUES (2, 3)",
    "UPDATE q_unused SET b = 4",
)
mines(
    "Does WHERE show a column that is younger than the row",
    "CREATE TABLE q_younger (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_younger"),
    "INSERT INTO q_younger VALUES (1, 1)",
    "ALTER TABLE q_younger ADD (b NUMBER(9))",
    "UPDATE q_younger SET a = 2",
    "DELETE FROM q_younger",
)
mines(
    "What does an UPDATE show that sets to NULL what is NULL",
    "CREATE TABLE q_null (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_null"),
    "INSERT INTO q_null (id) VALUES (1)",
    "UPDATE q_null SET a = NULL",
)
mines(
    "Are names beyond 30 bytes UNSUPPORTED on every release",
    f"CREATE TABLE q_long (id NUMBER(9) PRIMARY KEY, {'n' * 31} NUMBER(9))",
    LOGGED.format("q_long"),
    "INSERT INTO q_long VALUES (1, 1)",
    "UPDATE q_long SET id = 2",
)
for kind, value in (("XMLTYPE", "'<a/>'"), ("LONG", "'x'"), ("BOOLEAN", "TRUE"), ("JSON", "'{}'"), ("VECTOR", "'[1]'")):
    mines(
        "Does every row of a table with a BOOLEAN, JSON, VECTOR, XMLTYPE or LONG column have a ROW_ID",
        f"CREATE TABLE q_{kind.lower()} (id NUMBER(9) PRIMARY KEY, a {kind}, b NUMBER(9))",
        LOGGED.format(f"q_{kind.lower()}"),
        f"INSERT INTO q_{kind.lower()} VALUES (1, {value}, 1)",
        f"UPDATE q_{kind.lower()} SET b = 2",
        f"DELETE FROM q_{kind.lower()}",
    )
mines(
    "Which rows of a statement that writes CLOBs or BLOBs have a ROW_ID",
    "CREATE TABLE q_clob (id NUMBER(9) PRIMARY KEY, a CLOB)",
    LOGGED.format("q_clob"),
    "INSERT INTO q_clob VALUES (1, RPAD('x', 3000, 'x'))",
    "UPDATE q_clob SET a = RPAD('y', 3500, 'y')",
    "INSERT INTO q_clob VALUES (2, NULL)",
)
mines(
    "Is there one undo row for such a statement?",
    "CREATE TABLE q_clob (id NUMBER(9) PRIMARY KEY, a CLOB, b NUMBER(9))",
    LOGGED.format("q_clob"),
    "INSERT INTO q_clob VALUES (1, 'x', 1)",
    "UPDATE q_clob SET b = 2",
    "SAVEPOINT s1",
    "UPDATE q_clob SET a = RPAD('y', 3500, 'y')",
    "ROLLBACK TO SAVEPOINT s1",
)
mines(
    "How does LogMiner show an UPDATE of the key of an index-organized table",
    "CREATE TABLE q_iot (id NUMBER(9) PRIMARY KEY, a NUMBER(9)) ORGANIZATION INDEX",
    LOGGED.format("q_iot"),
    "INSERT INTO q_iot VALUES (1, 1)",
    "INSERT INTO q_iot VALUES (2, 2)",
    "UPDATE q_iot SET id = id + 1",
    "SAVEPOINT s1",
    "UPDATE q_iot SET id = id + 10",
    "ROLLBACK TO SAVEPOINT s1",
)
mines(
    "Does LogMiner show tables with identity columns",
    "CREATE TABLE q_identity (id NUMBER(9) GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_identity"),
    "INSERT INTO q_identity (a) VALUES (1)",
    "UPDATE q_identity SET a = 2",
)
mines(
    "Does LogMiner show XMLTYPE documents without COMMITTED_DATA_ONLY",
    "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)",
    LOGGED.format("q_xml"),
    "INSERT INTO q_xml VALUES (1, XMLTYPE('<a>x</a>'))",
    "UPDATE q_xml SET a = XMLTYPE('<a>yy</a>')",
)
mines(
    "What does the INSERT of a NULL document look like",
    "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)",
    LOGGED.format("q_xml"),
    "INSERT INTO q_xml VALUES (1, NULL)",
)
mines(
    "Which length does XML DOC WRITE declare",
    "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)",
    LOGGED.format("q_xml"),
    "INSERT INTO q_xml VALUES (1, XMLTYPE('<a>' || UNISTR('\\00FC\\D83D\\DE00') || '</a>'))",
)
mines(
    "How does LogMiner write such a date in SQL_REDO",
    DATES,
    LOGGED.format("q_dates"),
    *(insert_stored(number, stored) for number, stored in enumerate(NO_DATES)),
)
mines(
    "Does a table with DISABLE LOGICAL REPLICATION still follow its own log groups",
    "CREATE TABLE q_replication (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    "ALTER TABLE q_replication ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
    "ALTER TABLE q_replication DISABLE LOGICAL REPLICATION",
    "INSERT INTO q_replication VALUES (1, 1)",
    "UPDATE q_replication SET a = 2",
)
mines(
    "What does redo contain when Oracle rewrites the rows for an ADD that is not optimized",
    "CREATE TABLE q_rewritten (id NUMBER(9) PRIMARY KEY, a CLOB)",
    LOGGED.format("q_rewritten"),
    "INSERT INTO q_rewritten VALUES (1, 'x')",
    "ALTER TABLE q_rewritten ADD (b NUMBER(9) DEFAULT 7 NOT NULL)",
)
mines(
    "Does LogMiner show changes of a table with a BFILE or nested table column",
    "CREATE TABLE q_bfile (id NUMBER(9) PRIMARY KEY, a BFILE, b NUMBER(9))",
    LOGGED.format("q_bfile"),
    "INSERT INTO q_bfile VALUES (1, BFILENAME('D', 'f'), 1)",
    "UPDATE q_bfile SET b = 2",
)
mines(
    "Does LogMiner show a row with an extended string as UNSUPPORTED",
    "CREATE TABLE q_extended (id NUMBER(9) PRIMARY KEY, a VARCHAR2(32767))",
    LOGGED.format("q_extended"),
    "INSERT INTO q_extended VALUES (1, RPAD('x', 10, 'x'))",
    "UPDATE q_extended SET a = RPAD('y', 10000, 'y')",
)


def write_object(text: str, offset: int = 1) -> Callable[[Any], None]:
    """Return a step that writes into the one CLOB of q_object, as DBMS_LOB.WRITE does."""

    def write(connection: Any) -> None:
        cursor = connection.cursor()
        ((found,),) = cursor.execute("SELECT a FROM q_object FOR UPDATE", fetch_lobs=True).fetchall()
        found.write(text, offset)

    return write


OBJECT = (
    "CREATE TABLE q_object (id NUMBER(9) PRIMARY KEY, a CLOB)",
    LOGGED.format("q_object"),
    "INSERT INTO q_object VALUES (1, RPAD('x', 3000, 'x'))",
)
mines("Is a LOB_WRITE shown as undone", *OBJECT, "SAVEPOINT s1", write_object("abc"), "ROLLBACK TO SAVEPOINT s1")
mines(
    "Do offsets and lengths of a CLOB count characters beyond the BMP once or twice",
    *OBJECT,
    write_object("\N{MUSICAL SYMBOL G CLEF}b"),
    write_object("c", 3),
)
mines("Is the amount in `dbms_lob.write` always the length of its value", *OBJECT, write_object("y"), write_object("z" * 5000))
mines(
    "Does LogMiner show the object of a row that SHRINK SPACE or a partition key moves",
    *OBJECT,
    "ALTER TABLE q_object ENABLE ROW MOVEMENT",
    "DELETE FROM q_object",
    "INSERT INTO q_object VALUES (2, RPAD('y', 3000, 'y'))",
    "ALTER TABLE q_object SHRINK SPACE",
)


@asks("Which SEG_OWNER and TABLE_NAME have the DDL rows of TRUNCATE CLUSTER")
def drop_a_cluster(database: Database) -> str:
    database.run(database.dba, [f"GRANT CREATE CLUSTER TO {database.scratch.user}"], database.pdb_dsn)
    steps = (
        "CREATE CLUSTER q_cluster (id NUMBER(9))",
        "CREATE INDEX q_cluster_index ON CLUSTER q_cluster",
        "CREATE TABLE q_clustered (id NUMBER(9) PRIMARY KEY, a NUMBER(9)) CLUSTER q_cluster (id)",
        LOGGED.format("q_clustered"),
        "INSERT INTO q_clustered VALUES (1, 1)",
        "TRUNCATE CLUSTER q_cluster",
        "DROP CLUSTER q_cluster INCLUDING TABLES",
    )
    return "\n".join(mined(database, steps))


@asks("What does LogMiner show of DBMS_REDEFINITION.FINISH_REDEF_TABLE")
def redefine_a_table(database: Database) -> str:
    names = f"'{database.scratch.user}', 'Q_REDEFINED', 'Q_INTERIM'"
    redefine = "".join(f"DBMS_REDEFINITION.{step}_REDEF_TABLE({names}); " for step in ("START", "FINISH"))

    def run(connection: Any) -> None:
        connection.commit()  # it waits for open transactions
        database.as_sysdba(f"BEGIN {redefine}END;", dsn=database.pdb_dsn)

    create = [f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, a NUMBER(9))" for name in ("q_redefined", "q_interim")]
    return "\n".join(mined(database, (*create, LOGGED.format("q_redefined"), "INSERT INTO q_redefined VALUES (1, 1)", run)))
