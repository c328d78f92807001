"""LOCK TABLE: which modes exclude each other, who waits, and when the locks end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from standin.tests.engine.engine_database import error_code, run
from standin.tests.engine.test_engine_locks import wait_until_blocked

MODES = ["ROW SHARE", "ROW EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE"]
# Oracle's table of modes: what a second session gets beside each mode of the first.
GRANTED = {
    "ROW SHARE": [True, True, True, True, False],
    "ROW EXCLUSIVE": [True, True, False, False, False],
    "SHARE": [True, False, True, False, False],
    "SHARE ROW EXCLUSIVE": [True, False, False, False, False],
    "EXCLUSIVE": [False, False, False, False, False],
}


@pytest.fixture(autouse=True)
def _t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, n NUMBER)")
    run(shop, "INSERT INTO t VALUES (1, 0)")
    shop.commit()


@pytest.mark.parametrize("mode", MODES)
def test_a_second_session_gets_the_modes_of_oracles_table(shop, other, mode):
    run(shop, f"LOCK TABLE t IN {mode} MODE")

    got = []
    for wanted in MODES:
        got.append(error_code(other, f"LOCK TABLE t IN {wanted} MODE NOWAIT") == 0)
        other.rollback()
    assert got == GRANTED[mode]


def test_a_lock_begins_no_transaction_and_ends_with_commit_or_rollback(shop, other):
    for end in (shop.commit, shop.rollback):
        run(shop, "LOCK TABLE t IN EXCLUSIVE MODE")
        assert not shop.in_transaction
        assert error_code(other, "LOCK TABLE t IN ROW SHARE MODE NOWAIT") == 54
        end()
        assert error_code(other, "LOCK TABLE t IN ROW SHARE MODE NOWAIT") == 0
        other.rollback()


def test_a_rollback_to_a_savepoint_ends_only_later_locks(shop, other):
    run(shop, "LOCK TABLE t IN ROW SHARE MODE")
    run(shop, "SAVEPOINT before")
    run(shop, "LOCK TABLE t IN SHARE MODE")
    run(shop, "ROLLBACK TO before")

    assert error_code(other, "LOCK TABLE t IN ROW EXCLUSIVE MODE NOWAIT") == 0
    assert error_code(other, "LOCK TABLE t IN EXCLUSIVE MODE NOWAIT") == 54


def test_rows_are_not_changed_while_another_session_shares_the_table(shop, other):
    run(shop, "LOCK TABLE t IN SHARE MODE")
    with ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(run, other, "UPDATE t SET n = 1")
        wait_until_blocked(other, blocked)
        shop.rollback()
        assert blocked.result(10).counts == [1]


def test_changed_rows_exclude_a_share_lock_and_no_row_share(shop, other):
    run(shop, "UPDATE t SET n = 1")

    assert error_code(other, "LOCK TABLE t IN SHARE MODE NOWAIT") == 54
    assert error_code(other, "LOCK TABLE t IN ROW SHARE MODE NOWAIT") == 0


def test_a_ddl_does_not_pass_a_row_share_lock(shop, other):
    run(shop, "LOCK TABLE t IN ROW SHARE MODE")

    assert error_code(other, "ALTER TABLE t ADD (x NUMBER)") == 54
    assert error_code(other, "INSERT INTO t VALUES (2, 2)") == 0


def test_an_unknown_mode_and_a_table_that_is_not_there_are_errors(shop):
    assert error_code(shop, "LOCK TABLE t IN LOUD MODE") == 1737
    assert error_code(shop, "LOCK TABLE nowhere IN SHARE MODE") == 942
