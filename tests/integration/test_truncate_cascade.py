"""TRUNCATE .. CASCADE removes the rows of referencing tables too, and the redo has the statement of the parent alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.steps.shared.status import TableStatus
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import differences
from tests.references.plain_lake import PlainLake

REFERENCE = "p NUMBER(9) REFERENCES {} ON DELETE CASCADE"
FAMILY = ("grandparent", "parent", "child", "other")
CHILD = {"table": "SHOP.CHILD", "on_ddl": {"truncate": "follow"}}


@contextmanager
def family(folder: Path, tables: Sequence[Any]) -> Iterator[tuple[Shop, Pipeline]]:
    """Yield a grandparent, a parent and a child with a row each, and a pipeline of some whose snapshot is taken."""
    with standin() as oracle, PlainLake().in_place_of_spark():
        shop = Shop(oracle, folder)
        for table, parent in zip(FAMILY, (None, *FAMILY), strict=False):
            own = "" if parent is None or table == "other" else f", {REFERENCE.format(parent)}"
            shop.run_sql(f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY{own})")
            shop.run_sql(f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
            shop.run_sql(f"INSERT INTO {table} (id{', p' if own else ''}) VALUES (1{', 1' if own else ''})")
        pipeline = shop.pipeline(tables=list(tables))
        steps.take_snapshot(pipeline, source=shop.params, spark=None)
        yield shop, pipeline


def replicate(shop: Shop, pipeline: Pipeline, *statements: str) -> dict[str, TableStatus]:
    shop.run_sql(*statements)
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=None)
    return {table.table: table for table in steps.read_status(pipeline).tables}


@pytest.mark.parametrize("truncated", ["parent", "grandparent"])
@pytest.mark.parametrize("captured", [["SHOP.OTHER"], ["SHOP.PARENT"]], ids=["parent not captured", "parent captured"])
def test_a_truncate_of_a_parent_with_cascade_is_followed_in_the_child(
    tmp_path: Path, truncated: str, captured: list[str]
) -> None:
    with family(tmp_path, [CHILD, *captured]) as (shop, pipeline):
        shop.run_sql("INSERT INTO child (id, p) VALUES (2, 1)", "ALTER TABLE child MOVE ONLINE")
        found = replicate(shop, pipeline, f"TRUNCATE TABLE {truncated} CASCADE", "INSERT INTO child (id) VALUES (3)")

        assert (found["SHOP.CHILD"].state, found["SHOP.CHILD"].error) == ("live", None)
        assert differences(shop, pipeline, "SHOP.CHILD") == {}


def test_a_truncate_of_a_parent_with_cascade_holds_a_child_that_does_not_follow(tmp_path: Path) -> None:
    with family(tmp_path, ["SHOP.CHILD", "SHOP.OTHER"]) as (shop, pipeline):
        found = replicate(shop, pipeline, "TRUNCATE TABLE parent CASCADE", "TRUNCATE TABLE other CASCADE")

        assert {name: table.state for name, table in found.items()} == {"SHOP.CHILD": "held", "SHOP.OTHER": "held"}
        assert "by that of SHOP.PARENT with CASCADE" in (found["SHOP.CHILD"].error or "")


def test_a_truncate_with_cascade_of_another_table_concerns_no_child(tmp_path: Path) -> None:
    with family(tmp_path, ["SHOP.CHILD"]) as (shop, pipeline):
        shop.run_sql("ALTER TABLE parent ADD (note VARCHAR2(10))")
        found = replicate(shop, pipeline, "TRUNCATE TABLE other CASCADE", "INSERT INTO child (id) VALUES (3)")

        assert found["SHOP.CHILD"].state == "live"
        assert differences(shop, pipeline) == {}


@contextmanager
def years_and_days(folder: Path, partitions: str, days: dict[str, Any]) -> Iterator[tuple[Shop, Pipeline]]:
    """Yield YEARS with these partitions, DAYS by reference to it with a row of each year, and a pipeline of DAYS."""
    years = (2001, 2015, 2026)
    with standin() as oracle, PlainLake().in_place_of_spark():
        shop = Shop(oracle, folder)
        shop.run_sql(
            f"CREATE TABLE years (id NUMBER(9) PRIMARY KEY, y NUMBER(4)) PARTITION BY {partitions}",
            "CREATE TABLE days (id NUMBER(9) PRIMARY KEY, p NUMBER(9) NOT NULL CONSTRAINT of_year REFERENCES years, n INT) "
            "PARTITION BY REFERENCE (of_year)",
            "ALTER TABLE days ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(f"INSERT INTO years VALUES ({n}, {y})" for n, y in enumerate(years, 1)),
            *(f"INSERT INTO days VALUES ({10 * n}, {n}, 0)" for n in range(1, len(years) + 1)),
        )
        pipeline = shop.pipeline(tables=[{"table": "SHOP.DAYS", **days}])
        steps.take_snapshot(pipeline, source=shop.params, spark=None)
        yield shop, pipeline


@pytest.mark.parametrize(("policy", "state"), [("hold", "held"), ("keep", "live")])
def test_a_dropped_partition_of_a_parent_by_reference_counts_for_the_child(tmp_path: Path, policy: str, state: str) -> None:
    partitions = "LIST (y) (PARTITION old VALUES (2001), PARTITION young VALUES (2015, 2026))"
    with years_and_days(tmp_path, partitions, {"on_ddl": {"drop_partition": policy}}) as (shop, pipeline):
        found = replicate(shop, pipeline, "ALTER TABLE years DROP PARTITION old", "INSERT INTO days VALUES (21, 2, 0)")

        assert found["SHOP.DAYS"].state == state
        assert ("by that of SHOP.YEARS" in str(found["SHOP.DAYS"].error)) is (state == "held")


@pytest.mark.parametrize(("key", "state"), [("rowid", "held"), ("primary", "live")])
def test_a_split_partition_of_a_parent_by_reference_moves_the_rows_of_the_child(tmp_path: Path, key: str, state: str) -> None:
    partitions = "RANGE (y) (PARTITION old VALUES LESS THAN (2020), PARTITION young VALUES LESS THAN (MAXVALUE))"
    with years_and_days(tmp_path, partitions, {"key": key}) as (shop, pipeline):
        before = places(shop)
        split = "ALTER TABLE years SPLIT PARTITION old AT (2010) INTO (PARTITION older, PARTITION old)"
        found = replicate(shop, pipeline, split, "UPDATE days SET n = 1 WHERE id = 10", "DELETE FROM days WHERE id = 20")

        assert {number for number, place in places(shop).items() if place == before[number]} == {30}
        assert found["SHOP.DAYS"].state == state
        assert ("ROWID is the key" in str(found["SHOP.DAYS"].error)) is (state == "held")
        if state == "live":
            assert differences(shop, pipeline) == {}


def places(shop: Shop) -> dict[int, str]:
    """Return the ROWID of each row of DAYS."""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        return dict(cursor.execute("SELECT id, ROWID FROM days").fetchall())
