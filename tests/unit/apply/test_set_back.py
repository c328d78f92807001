"""A Delta table that lacks applied commits, or has rows of another writer, is held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.delta.log import read_log
from redolake.apply.set_back import check_not_set_back
from redolake.errors import TableSetBack
from redolake.records.batches.spec import Course, Destination, HoldAt, TableTask
from redolake.values.table import TableId

ORDERS = TableId("SHOP", "ORDERS")


def task(at_least: int | None, hold: HoldAt | None = None) -> TableTask:
    return TableTask(ORDERS, Destination("lake/orders", "shop/SHOP.ORDERS/1", at_least=at_least), Course(), hold)


@pytest.mark.parametrize(
    ("position", "what"),
    [(None, "up to SCN 150 were applied, and there is no Delta table: `target`"), (149, "held those up to SCN 150 before")],
    ids=["no table", "an older copy"],
)
def test_a_position_below_the_recorded_one_stops_the_table(position: int | None, what: str) -> None:
    with pytest.raises(TableSetBack, match=what) as stopped:
        check_not_set_back(task(150), 200, position, None)
    assert "--replace" in stopped.value.cure


@pytest.mark.parametrize("position", [150, 230], ids=["the recorded one", "of an attempt that came further"])
def test_the_recorded_position_or_a_higher_one_is_good(position: int) -> None:
    check_not_set_back(task(150), 200, position, None)


def test_a_table_without_a_recorded_position_or_held_before_the_batch_is_not_checked() -> None:
    check_not_set_back(task(None), 200, 10, None)
    check_not_set_back(task(150, HoldAt(200, {})), 200, 10, None)


OURS = {"txn": {"appId": "shop/SHOP.ORDERS/1", "version": 150}}
ROWS = {"add": {"path": "x.parquet", "dataChange": True}}


def table_with_log(folder: Path, *commits: list[dict[str, Any]]) -> TableTask:
    (folder / "_delta_log").mkdir()
    for version, actions in enumerate(commits):
        text = "\n".join(map(json.dumps, actions))
        (folder / "_delta_log" / f"{version:020d}.json").write_text(text)
    return TableTask(ORDERS, Destination(str(folder), "shop/SHOP.ORDERS/1", at_least=150), Course())


@pytest.mark.parametrize("operation", ["RESTORE", "DELETE", "WRITE"])
def test_rows_that_another_writer_changed_since_stop_the_table(tmp_path: Path, operation: str) -> None:
    """The position does not show them: RESTORE to an older version does not take the txn back."""
    theirs = [{"commitInfo": {"operation": operation}}, {"remove": {"path": "x.parquet", "dataChange": True}}]
    changed = table_with_log(tmp_path, [OURS, ROWS], theirs, [{"commitInfo": {"operation": "SET TBLPROPERTIES"}}])

    with pytest.raises(TableSetBack, match=rf"another writer changed rows in version 1 of the Delta table \({operation}\)"):
        check_not_set_back(changed, 200, 150, read_log(changed.destination.target))


def test_maintenance_and_older_writes_do_not_stop_the_table(tmp_path: Path) -> None:
    optimized = [{"commitInfo": {"operation": "OPTIMIZE"}}, {"add": {"path": "y.parquet", "dataChange": False}}]
    filled = [{"txn": {"appId": "shop/SHOP.ORDERS/1/ddl", "version": 140}}, ROWS]
    table = table_with_log(tmp_path, [ROWS], [OURS, ROWS], filled, optimized)

    check_not_set_back(table, 200, 150, read_log(table.destination.target))
