"""Branches of distributed transactions: prepared by one session, seen in the views, and ended by another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest

from standin.serve import StandIn, standin
from standin.tests.served.mining_client import query, run


@pytest.fixture(scope="module")
def oracle() -> Iterator[StandIn]:
    with standin() as oracle, oracle.connect("SHOP") as connection:
        run(connection, "CREATE TABLE paid (id NUMBER PRIMARY KEY)")
        with oracle.connect("SYS", dsn=oracle.pdb_dsn) as dba:
            run(dba, "GRANT SELECT ON dba_pending_transactions TO shop")
        yield oracle


def rows(oracle: StandIn) -> list[Any]:
    with oracle.connect("SHOP") as connection:
        return query(connection, "SELECT id FROM paid ORDER BY id")


def states(oracle: StandIn) -> tuple[list[Any], list[Any]]:
    """Return the status of open transactions, and the branches that wait for their coordinator."""
    with oracle.connect("SYS", dsn=oracle.pdb_dsn) as dba:
        pending = query(dba, "SELECT formatid, globalid, branchid FROM dba_pending_transactions")
        in_doubt = query(dba, "SELECT state FROM dba_2pc_pending")
        assert len(in_doubt) == len(pending)
        return query(dba, "SELECT status FROM v$transaction"), pending


@pytest.mark.parametrize("ends", ["commits", "rolls back"])
def test_a_prepared_branch_outlives_its_session_and_another_ends_it(oracle: StandIn, ends: str) -> None:
    before = rows(oracle)
    with oracle.connect("SHOP") as first:
        branch = first.xid(1, b"global", b"branch")
        first.tpc_begin(branch)
        run(first, f"INSERT INTO paid VALUES ({len(before) + 1})")
        assert first.tpc_prepare()
    waiting = states(oracle)
    between = rows(oracle)
    with oracle.connect("SHOP") as second:
        (found,) = second.tpc_recover()
        second.tpc_commit(found) if ends == "commits" else second.tpc_rollback(found)

    assert waiting == ([("PREPARED",)], [(1, b"global", b"branch")])
    assert between == before
    assert rows(oracle) == ([*before, (len(before) + 1,)] if ends == "commits" else before)
    assert states(oracle) == ([], [])


def test_a_session_works_in_branches_in_turn_and_keeps_their_locks(oracle: StandIn) -> None:
    with oracle.connect("SHOP") as session, oracle.connect("SHOP") as other:
        one, two = (session.xid(2, b"global", name) for name in (b"1", b"2"))
        for number, branch in ((101, one), (102, two)):
            session.tpc_begin(branch)
            run(session, f"INSERT INTO paid VALUES ({number})")
            assert query(session, "SELECT id FROM paid WHERE id > 100") == [(number,)]
            session.tpc_end()
        with pytest.raises(oracledb.DatabaseError, match="ORA-00054"):
            run(other, "LOCK TABLE paid IN EXCLUSIVE MODE NOWAIT")
        other.tpc_begin(one, oracledb.TPC_BEGIN_RESUME)
        run(other, "DELETE FROM paid WHERE id = 101")
        with pytest.raises(oracledb.DatabaseError, match="ORA-02089"):
            run(other, "CREATE TABLE no (id NUMBER)")
        other.tpc_commit(one, one_phase=True)
        session.tpc_rollback(two)

    assert query_above(oracle) == []


def query_above(oracle: StandIn) -> list[Any]:
    return [row for row in rows(oracle) if row[0] > 100]


def test_a_branch_that_changed_nothing_needs_no_commit(oracle: StandIn) -> None:
    with oracle.connect("SHOP") as session:
        branch = session.xid(3, b"global", b"branch")
        session.tpc_begin(branch)
        query(session, "SELECT id FROM paid")

        assert not session.tpc_prepare()
        with pytest.raises(oracledb.DatabaseError, match="ORA-24756"):
            session.tpc_commit(branch)


def test_the_end_of_a_session_rolls_back_the_branch_that_it_works_in(oracle: StandIn) -> None:
    session = oracle.connect("SHOP")
    session.tpc_begin(session.xid(4, b"global", b"branch"))
    run(session, "INSERT INTO paid VALUES (201)")
    session.close()

    assert states(oracle) == ([], [])
    assert query_above(oracle) == []
