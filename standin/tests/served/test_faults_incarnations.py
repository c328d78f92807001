"""RESETLOGS, flashback and failover, seen through the unmodified driver."""

from __future__ import annotations

from itertools import pairwise

import oracledb
import pytest

from standin.interface import OraError
from standin.serve import standin
from standin.tests.served.mining_client import SET_NLS, add, failure, query, run, start

INCARNATIONS = "SELECT status, resetlogs_change#, prior_resetlogs_change#, resetlogs_id FROM v$database_incarnation ORDER BY 2"
LOGS = """SELECT thread#, sequence#, first_change#, next_change# FROM v$archived_log
    WHERE resetlogs_id = :id ORDER BY thread#, sequence#"""
ROWS = "SELECT id, name FROM t ORDER BY id"
SCN = "SELECT current_scn FROM v$database"


class Client:
    """Opens a connection per call, since a RESETLOGS ends all connections."""

    def __init__(self, oracle):
        self.oracle = oracle

    def dba(self, *statements):
        with self.oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA, instance_name="FREE1") as connection:
            run(connection, *statements)

    def query(self, sql, **binds):
        with self.oracle.connect(self.oracle.capture_user) as connection:
            return query(connection, sql, **binds)

    def shop(self, *statements):
        with self.oracle.connect("SHOP", instance_name="FREE1") as connection:
            run(connection, *statements)
            connection.commit()

    def rows(self):
        with self.oracle.connect("SHOP") as connection:
            return query(connection, ROWS)

    def scn(self):
        return self.query(SCN)[0][0]

    def mined(self, resetlogs_id):
        """Return the LogMiner rows of thread 1."""
        names = [
            n for (n,) in self.query("SELECT name FROM v$archived_log WHERE resetlogs_id = :i AND thread# = 1", i=resetlogs_id)
        ]
        with self.oracle.connect(self.oracle.capture_user) as miner:
            run(miner, SET_NLS)
            add(miner, *names)
            start(miner)
            sql = "SELECT xid, operation, rollback, sql_redo FROM v$logmnr_contents WHERE src_con_name = 'FREEPDB1'"
            return query(miner, sql)


@pytest.fixture
def oracle():
    with standin(threads=2) as running:
        yield running


@pytest.fixture
def client(oracle):
    client = Client(oracle)
    client.shop("CREATE TABLE t (id NUMBER PRIMARY KEY, name VARCHAR2(10))", "INSERT INTO t VALUES (1, 'one')")
    client.dba("ALTER SYSTEM ARCHIVE LOG CURRENT")
    return client


class TestResetlogs:
    def test_without_flashback_the_old_logs_end_where_the_new_begin(self, oracle, client):
        client.shop("INSERT INTO t VALUES (2, 'two')")
        born = oracle.faults.reset_logs()
        client.shop("INSERT INTO t VALUES (3, 'three')")
        client.dba("ALTER SYSTEM ARCHIVE LOG CURRENT")
        old, new = client.query(INCARNATIONS)
        before, after = client.query(LOGS, id=old[3]), client.query(LOGS, id=new[3])

        assert (old[0], new[:3]) == ("PARENT", ("CURRENT", born.resetlogs_scn, old[1]))
        assert {end for _, sequence, _, end in before if sequence == 2} == {born.resetlogs_scn}
        assert [(thread, sequence, first) for thread, sequence, first, _ in after] == [
            (1, 1, born.resetlogs_scn),
            (2, 1, born.resetlogs_scn),
        ]
        assert client.rows() == [(1, "one"), (2, "two"), (3, "three")]

    def test_every_session_ends(self, oracle, client):
        with oracle.connect("SHOP") as shop:
            run(shop, "INSERT INTO t VALUES (9, 'nine')")
            oracle.faults.reset_logs()

            assert failure(query, shop, ROWS).full_code == "DPY-4011"
        assert client.rows() == [(1, "one")]

    def test_flashback_restores_data_and_scn_and_keeps_the_later_logs(self, oracle, client):
        scn = client.scn()
        client.shop("UPDATE t SET name = 'uno'", "INSERT INTO t VALUES (2, 'two')", "CREATE TABLE later (id NUMBER)")
        client.dba("ALTER SYSTEM ARCHIVE LOG CURRENT")
        beyond = client.scn()
        born = oracle.faults.reset_logs(to_scn=scn)
        old = client.query(INCARNATIONS)[0][3]

        assert client.rows() == [(1, "one")]
        assert born.resetlogs_scn == scn + 1 <= client.scn() < beyond
        assert max(end for *_, end in client.query(LOGS, id=old)) >= beyond
        with oracle.connect("SHOP") as shop:
            assert failure(query, shop, "SELECT * FROM later").code == 942
            run(shop, "INSERT INTO t VALUES (2, 'zwei')")  # the key is free again

    def test_a_transaction_open_at_the_scn_is_rolled_back_by_the_new_incarnation(self, oracle, client):
        with oracle.connect("SHOP", instance_name="FREE1") as shop:
            run(shop, "UPDATE t SET name = 'uno' WHERE id = 1", "INSERT INTO t VALUES (2, 'two')")
            scn = client.scn()
            shop.commit()
        oracle.faults.reset_logs(to_scn=scn)
        client.dba("ALTER SYSTEM ARCHIVE LOG CURRENT")
        old, new = (row[3] for row in client.query(INCARNATIONS))
        open_xid = next(xid for xid, operation, _, text in client.mined(old) if operation == "INSERT" and "'two'" in text)
        ended = [(operation, rollback) for xid, operation, rollback, _ in client.mined(new) if xid == open_xid]

        assert client.rows() == [(1, "one")]
        assert ended == [("DELETE", 1), ("UPDATE", 1), ("ROLLBACK", 0)]

    def test_flashback_across_ddl_is_refused(self, oracle, client):
        scn = client.scn()
        client.shop("TRUNCATE TABLE t")

        with pytest.raises(OraError, match="ORA-38729"):
            oracle.faults.reset_logs(to_scn=scn)

    def test_logs_of_two_incarnations_do_not_mix(self, oracle, client):
        oracle.faults.reset_logs()
        client.dba("ALTER SYSTEM ARCHIVE LOG CURRENT")
        names = [n for (n,) in client.query("SELECT name FROM v$archived_log WHERE thread# = 1 ORDER BY first_change#")]

        with oracle.connect(oracle.capture_user) as miner:
            assert failure(add, miner, names[0], names[-1]).code == 1287

    def test_flashback_and_resetlogs_by_statement(self, oracle, client):
        scn = client.scn()
        client.shop("INSERT INTO t VALUES (2, 'two')")
        with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
            assert failure(run, dba, f"FLASHBACK DATABASE TO SCN {scn}").code == 38757
            assert failure(run, dba, "ALTER DATABASE OPEN RESETLOGS").code == 1531
            with oracle.connect("SHOP"):
                assert failure(run, dba, "ALTER DATABASE CLOSE").code == 1093
            run(dba, "ALTER DATABASE CLOSE")
            assert query(dba, "SELECT open_mode FROM v$database") == [("MOUNTED",)]
            assert failure(oracle.connect, "SHOP").code == 1033
            assert failure(run, dba, "ALTER DATABASE OPEN RESETLOGS").code == 1139
            run(dba, f"FLASHBACK DATABASE TO SCN {scn}")
            assert failure(run, dba, "ALTER DATABASE OPEN").code == 1589
            run(dba, "ALTER DATABASE OPEN RESETLOGS")

        assert client.rows() == [(1, "one")]
        assert [row[1] for row in client.query(INCARNATIONS)][1:] == [scn + 1]

    def test_recovery_until_cancel_by_statement(self, oracle, client):
        with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
            run(dba, "ALTER DATABASE CLOSE", "ALTER DATABASE RECOVER DATABASE UNTIL CANCEL", "ALTER DATABASE OPEN RESETLOGS")

        assert client.rows() == [(1, "one")]
        assert len(client.query(INCARNATIONS)) == 2

    def test_a_running_fetch_ends(self, oracle, client):
        with oracle.connect("SHOP") as shop, shop.cursor() as cursor:
            with shop.cursor() as filling:
                filling.executemany("INSERT INTO t VALUES (:1, 'x')", [(n,) for n in range(10, 1_000)])
            shop.commit()
            cursor.arraysize = cursor.prefetchrows = 10
            cursor.execute("SELECT * FROM t")
            cursor.fetchmany(10)
            oracle.faults.reset_logs()

            assert failure(cursor.fetchmany, 100).full_code == "DPY-4011"

    def test_a_second_flashback_follows_the_first(self, oracle, client):
        scn = client.scn()
        client.shop("INSERT INTO t VALUES (2, 'two')", "CREATE TABLE later (id NUMBER)")
        oracle.faults.reset_logs(to_scn=scn)
        client.shop("INSERT INTO t VALUES (3, 'three')")
        again = client.scn()
        client.shop("INSERT INTO t VALUES (4, 'four')")
        oracle.faults.reset_logs(to_scn=again)
        chain = client.query(INCARNATIONS)

        assert client.rows() == [(1, "one"), (3, "three")]
        assert [row[0] for row in chain] == ["PARENT", "PARENT", "CURRENT"]
        assert all(child[2] == parent[1] for parent, child in pairwise(chain))
        with pytest.raises(OraError, match="ORA-38729"):
            oracle.faults.reset_logs(to_scn=scn)


class TestFailover:
    def test_changes_that_were_not_archived_are_lost(self, oracle, client):
        client.shop("INSERT INTO t VALUES (2, 'two')")
        old = client.query("SELECT db_unique_name, dbid FROM v$database")
        born = oracle.faults.fail_over()
        new = client.query("SELECT db_unique_name, dbid FROM v$database")
        ends = client.query("SELECT thread#, MAX(next_change#) FROM v$archived_log GROUP BY thread#")

        assert client.rows() == [(1, "one")]
        assert (new[0][0] != old[0][0], new[0][1]) == (True, old[0][1])
        assert min(end for _, end in ends) == born.resetlogs_scn
        assert client.query("SELECT COUNT(*) FROM v$archived_log WHERE sequence# > 1") == [(0,)]

    def test_archived_logs_that_had_not_arrived_are_undone_and_unlisted(self, oracle, client):
        client.shop("INSERT INTO t VALUES (2, 'two')")
        client.dba("ALTER SYSTEM ARCHIVE LOG CURRENT")
        read_to = client.scn()
        born = oracle.faults.fail_over(logs_behind=1)

        assert client.rows() == [(1, "one")]
        assert born.resetlogs_scn < read_to
        assert client.query("SELECT MAX(sequence#) FROM v$archived_log") == [(1,)]
        assert client.query("SELECT MAX(sequence#) FROM v$log_history") == [(1,)]

    def test_the_logs_that_arrived_can_be_mined_under_their_new_names(self, oracle, client):
        old = client.query(INCARNATIONS)[0][3]
        before = client.mined(old)
        oracle.faults.fail_over()

        assert client.mined(old) == before

    def test_clients_are_disconnected(self, oracle, client):
        with oracle.connect("SHOP") as shop:
            oracle.faults.fail_over()

            assert failure(query, shop, ROWS).full_code == "DPY-4011"
