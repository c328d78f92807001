"""LogMiner shows exactly the changes that were made, through the unmodified driver."""

from __future__ import annotations

import os
from datetime import datetime

import oracledb
import pyarrow as pa
import pytest

from standin.serve import standin
from standin.tests.served.mining_client import ADD, END, SET_NLS, add, archived, failure, query, run, start

CHANGES = """SELECT operation, rollback, sql_redo FROM v$logmnr_contents
    WHERE seg_owner = 'SHOP' AND table_name = '{}' AND operation <> 'DDL'"""


@pytest.fixture(scope="module")
def oracle():
    with standin(threads=2) as running:
        yield running


@pytest.fixture
def shop(oracle):
    with oracle.connect("SHOP") as connection:
        yield connection


@pytest.fixture
def dba(oracle):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection:
        yield connection


@pytest.fixture
def miner(oracle):
    with oracle.connect(oracle.capture_user) as connection:
        run(connection, SET_NLS)
        yield connection


def logged_table(shop, name, columns="id NUMBER(9) PRIMARY KEY, name VARCHAR2(4000), at DATE"):
    run(shop, f"CREATE TABLE {name} ({columns})", f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")


def archive_from(dba, miner):
    """Archive the current logs; return those archived since the last call, which contain all earlier changes."""
    before = set(archived(miner))
    run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    return [name for name in archived(miner) if name not in before]


def test_logminer_shows_exactly_the_changes(shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "done")
    with shop.cursor() as cursor:
        cursor.execute("INSERT INTO done VALUES (1, 'O''Reilly', :at)", at=datetime(2026, 2, 28, 13, 45, 59))
        cursor.execute("INSERT INTO done (id, name) VALUES (2, :name)", name="x', \"y\" = '\nz")
        cursor.execute("SAVEPOINT s")
        cursor.execute("UPDATE done SET name = NULL WHERE id = 1")
        cursor.execute("ROLLBACK TO SAVEPOINT s")
        assert failure(cursor.execute, "INSERT INTO done (id) VALUES (1)").code == 1
        cursor.execute("UPDATE done SET id = 3 WHERE id = 2")
        cursor.execute("DELETE FROM done WHERE id = 1")
    shop.commit()

    add(miner, *archive_from(dba, miner))
    start(miner)
    rows = query(miner, CHANGES.format("DONE"))

    at = "TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS')"
    hostile = "'x'', \"y\" = ''\nz'"
    assert [row for row in rows if "ROWID" not in row[2]] == [
        ("INSERT", 0, f"""insert into "SHOP"."DONE"("ID","NAME","AT") values ('1','O''Reilly',{at})"""),
        ("INSERT", 0, f"""insert into "SHOP"."DONE"("ID","NAME","AT") values ('2',{hostile},NULL)"""),
        ("UPDATE", 0, f"""update "SHOP"."DONE" set "NAME" = NULL where "ID" = '1' and "NAME" = 'O''Reilly' and "AT" = {at}"""),
        ("UPDATE", 1, """update "SHOP"."DONE" set "NAME" = 'O''Reilly'"""),
        ("INSERT", 0, """insert into "SHOP"."DONE"("ID","NAME","AT") values ('1',NULL,NULL)"""),
        ("UPDATE", 0, f"""update "SHOP"."DONE" set "ID" = '3' where "ID" = '2' and "NAME" = {hostile} and "AT" IS NULL"""),
        ("DELETE", 0, f"""delete from "SHOP"."DONE" where "ID" = '1' and "NAME" = 'O''Reilly' and "AT" = {at}"""),
    ]
    undone = [row for row in rows if "ROWID" in row[2]]
    assert [(operation, rollback) for operation, rollback, _ in undone] == [("DELETE", 1)]


def test_a_transaction_begins_with_start_and_ends_with_commit(shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "framed")
    run(shop, "INSERT INTO framed (id) VALUES (1)", "COMMIT", "INSERT INTO framed (id) VALUES (2)", "ROLLBACK")

    add(miner, *archive_from(dba, miner))
    start(miner)
    framed = {
        xid for (xid,) in query(miner, "SELECT xid FROM v$logmnr_contents WHERE table_name = 'FRAMED' AND operation = 'INSERT'")
    }
    everything = query(miner, "SELECT xid, operation, rollback, src_con_name, username FROM v$logmnr_contents")
    rows = [row for row in everything if row[0] in framed]

    xids = list(dict.fromkeys(xid for xid, *_ in rows))
    operations = [[(operation, rollback) for x, operation, rollback, *_ in rows if x == xid] for xid in xids]
    assert operations == [
        [("START", 0), ("INSERT", 0), ("COMMIT", 0)],
        [("START", 0), ("INSERT", 0), ("DELETE", 1), ("ROLLBACK", 0)],
    ]
    assert {(container, user) for *_, container, user in rows} == {("FREEPDB1", "SHOP")}


def test_dates_lose_their_time_without_nls_settings(oracle, shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "dated")
    run(shop, "INSERT INTO dated (id, at) VALUES (1, TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS'))", "COMMIT")
    names = archive_from(dba, miner)

    with oracle.connect(oracle.capture_user) as careless:
        add(careless, *names)
        start(careless)
        ((_, _, text),) = query(careless, CHANGES.format("DATED"))

    assert "TO_DATE('28-FEB-26', 'DD-MON-RR')" in text


def test_rows_from_before_an_alter_have_no_names(shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "altered", "id NUMBER PRIMARY KEY, name VARCHAR2(10)")
    run(shop, "INSERT INTO altered VALUES (1, 'a')", "COMMIT", "ALTER TABLE altered ADD (more NUMBER)")
    run(shop, "INSERT INTO altered VALUES (2, 'b', .05)", "COMMIT")

    add(miner, *archive_from(dba, miner))
    start(miner)
    rows = query(
        miner, "SELECT status, info, sql_redo FROM v$logmnr_contents WHERE table_name = 'ALTERED' AND operation = 'INSERT'"
    )

    assert rows == [
        (
            2,
            "Dictionary Version Mismatch",
            """insert into "SHOP"."ALTERED"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('61'))""",
        ),
        (0, None, """insert into "SHOP"."ALTERED"("ID","NAME","MORE") values ('2','b','.05')"""),
    ]


def test_a_dropped_table_has_no_name(shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "purged")
    run(shop, "INSERT INTO purged (id) VALUES (1)", "COMMIT")
    ((object_id,),) = query(shop, "SELECT object_id FROM user_objects WHERE object_name = 'PURGED'")
    run(shop, "DROP TABLE purged PURGE")

    add(miner, *archive_from(dba, miner))
    start(miner)
    rows = query(
        miner,
        "SELECT seg_owner, table_name, status FROM v$logmnr_contents WHERE data_obj# = :id AND operation = 'INSERT'",
        id=object_id,
    )

    assert rows == [("UNKNOWN", f"OBJ# {object_id}", 2)]


def test_long_text_has_continuation_rows(shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "long_text")
    text = "ü'" * 1300
    with shop.cursor() as cursor:
        cursor.execute("INSERT INTO long_text (id, name) VALUES (1, :name)", name=text)
    shop.commit()

    add(miner, *archive_from(dba, miner))
    start(miner)
    rows = query(miner, "SELECT csf, sql_redo FROM v$logmnr_contents WHERE table_name = 'LONG_TEXT' AND operation = 'INSERT'")

    assert [csf for csf, _ in rows] == [1] * (len(rows) - 1) + [0]
    assert len(rows) > 1
    assert text.replace("'", "''") in "".join(sql for _, sql in rows)


def test_both_threads_are_mined_in_scn_order(oracle, shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "twofold")
    with oracle.connect("SHOP", instance_name="FREE2") as other:
        for key in range(6):
            run(other if key % 2 else shop, f"INSERT INTO twofold (id) VALUES ({key})", "COMMIT")

    add(miner, *archive_from(dba, miner))
    start(miner)
    rows = query(miner, "SELECT thread#, scn FROM v$logmnr_contents WHERE table_name = 'TWOFOLD' AND operation = 'INSERT'")

    assert {thread for thread, _ in rows} == {1, 2}
    assert [scn for _, scn in rows] == sorted(scn for _, scn in rows)
    assert len(rows) == 6


def test_missing_logs_are_reported(dba, miner):
    names = [archive_from(dba, miner)[0] for _ in range(3)]

    add(miner, names[0], names[2])
    start(miner)

    assert query(miner, "SELECT operation_code, status FROM v$logmnr_contents WHERE operation = 'MISSING_SCN'") == [(34, 1291)]
    assert [status for (status,) in query(miner, "SELECT status FROM v$logmnr_logs ORDER BY thread_sqn")] == [1, 4, 0]


def test_a_file_deleted_after_it_was_added_fails_the_fetch(dba, miner):
    names = archive_from(dba, miner)
    add(miner, names[0])
    start(miner)
    os.remove(names[0])

    error = failure(query, miner, "SELECT scn FROM v$logmnr_contents")

    assert error.code == 1284
    assert "ORA-00308" in error.message
    assert failure(add, miner, names[0]).code == 1284


def test_errors_have_oracles_numbers(dba, miner):
    name = archive_from(dba, miner)[0]

    assert failure(run, miner, END).code == 1307
    assert failure(query, miner, "SELECT scn FROM v$logmnr_contents").code == 1306
    assert failure(start, miner).code == 1292
    add(miner, name)
    with miner.cursor() as cursor:
        assert failure(cursor.execute, ADD.format("ADDFILE"), name=name).code == 1289
    assert failure(start, miner, 1, 2).code == 1291
    start(miner)
    run(miner, END)


def test_log_files_cannot_be_added_inside_a_pdb(dba, miner):
    name = archive_from(dba, miner)[0]
    run(miner, "ALTER SESSION SET CONTAINER = FREEPDB1")

    assert failure(add, miner, name).code == 65040


def test_without_grants_the_package_and_the_view_do_not_exist(oracle, dba):
    run(dba, 'CREATE USER c##poor IDENTIFIED BY "pw" CONTAINER = ALL', "GRANT CREATE SESSION TO c##poor CONTAINER = ALL")

    with oracle.connect("c##poor", password="pw") as poor:
        error = failure(run, poor, END)
        assert (error.code, "PLS-00201" in error.message) == (6550, True)
        assert failure(query, poor, "SELECT scn FROM v$logmnr_contents").code == 942

    run(dba, "GRANT EXECUTE ON SYS.DBMS_LOGMNR TO c##poor CONTAINER = ALL")
    with oracle.connect("c##poor", password="pw") as poor:
        assert failure(start, poor).code == 1031


def test_arrow_batches_have_whole_numbers(shop, dba, miner):
    archive_from(dba, miner)
    logged_table(shop, "arrows")
    run(shop, "INSERT INTO arrows (id) VALUES (1)", "COMMIT")
    add(miner, *archive_from(dba, miner))
    start(miner)

    frame = next(miner.fetch_df_batches("SELECT CAST(scn AS NUMBER(18)) AS scn, sql_redo FROM v$logmnr_contents", size=1000))

    assert [str(column.type) for column in pa.table(frame).columns] == ["int64", "large_string"]
