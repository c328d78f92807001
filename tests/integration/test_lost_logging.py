"""Capture notices that somebody has taken a table's supplemental logging away, before an UPDATE comes that nobody can place."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import steps
from pipelines.context import workplace
from pipelines.steps.run import capture
from pipelines.table import TableId
from tests.fix_shop import Shop

KEY = "ALTER TABLE {} {} SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"
ALL = "ALTER TABLE {} {} SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
TABLES = ("PARTS", "NOTES", "BADGES", "STAYS")


@pytest.fixture
def pipeline(shop: Shop) -> Any:
    """All live: PARTS, BADGES and STAYS with logging of their primary keys, NOTES by ROWID with that of all columns."""
    for table in TABLES:
        key = "" if table == "NOTES" else f"CONSTRAINT {table}_pk PRIMARY KEY"
        shop.run_sql(f"CREATE TABLE {table} (id NUMBER(9) {key}, place VARCHAR2(20))")
        shop.run_sql((ALL if table == "NOTES" else KEY).format(table, "ADD"))
    chosen = [{"table": "SHOP.NOTES", "key": "rowid"}, *(f"SHOP.{table}" for table in TABLES if table != "NOTES")]
    made = shop.pipeline(tables=chosen)
    steps.begin_snapshot(made, shop.params)
    with workplace(made) as work:
        for table in TABLES:
            work.ledger.move_table(TableId("SHOP", table), ("new",), "snapshotting")
            work.ledger.move_table(TableId("SHOP", table), ("snapshotting",), "live")
    return made


def held(shop: Shop, pipeline: Any) -> dict[str, dict[str, Any]]:
    """By table, what holds it after one more window."""
    shop.switch_logs()
    assert capture(pipeline, shop.params)["outcome"] == "window"
    with workplace(pipeline) as work:
        return {e.table.name: dict(e.error or {}) for e in work.ledger.tables() if e.state == "held"}


def test_each_table_that_lacks_what_it_needs_is_held_until_that_is_back(shop: Shop, pipeline: Any) -> None:
    before = held(shop, pipeline)
    shop.run_sql(KEY.format("parts", "DROP"), ALL.format("notes", "DROP"), KEY.format("notes", "ADD"))
    shop.run_sql("ALTER TABLE badges DROP PRIMARY KEY")  # the DDL itself holds that one, and says so
    found = held(shop, pipeline)
    shop.run_sql(KEY.format("parts", "ADD"), ALL.format("notes", "ADD"))
    steps.resume_tables(pipeline, ["SHOP.PARTS", "SHOP.NOTES"])

    assert before == {}
    assert {name: error["code"] for name, error in found.items()} == {"PARTS": "NotLogged", "NOTES": "NotLogged"}
    assert "ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS" in found["PARTS"]["cure"]
    assert "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in found["NOTES"]["cure"]
    assert held(shop, pipeline) == {}


def test_a_table_that_is_resumed_while_its_logging_is_off_is_held_again(shop: Shop, pipeline: Any) -> None:
    shop.run_sql(KEY.format("parts", "DROP"))
    first = held(shop, pipeline)
    steps.resume_tables(pipeline, ["SHOP.PARTS"])

    assert held(shop, pipeline).keys() == first.keys() == {"PARTS"}


def test_a_level_that_another_one_takes_over_is_not_missed(shop: Shop, pipeline: Any) -> None:
    shop.run_sql("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", user="SYS")
    shop.run_sql(KEY.format("parts", "DROP"), ALL.format("notes", "DROP"))

    assert held(shop, pipeline) == {}


def test_the_script_for_a_dba_asks_for_the_cheapest_logging_that_will_do(shop: Shop, pipeline: Any) -> None:
    lines = steps.setup_sql(pipeline).splitlines()

    assert f"{KEY.format('SHOP.PARTS', 'ADD')};" in lines
    assert f"{ALL.format('SHOP.NOTES', 'ADD')};" in lines
