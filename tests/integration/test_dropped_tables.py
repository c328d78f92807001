"""DROP TABLE, the recycle bin, and tables that are created again under their name. Without Spark and Delta."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake import steps
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_renamed_tables import created, held, insert, rows, shop, with_tables
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor

__all__ = ["shop"]  # a fixture

KEEP = {"drop_table": "keep"}


@pytest.mark.parametrize("statement", ["DROP TABLE items", "DROP TABLE items CASCADE CONSTRAINTS PURGE"])
def test_the_delta_table_of_a_dropped_table_is_kept(shop: Shop, lake: PlainLake, statement: str) -> None:
    with_tables(shop, "items", "other")
    pipeline = shop.pipeline(tables=["SHOP.ITEMS", "SHOP.OTHER"], on_ddl=KEEP)
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
    assert {f.subject: f.severity for f in run_doctor(pipeline, shop.params)}["SHOP.ITEMS"] == "note"
    compared = steps.verify_tables(pipeline, source=shop.params, spark="no Spark")
    assert (compared.equal, [t.table for t in compared.tables]) == (True, ["SHOP.OTHER"])


@pytest.mark.parametrize("redo", ["user", "bin", "rename"])
def test_a_table_from_the_recycle_bin_goes_on_as_the_same_object(tmp_path: Path, lake: PlainLake, redo: str) -> None:
    with open_shop(tmp_path, ddl_age=60, restore_redo=redo) as shop:
        with_tables(shop, "items")
        pipeline = shop.pipeline(tables=["SHOP.ITEMS"], on_ddl=KEEP)
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
    pipeline = shop.pipeline(tables=["SHOP.ITEMS"], on_ddl=on)
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


def with_partitions(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, what VARCHAR2(20), day NUMBER(3)) PARTITION BY RANGE (day) "
        "(PARTITION old VALUES LESS THAN (10), PARTITION middle VALUES LESS THAN (20), PARTITION new VALUES LESS THAN (30))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        *(f"INSERT INTO parts (id, what, day) VALUES ({n}, 'first', {n})" for n in (5, 15, 25)),
    )


@pytest.mark.parametrize("policy", ["keep", "hold"])
def test_rows_of_dropped_and_truncated_partitions_stay_by_policy_alone(shop: Shop, lake: PlainLake, policy: str) -> None:
    with_partitions(shop)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"], on_ddl={"drop_partition": policy})
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql(
        "UPDATE parts SET what = 'second' WHERE id = 5",
        "ALTER TABLE parts DROP PARTITION old UPDATE GLOBAL INDEXES",
        "ALTER TABLE parts TRUNCATE PARTITION middle",
        "INSERT INTO parts (id, what, day) VALUES (16, 'after', 16)",
        "UPDATE parts SET what = 'after' WHERE id = 25",
    )
    caught_up(shop, pipeline, "no Spark")

    found = {int(key): what for key, what, _ in lake.tables[f"{pipeline.lake}/shop/parts"].rows.values()}
    if policy == "keep":
        assert held(pipeline) == {}
        assert found == {5: "second", 15: "first", 16: "after", 25: "after"}
    else:
        assert "`on_ddl: drop_partition` is `hold`" in held(pipeline)["SHOP.PARTS"]
        assert found == {5: "second", 15: "first", 25: "first"}


def test_an_exchanged_partition_holds_both_tables(shop: Shop, lake: PlainLake) -> None:
    with_partitions(shop)
    shop.run_sql(
        "CREATE TABLE staged (id NUMBER(9) PRIMARY KEY, what VARCHAR2(20), day NUMBER(3))",
        "ALTER TABLE staged ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO staged (id, what, day) VALUES (17, 'staged', 17)",
    )
    pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.STAGED"], on_ddl={"drop_partition": "keep"})
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql("ALTER TABLE parts EXCHANGE PARTITION middle WITH TABLE staged INCLUDING INDEXES WITHOUT VALIDATION")
    shop.run_sql("INSERT INTO parts (id, what, day) VALUES (26, 'after', 26)")
    assert query(shop, "SELECT id FROM parts ORDER BY id") == ["5", "17", "25", "26"]
    assert query(shop, "SELECT id FROM staged") == ["15"]
    caught_up(shop, pipeline, "no Spark")

    assert set(held(pipeline)) == {"SHOP.PARTS", "SHOP.STAGED"}
    assert held(pipeline)["SHOP.PARTS"].startswith("EXCHANGE PARTITION brought rows in")
    steps.take_snapshot(pipeline, ["SHOP.PARTS", "SHOP.STAGED"], source=shop.params, spark="no Spark", replace=True)
    shop.run_sql("UPDATE parts SET what = 'later' WHERE id = 17", "DELETE FROM staged")
    caught_up(shop, pipeline, "no Spark")

    assert held(pipeline) == {}
    lines = lake.tables[f"{pipeline.lake}/shop/parts"].rows.values()
    assert {int(key): what for key, what, _ in lines} == {5: "first", 17: "later", 25: "first", 26: "after"}
    assert lake.tables[f"{pipeline.lake}/shop/staged"].rows == {}
