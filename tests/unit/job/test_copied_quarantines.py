"""A copy of a table has the table's quarantine with it, if it has one: other tables have theirs in the same folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from redolake.apply.owner import Owner
from redolake.apply.table_log import VersionToRead
from redolake.apply.target import Terms
from redolake.job.as_of import copy_list, quarantines_of
from redolake.values.table import TableId

NO_SPARK: Any = None
ORDERS = TableId("SHOP", "ORDERS")


def test_a_table_that_never_had_one_is_copied_beside_one_that_has(tmp_path: Path) -> None:
    lists = tmp_path / "_quarantine"
    (lists / "shop.items").mkdir(parents=True)
    of_copy = str(tmp_path / "1-5-copy" / "_quarantine" / "shop.orders")
    orders = VersionToRead(
        ORDERS, str(tmp_path / "orders"), 1, "shop/1", 5, quarantine=f"{lists}/shop.orders", copied_quarantine=of_copy
    )
    items = replace(orders, table=TableId("SHOP", "ITEMS"), quarantine=f"{lists}/shop.items")

    assert quarantines_of([orders, items]) == {items.quarantine}
    copy_list(NO_SPARK, orders, Terms(ORDERS, Owner.of(orders.app_id)))
    assert not Path(of_copy).exists()
