"""A Delta table that lacks commits which were applied to it is told, and nothing is applied over the hole."""

from __future__ import annotations

import pytest

from pipelines.apply.table import check_not_set_back
from pipelines.batch import HoldAt, TableTask
from pipelines.errors import TableSetBack
from pipelines.table import TableId

ORDERS = TableId("SHOP", "ORDERS")


def task(at_least: int | None, hold: HoldAt | None = None) -> TableTask:
    return TableTask(ORDERS, "lake/orders", "shop/SHOP.ORDERS/1", (), at_least=at_least, hold=hold)


@pytest.mark.parametrize("position", [None, 149], ids=["no table", "an older copy"])
def test_a_position_below_what_was_left_there_stops_the_table(position: int | None) -> None:
    with pytest.raises(TableSetBack, match="had those up to SCN 150 before") as stopped:
        check_not_set_back(task(150), 200, position)
    assert "--replace" in stopped.value.cure


@pytest.mark.parametrize("position", [150, 230], ids=["as it was left", "an attempt came further"])
def test_a_position_that_was_left_there_or_lies_beyond_is_good(position: int) -> None:
    check_not_set_back(task(150), 200, position)


def test_a_table_of_which_nothing_is_known_or_nothing_will_be_applied_is_not_asked() -> None:
    check_not_set_back(task(None), 200, 10)
    check_not_set_back(task(150, HoldAt(200, {})), 200, 10)
