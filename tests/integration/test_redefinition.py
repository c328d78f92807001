"""DBMS_REDEFINITION gives a captured table's name to another object. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redolake import steps
from redolake.window.dictionary import BUILD
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.integration.test_renamed_tables import created, held, insert, rows, with_tables
from tests.references.plain_lake import PlainLake

PAIR = "'SHOP', 'ITEMS', 'ITEMS_INT'"


@contextmanager
def open_source(folder: Path, redo: str) -> Iterator[Shop]:
    """Start a stand-in in whose redo LogMiner shows the exchange of the names in that way."""
    with standin(archive_lag_target=0, ddl_age=60, redefinition_redo=redo) as oracle:
        yield Shop(oracle, folder)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_source(tmp_path, "none") as opened:
        yield opened


def interim(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE items_int (id NUMBER(9) PRIMARY KEY, what VARCHAR2(40), note VARCHAR2(10))",
        "ALTER TABLE items_int ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )


def begin(shop: Shop) -> None:
    interim(shop)
    mapping = "id id, what || '!' what, 'new' note"
    shop.run_sql(
        f"BEGIN DBMS_REDEFINITION.START_REDEF_TABLE({PAIR}, col_mapping => '{mapping.replace(chr(39), chr(39) * 2)}'); END;"
    )


def finish(shop: Shop) -> None:
    shop.run_sql(f"BEGIN DBMS_REDEFINITION.SYNC_INTERIM_TABLE({PAIR}); DBMS_REDEFINITION.FINISH_REDEF_TABLE({PAIR}); END;")


@pytest.mark.parametrize(
    ("redo", "dictionary", "mined"),
    [
        ("none", "online", "between"),
        ("none", "redo", "at the end"),
        ("internal", "online", "at the end"),
        ("user", "online", "between"),
    ],
)
def test_a_redefined_table_keeps_its_rows_until_it_is_read_again(
    tmp_path: Path, lake: PlainLake, redo: str, dictionary: str, mined: str
) -> None:
    with open_source(tmp_path, redo) as shop:
        with_tables(shop, "items", "other")
        pipeline = dictionary_pipeline(shop, dictionary)
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        insert(shop, "items", 2, "before")
        begin(shop)
        insert(shop, "items", 3, "while")
        if mined == "between":
            caught_up(shop, pipeline, "no Spark")
            assert held(pipeline) == {}
        finish(shop)
        insert(shop, "items", 4, "after")
        insert(shop, "other", 2, "goes on")
        caught_up(shop, pipeline, "no Spark")
        insert(shop, "items", 5, "later")
        insert(shop, "other", 3, "goes on")
        caught_up(shop, pipeline, "no Spark")

        assert list(held(pipeline)) == ["SHOP.ITEMS"]
        assert rows(lake, pipeline, "items").items() <= {1: "items", 2: "before", 3: "while"}.items()
        assert len(rows(lake, pipeline, "other")) == 3
        steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
        insert(shop, "items", 6, "after the snapshot")
        caught_up(shop, pipeline, "no Spark")
        assert held(pipeline) == {}
        assert differences(shop, pipeline, "SHOP.ITEMS") == {}


def dictionary_pipeline(shop: Shop, dictionary: str, **settings):
    if dictionary == "redo":
        shop.run_sql(BUILD, *["ALTER SYSTEM ARCHIVE LOG CURRENT"] * 2, user="SYS")
    source = {"connection": "oracle_shop", "container": "FREEPDB1", "dictionary": dictionary}
    return shop.pipeline(tables=["SHOP.ITEMS", "SHOP.OTHER"], source=source, **settings)


@pytest.mark.parametrize("dictionary", ["online", "redo"])
def test_changes_of_the_old_table_under_its_new_name_do_not_reach_the_lake(
    shop: Shop, lake: PlainLake, dictionary: str
) -> None:
    with_tables(shop, "items", "other")
    pipeline = dictionary_pipeline(shop, dictionary)
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items", 2, "before")
    begin(shop)
    finish(shop)
    shop.run_sql("DELETE FROM items_int WHERE id = 1", "INSERT INTO items_int (id, what) VALUES (9, 'old table')")
    caught_up(shop, pipeline, "no Spark")

    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    assert set(rows(lake, pipeline, "items")) in ({1}, {1, 2})
    caught_up(shop, pipeline, "no Spark")
    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    assert set(rows(lake, pipeline, "items")) in ({1}, {1, 2})


def test_a_redefined_table_is_snapshotted_again_by_itself(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items", "other")
    pipeline = dictionary_pipeline(shop, "online", on_ddl={"recreate": "resnapshot"}, resnapshot={"pause_minutes": 0})
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    begin(shop)
    finish(shop)
    shop.run_sql("DROP TABLE items_int PURGE")
    insert(shop, "items", 2, "after")
    caught_up(shop, pipeline, "no Spark")
    insert(shop, "items", 3, "later")
    caught_up(shop, pipeline, "no Spark")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert differences(shop, pipeline) == {}
    assert rows_of_items(lake, pipeline) == {1, 2, 3}


def rows_of_items(lake: PlainLake, pipeline) -> set[int]:
    return {int(row[0]) for row in lake.tables[f"{pipeline.lake}/shop/items"].rows.values()}


def test_a_redefinition_that_is_given_up_changes_nothing(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items")
    pipeline = shop.pipeline(tables=["SHOP.ITEM*", "!SHOP.*_INT"])
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    begin(shop)
    insert(shop, "items", 2, "while")
    shop.run_sql(f"BEGIN DBMS_REDEFINITION.ABORT_REDEF_TABLE({PAIR}); END;", "DROP TABLE items_int PURGE")
    insert(shop, "items", 3, "after")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert differences(shop, pipeline) == {}


def rotate(shop: Shop) -> None:
    shop.run_sql("RENAME items TO items_int", *created("items"))


def redefine(shop: Shop) -> None:
    begin(shop)
    finish(shop)


@pytest.mark.parametrize("exchange", [redefine, rotate])
@pytest.mark.parametrize("dictionary", ["online", "redo"])
def test_the_old_table_that_lives_on_is_no_longer_the_captured_one(
    shop: Shop, lake: PlainLake, exchange: Callable[[Shop], None], dictionary: str
) -> None:
    with_tables(shop, "items", "other")
    pipeline = dictionary_pipeline(shop, dictionary)
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    exchange(shop)
    insert(shop, "items", 2, "new table")
    caught_up(shop, pipeline, "no Spark")
    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    for key in (3, 4):
        shop.run_sql("DELETE FROM items_int", f"INSERT INTO items_int (id, what) VALUES ({key * 10}, 'old table')")
        insert(shop, "items", key, "new table")
        caught_up(shop, pipeline, "no Spark")

        assert held(pipeline) == {}
        assert differences(shop, pipeline) == {}


def test_what_is_deleted_from_the_old_table_before_it_is_dropped_does_not_reach_the_lake(shop: Shop, lake: PlainLake) -> None:
    with_tables(shop, "items", "other")
    pipeline = dictionary_pipeline(shop, "online", on_ddl={"drop_table": "keep"})
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    redefine(shop)
    shop.run_sql("DELETE FROM items_int", "DROP TABLE items_int PURGE")
    insert(shop, "items", 2, "new table")
    caught_up(shop, pipeline, "no Spark")

    assert list(held(pipeline)) == ["SHOP.ITEMS"]
    assert rows(lake, pipeline, "items") == {1: "items"}
