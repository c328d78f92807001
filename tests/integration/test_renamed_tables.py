"""RENAME of captured tables: the entry follows the object, and no name decides whose row it is. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.steps.run import capture
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.references.plain_lake import PlainLake
from tests.states.lost_ledger import lose_ledger
from tests.support.doctor import run_doctor


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
    assert [f for f in run_doctor(edited, shop.params) if f.severity == "error"] == []
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
    lose_ledger(shop.folder / "landing")
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


# --- by pattern


def test_a_table_by_pattern_goes_on_under_a_new_name_that_a_pattern_matches(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items", "other", "art")
    pipeline = shop.pipeline(tables=["SHOP.ITEM*", "SHOP.ART*", "SHOP.OTHER"], new_tables="capture")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items", 2, "before")
    shop.run_sql("RENAME items TO between_two", "RENAME between_two TO articles")
    insert(shop, "articles", 3, "after")
    caught_up(shop, pipeline, "no Spark")
    shop.run_sql("ALTER TABLE articles ADD (note VARCHAR2(10))", "ALTER TABLE articles DROP COLUMN note")
    insert(shop, "articles", 4, "later")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert [t.table for t in steps.read_status(pipeline).tables] == ["SHOP.ART", "SHOP.ITEMS", "SHOP.OTHER"]
    assert rows(lake, pipeline, "items") == {1: "items", 2: "before", 3: "after", 4: "later"}
    doctor = run_doctor(pipeline, shop.params)
    assert [f for f in doctor if f.severity in ("error", "warning") and f.subject.startswith("SHOP.")] == []
    (found,) = steps.verify_tables(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="x").tables
    assert (found.source_rows, found.missing_rows) == (4, 0)

    shop.run_sql("RENAME articles TO items")
    insert(shop, "items", 5, "back")
    shop.run_sql("RENAME items TO articles")
    caught_up(shop, pipeline, "no Spark")
    steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    insert(shop, "articles", 6, "after the snapshot")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert set(rows(lake, pipeline, "items")) == {1, 2, 3, 4, 5, 6}


def test_a_rename_by_pattern_is_followed_by_an_apply_that_runs_after_the_rename_back(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items")
    pipeline = shop.pipeline(tables=["SHOP.*"])
    steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark")
    for statement, table in (("RENAME items TO away", "away"), ("RENAME away TO items", "items")):
        shop.run_sql(statement)
        insert(shop, table, 2 if table == "away" else 3, table)
        shop.switch_logs()
        while capture(Run(pipeline, shop.params)).plan.outcome == "window":
            pass
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "away", 3: "items"}


def test_a_name_that_no_pattern_matches_holds_the_table_and_the_cure_goes_on(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items", "item_kinds")
    pipeline = shop.pipeline(tables=["SHOP.ITEM*", "!SHOP.*_OLD"])
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO articles", "RENAME item_kinds TO item_kinds_old")
    insert(shop, "articles", 2, "after")
    caught_up(shop, pipeline, "no Spark")

    assert set(held(pipeline)) == {"SHOP.ITEMS", "SHOP.ITEM_KINDS"}
    edited = shop.pipeline(tables=["SHOP.ITEM*", {"table": "SHOP.ITEMS", "renamed_to": "SHOP.ARTICLES"}, "!SHOP.*_OLD"])
    steps.resume_tables(edited, ["SHOP.ITEMS"])
    caught_up(shop, edited, "no Spark")
    assert set(held(edited)) == {"SHOP.ITEM_KINDS"}
    assert rows(lake, edited, "items") == {1: "items", 2: "after"}


def test_where_another_table_has_got_the_old_name_a_person_decides(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items")
    pipeline = shop.pipeline(tables=["SHOP.ITEM*"], new_tables="capture")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO items_old", *created("items"))
    insert(shop, "items", 2, "another table")
    insert(shop, "items_old", 3, "after")
    caught_up(shop, pipeline, "no Spark")

    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    assert rows(lake, pipeline, "items") == {1: "items"}
    steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    caught_up(shop, pipeline, "no Spark")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items_old", 4, "later")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {2: "another table"}
    assert rows(lake, pipeline, "items_old") == {1: "items", 3: "after", 4: "later"}


def test_a_new_table_under_the_name_of_a_followed_one_is_left_out_and_said_to_be(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items")
    pipeline = shop.pipeline(tables=["SHOP.ITEM*"], new_tables="capture")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO items_old")
    caught_up(shop, pipeline, "no Spark")
    shop.run_sql(*created("items"))
    insert(shop, "items", 1, "another table")
    insert(shop, "items_old", 2, "after")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "after"}
    said = [str(f.what) for f in run_doctor(pipeline, shop.params) if f.subject == "SHOP.ITEMS"]
    assert any("has the name under which SHOP.ITEMS_OLD was captured" in what for what in said), said


def test_two_tables_by_pattern_that_exchange_their_names_go_on_once_their_names_are_declared(
    shop: Shop, lake: PlainLake
) -> None:
    with_tables(shop, "items", "other")
    pipeline = shop.pipeline(tables=["SHOP.*"])
    steps.take_snapshot(pipeline, ["SHOP.ITEMS", "SHOP.OTHER"], source=shop.params, spark="no Spark")
    shop.run_sql(*SWAP)
    insert(shop, "items", 3, "of other")
    insert(shop, "other", 3, "of items")
    caught_up(shop, pipeline, "no Spark")
    assert set(held(pipeline)) == {"SHOP.ITEMS", "SHOP.OTHER"}

    edited = renamed(shop, ITEMS="OTHER", OTHER="ITEMS")
    steps.resume_tables(edited, ["SHOP.ITEMS", "SHOP.OTHER"])
    caught_up(shop, edited, "no Spark")
    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "items", 3: "of items"}
    assert rows(lake, edited, "other") == {1: "other", 3: "of other"}


def test_a_table_that_takes_the_place_of_another_goes_on_by_each_cure_that_is_printed(shop: Shop, lake: PlainLake) -> None:
    """Blue and green under one pattern: `items` is renamed away, and `items_new` to its name. Redo names the objects."""
    with_tables(shop, "items", "items_new")
    pipeline = shop.pipeline(tables=["SHOP.ITEM*"], new_tables="capture")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    early = shop.pipeline(tables=["SHOP.ITEMS_NEW", {"table": "SHOP.ITEMS", "renamed_to": "SHOP.ITEMS_OLD"}])
    (found,) = [one for one in run_doctor(early, shop.params) if one.severity == "error" and one.subject == "SHOP.ITEMS"]
    assert "its `renamed_to` names no table" in found.what
    assert "until the table is renamed" in found.cure
    shop.run_sql("RENAME items TO items_old", "RENAME items_new TO items")
    insert(shop, "items", 2, "green")
    insert(shop, "items_old", 2, "blue")
    caught_up(shop, pipeline, "no Spark")

    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    assert rows(lake, pipeline, "items_new") == {1: "items_new", 2: "green"}
    cure = str(steps.read_status(pipeline).tables[0].cure)
    assert "(`table: SHOP.ITEMS, renamed_to: SHOP.ITEMS_OLD`)" in cure
    assert "once no other entry of `tables` has it" in cure
    with pytest.raises(ConfigurationError, match=r"is the table that SHOP\.ITEMS_NEW was") as doubled:
        steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    assert "`!SHOP.ITEMS_NEW`" in doubled.value.cure
    edited = shop.pipeline(tables=["SHOP.ITEM*", "!SHOP.ITEMS_NEW"], new_tables="capture")
    steps.take_snapshot(edited, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    insert(shop, "items", 3, "green")
    insert(shop, "items_old", 3, "blue")
    caught_up(shop, edited, "no Spark")
    steps.take_snapshot(edited, source=shop.params, spark="no Spark")

    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "items_new", 2: "green", 3: "green"}
    assert rows(lake, edited, "items_old") == {1: "items", 2: "blue", 3: "blue"}


def test_the_new_name_as_a_second_entry_is_refused(shop: Shop, lake: PlainLake) -> None:
    """Redo names the object, which both entries would have."""
    pipeline = with_tables(shop, "items")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO articles")
    both = shop.pipeline(tables=["SHOP.ITEMS", "SHOP.ARTICLES"])

    with pytest.raises(ConfigurationError, match=r"is the table that SHOP\.ITEMS was before it was renamed"):
        steps.take_snapshot(both, ["SHOP.ARTICLES"], source=shop.params, spark="no Spark")

    shop.run_sql(*created("items"))
    caught_up(shop, pipeline, "no Spark")
    steps.take_snapshot(both, ["SHOP.ITEMS"], replace=True, source=shop.params, spark="no Spark")
    insert(shop, "items", 5, "new")
    caught_up(shop, both, "no Spark")  # it takes the snapshot of the new entry
    insert(shop, "articles", 6, "old")
    caught_up(shop, both, "no Spark")
    assert held(both) == {}
    assert rows(lake, both, "items") == {5: "new"}
    assert rows(lake, both, "articles") == {1: "items", 6: "old"}


# --- tables whose rows are under other object ids

MONTHS = "PARTITION BY RANGE (id) INTERVAL (10) (PARTITION first VALUES LESS THAN (10))"
KINDS = {"partitioned": MONTHS, "index-organized": "ORGANIZATION INDEX"}


@pytest.mark.parametrize("declared", ["by pattern", "before", "after"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_renamed_table_of_this_kind_goes_on_where_its_new_partitions_were_seen(
    shop: Shop, lake: PlainLake, kind: str, declared: str
) -> None:
    create, logged = created("items")
    shop.run_sql(f"{create} {KINDS[kind]}", logged, "INSERT INTO items (id, what) VALUES (1, 'items')")
    edited = shop.pipeline(
        tables=["SHOP.ITEM*"] if declared == "by pattern" else [{"table": "SHOP.ITEMS", "renamed_to": "SHOP.ITEMS_B"}]
    )
    pipeline = edited if declared == "by pattern" else shop.pipeline(tables=["SHOP.ITEMS"])
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("RENAME items TO items_b")
    for key in (2, 12):
        insert(shop, "items_b", key, "after")
    if declared == "before":
        pipeline = edited
    caught_up(shop, pipeline, "no Spark")
    insert(shop, "items_b", 22, "in a new partition")
    caught_up(shop, pipeline, "no Spark")
    if declared == "after":
        goes_on = "resume" if kind == "index-organized" else "snapshot --replace"
        assert f"run `redolake {goes_on} SHOP.ITEMS`" in str(steps.read_status(pipeline).tables[0].cure)
        steps.resume_tables(edited, ["SHOP.ITEMS"])
        caught_up(shop, edited, "no Spark")
        if kind == "partitioned":
            assert "may have created partitions" in held(edited)["SHOP.ITEMS"]
            assert rows(lake, edited, "items") == {1: "items"}
            return

    assert held(edited) == {}
    assert rows(lake, edited, "items") == {1: "items", 2: "after", 12: "after", 22: "in a new partition"}
