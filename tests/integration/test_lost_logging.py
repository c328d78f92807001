"""Capture notices that a table lost its supplemental logging, before an UPDATE without its key arrives."""

from __future__ import annotations

from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.steps.run import capture
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.support.doctor import run_doctor

KEY = "ALTER TABLE {} {} SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"
ALL = "ALTER TABLE {} {} SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
TABLES = ("PARTS", "NOTES", "BADGES", "STAYS")


@pytest.fixture
def pipeline(shop: Shop) -> Any:
    """Return a pipeline of four live tables: NOTES, keyed by ROWID, logs all columns; the others log their primary keys."""
    for table in TABLES:
        key = "" if table == "NOTES" else f"CONSTRAINT {table}_pk PRIMARY KEY"
        shop.run_sql(f"CREATE TABLE {table} (id NUMBER(9) {key}, place VARCHAR2(20))")
        shop.run_sql((ALL if table == "NOTES" else KEY).format(table, "ADD"))
    tables = [{"table": "SHOP.NOTES", "key": "rowid"}, *(f"SHOP.{table}" for table in TABLES if table != "NOTES")]
    made = shop.pipeline(tables=tables)
    steps.begin_snapshot(Run(made, shop.params))
    with Run(made) as context:
        for table in TABLES:
            context.ledger.move_table(TableId("SHOP", table), ("new",), "snapshotting")
            context.ledger.move_table(TableId("SHOP", table), ("snapshotting",), "live")
    return made


def errors_of_held_tables(shop: Shop, pipeline: Any) -> dict[str, dict[str, Any]]:
    """Land one more window; return the errors of held tables by name."""
    shop.switch_logs()
    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    with Run(pipeline) as context:
        return {e.table.name: dict(e.error or {}) for e in context.ledger.tables() if e.state == "held"}


def test_each_table_without_the_logging_it_needs_is_held_until_it_is_restored(shop: Shop, pipeline: Any) -> None:
    before = errors_of_held_tables(shop, pipeline)
    shop.run_sql(KEY.format("parts", "DROP"), ALL.format("notes", "DROP"), KEY.format("notes", "ADD"))
    shop.run_sql("ALTER TABLE badges DROP PRIMARY KEY")  # apply holds this table at the DDL, so capture need not
    found = errors_of_held_tables(shop, pipeline)
    shop.run_sql(KEY.format("parts", "ADD"), ALL.format("notes", "ADD"))
    steps.resume_tables(pipeline, ["SHOP.PARTS", "SHOP.NOTES"])

    assert before == {}
    assert {name: error["code"] for name, error in found.items()} == {"PARTS": "NotLogged", "NOTES": "NotLogged"}
    assert "ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS" in found["PARTS"]["cure"]
    assert "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in found["NOTES"]["cure"]
    assert errors_of_held_tables(shop, pipeline) == {}


def test_a_table_that_was_created_again_is_left_to_its_ddl(shop: Shop, pipeline: Any) -> None:
    """Its redo says that it was dropped and created again, which no logging cures."""
    assert errors_of_held_tables(shop, pipeline) == {}
    shop.run_sql("DROP TABLE parts PURGE", "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))")
    shop.run_sql("CREATE TABLE other (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))", "DROP TABLE notes")
    shop.run_sql("RENAME other TO notes", KEY.format("badges", "DROP"))

    assert errors_of_held_tables(shop, pipeline).keys() == {"BADGES"}


def test_a_table_resumed_without_logging_is_held_again(shop: Shop, pipeline: Any) -> None:
    shop.run_sql(KEY.format("parts", "DROP"))
    first = errors_of_held_tables(shop, pipeline)
    steps.resume_tables(pipeline, ["SHOP.PARTS"])

    assert errors_of_held_tables(shop, pipeline).keys() == first.keys() == {"PARTS"}


def test_logging_replaced_by_another_level_is_no_error(shop: Shop, pipeline: Any) -> None:
    shop.run_sql("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", user="SYS")
    shop.run_sql(KEY.format("parts", "DROP"), ALL.format("notes", "DROP"))

    assert errors_of_held_tables(shop, pipeline) == {}


def test_logging_of_the_database_does_not_count_without_logical_replication(shop: Shop, pipeline: Any) -> None:
    shop.run_sql("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS", user="SYS")
    shop.run_sql(KEY.format("parts", "DROP"), KEY.format("stays", "DROP"), "ALTER TABLE parts DISABLE LOGICAL REPLICATION")
    (error,) = (f for f in run_doctor(pipeline, shop.params) if f.severity == "error")
    found = errors_of_held_tables(shop, pipeline)

    assert (error.subject, "LOGICAL REPLICATION is disabled" in error.what) == ("SHOP.PARTS", True)
    assert found.keys() == {"PARTS"}
    assert 'ALTER TABLE "SHOP"."PARTS" ENABLE LOGICAL REPLICATION' in found["PARTS"]["cure"]
    shop.run_sql("ALTER TABLE parts ENABLE LOGICAL REPLICATION")
    steps.resume_tables(pipeline, ["SHOP.PARTS"])
    assert errors_of_held_tables(shop, pipeline) == {}


def test_the_script_for_a_dba_asks_for_the_cheapest_sufficient_logging(shop: Shop, pipeline: Any) -> None:
    lines = steps.write_setup_sql(pipeline).splitlines()

    assert f"""{KEY.format('"SHOP"."PARTS"', "ADD")};""" in lines
    assert f"""{ALL.format('"SHOP"."NOTES"', "ADD")};""" in lines


def test_a_table_whose_mapping_needs_whole_rows_is_held_without_their_logging(shop: Shop) -> None:
    shop.run_sql("CREATE TABLE rates (id NUMBER(9) PRIMARY KEY, a NUMBER(9), b NUMBER(9))", ALL.format("rates", "ADD"))
    mapped = {"table": "SHOP.RATES", "add": {"total": {"expression": "a + b", "type": "bigint"}}}
    pipeline = shop.pipeline(tables=[mapped])
    steps.begin_snapshot(Run(pipeline, shop.params))
    with Run(pipeline) as context:
        context.ledger.move_table(TableId("SHOP", "RATES"), ("new",), "snapshotting")
        context.ledger.move_table(TableId("SHOP", "RATES"), ("snapshotting",), "live")
    before = errors_of_held_tables(shop, pipeline)
    shop.run_sql(ALL.format("rates", "DROP"), KEY.format("rates", "ADD"))
    found = errors_of_held_tables(shop, pipeline)
    shop.run_sql(ALL.format("rates", "ADD"))
    steps.resume_tables(pipeline, ["SHOP.RATES"])

    assert before == {}
    assert "no longer contains the whole row, which its mapping needs" in found["RATES"]["what"]
    assert "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in found["RATES"]["cure"]
    assert errors_of_held_tables(shop, pipeline) == {}
