"""The changes of parallel servers commit, roll back and are carried over with their coordinator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake.assemble.carry import list_open
from tests.integration.spark.assembling import Case, assembled_cases, assembled_rows, carried_over, dispositions
from tests.integration.spark.landing import COORDINATOR, a_row, server_row

pytestmark = pytest.mark.spark


def test_parallel_servers_commit_with_their_coordinator_over_windows(spark, tmp_path: Path) -> None:
    """There are two servers and a coordinator. Its commit, and that of one server, come a window later."""
    first = [server_row(0, 20, 1, "5.1.1"), server_row(1, 21, 1, "6.1.1"), a_row(2, 22, 1, xid=COORDINATOR, row_id="C")]
    second = [
        server_row(0, 110, 3, "5.1.1", thread=2, rs_id="x", row_id="other"),
        server_row(1, 112, 7, "6.1.1"),
        a_row(2, 112, 7, xid=COORDINATOR, pxid=COORDINATOR),
    ]

    opened = assembled_rows(spark, tmp_path, first)
    # Between the batches the table is snapshotted again, AS OF an SCN above the rows and below their commit.
    closed = assembled_rows(spark, tmp_path, second, 100, 200, carried_over(opened, tmp_path / "carry"), position=105)

    assert set(dispositions(opened).values()) == {"carried_out"}
    assert not opened.accounting.problems
    listed = list_open(spark.read.parquet(str(tmp_path / "carry")))
    assert [(t.xid, t.rows) for t in listed] == [(COORDINATOR, 3)]
    assert dispositions(closed) == {(x, n): "applied" for x, n in (("5.1.1", 0), ("6.1.1", 1), (COORDINATOR, 2))} | {
        ("5.1.1", 0): "applied"
    }
    assert {row["commit_scn"] for row in closed.changes.collect()} == {112}
    assert not closed.accounting.problems
    assert closed.accounting.count(0, "applied") == 4
    assert closed.accounting.balance(0, closed.input_counts).difference == 0


def test_undo_rows_of_a_parallel_server_undo_its_changes(spark, tmp_path: Path) -> None:
    """The undo row has no PXID: LogMiner returns fewer columns for rows that a rollback writes."""
    server_rolls_back = server_row(8, 29, 36, "5.1.1")
    ends = {
        "coordinator rolls back": ([a_row(9, 30, 36, xid=COORDINATOR)], "rolled_back"),
        "server rolls back": ([server_rolls_back], "rolled_back"),
        "server rolls back, coordinator commits": ([server_rolls_back, a_row(9, 30, 7, xid=COORDINATOR)], "rolled_back"),
        "commit": ([a_row(9, 30, 7, xid=COORDINATOR)], "undone"),
        "open": ([], "carried_out"),
    }
    rows = [server_row(0, 20, 1, "5.1.1"), server_row(1, 21, 2, "5.1.1", rollback=True, pxid=None)]

    found = assembled_cases(spark, tmp_path, {name: [*rows, *mine] for name, (mine, _) in ends.items()})

    assert found == {name: Case({0: expected, 1: expected}, None, 0) for name, (_, expected) in ends.items()}


def test_parallel_dml_that_contradicts_itself_stops_its_table(spark, tmp_path: Path) -> None:
    server_commits = server_row(1, 30, 7, "5.1.1")
    contradictions = {
        "its coordinator 9.9.9 at SCN 32": [server_commits, a_row(2, 32, 7, xid=COORDINATOR)],
        "its coordinator 9.9.9 rolled back": [server_commits, a_row(2, 32, 36, xid=COORDINATOR)],
        "its coordinator 9.9.9 is still open": [server_commits],
        "servers on two redo threads change the row": [
            server_row(1, 30, 3, "6.1.1", row_id="5.1.1", thread=2),
            a_row(2, 30, 7, xid=COORDINATOR),
        ],
    }
    change = server_row(0, 20, 1, "5.1.1")

    found = assembled_cases(spark, tmp_path, {message: [change, *rows] for message, rows in contradictions.items()})

    for message, case in found.items():
        assert case.problem is not None, message
        assert message in case.problem.what
        assert (case.problem.scn, case.difference) == (30, 0)


def test_undone_changes_on_two_threads_need_no_order(spark, tmp_path: Path) -> None:
    """Two statements with servers on two threads fail; then the session itself changes the row."""
    stays = [a_row(8, 40, 3, xid=COORDINATOR, row_id="R"), a_row(9, 41, 7, xid=COORDINATOR)]

    found = assembled_cases(
        spark, tmp_path, {what: [*failed_statements(ends), *stays] for what, ends in (("undone", []), ("rolled_back", [36]))}
    )

    assert found == {what: Case({**dict.fromkeys((0, 1, 3, 4), what), 8: "applied"}, None, 0) for what in found}


def failed_statements(ends: list[int]) -> list[dict[str, Any]]:
    return [
        row
        for n, xid in enumerate(("5.1.1", "6.1.1"))
        for row in (
            server_row(3 * n, 20 + 3 * n, 3, xid, row_id="R", thread=1 + n),
            server_row(3 * n + 1, 21 + 3 * n, 3, xid, row_id="R", thread=1 + n, rollback=True),
            *(server_row(3 * n + 2, 22 + 3 * n, code, xid, thread=1 + n) for code in ends),
        )
    ]


def test_a_snapshot_above_every_end_resolves_a_contradiction(spark, tmp_path: Path) -> None:
    rows = [server_row(0, 20, 1, "5.1.1"), server_row(1, 30, 7, "5.1.1"), a_row(2, 32, 7, xid=COORDINATOR)]

    between, above = (assembled_rows(spark, tmp_path / str(p), rows, position=p) for p in (30, 32))

    assert between.accounting.problems[0, 0].scn == 31
    assert set(dispositions(above).values()) == {"before_position"}
    assert not above.accounting.problems


def test_a_server_that_commits_before_its_coordinator_is_carried_over_with_its_commit(spark, tmp_path: Path) -> None:
    first = [server_row(0, 20, 1, "5.1.1"), server_row(1, 30, 7, "5.1.1")]
    opened = assembled_rows(spark, tmp_path, first, position=50)

    closed = assembled_rows(
        spark, tmp_path, [a_row(0, 120, 7, xid=COORDINATOR)], 100, 200, carried_over(opened, tmp_path / "carry"), position=110
    )

    assert not opened.accounting.problems
    assert "at SCN 30, its coordinator 9.9.9 at SCN 120" in closed.accounting.problems[0, 0].what
    assert closed.accounting.balance(0, closed.input_counts).difference == 0


def test_a_rollback_without_sequence_ends_a_coordinator_known_from_its_servers(spark, tmp_path: Path) -> None:
    opened = assembled_rows(spark, tmp_path, [a_row(0, 19, 6, xid=COORDINATOR), server_row(1, 20, 1, "5.1.1")])
    second = [
        server_row(0, 110, 2, "5.1.4294967295", row_id="5.1.1", rollback=True, pxid=None),
        a_row(1, 111, 36, xid="9.9.4294967295"),
    ]

    closed = assembled_rows(spark, tmp_path, second, 100, 200, carried_over(opened, tmp_path / "carry"))

    assert dispositions(closed) == {("5.1.1", 1): "rolled_back", ("5.1.1", 0): "rolled_back"}
    assert closed.accounting.balance(0, closed.input_counts).difference == 0
