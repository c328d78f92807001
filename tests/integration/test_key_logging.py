"""The whole pipeline with supplemental logging of the primary key alone: an UPDATE's redo has its key and changed columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.apply.delta.commit import session_with_tag
from redolake.apply.delta.table import DeltaTable
from redolake.apply.target import Tag
from redolake.records.proofs import TableProof
from redolake.steps.shared.status import TableStatus
from standin.serve import standin
from tests.fixtures.shop import Shop, open_shop
from tests.generated.hunts import hunt
from tests.references.source_comparison import compare_with_source
from tests.support.doctor import run_doctor

pytestmark = pytest.mark.spark

ROWS = range(1, 11)
OF_TABLE = "ALTER TABLE parts {} SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"
OF_DATABASE = "ALTER DATABASE {} SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Shop]:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql("CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9), note VARCHAR2(40))")
        shop.run_sql(*(f"INSERT INTO parts VALUES ({n}, 'place {n}', {n}, 'it''s {n}')" for n in ROWS))
        yield shop


def pipeline_with_snapshot(shop: Shop, spark: Any) -> Any:
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    return pipeline


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> TableStatus:
    """Catch up; return the status of the table."""
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    (table,) = steps.read_status(pipeline).tables
    return table


def differing(shop: Shop, pipeline: Any) -> list[TableProof]:
    tables = compare_with_source(pipeline, shop.params).tables
    assert all(table.source_rows > 0 for table in tables)
    return [t for t in tables if t.differing_cells or t.source_rows != t.delta_rows]


def landed_updates(shop: Shop, table: str) -> list[str]:
    files = sorted((shop.folder / "landing").glob("**/windows/*/redo-*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return [r["sql_redo"] for r in rows if r["operation"] == "UPDATE" and r["table_name"] == table and not r["rollback"]]


@hunt
def test_any_workload_of_the_shop_equals_the_source(spark: Any, tmp_path: Path) -> None:
    with open_shop(tmp_path, "PRIMARY KEY") as shop:
        shop.work(30, seed=1)
        pipeline = shop.pipeline(window={"max_bytes": "40KiB", "slice_bytes": "30KiB"})
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        shop.work(140, seed=2)
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)

        assert [table.error for table in steps.read_status(pipeline).tables] == [None] * 5
        assert differing(shop, pipeline) == []
        assert any('where "ID" = ' in sql and '"CUSTOMER_ID"' not in sql for sql in landed_updates(shop, "ORDERS"))


def test_removed_logging_is_noticed_and_an_update_without_it_holds_the_table(spark: Any, source: Shop) -> None:
    source.run_sql(OF_TABLE.format("ADD"))
    pipeline = pipeline_with_snapshot(source, spark)
    off, on = OF_TABLE.format("DROP"), OF_TABLE.format("ADD")

    source.run_sql("UPDATE parts SET quantity = 10 WHERE id = 1", off, "INSERT INTO parts VALUES (20, 'new', 20, NULL)")
    noticed = caught_up(source, pipeline, spark)
    errors = [str(f) for f in run_doctor(pipeline, source.params) if f.severity == "error"]
    source.run_sql(on, "UPDATE parts SET quantity = 21 WHERE id = 20")
    steps.resume_tables(pipeline, ["SHOP.PARTS"])
    resumed = caught_up(source, pipeline, spark)
    assert differing(source, pipeline) == []

    source.run_sql(off, "UPDATE parts SET quantity = 30 WHERE id = 3", on)  # between two runs, so no run notices
    stopped = caught_up(source, pipeline, spark)

    assert [table.state for table in (noticed, resumed, stopped)] == ["held", "live", "held"]
    assert "supplemental logging was removed" in str(noticed.error)
    assert [error for error in errors if error.startswith("SHOP.PARTS: has no supplemental logging")] == errors
    assert stopped.error == "the redo does not contain the key, so supplemental logging was off: ID"
    assert code_of_hold(source) == "NotLogged"


def test_changes_without_minimal_logging_hold_a_table_only_if_they_commit_after_its_snapshot(
    spark: Any, tmp_path: Path
) -> None:
    with standin(supplemental=frozenset()) as oracle:
        shop = Shop(oracle, tmp_path)
        for table in ("parts", "notes"):
            shop.run_sql(f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))")
            shop.run_sql(f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
        shop.run_sql("INSERT INTO parts VALUES (1, 'A')", "UPDATE parts SET place = 'B'")
        with oracle.connect("SHOP") as connection, connection.cursor() as early:
            early.execute("INSERT INTO notes VALUES (1, 'A')")
            shop.run_sql("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA", user="SYS")
            pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.NOTES"])
            steps.take_snapshot(pipeline, source=shop.params, spark=spark)
            connection.commit()
        shop.run_sql("INSERT INTO parts VALUES (2, 'C')")
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)

        assert {t.table: t.state for t in steps.read_status(pipeline).tables} == {"SHOP.PARTS": "live", "SHOP.NOTES": "held"}
        assert code_of_hold(shop) == "NotLogged"
        assert compare_with_source(pipeline, shop.params, ["SHOP.PARTS"]).equal


def test_partial_updates_of_all_kinds_keep_the_columns_they_do_not_contain(spark: Any, source: Shop) -> None:
    """Use three batches, with logging of the database: no table has logging of its own."""
    source.run_sql(OF_DATABASE.format("ADD"), user="SYS")
    pipeline = pipeline_with_snapshot(source, spark)
    with source.oracle.connect("SHOP", instance_name=source.instances[1]) as connection, connection.cursor() as open_over_two:
        open_over_two.execute("UPDATE parts SET quantity = 70 WHERE id = 7")
        open_over_two.execute("UPDATE parts SET id = 77 WHERE id = 7")
        source.run_sql(
            "UPDATE parts SET id = CASE id WHEN 1 THEN 2 ELSE 1 END WHERE id IN (1, 2)",
            "UPDATE parts SET quantity = 11 WHERE id = 1",
            "DELETE FROM parts WHERE id = 3",
            "INSERT INTO parts VALUES (3, 'again', 3, NULL)",
            "UPDATE parts SET note = 'partial' WHERE id = 3",
            "UPDATE parts SET id = id + 1 WHERE id IN (9, 10)",
            "UPDATE parts SET note = NULL WHERE id = 4",
            "INSERT INTO parts VALUES (20, 'new', 20, 'whole')",
            "UPDATE parts SET quantity = 21 WHERE id = 20",
        )
        while_open = caught_up(source, pipeline, spark)
        opened = steps.list_transactions(pipeline).open
        open_over_two.execute("UPDATE parts SET note = 'third' WHERE id = 77")
        connection.commit()
    caught_up(source, pipeline, spark)
    source.run_sql(
        "ALTER TABLE parts ADD (shelf VARCHAR2(10) DEFAULT 'none' NOT NULL)",
        "UPDATE parts SET quantity = 50 WHERE id = 5",
        "UPDATE parts SET shelf = 'A' WHERE id = 6",
        "UPDATE parts SET place = 'moved' WHERE id = 6",
        "INSERT INTO parts VALUES (30, 'new', 30, NULL, 'B')",
    )
    last = caught_up(source, pipeline, spark)

    assert (while_open.error, [t.rows for t in opened], last.error) == (None, [2], None)
    assert differing(source, pipeline) == []
    assert """update "SHOP"."PARTS" set "QUANTITY" = '50' where "ID" = '5' and "QUANTITY" = '5'""" in landed_updates(
        source, "PARTS"
    )


def test_a_partial_update_of_a_row_missing_from_the_target_holds_the_table(spark: Any, source: Shop) -> None:
    source.run_sql(OF_TABLE.format("ADD"))
    pipeline = pipeline_with_snapshot(source, spark)
    own = DeltaTable(spark, f"{source.folder}/lake/shop/parts", f"{pipeline.name}/SHOP.PARTS/test").app_id
    tag = Tag(own, 1, {})
    with session_with_tag(spark, tag) as session:  # any other commit would hold the table at once
        session.sql(f"UPDATE delta.`{source.folder}/lake/shop/parts` SET ID = 500 WHERE ID = 5")
    source.run_sql("UPDATE parts SET quantity = 50 WHERE id = 5")
    held = caught_up(source, pipeline, spark)

    assert (held.state, held.error) == (
        "held",
        "the redo of an UPDATE does not contain PLACE, NOTE, and the row is not in the target",
    )


def code_of_hold(shop: Shop) -> str:
    """Return the error code in the manifest of the last batch that held a table."""
    manifests = sorted((shop.folder / "landing").glob("**/batches/*/manifest.json"), key=lambda file: file.stat().st_mtime)
    tables = [table for file in manifests for table in json.loads(file.read_text())["tables"]]
    return str([table["error"]["code"] for table in tables if table["error"]][-1])
