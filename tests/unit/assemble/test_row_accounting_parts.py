"""The account of a window has what apply has filtered or put into quarantine apart."""

from __future__ import annotations

from redolake.assemble.input_counts import InputCounts
from redolake.assemble.row_accounting import RowAccounting
from redolake.assemble.transactions import APPLIED, BEFORE_POSITION
from redolake.records.batches.manifest import CARRIED_IN, RowAccount
from redolake.records.batches.spec import LandedWindow


def test_changes_that_were_filtered_or_quarantined_are_terms_of_their_window_and_it_balances() -> None:
    rows = {(0, 0, APPLIED, 100): 5, (0, 0, APPLIED, None): 2}
    counts = InputCounts({0: 5}, {0: 2}, {100: 5}, 0, 0, 0, 0, 0, 0, None)
    window = LandedWindow("w", 100, 200, ())

    accounts = RowAccounting(rows, {}).accounts(
        [window], counts, {0: 7},
        {(APPLIED, "filtered", "100"): 2, (APPLIED, "quarantined", "100"): 1, (APPLIED, "quarantined", "50"): 1},
    )  # fmt: skip

    assert accounts["w"] == RowAccount(landed=5, applied=2, filtered=2, quarantined=1)
    assert accounts[CARRIED_IN] == RowAccount(carried_in=2, applied=1, quarantined=1)
    assert {name: account.difference for name, account in accounts.items()} == {"w": 0, CARRIED_IN: 0}


def test_changes_that_an_earlier_attempt_has_merged_are_applied_in_the_accounts_of_their_windows() -> None:
    rows = {(0, 0, BEFORE_POSITION, 100): 5, (0, 0, BEFORE_POSITION, None): 2, (0, 1, APPLIED, 100): 3, (0, 2, APPLIED, 100): 4}
    counts = InputCounts({0: 12}, {0: 2}, {100: 12}, 0, 0, 0, 0, 0, 0, None)
    moved = {
        (BEFORE_POSITION, APPLIED, "100"): 4, (BEFORE_POSITION, APPLIED, CARRIED_IN): 2, (APPLIED, "filtered", "100"): 1,
    }  # fmt: skip

    accounts = RowAccounting(rows, {}).accounts([LandedWindow("w", 100, 200, ())], counts, {0: 3}, moved)

    assert accounts["w"] == RowAccount(landed=12, applied=6, filtered=1, before_position=1, held=4)
    assert accounts[CARRIED_IN] == RowAccount(carried_in=2, applied=2)
    assert {name: account.difference for name, account in accounts.items()} == {"w": 0, CARRIED_IN: 0}
