from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from standin.interface import OraError
from standin.redo_file import Op
from tests.unit.standin.engine.engine_world import changes, code_of, logon, run
from tests.waiting import wait_until


@pytest.fixture
def t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, n NUMBER)")
    shop.execute("INSERT INTO t VALUES (:1, 0)", [(1,), (2,)])
    shop.commit()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as executor:
        yield executor


def waiting(session, future: Future):
    """Until the session's call waits for another transaction."""
    wait_until(lambda: session.waiting_for is not None or future.done())
    assert not future.done(), future.result()


@pytest.mark.usefixtures("t")
def test_a_locked_row_is_waited_for_and_then_seen_as_it_was_committed(shop, other, pool):
    run(shop, "UPDATE t SET n = 10 WHERE id = 1")
    blocked = pool.submit(run, other, "UPDATE t SET n = n + 1 WHERE id = 1")
    waiting(other, blocked)
    shop.commit()

    assert blocked.result(10).counts == [1]
    assert run(other, "SELECT n FROM t WHERE id = 1") == [(11,)]


@pytest.mark.usefixtures("t")
def test_after_the_wait_the_condition_is_asked_again(shop, other, pool):
    run(shop, "UPDATE t SET n = 10 WHERE id = 1")
    blocked = pool.submit(run, other, "DELETE FROM t WHERE n = 0")
    waiting(other, blocked)
    shop.commit()

    assert blocked.result(10).counts == [1]
    assert run(other, "SELECT id FROM t") == [(1,)]


@pytest.mark.usefixtures("t")
def test_a_circle_of_waits_is_a_deadlock_for_the_last_to_join_it(shop, other, pool):
    run(shop, "UPDATE t SET n = 1 WHERE id = 1")
    run(other, "UPDATE t SET n = 2 WHERE id = 2")
    blocked = pool.submit(run, other, "UPDATE t SET n = 2 WHERE id = 1")
    waiting(other, blocked)

    assert code_of(shop, "UPDATE t SET n = 1 WHERE id = 2") == 60
    assert run(shop, "SELECT n FROM t WHERE id = 1") == [(1,)]
    shop.rollback()
    assert blocked.result(10).counts == [1]


@pytest.mark.usefixtures("t")
@pytest.mark.parametrize(("ends", "code"), [("commit", 1), ("rollback", 0)])
def test_a_key_inserted_by_an_open_transaction_is_waited_for(shop, other, pool, ends, code):
    run(shop, "INSERT INTO t VALUES (3, 0)")
    blocked = pool.submit(code_of, other, "INSERT INTO t VALUES (3, 1)")
    waiting(other, blocked)
    getattr(shop, ends)()

    assert blocked.result(10) == code


@pytest.mark.usefixtures("t")
@pytest.mark.parametrize(("ends", "code"), [("commit", 0), ("rollback", 1)])
def test_a_key_deleted_by_an_open_transaction_is_waited_for(shop, other, pool, ends, code):
    run(shop, "DELETE FROM t WHERE id = 1")
    blocked = pool.submit(code_of, other, "INSERT INTO t VALUES (1, 1)")
    waiting(other, blocked)
    getattr(shop, ends)()

    assert blocked.result(10) == code


@pytest.mark.usefixtures("t")
def test_a_waiting_call_can_be_cancelled(shop, other, pool):
    run(shop, "UPDATE t SET n = 1")
    blocked = pool.submit(run, other, "UPDATE t SET n = 2")
    waiting(other, blocked)
    other.cancel()

    with pytest.raises(OraError, match="ORA-01013"):
        blocked.result(10)
    assert run(other, "SELECT n FROM t WHERE id = 1") == [(0,)]


@pytest.mark.usefixtures("t")
def test_a_killed_session_loses_its_transaction_and_learns_of_it(database, shop, other):
    run(shop, "UPDATE t SET n = 1")
    run(logon(database, "SYS", "FREE"), f"ALTER SYSTEM KILL SESSION '{shop.number},{shop.serial}'")

    assert run(other, "UPDATE t SET n = 2").counts == [2]
    assert code_of(shop, "SELECT * FROM t") == 28


@pytest.mark.usefixtures("t")
def test_a_session_that_waits_can_be_killed(database, shop, other, pool):
    run(shop, "UPDATE t SET n = 1")
    blocked = pool.submit(code_of, other, "UPDATE t SET n = 2")
    waiting(other, blocked)
    database.kill(other.number)

    assert blocked.result(10) == 28


@pytest.mark.usefixtures("t")
def test_select_for_update_locks_without_changing(database, shop, other):
    assert run(shop, "SELECT id FROM t WHERE id = 1 FOR UPDATE") == [(1,)]

    assert code_of(other, "SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT") == 54
    assert run(other, "SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT") == [(2,)]
    assert [r.op for r in changes(database, Op.SELECT_FOR_UPDATE)] == [Op.SELECT_FOR_UPDATE] * 2
    shop.commit()
    assert run(other, "SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT") == [(1,)]


@pytest.mark.usefixtures("t")
def test_ddl_needs_the_table_for_itself(shop, other, pool):
    run(shop, "UPDATE t SET n = 1 WHERE id = 1")
    refused = code_of(other, "ALTER TABLE t ADD (x NUMBER)")
    run(other, "ALTER SESSION SET DDL_LOCK_TIMEOUT = 10")
    blocked = pool.submit(run, other, "ALTER TABLE t ADD (x NUMBER)")
    waiting(other, blocked)
    shop.commit()
    blocked.result(10)

    assert refused == 54
    assert run(shop, "SELECT id, n, x FROM t WHERE id = 1") == [(1, 1, None)]


@pytest.mark.usefixtures("t")
def test_a_statement_that_waited_through_a_ddl_sees_the_new_columns(shop, other, pool):
    run(shop, "UPDATE t SET n = 1 WHERE id = 1")
    blocked = pool.submit(run, other, "UPDATE t SET n = n + 1 WHERE id = 1")
    waiting(other, blocked)
    with shop.database.lock:
        run(shop, "ALTER TABLE t ADD (m NUMBER DEFAULT 5)")
        run(shop, "ALTER TABLE t DROP COLUMN n")
        run(shop, "ALTER TABLE t ADD (n NUMBER DEFAULT 40)")

    assert blocked.result(10).counts == [1]
    assert run(other, "SELECT id, m, n FROM t ORDER BY id") == [(1, 5, 41), (2, 5, 40)]


@pytest.mark.usefixtures("t")
def test_many_threads_lose_no_update_and_all_scns_of_the_redo_differ(database, pool):
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
    scns = [r.scn for r in changes(database)]
    assert len(set(scns)) == len(scns) == 202
