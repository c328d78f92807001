"""DROP TABLE, the recycle bin, and tables that are created again under their name. Without Spark and Delta."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines import steps
from tests.fix_shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_renamed_tables import created, held, insert, lake, rows, shop, with_tables
from tests.plain_lake import PlainLake

__all__ = ["lake", "shop"]  # fixtures

KEEP = {"drop_table": "keep"}


@pytest.mark.parametrize("statement", ["DROP TABLE items", "DROP TABLE items CASCADE CONSTRAINTS PURGE"])
def test_the_delta_table_of_a_dropped_table_is_kept(shop: Shop, lake: PlainLake, statement: str) -> None:
    with_tables(shop, "items", "other")
    pipeline = shop.pipeline(tables=["SHOP.ITEMS", "SHOP.OTHER"], on=KEEP)
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    insert(shop, "items", 2, "last")
    shop.run_sql(statement)
    insert(shop, "other", 2, "goes on")
    caught_up(shop, pipeline, "no Spark")
    insert(shop, "other", 3, "goes on")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "last"}
    assert rows(lake, pipeline, "other") == {1: "other", 2: "goes on", 3: "goes on"}
    dropped_at = {t.table: t.dropped_at is not None for t in steps.read_status(pipeline).tables}
    assert dropped_at == {"SHOP.ITEMS": True, "SHOP.OTHER": False}
    assert {f.subject: f.severity for f in steps.run_doctor(pipeline, shop.params)}["SHOP.ITEMS"] == "note"
    compared = steps.verify_tables(pipeline, source=shop.params, spark="no Spark")
    assert (compared.equal, [t.table for t in compared.tables]) == (True, ["SHOP.OTHER"])


@pytest.mark.parametrize("redo", ["user", "bin", "rename"])
def test_a_table_from_the_recycle_bin_goes_on_as_the_same_object(tmp_path: Path, lake: PlainLake, redo: str) -> None:
    with open_shop(tmp_path, ddl_age=60, restore_redo=redo) as shop:
        with_tables(shop, "items")
        pipeline = shop.pipeline(tables=["SHOP.ITEMS"], on=KEEP)
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        shop.run_sql("DROP TABLE items")
        caught_up(shop, pipeline, "no Spark")
        shop.run_sql("FLASHBACK TABLE shop.items TO BEFORE DROP")
        insert(shop, "items", 2, "again")
        caught_up(shop, pipeline, "no Spark")

        assert held(pipeline) == {}
        assert rows(lake, pipeline, "items") == {1: "items", 2: "again"}
        assert steps.read_status(pipeline).tables[0].dropped_at is None
        (key,) = query(
            shop, "SELECT constraint_name FROM user_constraints WHERE constraint_type = 'P' AND table_name = 'ITEMS'"
        )
        shop.run_sql(f'ALTER TABLE items DROP CONSTRAINT "{key}"')
        caught_up(shop, pipeline, "no Spark")
        assert "may be the primary key" in held(pipeline)["SHOP.ITEMS"]


def query(shop: Shop, sql: str) -> list[str]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        return [str(row[0]) for row in cursor.execute(sql)]


def test_a_drop_that_was_undone_holds_nothing(shop: Shop, lake: PlainLake) -> None:
    pipeline = with_tables(shop, "items")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("DROP TABLE items")
    caught_up(shop, pipeline, "no Spark")
    assert held(pipeline) == {"SHOP.ITEMS": held(pipeline)["SHOP.ITEMS"]}
    assert held(pipeline)["SHOP.ITEMS"].startswith("the table was dropped")

    shop.run_sql("FLASHBACK TABLE items TO BEFORE DROP")
    insert(shop, "items", 2, "again")
    caught_up(shop, pipeline, "no Spark")
    steps.resume_tables(pipeline, ["SHOP.ITEMS"])
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "again"}


@pytest.mark.parametrize("on", [KEEP, {}], ids=["keep", "hold"])
def test_a_table_created_again_under_the_name_never_reaches_the_old_one(
    shop: Shop, lake: PlainLake, on: dict[str, str]
) -> None:
    with_tables(shop, "items")
    pipeline = shop.pipeline(tables=["SHOP.ITEMS"], on=on)
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("DROP TABLE items")
    if on:
        caught_up(shop, pipeline, "no Spark")
        assert held(pipeline) == {}
    shop.run_sql(*created("items"))
    insert(shop, "items", 2, "another table")
    caught_up(shop, pipeline, "no Spark")

    why = "a table of this name was created again" if on else "the table was dropped"
    assert held(pipeline)["SHOP.ITEMS"].startswith(why)
    assert rows(lake, pipeline, "items") == {1: "items"}
    steps.take_snapshot(pipeline, ["SHOP.ITEMS"], source=shop.params, spark="no Spark", replace=True)
    assert rows(lake, pipeline, "items") == {2: "another table"}
    assert steps.read_status(pipeline).tables[0].dropped_at is None


def test_another_table_in_the_recycle_bin_under_the_name_holds_nothing(shop: Shop, lake: PlainLake) -> None:
    shop.run_sql(*created("items"), "DROP TABLE items")
    pipeline = with_tables(shop, "items")
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("PURGE TABLE items")
    insert(shop, "items", 2, "goes on")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    assert rows(lake, pipeline, "items") == {1: "items", 2: "goes on"}
