"""Questions about V$ views: logs, transactions and incarnations."""

from __future__ import annotations

import oracledb

from tests.oracle.conftest import Database
from tests.oracle.questions.asking import change, empty_scratch, sysdba
from tests.oracle.questions.question import asks
from tests.support.waiting import first_answer


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


@asks("Does the row of V$ARCHIVED_LOG come before V$LOG shows ARCHIVED = YES")
def watch_a_log_being_archived(database: Database) -> str:
    with sysdba(database) as connection:
        cursor = connection.cursor()
        ((thread, log),) = cursor.execute(
            "SELECT thread#, sequence# FROM v$log WHERE status = 'CURRENT' AND ROWNUM = 1"
        ).fetchall()
        where = f"thread# = {thread} AND sequence# = {log}"
        database.archive_logs()

        def first_seen() -> str | None:
            ((row,),) = cursor.execute(f"SELECT COUNT(*) FROM v$archived_log WHERE {where}").fetchall()
            ((flag,),) = cursor.execute(f"SELECT COUNT(*) FROM v$log WHERE {where} AND archived = 'YES'").fetchall()
            return "both at once" if row and flag else "V$ARCHIVED_LOG first" if row else "V$LOG first" if flag else None

        return first_answer(first_seen, 60, pause=0) or "neither within 60 s"


@asks("Are the records of V$LOG_HISTORY reused strictly oldest first")
def count_log_records(database: Database) -> str:
    query = "SELECT records_total, records_used FROM v$controlfile_record_section WHERE type = 'LOG HISTORY'"
    ((total, used),) = database.as_sysdba(query)
    threads = database.as_sysdba("SELECT thread#, MIN(sequence#), MAX(sequence#), COUNT(*) FROM v$log_history GROUP BY thread#")
    spans = "".join(
        f"\nredo thread {thread}: {count} rows for logs {first} to {last}" for thread, first, last, count in threads
    )
    return f"{used} of {total} records are used{spans}"
