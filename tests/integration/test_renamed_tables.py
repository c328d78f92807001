"""RENAME of captured tables: the entry follows the object, and no name decides whose row it is. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipelines import steps
from pipelines.config import Pipeline
from tests.fix_shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.plain_lake import PlainLake


@pytest.fixture
def lake() -> Iterator[PlainLake]:
    """Replace Spark's job; what the steps get as a session is never used."""
    found = PlainLake(replays=True)
    with found.in_place_of_spark():
        yield found


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path, ddl_age=60) as opened:
        yield opened


def with_tables(shop: Shop, *names: str) -> Pipeline:
    for name in names:
        shop.run_sql(*created(name), f"INSERT INTO {name} (id, what) VALUES (1, '{name}')")
    return shop.pipeline(tables=[f"SHOP.{name.upper()}" for name in names])


def created(name: str) -> list[str]:
    return [
        f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, what VARCHAR2(20))",
        f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    ]


def insert(shop: Shop, table: str, key: int, what: str) -> None:
    shop.run_sql(f"INSERT INTO {table} (id, what) VALUES ({key}, '{what}')")


def held(pipeline: Pipeline) -> dict[str, str]:
    return {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.error}


def rows(lake: PlainLake, pipeline: Pipeline, name: str) -> dict[int, str]:
    """Return the rows of the Delta table at the path that the entry has always had."""
    found = lake.tables[f"{pipeline.lake}/shop/{name}"].rows.values()
    return {int(key): what for key, what in found}


def renamed(shop: Shop, **names: str) -> Pipeline:
    """Return the pipeline after pipelines.yml was edited."""
    entries: list[Any] = [{"table": f"SHOP.{old}", "renamed_to": f"SHOP.{new}"} for old, new in names.items()]
    return shop.pipeline(tables=entries)


@pytest.mark.parametrize("statement", ["RENAME items TO articles", "ALTER TABLE shop.items RENAME TO articles"])
def test_a_renamed_table_goes_on_without_a_snapshot_once_its_new_name_is_declared(
    shop: Shop, lake: PlainLake, statement: str
) -> None:
    pipeline = with_tables(shop, "items")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items", 2, "before")
    shop.run_sql(statement)
    insert(shop, "articles", 3, "after")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {"SHOP.ITEMS": f"the table was renamed to SHOP.ARTICLES: {statement}"}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "before"}
    cure = steps.read_status(pipeline).tables[0].cure
    assert "renamed_to: SHOP.ARTICLES" in str(cure)

    insert(shop, "articles", 4, "while held")
    caught_up(shop, pipeline, "no Spark")
    edited = renamed(shop, ITEMS="ARTICLES")
    steps.resume_tables(edited, ["SHOP.ITEMS"])
    shop.run_sql("ALTER TABLE articles ADD (note VARCHAR2(10) DEFAULT 'none')", "ALTER TABLE articles DROP COLUMN note")
    shop.run_sql("UPDATE articles SET what = 'changed' WHERE id = 1")
    caught_up(shop, edited, "no Spark")

    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "changed", 2: "before", 3: "after", 4: "while held"}
    assert [f for f in steps.run_doctor(edited, shop.params) if f.severity == "error"] == []
    assert [(t.source_rows, t.missing_rows) for t in steps.verify_tables(edited, source=shop.params, spark="x").tables] == [
        (4, 0)
    ]
    steps.take_snapshot(edited, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    insert(shop, "articles", 5, "after the snapshot")
    caught_up(shop, edited, "no Spark")
    assert rows(lake, edited, "items")[5] == "after the snapshot"


def test_a_new_table_under_the_old_name_never_reaches_the_renamed_one(shop: Shop, lake: PlainLake) -> None:
    """The usual rotation: RENAME orders TO orders_old, CREATE TABLE orders."""
    pipeline = with_tables(shop, "items", "other")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items", 2, "before")
    shop.run_sql("RENAME items TO items_old", *created("items"))
    insert(shop, "items", 2, "another table")
    insert(shop, "items_old", 3, "after")
    insert(shop, "other", 2, "goes on")
    caught_up(shop, pipeline, "no Spark")
    insert(shop, "items", 4, "another table")
    insert(shop, "items_old", 4, "later")
    caught_up(shop, pipeline, "no Spark")

    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    assert rows(lake, pipeline, "items") == {1: "items", 2: "before"}
    assert rows(lake, pipeline, "other") == {1: "other", 2: "goes on"}

    edited = renamed(shop, ITEMS="ITEMS_OLD", OTHER="OTHER")
    steps.resume_tables(edited, ["SHOP.ITEMS"])
    insert(shop, "items_old", 5, "last")
    insert(shop, "items", 5, "another table")
    caught_up(shop, edited, "no Spark")

    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "items", 2: "before", 3: "after", 4: "later", 5: "last"}


SWAP = ("RENAME items TO between", "RENAME other TO items", "RENAME between TO other")


@pytest.mark.parametrize("mined", ["before the swap", "after the swap"])
def test_two_tables_that_exchange_their_names_keep_their_rows(shop: Shop, lake: PlainLake, mined: str) -> None:
    pipeline = with_tables(shop, "items", "other")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items", 2, "of items")
    insert(shop, "other", 2, "of other")
    if mined == "before the swap":
        caught_up(shop, pipeline, "no Spark")
    shop.run_sql(*SWAP)
    insert(shop, "items", 3, "of other")
    insert(shop, "other", 3, "of items")
    caught_up(shop, pipeline, "no Spark")

    assert set(held(pipeline)) == {"SHOP.ITEMS", "SHOP.OTHER"}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "of items"}
    assert rows(lake, pipeline, "other") == {1: "other", 2: "of other"}

    edited = renamed(shop, ITEMS="OTHER", OTHER="ITEMS")
    insert(shop, "items", 4, "of other")
    insert(shop, "other", 4, "of items")
    shop.switch_logs()
    steps.resume_tables(edited, ["SHOP.ITEMS", "SHOP.OTHER"])
    caught_up(shop, edited, "no Spark")

    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "items", 2: "of items", 3: "of items", 4: "of items"}
    assert rows(lake, edited, "other") == {1: "other", 2: "of other", 3: "of other", 4: "of other"}


def test_a_table_renamed_there_and_back_is_followed(shop: Shop, lake: PlainLake) -> None:
    pipeline = with_tables(shop, "items")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO away", "INSERT INTO away (id, what) VALUES (2, 'away')", "RENAME away TO items")
    insert(shop, "items", 3, "back")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "away", 3: "back"}


def test_a_lost_ledger_knows_a_rename_that_was_followed(shop: Shop, lake: PlainLake) -> None:
    pipeline = with_tables(shop, "items")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO articles")
    edited = renamed(shop, ITEMS="ARTICLES")
    insert(shop, "articles", 2, "after")
    caught_up(shop, edited, "no Spark")
    for file in (shop.folder / "landing").glob("redolake-ledger.db*"):
        file.unlink()
    insert(shop, "articles", 3, "later")
    caught_up(shop, edited, "no Spark")

    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "items", 2: "after", 3: "later"}
    assert steps.list_versions(edited, "SHOP.ITEMS")[-1].statement == "RENAME items TO articles"


def test_a_second_rename_holds_until_it_is_declared_too(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items")
    shop.run_sql("RENAME items TO articles")
    pipeline = shop.pipeline(tables=["SHOP.ARTICLES"])
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME articles TO goods")
    first = renamed(shop, ARTICLES="GOODS")
    caught_up(shop, first, "no Spark")
    assert held(first) == {}
    shop.run_sql("RENAME goods TO wares", "INSERT INTO wares (id, what) VALUES (2, 'wares')")
    caught_up(shop, first, "no Spark")
    assert "renamed to SHOP.WARES" in held(first)["SHOP.ARTICLES"]

    second = renamed(shop, ARTICLES="WARES")
    steps.resume_tables(second, ["SHOP.ARTICLES"])
    caught_up(shop, second, "no Spark")
    assert rows(lake, second, "articles") == {1: "items", 2: "wares"}


def test_two_entries_cannot_have_one_name(shop: Shop) -> None:
    with pytest.raises(ValidationError, match=r"SHOP\.B is the name of two tables"):
        shop.pipeline(tables=[{"table": "SHOP.A", "renamed_to": "SHOP.B"}, "SHOP.B"])
