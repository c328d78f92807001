"""What Spark counts of a batch's changes: the terms of the accounts, the SCNs of what is applied, and the first problems."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from redolake.assemble.row_accounting import Problem, account_rows

SCHEMA = (
    "table_number int, range_number int, disposition string, carried boolean, window_start bigint, scn bigint, problem string, "
    "problem_scn bigint, commit_at timestamp_ntz, unattributed boolean"
)


def counted(spark: Any, *rows: tuple[Any, ...]) -> Any:
    """Count rows of (table, range, disposition, carried, window, SCN, problem, its SCN, commit time, unattributed)."""
    return account_rows(spark.createDataFrame([(*row, *[None] * (10 - len(row))) for row in rows], SCHEMA))


def test_rows_are_counted_by_table_range_disposition_and_the_window_that_landed_them(spark: Any) -> None:
    found = counted(
        spark,
        *[(0, 0, "applied", False, 10, 15)] * 3,
        (0, 0, "applied", False, 20, 25),
        (0, 0, "applied", True, 5, 7),
        (0, 0, "undone", False, 10, 15),
        (0, 1, "applied", False, 20, 29),
        (0, 1, "carried_out", True, 5, 3),
        (1, 0, "applied", False, 10, 12),
    )

    assert found.rows == {
        (0, 0, "applied", 10): 3, (0, 0, "applied", 20): 1, (0, 0, "applied", None): 1, (0, 0, "undone", 10): 1,
        (0, 1, "applied", 20): 1, (0, 1, "carried_out", None): 1, (1, 0, "applied", 10): 1,
    }  # fmt: skip
    assert found.problems == {}


def test_the_scns_of_a_range_are_those_of_all_its_changes_to_be_applied(spark: Any) -> None:
    found = counted(
        spark,
        *[(0, 0, "applied", False, 10, scn) for scn in (13, 11, 17)],
        *[(0, 0, "applied", False, 20, scn) for scn in (24, 29, 22)],
        *[(0, 0, "applied", True, 0, scn) for scn in (5, 9)],
        (0, 0, "undone", False, 10, 2),
        (0, 0, "held", False, 20, 99),
        (0, 1, "applied", False, 20, 27),
        (1, 0, "rolled_back", False, 10, 12),
    )

    assert found.scns == {(0, 0): (5, 29), (0, 1): (27, 27)}


def test_the_times_of_a_range_are_those_of_its_first_and_last_commit_that_is_to_be_applied(spark: Any) -> None:
    at = [datetime(2026, 5, 1, hour) for hour in range(4)]
    found = counted(
        spark,
        (0, 0, "applied", False, 10, 11, None, None, at[2]),
        (0, 0, "applied", True, 10, 12, None, None, at[1]),
        (0, 0, "held", False, 10, 12, None, None, at[0]),
        (0, 1, "applied", False, 10, 12, None, None, at[3]),
        (0, 2, "applied", False, 10, 12),
    )

    assert found.times == {(0, 0): (at[1], at[2]), (0, 1): (at[3], at[3])}


def test_the_first_problem_of_a_range_is_that_of_the_lowest_commit(spark: Any) -> None:
    found = counted(
        spark,
        (0, 0, "applied", False, 10, 11, "later", 30),
        (0, 0, "applied", False, 10, 12, "first", 20),
        (0, 0, "applied", False, 10, 12, "second of one SCN", 20),
        (0, 0, "applied", False, 10, 1, None, 10),
        (0, 1, "applied", False, 10, 13, "of the next range", 40),
        (1, 0, "applied", False, 10, 13, "of another table", 15),
    )

    assert found.problems == {
        (0, 0): Problem(20, "first"), (0, 1): Problem(40, "of the next range"), (1, 0): Problem(15, "of another table"),
    }  # fmt: skip


STOPS = {
    "applied": True, "undone": True, "carried_out": True, "rolled_back": False, "before_position": False, "held": False,
    "dropped": False, "left_out": False,
}  # fmt: skip


def test_a_problem_of_a_row_that_this_batch_does_not_need_is_none(spark: Any) -> None:
    """Each disposition is one of a table of its own."""
    pairs = (
        ((n, 0, disposition, False, 10, 11, "a problem", 30), (n, 0, disposition, False, 20, 11))
        for n, disposition in enumerate(STOPS)
    )
    found = counted(spark, *(row for pair in pairs for row in pair))

    assert {disposition: (n, 0) in found.problems for n, disposition in enumerate(STOPS)} == STOPS


def test_a_problem_of_one_window_is_not_forgotten_for_rows_without_one(spark: Any) -> None:
    found = counted(spark, *[(0, 0, "applied", False, n, 11, "a problem" if n == 3 else None, 30) for n in range(8)])

    assert found.problems == {(0, 0): Problem(30, "a problem")}


def test_the_highest_scn_of_a_table_without_a_transaction_is_kept_whatever_becomes_of_the_row(spark: Any) -> None:
    none = (None, None, None)
    found = counted(
        spark,
        (0, 0, "held", False, 10, 15, *none, True),
        (0, 1, "before_position", False, 20, 25, *none, True),
        (0, 1, "applied", False, 20, 29, *none, False),
        (1, 0, "dropped", False, 10, 12, *none, True),
    )

    assert found.without_transaction == {0: 25}
