"""A Delta table that lacks commits which were applied to it is told, and nothing is applied over the hole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.apply.table import check_not_set_back
from pipelines.errors import TableSetBack
from pipelines.records.batch_spec import HoldAt, TableTask
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


OURS = {"txn": {"appId": "shop/SHOP.ORDERS/1", "version": 150}}
ROWS = {"add": {"path": "x.parquet", "dataChange": True}}


def log(folder: Path, *commits: list[dict[str, Any]]) -> TableTask:
    (folder / "_delta_log").mkdir()
    for version, actions in enumerate(commits):
        text = "\n".join(map(json.dumps, actions))
        (folder / "_delta_log" / f"{version:020d}.json").write_text(text)
    return TableTask(ORDERS, str(folder), "shop/SHOP.ORDERS/1", (), at_least=150)


@pytest.mark.parametrize("operation", ["RESTORE", "DELETE", "WRITE"])
def test_rows_that_somebody_else_has_written_since_stop_the_table(tmp_path: Path, operation: str) -> None:
    """They leave the position where it was: RESTORE to an older version does not take the txn back."""
    theirs = [{"commitInfo": {"operation": operation}}, {"remove": {"path": "x.parquet", "dataChange": True}}]
    changed = log(tmp_path, [OURS, ROWS], theirs, [{"commitInfo": {"operation": "SET TBLPROPERTIES"}}])

    with pytest.raises(TableSetBack, match=rf"somebody else has written version 1 of the Delta table \({operation}\)"):
        check_not_set_back(changed, 200, 150)


def test_maintenance_and_what_was_there_before_is_no_change_of_rows(tmp_path: Path) -> None:
    optimized = [{"commitInfo": {"operation": "OPTIMIZE"}}, {"add": {"path": "y.parquet", "dataChange": False}}]
    filled = [{"txn": {"appId": "shop/SHOP.ORDERS/1/ddl", "version": 140}}, ROWS]
    table = log(tmp_path, [ROWS], [OURS, ROWS], filled, optimized)

    check_not_set_back(table, 200, 150)
