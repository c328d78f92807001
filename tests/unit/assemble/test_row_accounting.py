"""The account of each window adds up, also if a table was held during the batch."""

from __future__ import annotations

import pytest

from pipelines.assemble.input_counts import InputCounts
from pipelines.assemble.row_accounting import RowAccounting
from pipelines.records.batches.manifest import CARRIED_IN, RowAccount
from pipelines.records.batches.spec import LandedWindow

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
