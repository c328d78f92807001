"""Redo forms of some releases: parallel DML, undo rows first, late rows, incomplete XIDs; values as published."""

from __future__ import annotations

from collections import Counter

import oracledb
import pytest

from standin.serve import standin
from standin.tests.served.mining_client import add, archived, failure, query, run, start

ROWS = """SELECT thread#, xid, pxid, operation, rollback, scn, row_id, rs_id, ssn FROM v$logmnr_contents
    WHERE src_con_name = 'FREEPDB1'
        AND (table_name = 'T' AND operation <> 'DDL' OR operation IN ('START', 'COMMIT', 'ROLLBACK'))"""
PARALLEL = "ALTER SESSION ENABLE PARALLEL DML"


class Redo:
    """The LogMiner rows of one transaction and its parallel servers."""

    def __init__(self, oracle, since):
        with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
            run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        with oracle.connect(oracle.capture_user) as miner:
            names = [n for n in archived(miner) if n not in since]
            add(miner, *names)
            start(miner)
            rows = query(miner, ROWS)
        parents = {pxid for _, xid, pxid, *_ in rows if xid != pxid}
        self.rows = [row for row in rows if row[2] in parents] if parents else rows
        (self.parent,) = parents or {None}

    def servers(self):
        return {xid for _, xid, *_ in self.rows} - {self.parent}

    def count(self, *operations):
        return Counter((row[3], row[4]) for row in self.rows if row[3] in operations)


@pytest.fixture(params=[True, False], ids=["servers commit", "only the coordinator commits"])
def oracle(request):
    with standin(threads=2, commits_of_servers=request.param) as running:
        with running.connect("SHOP") as shop:
            run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "CREATE TABLE source (id NUMBER)")
            with shop.cursor() as cursor:
                cursor.executemany("INSERT INTO source VALUES (:1)", [(n,) for n in range(20)])
            shop.commit()
        yield running


def logs_of(oracle):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    with oracle.connect(oracle.capture_user) as miner:
        return set(archived(miner))


def test_parallel_servers_write_in_their_own_transactions(oracle):
    since = logs_of(oracle)
    with oracle.connect("SHOP", instance_name="FREE1") as shop:
        run(shop, PARALLEL, "INSERT /*+ PARALLEL(t 3) */ INTO t SELECT id, 0 FROM source")
        shop.commit()
        assert query(shop, "SELECT COUNT(*) FROM t") == [(20,)]
    redo = Redo(oracle, since)
    changes = [row for row in redo.rows if row[3] == "INSERT"]
    commits = [row for row in redo.rows if row[3] == "COMMIT"]

    assert len(changes) == 20
    assert {xid for _, xid, *_ in changes} == redo.servers()
    assert len(redo.servers()) == 3
    assert {thread for thread, *_ in changes} == {1, 2}
    assert len({scn for *_, scn, _, _, _ in commits}) == 1
    expected = {redo.parent} | (redo.servers() if oracle.database.options.commits_of_servers else set())
    assert {xid for _, xid, *_ in commits} == expected
    assert {xid for _, xid, _, operation, *_ in redo.rows if operation == "START"} == {redo.parent} | redo.servers()


def test_a_rolled_back_parallel_statement_is_undone_by_its_servers(oracle):
    since = logs_of(oracle)
    with oracle.connect("SHOP", instance_name="FREE1") as shop:
        run(shop, PARALLEL, "INSERT /*+ PARALLEL(2) */ INTO t SELECT id, 0 FROM source")
        shop.rollback()
        assert query(shop, "SELECT COUNT(*) FROM t") == [(0,)]
    redo = Redo(oracle, since)
    undone = [(row[1], row[6]) for row in redo.rows if row[3] == "DELETE" and row[4] == 1]

    assert redo.count("INSERT", "DELETE") == {("INSERT", 0): 20, ("DELETE", 1): 20}
    assert sorted(undone) == sorted((row[1], row[6]) for row in redo.rows if row[3] == "INSERT")


def test_a_failed_parallel_statement_leaves_the_transaction_unchanged(oracle):
    with oracle.connect("SHOP") as shop:
        run(shop, "INSERT INTO t VALUES (5, 5)")
        shop.commit()
        run(shop, "ALTER SESSION FORCE PARALLEL DML PARALLEL 2")

        assert failure(run, shop, "INSERT INTO t SELECT id, 0 FROM source").code == 1
        shop.commit()
        assert query(shop, "SELECT id FROM t") == [(5,)]


def test_a_table_changed_in_parallel_cannot_be_changed_again_before_the_end(oracle):
    with oracle.connect("SHOP") as shop:
        run(shop, PARALLEL, "INSERT /*+ PARALLEL */ INTO t SELECT id, 0 FROM source")
        assert failure(run, shop, "UPDATE t SET n = 1").code == 12838
        assert failure(run, shop, "ALTER SESSION DISABLE PARALLEL DML").code == 12841
        shop.commit()
        run(shop, "UPDATE t SET n = 1")
        assert failure(run, shop, "UPDATE /*+ PARALLEL(4) */ t SET n = 2").code == 12839


def test_open_servers_are_listed_as_transactions(oracle):
    with oracle.connect("SHOP") as shop, oracle.connect(oracle.capture_user) as miner:
        run(shop, PARALLEL, "INSERT /*+ PARALLEL(3) */ INTO t SELECT id, 0 FROM source")
        assert query(miner, "SELECT ptx, COUNT(*) FROM gv$transaction GROUP BY ptx") == [("YES", 4)]
        shop.commit()
        assert query(miner, "SELECT COUNT(*) FROM gv$transaction") == [(0,)]


def test_a_hint_has_no_effect_without_the_setting(oracle):
    since = logs_of(oracle)
    with oracle.connect("SHOP") as shop:
        run(shop, "INSERT /*+ PARALLEL(3) */ INTO t SELECT id, 0 FROM source")
        shop.commit()

    assert Redo(oracle, since).parent is None


def test_servers_of_a_failed_over_coordinator_are_rolled_back(oracle):
    with oracle.connect("SHOP", instance_name="FREE1") as shop:
        run(shop, PARALLEL, "INSERT /*+ PARALLEL(3) */ INTO t SELECT id, 0 FROM source")
        logs_of(oracle)
        shop.commit()
    oracle.faults.fail_over()
    since = {copy.name for copy in oracle.database.state.archived}
    redo = Redo(oracle, since)

    assert redo.count("DELETE", "COMMIT") == {("DELETE", 1): 20}
    assert {xid for _, xid, _, operation, *_ in redo.rows if operation == "ROLLBACK"} == {redo.parent} | redo.servers()


def test_servers_whose_coordinator_has_committed_outlive_a_failover(oracle):
    with oracle.connect("SHOP", instance_name="FREE1") as shop:
        run(shop, PARALLEL, "INSERT /*+ PARALLEL(3) */ INTO t SELECT id, 0 FROM source")
        shop.commit()
    logs_of(oracle)
    oracle.faults.fail_over()
    since = {copy.name for copy in oracle.database.state.archived}

    assert Redo(oracle, since).count("INSERT", "DELETE", "ROLLBACK") == {}
    with oracle.connect("SHOP") as shop:
        assert query(shop, "SELECT COUNT(*) FROM t") == [(20,)]


@pytest.fixture(params=[False, True], ids=["straight into the log", "private strands"])
def undo_first(request):
    with standin(undo_first=True, private_strands=request.param) as running:
        with running.connect("SHOP") as shop:
            run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "INSERT INTO t VALUES (1, 0)")
            shop.commit()
        yield running


def test_undo_rows_can_precede_the_rows_they_undo(undo_first):
    since = logs_of(undo_first)
    with undo_first.connect("SHOP") as shop:
        run(shop, "UPDATE t SET n = 1", "SAVEPOINT s", "UPDATE t SET n = 2", "INSERT INTO t VALUES (2, 0)")
        run(shop, "ROLLBACK TO SAVEPOINT s")
        shop.commit()
        assert query(shop, "SELECT * FROM t") == [(1, 1)]
    rows = [row for row in Redo(undo_first, since).rows if row[3] in ("INSERT", "UPDATE", "DELETE")]

    assert [(operation, rollback) for _, _, _, operation, rollback, *_ in rows] == [
        ("UPDATE", 0),
        ("UPDATE", 1),
        ("UPDATE", 0),
        ("DELETE", 1),
        ("INSERT", 0),
    ]
    assert rows[1][5:] == rows[2][5:]
    assert rows[3][5:] == rows[4][5:]


def test_a_rowid_can_be_reused_before_its_transaction_ends():
    with standin(reuses_rowids=True) as oracle, oracle.connect("SHOP") as shop, oracle.connect("SHOP") as other:
        run(
            shop,
            "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)",
            "INSERT INTO t VALUES (1, 0)",
            "INSERT INTO t VALUES (2, 0)",
        )
        shop.commit()
        begun = query(shop, "SELECT id, n FROM t")
        since = logs_of(oracle)
        for _ in range(2):
            with pytest.raises(oracledb.IntegrityError):
                run(shop, "INSERT INTO t VALUES (1, 1)")
        run(shop, "INSERT INTO t VALUES (3, 0)", "DELETE FROM t WHERE id = 1", "SAVEPOINT s", "INSERT INTO t VALUES (1, 1)")
        run(shop, "UPDATE t SET n = 2 WHERE id = 1")
        assert query(other, "SELECT id, n FROM t") == begun
        run(shop, "ROLLBACK TO SAVEPOINT s")
        assert query(shop, "SELECT id FROM t ORDER BY id") == [(2,), (3,)]
        run(shop, "INSERT INTO t VALUES (4, 0)")
        shop.commit()
        assert query(other, "SELECT id, n FROM t ORDER BY id") == [(2, 0), (3, 0), (4, 0)]
        rows = [(operation, rollback, row_id) for _, _, _, operation, rollback, _, row_id, *_ in Redo(oracle, since).rows]
    third, first = rows[1][2], rows[6][2]

    assert rows[1:-1] == [
        *[("INSERT", 0, third), ("DELETE", 1, third)] * 2,
        ("INSERT", 0, third),
        ("DELETE", 0, first),
        ("INSERT", 0, first),
        ("UPDATE", 0, first),
        ("UPDATE", 1, first),
        ("DELETE", 1, first),
        ("INSERT", 0, first),
    ]
    assert third != first


@pytest.fixture
def private_strands():
    with standin(private_strands=True) as running:
        with running.connect("SHOP") as shop:
            run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)")
        yield running


def inserted(miner, *names):
    """Return SCN and key of the inserts into t in these logs, in LogMiner's order."""
    add(miner, *names)
    start(miner)
    sql = "SELECT scn, sql_redo FROM v$logmnr_contents WHERE table_name = 'T' AND operation = 'INSERT'"
    return [(scn, text.split("('")[1][0]) for scn, text in query(miner, sql)]


def test_redo_of_an_open_transaction_reaches_the_online_log_late(private_strands):
    connect, miner_name = private_strands.connect, private_strands.capture_user
    with connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
        ((online,),) = query(
            dba, "SELECT member FROM v$logfile f JOIN v$log l ON l.group# = f.group# WHERE l.status = 'CURRENT'"
        )
    with connect("SHOP") as one, connect("SHOP") as two, connect(miner_name) as miner:
        run(one, "INSERT INTO t VALUES (1, 0)")
        run(two, "INSERT INTO t VALUES (2, 0)")
        two.commit()
        early = inserted(miner, online)
        one.commit()
        late = inserted(miner, online)

    assert [key for _, key in early] == ["2"]
    assert [key for _, key in late] == ["2", "1"]
    assert late[1][0] < late[0][0]


def test_a_switched_log_contains_all_redo_of_its_range(private_strands):
    with private_strands.connect("SHOP") as one, private_strands.connect("SHOP") as two:
        run(one, "INSERT INTO t VALUES (1, 0)")
        run(two, "INSERT INTO t VALUES (2, 0)")
        two.commit()
        names = logs_of(private_strands)
        with private_strands.connect(private_strands.capture_user) as miner:
            rows = inserted(miner, *names)
            ((first, end),) = query(miner, "SELECT MIN(first_change#), MAX(next_change#) FROM v$archived_log")

    assert [key for _, key in rows] == ["2", "1"]
    assert all(first <= scn < end for scn, _ in rows)


def test_the_xid_sequence_can_be_unknown_if_the_start_was_not_read():
    with standin(forgets_sequences=True) as oracle, oracle.connect("SHOP") as shop:
        run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "INSERT INTO t VALUES (1, 0)", "SAVEPOINT s")
        since = logs_of(oracle)
        run(shop, "INSERT INTO t VALUES (2, 0)", "ROLLBACK TO SAVEPOINT s")
        shop.rollback()
        names = sorted(logs_of(oracle) - since)
        with oracle.connect(oracle.capture_user) as miner:
            sql = """SELECT operation, rollback, xidsqn, xid FROM v$logmnr_contents
                WHERE src_con_name = 'FREEPDB1' AND (table_name = 'T' AND operation <> 'DDL' OR operation = 'ROLLBACK')"""
            add(miner, *names)
            start(miner)
            cut = query(miner, sql)
            add(miner, *sorted(since), *names)
            start(miner)
            whole = query(miner, sql)

    unknown = 2**32 - 1
    assert [(operation, rollback, sqn == unknown) for operation, rollback, sqn, _ in cut] == [
        ("INSERT", 0, False),
        ("DELETE", 1, True),
        ("DELETE", 1, True),
        ("ROLLBACK", 0, True),
    ]
    assert [xid.hex().endswith("ffffffff") for *_, xid in cut] == [False, True, True, True]
    assert {xid[:4] for *_, xid in cut} == {cut[0][3][:4]}
    assert unknown not in {sqn for _, _, sqn, _ in whole}


def commits(oracle, since):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    with oracle.connect(oracle.capture_user) as miner:
        add(miner, *(n for n in archived(miner) if n not in since))
        start(miner)
        return query(miner, "SELECT src_con_id, xidusn, xidslt, xidsqn, scn FROM v$logmnr_contents WHERE operation = 'COMMIT'")


@pytest.mark.parametrize("read_between", [False, True], ids=["no read in between", "a read in between"])
def test_commits_on_two_threads_can_have_one_scn(read_between):
    with standin(threads=2, shares_commit_scns=True, background=False) as oracle:
        first, second, third = (oracle.connect("SHOP", instance_name=name) for name in ("FREE1", "FREE2", "FREE1"))
        run(first, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
        since = logs_of(oracle)
        for number, session in enumerate((first, second, third)):
            run(session, f"INSERT INTO t VALUES ({number})")
        first.commit()
        if read_between:
            query(third, "SELECT current_scn FROM v$database")
        second.commit()
        third.commit()
        scns = [scn for *_, scn in commits(oracle, since)]

    assert (scns[0] == scns[1]) is not read_between
    assert scns[2] > scns[0]  # a thread writes one COMMIT at an SCN


def test_a_slot_is_reused_with_a_higher_sequence_and_containers_can_share_an_xid():
    with standin(undo_slots=2) as oracle:
        shop, root = oracle.connect("SHOP"), oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA)
        run(shop, "CREATE TABLE t (id NUMBER)")
        run(root, "CREATE TABLE t (id NUMBER)")
        since = logs_of(oracle)
        for session, count in ((root, 1), (shop, 30)):  # the root has had transactions before, for users and grants
            for number in range(count):
                run(session, f"INSERT INTO t VALUES ({number})")
                session.commit()
        found = commits(oracle, since)
    ours, roots = ([row[1:4] for row in found if row[0] == con_id] for con_id in (3, 1))

    assert len(ours) == len(set(ours)) == 30
    assert len({xid[:2] for xid in ours}) == 2
    assert set(roots) < set(ours)


# What others have published from real databases, mostly 26ai.
PUBLISHED = {
    "whole_seconds": "point",
    "urowids": "unsupported",
    "null_updates": "all",
    "young_columns": "null",
    "lob_rows": "statement",
}


@pytest.fixture(scope="module")
def published():
    with standin(**PUBLISHED) as running:
        yield running


def statements_of(oracle, *changes, table="T", columns="sql_redo"):
    """Run the changes, and return what LogMiner shows of their rows in the table."""
    since = logs_of(oracle)
    with oracle.connect("SHOP") as shop:
        run(shop, *changes)
        shop.commit()
    logs_of(oracle)
    with oracle.connect(oracle.capture_user) as miner:
        run(miner, "ALTER SESSION SET NLS_TIMESTAMP_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9' NLS_DATE_FORMAT = 'YYYY-MM-DD'")
        add(miner, *(name for name in archived(miner) if name not in since))
        start(miner)
        sql = f"SELECT {columns} FROM v$logmnr_contents WHERE table_name = :name AND operation_code IN (1, 2, 3)"
        return query(miner, sql, name=table)


def create(oracle, table, columns):
    with oracle.connect("SHOP") as shop:
        run(
            shop,
            f"CREATE TABLE {table} (id NUMBER PRIMARY KEY, {columns})",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        )


def test_an_update_of_null_to_null_has_every_column_in_set(published):
    create(published, "nulls", "col_a VARCHAR2(20), col_b NUMBER, col_c VARCHAR2(20)")
    *_, (update,) = statements_of(
        published, "INSERT INTO nulls VALUES (2, 'x', 999, NULL)", "UPDATE nulls SET col_c = NULL WHERE id = 2", table="NULLS"
    )

    assert update == (
        """update "SHOP"."NULLS" set "ID" = '2', "COL_A" = 'x', "COL_B" = '999', "COL_C" = NULL """
        """where "ID" = '2' and "COL_A" = 'x' and "COL_B" = '999' and "COL_C" IS NULL"""
    )


def test_a_column_younger_than_its_row_is_null_in_where(published):
    create(published, "young", "name VARCHAR2(20)")
    rows = statements_of(
        published,
        "INSERT INTO young VALUES (1, 'a')",
        "ALTER TABLE young ADD (email VARCHAR2(200))",
        "UPDATE young SET name = 'b'",
        "DELETE FROM young",
        table="YOUNG",
    )

    assert [text for (text,) in rows[1:]] == [
        """update "SHOP"."YOUNG" set "NAME" = 'b' where "ID" = '1' and "NAME" = 'a' and "EMAIL" IS NULL""",
        """delete from "SHOP"."YOUNG" where "ID" = '1' and "NAME" = 'b' and "EMAIL" IS NULL""",
    ]


def test_large_objects_begin_empty_and_come_after_the_columns(published):
    create(published, "papers", "col_label VARCHAR2(20), col_clob CLOB, col_blob BLOB")
    rows = statements_of(
        published,
        "INSERT INTO papers VALUES (1, 'a', NULL, NULL)",
        "UPDATE papers SET col_label = 'updated', col_clob = 'Updated text'",
        "UPDATE papers SET col_clob = NULL, col_blob = NULL",
        "UPDATE papers SET col_clob = 'Short', col_blob = HEXTORAW('aabb')",
        table="PAPERS",
        columns="sql_redo, row_id, data_objd#",
    )

    where = """ where "ID" = '1' and "COL_LABEL" = '"""
    assert [text for text, *_ in rows] == [
        """insert into "SHOP"."PAPERS"("ID","COL_LABEL","COL_CLOB","COL_BLOB") values ('1','a',EMPTY_CLOB(),EMPTY_BLOB())""",
        f"""update "SHOP"."PAPERS" set "COL_CLOB" = NULL, "COL_BLOB" = NULL{where}a'""",
        f"""update "SHOP"."PAPERS" set "COL_LABEL" = 'updated'{where}a'""",
        f"""update "SHOP"."PAPERS" set "COL_CLOB" = 'Updated text'{where}updated'""",
        f"""update "SHOP"."PAPERS" set "COL_CLOB" = NULL, "COL_BLOB" = NULL{where}updated'""",
        f"""update "SHOP"."PAPERS" set "COL_CLOB" = EMPTY_CLOB(), "COL_BLOB" = EMPTY_BLOB(){where}updated'""",
        f"""update "SHOP"."PAPERS" set "COL_CLOB" = 'Short', "COL_BLOB" = HEXTORAW('aabb'){where}updated'""",
    ]
    without = [row_id == "A" * 18 for _, row_id, _ in rows]
    assert without == [True, False, True, False, False, True, False]
    assert [segment == 0 for *_, segment in rows] == without


def test_values_are_written_as_published(published):
    create(
        published,
        "forms",
        "t TIMESTAMP(6), d INTERVAL DAY(2) TO SECOND(6), e INTERVAL DAY(2) TO SECOND(6), y INTERVAL YEAR(4) TO MONTH, "
        "n NVARCHAR2(20), o NVARCHAR2(20), r ROWID, u UROWID",
    )
    ((insert,),) = statements_of(
        published,
        """INSERT INTO forms VALUES (1, TIMESTAMP '2020-02-01 00:00:00', INTERVAL '1 02:03:04.567' DAY TO SECOND,
            INTERVAL '1' DAY, INTERVAL '1234-05' YEAR(4) TO MONTH, 'unicode text', UNISTR('a\\BCC0'), 'AAAT+SAAAAAADxGAAA',
            'AAAT+SAAAAAADxGAAA')""",
        table="FORMS",
    )

    assert insert.partition(" values ")[2] == (
        "('1',TO_TIMESTAMP(' 2020-02-01 00:00:00.'),TO_DSINTERVAL('+01 02:03:04.567000'),TO_DSINTERVAL('+01 00:00:00.'),"
        "TO_YMINTERVAL('+1234-05'),'unicode text',UNISTR('a\\BCC0'),'AAAT+SAAAAAADxGAAA',Unsupported Type)"
    )


def test_the_guard_gets_the_name_of_its_place_when_a_column_before_it_is_dropped(published):
    create(published, "guarded", "name VARCHAR2(20), val NUMBER")
    with published.connect("SHOP") as shop:
        run(
            shop,
            "ALTER TABLE guarded ADD (extra VARCHAR2(50))",
            "ALTER TABLE guarded ADD (score NUMBER DEFAULT 0)",
            "ALTER TABLE guarded DROP COLUMN extra",
        )
        columns = "SELECT column_name, segment_column_id, data_length FROM all_tab_cols WHERE table_name = 'GUARDED'"
        found = query(shop, f"{columns} ORDER BY segment_column_id")

    assert [name for name, *_ in found] == ["ID", "NAME", "VAL", "SYS_NC00004$", "SCORE"]
    assert found[3][1:] == (4, 513)
