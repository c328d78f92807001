"""Faults of the archiver, archived logs and redo threads, seen through the unmodified driver."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import oracledb
import pytest

from standin.interface import OraError
from standin.serve import standin
from standin.tests.served.mining_client import add, failure, query, run, start
from tests.support.waiting import wait_until

DEADLINE = 20.0
CONTENTS = "SELECT COUNT(*) FROM v$logmnr_contents"
ARCHIVED = "SELECT sequence# FROM v$archived_log WHERE thread# = :thread AND status = 'A' ORDER BY sequence#"


@pytest.fixture
def oracle(tmp_path):
    with standin(threads=2, log_bytes=16 * 1024, destinations=(tmp_path / "a", tmp_path / "b")) as running:
        with running.connect("SHOP") as shop:
            run(shop, "CREATE TABLE t (id NUMBER, name VARCHAR2(4000))")
        yield running


@pytest.fixture
def shop(oracle):
    with oracle.connect("SHOP", instance_name="FREE1") as connection:
        yield connection


@pytest.fixture
def dba(oracle):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA, instance_name="FREE1") as connection:
        yield connection


@pytest.fixture
def miner(oracle):
    with oracle.connect(oracle.capture_user, instance_name="FREE1") as connection:
        yield connection


def sequences(connection, thread=1):
    return sorted({sequence for (sequence,) in query(connection, ARCHIVED, thread=thread)})


def name_of(connection, sequence, dest_id=1, thread=1):
    sql = "SELECT name FROM v$archived_log WHERE thread# = :t AND sequence# = :s AND dest_id = :d AND status = 'A'"
    ((name,),) = query(connection, sql, t=thread, s=sequence, d=dest_id)
    return name


def mined(connection, name):
    add(connection, name)
    start(connection)
    return query(connection, CONTENTS)[0][0]


class TestArchiver:
    def test_a_lagging_thread_does_not_delay_the_other(self, oracle, dba, miner):
        oracle.faults.lag_archiver(2)
        for _ in range(5):  # more switches than log groups
            run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        waiting = query(miner, "SELECT sequence# FROM v$log WHERE thread# = 2 AND status = 'ACTIVE' AND archived = 'NO'")

        assert (sequences(miner, 1), sequences(miner, 2)) == ([1, 2, 3, 4, 5], [])
        assert sorted(waiting) == [(1,), (2,), (3,), (4,), (5,)]

        oracle.faults.catch_up_archiver(2)
        assert sequences(miner, 2) == [1, 2, 3, 4, 5]

    def test_full_destinations_stop_writers_and_logons_but_not_readers(self, oracle, shop, dba, miner):
        oracle.faults.stick_archiver()
        with ThreadPoolExecutor() as pool:
            writing = pool.submit(insert_rows, shop, 60)
            wait_until(lambda: query(dba, "SELECT log_switch_wait FROM v$instance") == [("ARCHIVE LOG",)])

            assert not writing.done()
            assert query(dba, "SELECT archiver FROM v$instance") == [("FAILED",)]
            assert failure(oracle.connect, "SHOP").code == 257
            assert failure(oracle.connect, oracle.capture_user).code == 257
            assert query(miner, "SELECT COUNT(*) FROM v$log WHERE status = 'ACTIVE' AND archived = 'NO'") == [(2,)]
            assert "ORA-19809" in query(dba, "SELECT error FROM v$archive_dest WHERE dest_id = 1")[0][0]

            oracle.faults.free_archiver()
            writing.result(timeout=DEADLINE)
        assert query(shop, "SELECT COUNT(*) FROM t") == [(60,)]
        assert query(dba, "SELECT archiver FROM v$instance") == [("STARTED",)]
        oracle.connect("SHOP").close()

    def test_a_call_that_waits_for_the_archiver_can_time_out(self, oracle, shop):
        oracle.faults.stick_archiver()
        shop.call_timeout = 500

        with shop.cursor() as cursor:
            rows = [(key, "x" * 900) for key in range(60)]
            assert failure(cursor.executemany, "INSERT INTO t VALUES (:1, :2)", rows).full_code == "DPY-4024"

    def test_archive_log_stop_and_start(self, dba, miner):
        run(dba, "ALTER SYSTEM ARCHIVE LOG STOP", "ALTER SYSTEM SWITCH LOGFILE")

        assert query(dba, "SELECT archiver FROM v$instance") == [("STOPPED",)]
        assert sequences(miner) == []

        run(dba, "ALTER SYSTEM ARCHIVE LOG START")
        assert sequences(miner) == [1]

    def test_a_deferred_destination_gets_no_copy(self, dba, miner):
        run(dba, "ALTER SYSTEM SET log_archive_dest_state_2 = DEFER", "ALTER SYSTEM SWITCH LOGFILE")
        run(dba, "ALTER SYSTEM SET log_archive_dest_state_2 = ENABLE", "ALTER SYSTEM SWITCH LOGFILE")

        assert query(miner, "SELECT sequence#, dest_id FROM v$archived_log ORDER BY 1, 2") == [(1, 1), (2, 1), (2, 2)]


def insert_rows(connection, count):
    for key in range(count):
        run(connection, f"INSERT INTO t VALUES ({key}, '{'x' * 900}')")
        connection.commit()


@pytest.fixture
def logs(dba):
    """Archive logs 1, 2 and 3 of both threads to both destinations."""
    for _ in range(3):
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")


@pytest.mark.usefixtures("logs")
class TestArchivedLogs:
    def test_purged_logs_lose_file_and_name(self, oracle, miner):
        first = name_of(miner, 1)
        gone = oracle.faults.purge_logs(thread=1, to_sequence=2)
        rows = query(miner, "SELECT sequence#, status, deleted, name FROM v$archived_log WHERE thread# = 1 AND dest_id = 1")

        assert rows[:2] == [(1, "D", "YES", None), (2, "D", "YES", None)]
        assert rows[2][:3] == (3, "A", "NO")
        assert not any(os.path.exists(copy.name) for copy in gone)
        assert failure(add, miner, first).code == 1284
        assert query(miner, "SELECT COUNT(*) FROM v$log_history WHERE thread# = 1") == [(3,)]

    def test_removed_files_are_still_listed(self, oracle, miner):
        oracle.faults.remove_files(thread=1, from_sequence=2, to_sequence=2, dest_id=1)
        error = failure(add, miner, name_of(miner, 2))

        assert error.code == 1284
        assert "ORA-00308" in error.message
        assert "ORA-27037" in error.message
        add(miner, name_of(miner, 2, dest_id=2))

    def test_aged_out_records_leave_the_file(self, oracle, miner):
        name = name_of(miner, 1)
        oracle.faults.age_out_records(thread=1, to_sequence=1)

        assert sequences(miner) == [2, 3]
        assert query(miner, "SELECT MIN(sequence#) FROM v$log_history WHERE thread# = 1") == [(1,)]
        add(miner, name)

    def test_a_truncated_file_fails_the_fetch(self, oracle, shop, dba, miner):
        insert_rows(shop, 5)
        run(dba, "ALTER SYSTEM SWITCH LOGFILE")
        name = name_of(miner, 4)
        oracle.faults.truncate_files(thread=1, from_sequence=4, dest_id=1)

        assert failure(mined, miner, name).code == 353

    def test_an_overwritten_file_is_another_log(self, oracle, miner):
        name = name_of(miner, 1)
        add(miner, name)
        start(miner)
        oracle.faults.overwrite_files(thread=1, to_sequence=1, dest_id=1)

        assert failure(query, miner, CONTENTS).code == 310
        add(miner, name)
        assert query(miner, "SELECT thread_sqn FROM v$logmnr_logs") == [(3,)]

    def test_garbage_is_not_accepted_as_a_log(self, oracle, miner):
        oracle.faults.garble_files(thread=1, to_sequence=1, dest_id=1)

        assert failure(add, miner, name_of(miner, 1)).code == 1285

    @pytest.mark.parametrize("fault", ["purge_logs", "remove_files", "age_out_records", "truncate_files", "garble_files"])
    def test_restored_logs_have_their_content_again(self, oracle, miner, fault):
        name = name_of(miner, 1)
        held = mined(miner, name)
        getattr(oracle.faults, fault)(thread=1, to_sequence=1)
        back = oracle.faults.restore_logs(thread=1, to_sequence=1)

        assert sorted(copy.dest_id for copy in back) == [1, 2]
        assert name_of(miner, 1) == name
        assert mined(miner, name) == held

    def test_a_hidden_destination_cannot_be_read_and_gets_no_copies(self, oracle, dba, miner):
        name = name_of(miner, 1)
        oracle.faults.hide_destination(1)
        run(dba, "ALTER SYSTEM SWITCH LOGFILE")
        error = failure(add, miner, name)

        assert error.code == 1284
        assert "Linux-x86_64 Error: 13: Permission denied" in error.message
        assert query(miner, "SELECT dest_id FROM v$archived_log WHERE thread# = 1 AND sequence# = 4") == [(2,)]
        assert query(dba, "SELECT status FROM v$archive_dest_status WHERE dest_id <= 2") == [("ERROR",), ("VALID",)]

        oracle.faults.show_destination(1)
        run(dba, "ALTER SYSTEM SWITCH LOGFILE")
        add(miner, name)
        assert query(miner, "SELECT COUNT(*) FROM v$archived_log WHERE thread# = 1 AND sequence# = 5") == [(2,)]

    def test_a_log_waits_until_a_destination_is_writable(self, oracle, dba, miner):
        oracle.faults.hide_destination(1)
        oracle.faults.hide_destination(2)
        run(dba, "ALTER SYSTEM SWITCH LOGFILE")

        assert sequences(miner)[-1] == 3
        assert failure(oracle.connect, "SHOP").code == 257

        oracle.faults.show_destination(2)
        assert sequences(miner)[-1] == 4


class TestThreads:
    def test_a_thread_closed_and_reopened_leaves_a_gap_in_scns_only(self, oracle, dba, miner):
        sql = "SELECT sequence#, first_change#, next_change# FROM v$archived_log WHERE thread# = 2 AND dest_id = 1"
        state = "SELECT status, checkpoint_change# FROM v$thread WHERE thread# = 2"
        oracle.faults.close_thread(2)
        ((status, checkpoint),) = query(miner, state)
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")

        assert status == "CLOSED"
        assert failure(oracle.connect, "SHOP", instance_name="FREE2").code == 12521

        oracle.faults.open_thread(2)
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        (_, _, ended), (second, began, _) = query(miner, sql)
        assert ended <= checkpoint < began
        assert second == 2

    def test_closing_an_instance_ends_its_sessions(self, oracle):
        with oracle.connect("SHOP", instance_name="FREE2") as other:
            oracle.faults.close_thread(2)

            assert failure(query, other, "SELECT 1 FROM dual").full_code == "DPY-4011"

    def test_a_thread_is_added_enabled_and_started(self, oracle, dba, miner):
        run(dba, "ALTER DATABASE ADD LOGFILE THREAD 3 GROUP 9 ('/u01/redo09.log') SIZE 50M")
        state = "SELECT status, enabled FROM v$thread WHERE thread# = 3"

        assert query(miner, state) == [("CLOSED", "DISABLED")]
        with pytest.raises(OraError, match="ORA-01618"):
            oracle.faults.open_thread(3)

        run(dba, "ALTER DATABASE ENABLE PUBLIC THREAD 3")
        assert query(miner, state) == [("CLOSED", "PUBLIC")]
        ((enabled_at,),) = query(miner, "SELECT enable_change# FROM v$thread WHERE thread# = 3")

        oracle.faults.open_thread(3)
        with oracle.connect("SHOP", instance_name="FREE3") as shop:
            insert_rows(shop, 1)
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        ((sequence, first),) = query(
            miner, "SELECT sequence#, first_change# FROM v$archived_log WHERE thread# = 3 AND dest_id = 1"
        )
        assert (sequence, first >= enabled_at) == (1, True)
        assert query(miner, state) == [("OPEN", "PUBLIC")]

    def test_a_disabled_thread_shows_its_scn_and_a_dropped_one_keeps_its_archived_logs(self, oracle, dba, miner):
        oracle.faults.close_thread(2)
        run(dba, "ALTER DATABASE DISABLE THREAD 2")
        ((enabled, disabled_at),) = query(miner, "SELECT enabled, disable_change# FROM v$thread WHERE thread# = 2")
        ((end,),) = query(miner, "SELECT MAX(next_change#) FROM v$archived_log WHERE thread# = 2")

        assert enabled == "DISABLED"
        assert disabled_at >= end

        oracle.faults.drop_thread(2)
        assert query(miner, "SELECT thread# FROM v$thread") == [(1,)]
        assert sequences(miner, 2) == [1]

    def test_a_thread_can_be_enabled_privately(self, oracle, miner):
        oracle.faults.add_thread(3, public=False)

        assert query(miner, "SELECT status, enabled FROM v$thread WHERE thread# = 3") == [("OPEN", "PRIVATE")]
