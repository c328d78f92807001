"""A physical standby through the unmodified driver: what has arrived, what is applied, what it refuses, and changed roles."""

from __future__ import annotations

import oracledb
import pytest

from standin.serve import standin
from standin.tests.served.mining_client import add, failure, query, run, start

SCN = "SELECT current_scn FROM v$database"
ROLE = "SELECT db_unique_name, database_role, open_mode, primary_db_unique_name FROM v$database"
LOGS = "SELECT thread#, sequence# FROM v$archived_log ORDER BY 1, 2"


@pytest.fixture
def oracle():
    with standin(threads=2, background=False) as running, running.connect("SHOP") as shop:
        run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        shop.commit()
        yield running


def dba(oracle, *statements):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection:
        run(connection, *statements)


def insert(oracle, number, dsn=None):
    with oracle.connect("SHOP", dsn=dsn, instance_name=oracle.database.state.threads[1].instance) as shop:
        run(shop, f"INSERT INTO t VALUES ({number})")
        shop.commit()


def on_primary(oracle, sql, **binds):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection:
        return query(connection, sql, **binds)


def on_standby(oracle, sql, **binds):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA, dsn=oracle.standby_root_dsn) as connection:
        return query(connection, sql, **binds)


def rows(oracle, sql="SELECT id FROM t ORDER BY id", **binds):
    with oracle.connect("SHOP", dsn=oracle.standby_pdb_dsn) as connection:
        return [number for (number,) in query(connection, sql, **binds)]


def test_both_say_what_they_are(oracle):
    assert on_primary(oracle, ROLE) == [("FREE", "PRIMARY", "READ WRITE", None)]
    assert on_standby(oracle, ROLE) == [("FREE_STBY", "PHYSICAL STANDBY", "READ ONLY WITH APPLY", "FREE")]
    oracle.faults.stop_apply()
    assert on_standby(oracle, ROLE)[0][2] == "READ ONLY"


def test_a_standby_that_stops_applying_keeps_its_rows_and_its_scn(oracle):
    oracle.faults.stop_apply()
    before = on_standby(oracle, SCN)
    insert(oracle, 2)
    assert (rows(oracle), on_standby(oracle, SCN)) == ([1], before)
    assert before < on_primary(oracle, SCN)
    oracle.faults.start_apply()
    assert rows(oracle) == [1, 2]


@pytest.mark.parametrize("reads", ["refused", "older"])
def test_an_scn_that_is_not_applied(reads):
    with standin(background=False, unapplied_reads=reads) as oracle, oracle.connect("SHOP") as shop:
        run(shop, "CREATE TABLE t (id NUMBER)", "INSERT INTO t VALUES (1)")
        shop.commit()
        oracle.faults.stop_apply()
        insert(oracle, 2)
        ((scn,),) = on_primary(oracle, SCN)
        sql = "SELECT id FROM t AS OF SCN :scn"
        if reads == "refused":
            with pytest.raises(oracledb.DatabaseError, match="ORA-08181"):
                rows(oracle, sql, scn=scn)
        else:
            assert rows(oracle, sql, scn=scn) == [1]
        oracle.faults.start_apply()
        assert rows(oracle, sql, scn=scn) == [1, 2]


def test_transactions_of_the_primary_are_not_shown(oracle):
    with oracle.connect("SHOP") as shop:
        run(shop, "INSERT INTO t VALUES (5)")
        assert len(on_primary(oracle, "SELECT xidusn FROM gv$transaction")) == 1
        for view in ("v$transaction", "gv$transaction"):
            assert on_standby(oracle, f"SELECT xidusn FROM {view}") == []


def test_nothing_can_be_written(oracle):
    with oracle.connect("SHOP", dsn=oracle.standby_pdb_dsn) as shop:
        for sql in (
            "INSERT INTO t VALUES (9)",
            "UPDATE t SET id = 9",
            "CREATE TABLE u (id NUMBER)",
            "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            "SELECT id FROM t FOR UPDATE",
            "BEGIN DELETE FROM t; END;",
        ):
            assert failure(run, shop, sql).code == 16000, sql
        run(shop, "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY'", "COMMIT", "ROLLBACK")
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA, dsn=oracle.standby_root_dsn) as miner:
        build = "BEGIN DBMS_LOGMNR_D.BUILD(options => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;"
        assert failure(run, miner, build).code == 16000
    assert rows(oracle) == [1]


def test_logs_arrive_out_of_order_and_a_gap_is_fetched_later(oracle):
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    oracle.faults.leave_gap(thread=1, sequence=2)
    insert(oracle, 2)
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", "ALTER SYSTEM ARCHIVE LOG CURRENT")
    assert on_standby(oracle, LOGS) == [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert on_standby(oracle, "SELECT thread#, low_sequence#, high_sequence# FROM v$archive_gap") == [(1, 2, 2)]
    ((name,),) = on_primary(oracle, "SELECT name FROM v$archived_log WHERE thread# = 1 AND sequence# = 2")
    with oracle.connect(oracle.capture_user, dsn=oracle.standby_root_dsn) as miner:
        with pytest.raises(oracledb.DatabaseError, match="ORA-01284"):
            add(miner, name)
        assert rows(oracle) == [1]
        oracle.faults.fetch_gap()
        add(miner, name)
        start(miner)
        assert query(miner, "SELECT operation FROM v$logmnr_contents WHERE operation = 'INSERT'") == [("INSERT",)]
    assert rows(oracle) == [1, 2]
    assert on_standby(oracle, "SELECT DISTINCT applied FROM v$archived_log") == [("YES",)]


def test_without_real_time_apply_a_log_is_applied_once_every_thread_has_archived_it(oracle):
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    oracle.faults.apply_archived_logs()
    insert(oracle, 2)
    assert rows(oracle) == [1]
    with oracle.connect(
        "SYS", mode=oracledb.AUTH_MODE_SYSDBA, instance_name=oracle.database.state.threads[1].instance
    ) as connection:
        run(connection, "ALTER SYSTEM SWITCH LOGFILE")
    assert rows(oracle) == [1]
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    assert rows(oracle) == [1, 2]


def test_redo_of_a_thread_that_is_not_sent_holds_back_all(oracle):
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    oracle.faults.stop_transport(thread=2)
    insert(oracle, 2)
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    assert rows(oracle) == [1]
    assert (2, 2) not in on_standby(oracle, LOGS)
    oracle.faults.resume_transport(thread=2)
    assert rows(oracle) == [1, 2]


def test_the_lags_are_shown_on_the_standby_alone(oracle):
    stats = "SELECT name, value FROM v$dataguard_stats ORDER BY name"
    assert on_primary(oracle, stats) == []
    oracle.faults.stop_apply()
    oracle.database.clock.skip(90)
    insert(oracle, 2)
    apply, transport = on_standby(oracle, stats)
    assert transport == ("transport lag", "+00 00:00:00")
    assert (apply[0], apply[1] >= "+00 00:01:00") == ("apply lag", True)
    assert on_standby(oracle, "SELECT thread# FROM v$standby_log WHERE status = 'ACTIVE'") == [(1,), (2,)]


def test_the_dictionary_in_the_redo_is_not_mined_on_a_standby(oracle):
    dba(
        oracle,
        "BEGIN DBMS_LOGMNR_D.BUILD(options => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;",
        "ALTER SYSTEM ARCHIVE LOG CURRENT",
    )
    ((name,),) = on_standby(oracle, "SELECT name FROM v$archived_log WHERE dictionary_begin = 'YES'")
    with oracle.connect(oracle.capture_user, dsn=oracle.standby_root_dsn) as miner:
        add(miner, name)
        started = "BEGIN DBMS_LOGMNR.START_LOGMNR(options => DBMS_LOGMNR.DICT_FROM_REDO_LOGS); END;"
        assert failure(run, miner, started).code == 1300


def test_after_a_switchover_the_roles_are_changed_and_back(oracle):
    oracle.faults.switch_over()
    assert on_standby(oracle, ROLE) == [("FREE_STBY", "PRIMARY", "READ WRITE", None)]
    assert on_primary(oracle, ROLE) == [("FREE", "PHYSICAL STANDBY", "READ ONLY WITH APPLY", "FREE_STBY")]
    insert(oracle, 2, oracle.standby_pdb_dsn)
    assert len(on_primary(oracle, "SELECT status FROM v$database_incarnation")) == 1
    oracle.faults.switch_over()
    insert(oracle, 3)
    assert rows(oracle) == [1, 2, 3]


def test_a_failover_moves_the_service_and_the_lost_host_comes_back_as_a_standby(oracle):
    dba(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    insert(oracle, 2)  # in no archived log
    oracle.faults.fail_over(moves=True)
    assert on_standby(oracle, ROLE)[0][:2] == ("FREE_STBY", "PRIMARY")
    assert rows(oracle) == [1]
    with pytest.raises(oracledb.DatabaseError, match="DPY-6001"):
        on_primary(oracle, ROLE)
    oracle.faults.reinstate()
    assert on_primary(oracle, ROLE)[0][1] == "PHYSICAL STANDBY"


def test_statements_are_counted_by_service(oracle):
    counted = oracle.count_statements()
    on_standby(oracle, SCN)
    on_standby(oracle, SCN)
    on_primary(oracle, ROLE)
    assert {service: dict(found) for service, found in counted.items()} == {"FREE_STBY": {SCN: 2}, "FREE": {ROLE: 1}}
    shown = on_primary(oracle, "SELECT service, sql_text, executions FROM v$sql")
    assert ("FREE_STBY", SCN, 2) in shown
