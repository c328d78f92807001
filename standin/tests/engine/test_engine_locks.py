"""Row locks: who waits for whom, and which values count after the wait."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from standin.interface import OraError
from standin.redo_file import Op
from standin.tests.engine.engine_database import error_code, logon, row_changes, run
from tests.support.waiting import wait_until


@pytest.fixture
def t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, n NUMBER)")
    shop.execute("INSERT INTO t VALUES (:1, 0)", [(1,), (2,)])
    shop.commit()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as executor:
        yield executor


def wait_until_blocked(session, future: Future):
    """Wait until the session's call waits for another transaction."""
    wait_until(lambda: session.waiting_for is not None or future.done())
    assert not future.done(), future.result()


@pytest.mark.usefixtures("t")
def test_an_update_waits_for_a_locked_row_and_uses_its_committed_values(shop, other, pool):
    run(shop, "UPDATE t SET n = 10 WHERE id = 1")
    blocked = pool.submit(run, other, "UPDATE t SET n = n + 1 WHERE id = 1")
    wait_until_blocked(other, blocked)
    shop.commit()

    assert blocked.result(10).counts == [1]
    assert run(other, "SELECT n FROM t WHERE id = 1") == [(11,)]


@pytest.mark.usefixtures("t")
def test_the_condition_is_evaluated_again_after_a_wait(shop, other, pool):
    run(shop, "UPDATE t SET n = 10 WHERE id = 1")
    blocked = pool.submit(run, other, "DELETE FROM t WHERE n = 0")
    wait_until_blocked(other, blocked)
    shop.commit()

    assert blocked.result(10).counts == [1]
    assert run(other, "SELECT id FROM t") == [(1,)]


@pytest.mark.usefixtures("t")
def test_a_deadlock_is_raised_in_the_last_session_to_wait(shop, other, pool):
    run(shop, "UPDATE t SET n = 1 WHERE id = 1")
    run(other, "UPDATE t SET n = 2 WHERE id = 2")
    blocked = pool.submit(run, other, "UPDATE t SET n = 2 WHERE id = 1")
    wait_until_blocked(other, blocked)

    assert error_code(shop, "UPDATE t SET n = 1 WHERE id = 2") == 60
    assert run(shop, "SELECT n FROM t WHERE id = 1") == [(1,)]
    shop.rollback()
    assert blocked.result(10).counts == [1]


@pytest.mark.usefixtures("t")
@pytest.mark.parametrize(("ends", "code"), [("commit", 1), ("rollback", 0)])
def test_an_insert_waits_for_an_uncommitted_insert_of_its_key(shop, other, pool, ends, code):
    run(shop, "INSERT INTO t VALUES (3, 0)")
    blocked = pool.submit(error_code, other, "INSERT INTO t VALUES (3, 1)")
    wait_until_blocked(other, blocked)
    getattr(shop, ends)()

    assert blocked.result(10) == code


@pytest.mark.usefixtures("t")
@pytest.mark.parametrize(("ends", "code"), [("commit", 0), ("rollback", 1)])
def test_an_insert_waits_for_an_uncommitted_delete_of_its_key(shop, other, pool, ends, code):
    run(shop, "DELETE FROM t WHERE id = 1")
    blocked = pool.submit(error_code, other, "INSERT INTO t VALUES (1, 1)")
    wait_until_blocked(other, blocked)
    getattr(shop, ends)()

    assert blocked.result(10) == code


@pytest.mark.usefixtures("t")
def test_a_waiting_statement_can_be_cancelled(shop, other, pool):
    run(shop, "UPDATE t SET n = 1")
    blocked = pool.submit(run, other, "UPDATE t SET n = 2")
    wait_until_blocked(other, blocked)
    other.cancel()

    with pytest.raises(OraError, match="ORA-01013"):
        blocked.result(10)
    assert run(other, "SELECT n FROM t WHERE id = 1") == [(0,)]


@pytest.mark.usefixtures("t")
def test_killing_a_session_rolls_it_back_and_its_next_call_fails(database, shop, other):
    run(shop, "UPDATE t SET n = 1")
    run(logon(database, "SYS", "FREE"), f"ALTER SYSTEM KILL SESSION '{shop.number},{shop.serial}'")

    assert run(other, "UPDATE t SET n = 2").counts == [2]
    assert error_code(shop, "SELECT * FROM t") == 28


@pytest.mark.usefixtures("t")
def test_a_waiting_session_can_be_killed(database, shop, other, pool):
    run(shop, "UPDATE t SET n = 1")
    blocked = pool.submit(error_code, other, "UPDATE t SET n = 2")
    wait_until_blocked(other, blocked)
    database.kill(other.number)

    assert blocked.result(10) == 28


@pytest.mark.usefixtures("t")
def test_select_for_update_locks_rows_without_changing_them(database, shop, other):
    assert run(shop, "SELECT id FROM t WHERE id = 1 FOR UPDATE") == [(1,)]

    assert error_code(other, "SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT") == 54
    assert run(other, "SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT") == [(2,)]
    assert [r.op for r in row_changes(database, Op.SELECT_FOR_UPDATE)] == [Op.SELECT_FOR_UPDATE] * 2
    shop.commit()
    assert run(other, "SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT") == [(1,)]


@pytest.mark.usefixtures("t")
def test_ddl_waits_for_row_locks_up_to_ddl_lock_timeout(shop, other, pool):
    run(shop, "UPDATE t SET n = 1 WHERE id = 1")
    refused = error_code(other, "ALTER TABLE t ADD (x NUMBER)")
    run(other, "ALTER SESSION SET DDL_LOCK_TIMEOUT = 10")
    blocked = pool.submit(run, other, "ALTER TABLE t ADD (x NUMBER)")
    wait_until_blocked(other, blocked)
    shop.commit()
    blocked.result(10)

    assert refused == 54
    assert run(shop, "SELECT id, n, x FROM t WHERE id = 1") == [(1, 1, None)]


@pytest.mark.usefixtures("t")
def test_a_statement_that_waited_during_a_ddl_uses_the_new_columns(shop, other, pool):
    run(shop, "UPDATE t SET n = 1 WHERE id = 1")
    blocked = pool.submit(run, other, "UPDATE t SET n = n + 1 WHERE id = 1")
    wait_until_blocked(other, blocked)
    with shop.database.lock:
        run(shop, "ALTER TABLE t ADD (m NUMBER DEFAULT 5)")
        run(shop, "ALTER TABLE t DROP COLUMN n")
        run(shop, "ALTER TABLE t ADD (n NUMBER DEFAULT 40)")

    assert blocked.result(10).counts == [1]
    assert run(other, "SELECT id, m, n FROM t ORDER BY id") == [(1, 5, 41), (2, 5, 40)]


@pytest.mark.usefixtures("t")
def test_concurrent_updates_are_all_kept_and_every_change_has_its_own_scn(database, pool):
    start = threading.Barrier(4)

    def work(number):
        session = logon(database)
        start.wait(10)
        for _ in range(50):
            run(session, "UPDATE t SET n = n + 1 WHERE id = :1", 1 + number % 2)
            session.commit()

    for done in [pool.submit(work, n) for n in range(4)]:
        done.result(30)

    assert run(logon(database), "SELECT n FROM t ORDER BY id") == [(100,), (100,)]
    scns = [r.scn for r in row_changes(database)]
    assert len(set(scns)) == len(scns) == 202
