"""Rollback to a savepoint, of a failed statement and of a transaction, and its redo."""

from __future__ import annotations

import pytest

from standin.interface import OraError
from standin.redo_file import Op
from standin.tests.engine.engine_database import all_redo, error_code, row_changes, run


@pytest.fixture
def t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, name VARCHAR2(5) NOT NULL)")
    return shop


def test_rollback_to_a_savepoint_writes_an_undo_row_for_each_change_newest_first(database, t):
    run(t, "INSERT INTO t VALUES (1, 'a')")
    run(t, "SAVEPOINT s")
    run(t, "UPDATE t SET name = 'b' WHERE id = 1")
    run(t, "INSERT INTO t VALUES (2, 'c')")
    run(t, "DELETE FROM t WHERE id = 1")
    run(t, "ROLLBACK TO SAVEPOINT s")
    t.commit()

    undone = [(r.op, r.before, r.after) for r in row_changes(database) if r.rollback]
    assert undone == [
        (Op.INSERT, {}, {1: b"\xc1\x02", 2: b"b"}),
        (Op.DELETE, {}, {}),
        (Op.UPDATE, {}, {2: b"a"}),
    ]
    assert run(t, "SELECT * FROM t") == [(1, "a")]


def test_an_undo_row_has_the_rowid_of_its_change_and_an_address_of_its_own(database, t):
    run(t, "INSERT INTO t VALUES (1, 'a')")
    t.rollback()

    change, undo = row_changes(database)
    assert (undo.row_id, undo.xid, undo.rollback) == (change.row_id, change.xid, True)
    assert undo.rs_id > change.rs_id


def test_a_failed_statement_leaves_redo_and_undo_but_no_row(database, t):
    run(t, "INSERT INTO t VALUES (2, 'x')")
    run(t, "INSERT INTO t SELECT 1, 'y' FROM dual")

    assert error_code(t, "INSERT INTO t SELECT id + 1, name FROM t") == 1
    assert [(r.op, r.rollback) for r in row_changes(database)[2:]] == [
        (Op.INSERT, False),
        (Op.INSERT, False),
        (Op.DELETE, True),
        (Op.DELETE, True),
    ]
    assert run(t, "SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_a_value_that_does_not_fit_writes_no_redo(database, t):
    assert error_code(t, "INSERT INTO t VALUES (1, 'too long')") == 12899
    assert row_changes(database) == []


def test_a_rollback_ends_with_a_rollback_record(database, t):
    run(t, "INSERT INTO t VALUES (1, 'a')")
    t.rollback()

    assert [r.op for r in all_redo(database)[-4:]] == [Op.START, Op.INSERT, Op.DELETE, Op.ROLLBACK]
    assert not t.in_transaction


def test_start_and_commit_records_enclose_a_transaction_and_have_its_start_scn(database, t):
    run(t, "INSERT INTO t VALUES (1, 'a')")
    open_now = list(database.state.transactions.values())
    t.commit()

    start, insert, commit = all_redo(database)[-3:]
    assert (start.op, insert.op, commit.op) == (Op.START, Op.INSERT, Op.COMMIT)
    assert start.scn == start.start_scn == commit.start_scn < insert.scn < commit.scn == database.clock.scn
    assert [tx.start_scn for tx in open_now] == [start.scn]
    assert database.state.transactions == {}


def test_a_reused_undo_slot_has_the_next_sequence(database, t):
    for n in range(400):
        run(t, "INSERT INTO t VALUES (:1, 'a')", n)
        t.commit()

    xids = [r.xid for r in all_redo(database) if r.op == Op.COMMIT]
    assert len(set(xids)) == len(xids)
    assert len({xid[:2] for xid in xids}) < len(xids)


def test_rollback_to_an_unknown_savepoint_is_an_error(t):
    assert error_code(t, "ROLLBACK TO nowhere") == 1086


def test_rollback_to_a_savepoint_before_the_first_change_removes_all_changes(t):
    run(t, "SAVEPOINT s")
    run(t, "INSERT INTO t VALUES (1, 'a')")
    run(t, "ROLLBACK TO s")

    assert run(t, "SELECT * FROM t") == []


def test_a_failing_array_keeps_earlier_rows_and_reports_the_failing_one(t):
    with pytest.raises(OraError, match="ORA-01400") as failure:
        t.execute("INSERT INTO t VALUES (:1, :2)", [(1, "a"), (2, "b"), (3, None), (4, "d")])

    assert failure.value.position == 2
    assert run(t, "SELECT id FROM t") == [(1,), (2,)]


def test_batch_errors_report_each_failure_and_keep_the_other_rows(t):
    done = t.execute("INSERT INTO t VALUES (:1, :2)", [(1, "a"), (1, "b"), (2, "c" * 9), (3, "d")], batch_errors=True)

    assert done.counts == [1, 0, 0, 1]
    assert [(row, error.code) for row, error in done.failures] == [(1, 1), (2, 12899)]
