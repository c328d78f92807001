"""Log switches, archived copies in every destination, redo threads, and restarts."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from standin.engine.instance import Instance
from standin.engine.settings.options import DatabaseOptions
from standin.redo_file import Op, read_header
from standin.tests.engine.engine_database import archived_redo, logon, open_database, run


def insert_rows(database, count=300):
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, name VARCHAR2(100))")
    for n in range(count):
        run(shop, "INSERT INTO t VALUES (:1, :2)", n, "x" * 80)
        shop.commit()
    return shop


def test_a_full_log_switches_and_holds_only_records_of_its_scn_range(tmp_path):
    database = open_database(log_bytes=20_000, destinations=(tmp_path / "a",))
    insert_rows(database)
    database.archive_current()

    copies = database.state.archived
    assert len(copies) > 3
    for one, two in pairwise(copies):
        assert (two.sequence, two.first_scn) == (one.sequence + 1, one.next_scn)
    for copy in copies:
        header = read_header(Path(copy.name))
        records = [r for r in archived_redo(database) if r.sequence == copy.sequence]
        assert (header.first_scn, header.next_scn, header.records) == (copy.first_scn, copy.next_scn, len(records))
        assert all(copy.first_scn <= r.scn < copy.next_scn for r in records)
        assert [r.scn for r in records] == sorted(r.scn for r in records)
        assert [r.rs_id for r in records] == sorted({r.rs_id for r in records})
    database.close()


def test_every_destination_receives_the_same_records(tmp_path):
    database = open_database(destinations=(tmp_path / "a", tmp_path / "b"))
    insert_rows(database, 5)
    written = list(database.state.threads[1].current.records)
    database.switch_log()

    assert archived_redo(database, 1) == archived_redo(database, 2) == written
    assert [(c.dest_id, Path(c.name).parent.name) for c in database.state.archived] == [(1, "a"), (2, "b")]
    database.close()


def test_a_deferred_destination_receives_no_copy(tmp_path):
    database = open_database(destinations=(tmp_path / "a", tmp_path / "b"))
    database.state.destinations[0].status = "DEFERRED"
    database.switch_log()

    assert [c.dest_id for c in database.state.archived] == [2]
    database.close()


def test_a_thread_held_back_keeps_its_logs_active_and_archives_them_in_order_later():
    database = open_database()
    database.archiver.hold(1)
    for _ in range(4):
        database.switch_log()
    unarchived = [log.sequence for log in database.state.threads[1].logs if log.status == "ACTIVE" and not log.archived]
    archived_while_held = list(database.state.archived)
    database.archiver.release(1)

    assert archived_while_held == []
    assert sorted(unarchived) == [1, 2, 3, 4]
    assert [c.sequence for c in database.state.archived] == [1, 2, 3, 4]
    database.close()


@pytest.mark.parametrize("statement", ["ARCHIVE LOG CURRENT", "SWITCH ALL LOGFILE"])
def test_each_instance_writes_its_own_thread_and_one_statement_switches_all(statement):
    database = open_database(threads=2)
    one, two = logon(database, instance="FREE1"), logon(database, instance="FREE2")
    run(one, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    run(one, "INSERT INTO t VALUES (1)")
    run(two, "INSERT INTO t VALUES (2)")
    one.commit()
    two.commit()
    run(logon(database, "SYS", "FREE"), f"ALTER SYSTEM {statement}")

    inserts = [(r.thread, r.after[1]) for r in archived_redo(database) if r.op == Op.INSERT]
    assert inserts == [(1, b"\xc1\x02"), (2, b"\xc1\x03")]
    assert [(c.thread, c.sequence) for c in database.state.archived] == [(1, 1), (2, 1)]
    database.close()


def test_a_reopened_thread_skips_scns_but_no_sequence():
    database = open_database(threads=2)
    database.redo_threads.close(2)
    closed = database.state.threads[2]
    checkpoint = closed.checkpoint_scn
    is_closed = not closed.is_open
    database.clock.advance(50)
    database.redo_threads.open(2)
    database.switch_log(2)

    first, second = (c for c in database.state.archived if c.thread == 2)
    assert is_closed
    assert first.next_scn <= checkpoint < second.first_scn
    assert second.sequence == first.sequence + 1
    database.close()


def test_archive_lag_target_switches_idle_threads_too():
    database = open_database(threads=2, archive_lag_target=60)
    database.tick()
    archived_before = len(database.state.archived)
    for thread in database.state.threads.values():
        thread.current.first_at -= timedelta(seconds=61)
    database.tick()

    assert archived_before == 0
    assert sorted(c.thread for c in database.state.archived) == [1, 2]
    database.close()


def test_the_heartbeat_advances_the_scn_and_every_threads_last_redo():
    database = open_database(threads=2, scns_per_second=5)
    before = database.clock.scn
    database.tick()

    assert database.clock.scn == before + 5
    assert {t.last_redo_scn for t in database.state.threads.values()} == {before + 5}
    database.close()


def test_a_database_restarts_from_its_directory_with_all_rows_and_versions(tmp_path):
    database = open_database(directory=tmp_path)
    shop = insert_rows(database, 3)
    run(shop, "ALTER TABLE t ADD (n NUMBER DEFAULT 7)")
    before_delete = database.clock.scn
    run(shop, "DELETE FROM t WHERE id = 1")
    shop.commit()
    run(shop, "DELETE FROM t")
    used = database.clock.scn
    database.close()
    restarted = Instance(DatabaseOptions(directory=tmp_path, background=False))
    shop = logon(restarted)
    assert restarted.clock.scn >= used
    assert run(shop, "SELECT id, n FROM t") == [(0, 7), (2, 7)]
    assert run(shop, "SELECT COUNT(*) FROM t AS OF SCN :1", before_delete) == [(3,)]
    run(shop, "INSERT INTO t (id) VALUES (9)")
    shop.commit()
    restarted.switch_log()
    inserted = [r for r in archived_redo(restarted) if r.op == Op.INSERT]
    assert len({r.row_id for r in inserted}) == 4
    restarted.close()
