"""DDL that changes a captured table although its redo row names another object, or none. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.errors import Terminal
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_renamed_tables import created, held, insert, rows
from tests.references.plain_lake import PlainLake

IN_STAGE = (
    "CREATE TABLE stg.part (id NUMBER(9), what VARCHAR2(20)) PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (100))"
)


@contextmanager
def two_schemas(folder: Path, *own: str) -> Iterator[Shop]:
    """Yield a shop with a table in each of SHOP and SALES, and a partitioned table in STG that is not captured."""
    with open_shop(folder, ddl_age=60) as shop:
        with shop.oracle.connect("SYSTEM", dsn=shop.oracle.pdb_dsn) as system, system.cursor() as cursor:
            for user in ("stg", "sales"):
                cursor.execute(f'CREATE USER {user} IDENTIFIED BY "pw" QUOTA UNLIMITED ON users')
            cursor.execute("GRANT DBA TO shop")
            cursor.execute("GRANT DBA TO sales")
        shop.run_sql(IN_STAGE, *own)
        yield shop


def with_rows(shop: Shop, *names: str) -> Pipeline:
    for name in names:
        shop.run_sql(*created(name), f"INSERT INTO {name} (id, what) VALUES (1, 'own')")
    shop.run_sql("INSERT INTO stg.part VALUES (7, 'staged')")
    pipeline = shop.pipeline(tables=[name.upper() for name in names])
    steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    return pipeline


@pytest.mark.parametrize(
    ("statement", "stopped"),
    [
        ("ALTER TABLE stg.part EXCHANGE PARTITION p1 WITH TABLE ordx WITHOUT VALIDATION", {"SHOP.ORDX", "SALES.ORDX"}),
        ("ALTER TABLE stg.part EXCHANGE PARTITION p1 WITH TABLE shop.ordx WITHOUT VALIDATION", {"SHOP.ORDX"}),
    ],
    ids=["no owner", "with its owner"],
)
def test_an_exchange_with_a_partition_of_another_schema_holds_before_it(
    tmp_path: Path, lake: PlainLake, statement: str, stopped: set[str]
) -> None:
    with two_schemas(tmp_path) as shop:
        pipeline = with_rows(shop, "shop.ordx", "sales.ordx", "shop.other")
        insert(shop, "ordx", 2, "before")
        shop.run_sql(statement)
        insert(shop, "ordx", 3, "after")
        caught_up(shop, pipeline, "no Spark")

        assert set(held(pipeline)) == stopped
        why = "EXCHANGE PARTITION of STG.PART took the rows of the table and gave it those of the partition"
        assert held(pipeline)["SHOP.ORDX"].startswith(why)
        assert rows(lake, pipeline, "ordx") == {1: "own", 2: "before"}


def test_an_exchange_through_a_synonym_holds_the_table_of_the_user(tmp_path: Path, lake: PlainLake) -> None:
    with two_schemas(tmp_path) as shop:
        pipeline = with_rows(shop, "shop.ordx", "sales.ordx")
        shop.run_sql("CREATE SYNONYM part FOR stg.part")
        shop.run_sql("ALTER TABLE part EXCHANGE PARTITION p1 WITH TABLE ordx WITHOUT VALIDATION")
        insert(shop, "ordx", 3, "after")
        caught_up(shop, pipeline, "no Spark")

        assert set(held(pipeline)) == {"SHOP.ORDX"}
        assert rows(lake, pipeline, "ordx") == {1: "own"}


def test_a_dropped_user_drops_each_of_the_tables(tmp_path: Path, lake: PlainLake) -> None:
    with two_schemas(tmp_path) as shop:
        pipeline = with_rows(shop, "sales.a", "sales.b", "sales.c", "shop.other")
        keep = {"table": "SALES.C", "on_ddl": {"drop_table": "keep"}}
        pipeline = shop.pipeline(tables=["SALES.A", "SALES.B", keep, "SHOP.OTHER"])
        shop.run_sql("INSERT INTO sales.a VALUES (2, 'last')")
        shop.run_sql("DROP USER sales CASCADE")
        caught_up(shop, pipeline, "no Spark")

        assert {name: why.split(":")[0] for name, why in held(pipeline).items()} == {
            "SALES.A": "the table was dropped",
            "SALES.B": "the table was dropped",
        }
        assert lake.tables[f"{pipeline.lake}/sales/a"].rows != lake.tables[f"{pipeline.lake}/sales/b"].rows
        dropped = {t.table for t in steps.read_status(pipeline).tables if t.dropped_at is not None}
        assert dropped == {"SALES.C"}


@pytest.mark.parametrize("statement", ["TRUNCATE CLUSTER shop.things", "DROP CLUSTER things INCLUDING TABLES"])
def test_what_empties_a_cluster_holds_its_tables_before_it(tmp_path: Path, lake: PlainLake, statement: str) -> None:
    cluster = ("CREATE CLUSTER things (id NUMBER(9)) SIZE 512", "CREATE INDEX of_things ON CLUSTER things")
    with two_schemas(tmp_path, *cluster) as shop:
        shop.run_sql(
            "CREATE TABLE ordx (id NUMBER(9) PRIMARY KEY, what VARCHAR2(20)) CLUSTER things (id)",
            "ALTER TABLE ordx ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "INSERT INTO ordx VALUES (1, 'own')",
            *created("other"),
        )
        pipeline = shop.pipeline(tables=["SHOP.ORDX", "SHOP.OTHER"])
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        insert(shop, "ordx", 2, "before")
        shop.run_sql(statement)
        caught_up(shop, pipeline, "no Spark")

        assert set(held(pipeline)) == {"SHOP.ORDX"}
        assert held(pipeline)["SHOP.ORDX"].endswith(statement)
        assert rows(lake, pipeline, "ordx") == {1: "own", 2: "before"}


def test_an_exchange_before_a_rename_counts_for_the_table_under_its_old_name(tmp_path: Path, lake: PlainLake) -> None:
    with two_schemas(tmp_path) as shop:
        with_rows(shop, "shop.ordx", "shop.other")
        shop.run_sql("ALTER TABLE stg.part EXCHANGE PARTITION p1 WITH TABLE ordx WITHOUT VALIDATION", "RENAME ordx TO ordy")
        pipeline = shop.pipeline(tables=[{"table": "SHOP.ORDX", "renamed_to": "SHOP.ORDY"}, "SHOP.OTHER"])
        caught_up(shop, pipeline, "no Spark")

        assert "EXCHANGE PARTITION of STG.PART took the rows" in held(pipeline)["SHOP.ORDX"]
        assert rows(lake, pipeline, "ordx") == {1: "own"}


def test_a_change_that_no_ddl_explains_is_said_with_what_was_committed_since(tmp_path: Path, lake: PlainLake) -> None:
    with two_schemas(tmp_path) as shop:
        pipeline = with_rows(shop, "shop.ordx", "shop.other")
        caught_up(shop, pipeline, "no Spark")
        database = shop.oracle.database
        (table,) = (t for t in database.state.tables.values() if (t.owner, t.name) == ("SHOP", "ORDX"))
        table.data_object_id = database.next_object_id()
        insert(shop, "ordx", 2, "after")
        caught_up(shop, pipeline, "no Spark")
        insert(shop, "other", 2, "later")
        caught_up(shop, pipeline, "no Spark")

        assert "DATA_OBJECT_ID" in held(pipeline)["SHOP.ORDX"]
        assert ("Delta has the table up to SCN" in held(pipeline)["SHOP.ORDX"]) is (2 in rows(lake, pipeline, "ordx"))
        assert 2 in rows(lake, pipeline, "ordx")


def test_an_exchange_of_another_schema_is_ignored_once_by_approval(tmp_path: Path, lake: PlainLake) -> None:
    with two_schemas(tmp_path) as shop:
        pipeline = with_rows(shop, "shop.ordx", "sales.ordx", "shop.other")
        shop.run_sql("ALTER TABLE stg.part EXCHANGE PARTITION p1 WITH TABLE ordx WITHOUT VALIDATION")
        shop.run_sql("INSERT INTO sales.ordx VALUES (3, 'after')")
        caught_up(shop, pipeline, "no Spark")
        (cure,) = (t.cure for t in steps.read_status(pipeline).tables if t.table == "SALES.ORDX")
        assert "`redolake resume SALES.ORDX --ddl ignore --reason .. --yes`" in str(cure)
        assert "`on_ddl: {drop_partition: resnapshot}`" in str(cure)
        with pytest.raises(Terminal, match="'keep' answers"):
            steps.approve_ddl(pipeline, "SALES.ORDX", "keep", reason="it is the other one", by="ann")

        steps.approve_ddl(pipeline, "SALES.ORDX", "ignore", reason="it is the other one", by="ann")
        caught_up(shop, pipeline, "no Spark")

        assert set(held(pipeline)) == {"SHOP.ORDX"}
        assert len(lake.tables[f"{pipeline.lake}/sales/ordx"].rows) == 2
