"""COMMITTED_DATA_ONLY: whole transactions in the order of their commits, without what was rolled back."""

from __future__ import annotations

import pytest

from standin.serve import standin

COLUMNS = "operation, row_id, commit_scn, sequence#, xid, data_obj#"


@pytest.fixture(scope="module")
def mined():
    """Return the rows of a history of several transactions, mined with and without the option."""
    with standin(supplemental=frozenset({"MIN"})) as oracle:
        one, two = oracle.connect(), oracle.connect()
        first, second = one.cursor(), two.cursor()
        first.execute("CREATE TABLE t (id NUMBER(9) PRIMARY KEY, n NUMBER)")
        first.execute("INSERT INTO t VALUES (1, 1)")
        second.execute("INSERT INTO t VALUES (2, 2)")
        first.execute("SAVEPOINT s")
        first.execute("UPDATE t SET n = 5 WHERE id = 1")
        first.execute("INSERT INTO t VALUES (3, 3)")
        first.execute("ROLLBACK TO s")
        first.execute("UPDATE t SET n = 6 WHERE id = 1")
        two.commit()
        one.commit()
        first.execute("INSERT INTO t VALUES (4, 4)")
        one.rollback()
        second.execute("INSERT INTO t VALUES (5, 5)")  # never committed
        dba = oracle.connect("SYS").cursor()
        dba.execute("ALTER SYSTEM ARCHIVE LOG CURRENT")
        miner = oracle.connect(oracle.capture_user).cursor()
        names = [name for (name,) in miner.execute("SELECT name FROM v$archived_log ORDER BY sequence#").fetchall()]

        def mine(options: int) -> list[tuple]:
            for number, name in enumerate(names):
                miner.execute("BEGIN DBMS_LOGMNR.ADD_LOGFILE(:1, :2); END;", [name, 3 if number else 1])
            miner.execute("BEGIN DBMS_LOGMNR.START_LOGMNR(options => :1); END;", [options])
            return miner.execute(f"SELECT {COLUMNS} FROM v$logmnr_contents").fetchall()

        yield mine(16), mine(16 + 2)


def transactions(rows: list[tuple], operation: str) -> list[list[tuple]]:
    """Return the rows of each transaction that has a row of the operation."""
    found: list[list[tuple]] = []
    for row in rows:
        if row[0] == "START":
            found.append([])
        found[-1].append(row)
    return [each for each in found if operation in [row[0] for row in each]]


def test_transactions_come_whole_and_in_the_order_of_their_commits(mined):
    _, committed = mined

    changes, statements = transactions(committed, "INSERT"), transactions(committed, "DDL")
    assert [[row[0] for row in rows] for rows in changes] == [
        ["START", "INSERT", "COMMIT"],
        ["START", "INSERT", "UPDATE", "COMMIT"],
    ]
    assert {tuple(row[0] for row in rows) for rows in statements} == {("START", "DDL", "COMMIT")}
    assert all(len({row[4] for row in rows}) == 1 for rows in changes)


def test_each_row_has_the_scn_of_its_commit_and_its_number(mined):
    raw, committed = mined

    changes = transactions(committed, "INSERT")
    assert [[row[3] for row in rows] for rows in changes] == [[1, 2, 3], [1, 2, 3, 4]]
    (early,), (late,) = ({row[2] for row in rows} for rows in changes)
    assert early < late
    assert [row[2] is None for row in transactions(committed, "DDL")[-1]] == [True, True, False]
    assert {row[2] for row in raw} == {None}


def test_a_plain_mining_shows_what_was_taken_back(mined):
    raw, _ = mined
    assert [row[0] for row in raw].count("INSERT") == 5
