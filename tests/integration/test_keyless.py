"""Tables without a primary key through the whole pipeline: keyed by a unique index, by ROWID, or append-only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import ConfigurationError
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.references.delta_table import rows_left
from tests.references.source_comparison import compare_with_source

pytestmark = pytest.mark.spark

RATES = {"table": "SHOP.RATES", "key": ["code", "day"]}
READINGS = {"table": "SHOP.READINGS", "key": "rowid"}
EVENTS = {"table": "SHOP.EVENTS", "key": "append"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Start a database that reuses the ROWIDs of deleted rows."""
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0, reuses_rowids=True) as oracle:
        yield Shop(oracle, tmp_path)


@pytest.fixture
def pipeline(shop: Shop) -> Any:
    shop.run_sql(
        "CREATE TABLE rates (code VARCHAR2(3) NOT NULL, rate NUMBER(9,4), day NUMBER(8) NOT NULL)",
        "CREATE UNIQUE INDEX rates_of_day ON rates (day, code)",
        "CREATE TABLE readings (meter NUMBER(9), reading NUMBER(9))",
        "CREATE TABLE events (at NUMBER(9), what VARCHAR2(20))",
        *(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" for name in ("rates", "readings", "events")),
        "INSERT INTO rates VALUES ('EUR', 1.5, 20260101)",
        "INSERT INTO rates VALUES ('USD', 1.25, 20260101)",
        *["INSERT INTO readings VALUES (7, 100)"] * 3,
        *["INSERT INTO events VALUES (1, 'start')"] * 2,
    )
    return shop.pipeline(tables=[RATES, READINGS, EVENTS])


ONE = "ROWID = (SELECT MIN(ROWID) FROM readings WHERE meter = 7)"


def test_tables_without_a_primary_key_equal_the_source(shop: Shop, spark: Any, pipeline: Any) -> None:
    taken = steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        "UPDATE rates SET rate = 1.75 WHERE code = 'EUR'",
        "UPDATE rates SET code = 'CHF', day = 20260102 WHERE code = 'USD'",
        "INSERT INTO rates VALUES ('USD', 9, 20260101)",
        f"DELETE FROM readings WHERE {ONE}",
        f"UPDATE readings SET reading = 101 WHERE {ONE}",
        *["INSERT INTO readings VALUES (8, 1)"] * 2,
        "SAVEPOINT before_error",
        "DELETE FROM readings WHERE meter = 8",
        "DELETE FROM events",
        "ROLLBACK TO SAVEPOINT before_error",
        *["INSERT INTO events VALUES (1, 'start')"] * 2,
    )
    with shop.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
        ((before_ddl,),) = cursor.execute("SELECT current_scn FROM v$database")
    shop.run_sql(
        "ALTER TABLE readings ADD (unit VARCHAR2(5) DEFAULT 'kWh')",
        "ALTER TABLE events ADD (place VARCHAR2(5) DEFAULT 'here')",
        "INSERT INTO readings VALUES (9, 5, 'MWh')",
        "INSERT INTO events VALUES (2, 'stop', 'there')",
        "DELETE FROM readings WHERE ROWID = (SELECT MAX(ROWID) FROM readings WHERE meter = 8)",
    )
    caught_up(shop, pipeline, spark)

    verified = compare_with_source(pipeline, shop.params)
    assert verified.equal, verified
    assert {t.table: t.delta_rows for t in verified.tables} == {
        "SHOP.RATES": 3, "SHOP.READINGS": 4, "SHOP.EVENTS": 5,
    }  # fmt: skip

    start, end = taken.scn + 1, steps.read_status(pipeline).next_start_scn
    done = steps.run_backfill(pipeline, start, end, ["SHOP.READINGS", "SHOP.EVENTS"], execute=True, spark=spark)
    rows = {t.table: len(rows_left(t.target)) for t in done.recorded.tables}
    assert rows == {"SHOP.READINGS": 3, "SHOP.EVENTS": 3}
    historic, current = (
        steps.run_backfill(pipeline, start, before_ddl + 1, ["SHOP.READINGS"], execute=True, schema=schema, spark=spark)
        for schema in ("historic", "current")
    )
    then, now = (
        sorted(rows_left(done.recorded.tables[0].target), key=lambda row: row["_rowid"]) for done in (historic, current)
    )
    assert [row["UNIT"] for row in now] == ["kWh"] * 3
    assert [{**row, "UNIT": None} for row in now] == [{**row, "UNIT": None} for row in then]
    assert all("UNIT" not in row for row in then)


def test_a_change_that_invalidates_the_key_holds_its_table_until_a_new_snapshot(shop: Shop, spark: Any, pipeline: Any) -> None:
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        "DROP INDEX rates_of_day",
        "INSERT INTO rates VALUES ('EUR', 2, 20260101)",
        "DELETE FROM rates WHERE rate = 1.5",
        "CREATE UNIQUE INDEX rates_of_day ON rates (day, code)",
        "ALTER TABLE readings MOVE",
        "INSERT INTO readings VALUES (9, 9)",
        "UPDATE events SET what = 'begin' WHERE ROWID = (SELECT MIN(ROWID) FROM events)",
    )
    caught_up(shop, pipeline, spark)
    held = {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.state == "held"}

    assert "created again" in held.pop("SHOP.RATES")
    assert "MOVE gives the rows new ROWIDs" in held.pop("SHOP.READINGS")
    assert "UPDATE" in held.pop("SHOP.EVENTS")

    cured = shop.pipeline(tables=[RATES, READINGS, {**EVENTS, "key": "rowid"}])
    names = ["SHOP.RATES", "SHOP.READINGS", "SHOP.EVENTS"]
    steps.take_snapshot(cured, names, replace=True, source=shop.params, spark=spark)
    shop.run_sql("UPDATE events SET what = 'go' WHERE what = 'start'", f"DELETE FROM readings WHERE {ONE}")
    caught_up(shop, cured, spark)
    assert differences(shop, cured) == {}

    shop.run_sql("INSERT INTO events VALUES (3, 'more')")
    caught_up(shop, pipeline, spark)  # with the keys declared before
    held = {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.state == "held"}
    assert held == {"SHOP.EVENTS": "pipelines.yml says `key: append`, and the table was read with `key: rowid`"}


def test_columns_that_are_no_key_are_refused_before_anything_is_read(shop: Shop, pipeline: Any) -> None:
    wrong = shop.pipeline(tables=[{**RATES, "key": ["code"]}, "SHOP.READINGS"])

    with pytest.raises(ConfigurationError) as caught:
        steps.begin_snapshot(Run(wrong, shop.params))

    cures = {f.subject: f.cure for f in caught.value.findings if f.severity == "error"}
    assert "`key: [DAY, CODE]`" in cures["SHOP.RATES"]
    assert "`key: rowid`" in cures["SHOP.READINGS"]
