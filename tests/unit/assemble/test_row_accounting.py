"""The account of each window adds up, also if a table was held during the batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.assemble.input_counts import InputCounts
from redolake.assemble.row_accounting import Problem, RowAccounting, check_balance
from redolake.errors import InvariantBroken
from redolake.records.batches.manifest import CARRIED_IN, RowAccount
from redolake.records.batches.spec import LandedWindow
from redolake.values.table import TableId

TABLE = TableId("SHOP", "ORDERS")
WINDOWS = [LandedWindow("first", 10, 20, ()), LandedWindow("second", 20, 30, ())]
INPUT = InputCounts(
    landed={0: 9, 1: 2}, carried={0: 3}, per_window={10: 6, 20: 5}, foreign=0, ends=1, ends_without_container=0, undo_rows=0,
    unknown_xids=0, parallel_rows=0, read_to=None,
)  # fmt: skip
# DDL cuts table 0 into three commit ranges; the second has no changes. By table, piece, disposition and window of landing.
ACCOUNTING = RowAccounting(
    {
        (0, 0, "applied", 10): 4,
        (0, 0, "applied", None): 1,
        (0, 2, "applied", 20): 3,
        (0, 2, "applied", None): 2,
        (0, 2, "undone", 10): 2,
        (1, 0, "applied", 20): 2,
    },
    {},
)


@pytest.mark.parametrize(
    ("applied", "expected"),
    [
        (None, [(4, 0), (5, 0), (3, 0)]),
        ({0: 10, 1: 2}, [(4, 0), (5, 0), (3, 0)]),
        ({0: 5, 1: 2}, [(4, 0), (2, 3), (1, 2)]),
        ({0: 0, 1: 2}, [(0, 4), (2, 3), (0, 3)]),
        ({0: 10, 1: 0}, [(4, 0), (3, 2), (3, 0)]),
    ],
    ids=["before anything is merged", "all merged", "held after its first range", "held at once", "the other table held"],
)
def test_rows_that_a_held_table_lacks_are_held_in_each_window(applied, expected) -> None:
    accounts = ACCOUNTING.accounts(WINDOWS, INPUT, applied)

    assert [(accounts[name].applied, accounts[name].held) for name in ("first", "second", CARRIED_IN)] == expected
    assert [account.difference for account in accounts.values()] == [0, 0, 0]
    assert accounts["first"].undone == 2


def test_a_lost_row_unbalances_its_window() -> None:
    lost = RowAccounting({**ACCOUNTING.rows, (0, 0, "applied", 10): 3}, {})

    accounts = lost.accounts(WINDOWS, INPUT)

    assert accounts["first"] == RowAccount(landed=6, applied=3, undone=2)
    assert [account.difference for account in accounts.values()] == [1, 0, 0]


def test_a_window_without_change_rows_has_an_account_of_zeros() -> None:
    empty = LandedWindow("third", 30, 40, ())

    assert ACCOUNTING.accounts([*WINDOWS, empty], INPUT)["third"] == RowAccount()


TERMS = ("applied", "undone", "rolled_back", "carried_out", "before_position", "held", "dropped", "left_out")
# Table 5 has each disposition another number of times, and in two windows.
EACH = RowAccounting(
    {
        **{(5, 0, term, 10): 2**n for n, term in enumerate(TERMS)},
        **{(5, 1, term, 20): 1000 for term in TERMS},
        **{(6, 0, term, 10): 10**6 for term in TERMS},
    },
    {},
)


def test_the_account_of_a_table_has_all_its_rows_by_disposition() -> None:
    counts = replace(INPUT, landed={5: 40, 6: 1}, carried={5: 2, 6: 1})

    account = EACH.balance(5, counts)

    assert account == RowAccount(40, 2, **{term: 1000 + 2**n for n, term in enumerate(TERMS)})
    assert EACH.balance(7, counts) == RowAccount()
    assert EACH.count(5, "held", 1) == 1000


def test_commit_ranges_and_the_carry_over_read_the_rows() -> None:
    assert ACCOUNTING.readers == 3
    assert EACH.readers == 3 + 1


def test_rows_that_do_not_add_up_stop_the_batch_with_all_terms() -> None:
    check_balance(RowAccount(landed=3, applied=2, held=1))

    with pytest.raises(InvariantBroken, match=r"do not add up, \+1: landed 3, carried_in 0, applied 2, undone 0, ") as broken:
        check_balance(RowAccount(landed=3, applied=2), table=TABLE, window="first")

    assert broken.value.where == {"table": TABLE, "window": "first"}
    assert broken.value.cure.startswith("run again")


def test_the_first_problem_of_a_range_is_the_error_that_holds_its_table() -> None:
    error = Problem(120, "an undo row finds no change to undo").error(TABLE)

    assert error.what == "an undo row finds no change to undo"
    assert error.where == {"table": TABLE, "commit_scn": 120}
    assert "run `redolake snapshot SHOP.ORDERS --replace`" in error.cure


def test_only_ranges_with_changes_to_apply_can_lack_them() -> None:
    accounting = RowAccounting({(0, 1, "undone", 10): 2, (0, 3, "applied", 10): 4, (1, 5, "applied", 10): 4}, {})

    assert (accounting.ranges_not_applied(0, 0), accounting.ranges_not_applied(0, 4)) == ([3], [])
