from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from standin.engine.instance import Instance
from standin.engine.options import DatabaseOptions
from standin.redo_file import Op, read_header
from tests.unit.standin.engine.engine_world import archived_redo, logon, open_database, run


def busy(database, count=300):
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, name VARCHAR2(100))")
    for n in range(count):
        run(shop, "INSERT INTO t VALUES (:1, :2)", n, "x" * 80)
        shop.commit()
    return shop


def test_a_full_log_switches_and_every_record_lies_within_its_log(tmp_path):
    database = open_database(log_bytes=20_000, destinations=(tmp_path / "a",))
    busy(database)
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


def test_what_is_archived_reads_back_equal_at_every_destination(tmp_path):
    database = open_database(destinations=(tmp_path / "a", tmp_path / "b"))
    busy(database, 5)
    written = list(database.state.threads[1].current.records)
    database.switch_log()

    assert archived_redo(database, 1) == archived_redo(database, 2) == written
    assert [(c.dest_id, Path(c.name).parent.name) for c in database.state.archived] == [(1, "a"), (2, "b")]
    database.close()


def test_a_destination_that_is_deferred_gets_no_copy(tmp_path):
    database = open_database(destinations=(tmp_path / "a", tmp_path / "b"))
    database.state.destinations[0].status = "DEFERRED"
    database.switch_log()

    assert [c.dest_id for c in database.state.archived] == [2]
    database.close()


def test_a_held_archiver_leaves_logs_active_and_catches_up_in_order():
    database = open_database()
    database.archiver.hold(1)
    for _ in range(4):
        database.switch_log()
    unarchived = [log.sequence for log in database.state.threads[1].logs if log.status == "ACTIVE" and not log.archived]
    waiting = list(database.state.archived)
    database.archiver.release(1)

    assert waiting == []
    assert sorted(unarchived) == [1, 2, 3, 4]
    assert [c.sequence for c in database.state.archived] == [1, 2, 3, 4]
    database.close()


def test_each_instance_writes_its_own_thread_and_archive_log_current_switches_all():
    database = open_database(threads=2)
    one, two = logon(database, instance="FREE1"), logon(database, instance="FREE2")
    run(one, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    run(one, "INSERT INTO t VALUES (1)")
    run(two, "INSERT INTO t VALUES (2)")
    one.commit()
    two.commit()
    run(logon(database, "SYS", "FREE"), "ALTER SYSTEM ARCHIVE LOG CURRENT")

    inserts = [(r.thread, r.after[1]) for r in archived_redo(database) if r.op == Op.INSERT]
    assert inserts == [(1, b"\xc1\x02"), (2, b"\xc1\x03")]
    assert [(c.thread, c.sequence) for c in database.state.archived] == [(1, 1), (2, 1)]
    database.close()


def test_a_thread_closed_and_opened_again_leaves_a_gap_in_scns_but_none_in_sequences():
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
    young = len(database.state.archived)
    for thread in database.state.threads.values():
        thread.current.first_at -= timedelta(seconds=61)
    database.tick()

    assert young == 0
    assert sorted(c.thread for c in database.state.archived) == [1, 2]
    database.close()


def test_the_heartbeat_moves_the_scn_and_every_threads_last_redo():
    database = open_database(threads=2, scns_per_second=5)
    before = database.clock.scn
    database.tick()

    assert database.clock.scn == before + 5
    assert {t.last_redo_scn for t in database.state.threads.values()} == {before + 5}
    database.close()


def test_a_data_directory_is_found_again_as_it_was_closed(tmp_path):
    database = open_database(directory=tmp_path)
    shop = busy(database, 3)
    run(shop, "ALTER TABLE t ADD (n NUMBER DEFAULT 7)")
    before_delete = database.clock.scn
    run(shop, "DELETE FROM t WHERE id = 1")
    shop.commit()
    run(shop, "DELETE FROM t")
    used = database.clock.scn
    database.close()
    again = Instance(DatabaseOptions(directory=tmp_path, background=False))
    shop = logon(again)
    assert again.clock.scn >= used
    assert run(shop, "SELECT id, n FROM t") == [(0, 7), (2, 7)]
    assert run(shop, "SELECT COUNT(*) FROM t AS OF SCN :1", before_delete) == [(3,)]
    run(shop, "INSERT INTO t (id) VALUES (9)")
    shop.commit()
    again.switch_log()
    inserted = [r for r in archived_redo(again) if r.op == Op.INSERT]
    assert len({r.row_id for r in inserted}) == 4
    again.close()
