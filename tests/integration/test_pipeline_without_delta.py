"""The whole pipeline with a plain fold in place of Spark and Delta, which add nothing to these facts of capture and ledger."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redolake import steps
from redolake.context import Run
from redolake.context.spark import Spark
from redolake.errors import ConfigurationError, LandingDamaged, TableHeld
from redolake.steps.run import apply, capture
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import TWO_TABLES, caught_up, differences, parts_pipeline
from tests.references.plain_lake import PlainLake
from tests.states.lost_ledger import lose_ledger
from tests.states.tenant import open_tenant
from tests.support.doctor import run_doctor


@pytest.fixture
def no_spark() -> Iterator[str]:
    """Replace Spark's job; what the steps get as a session is never used."""
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def test_a_second_run_with_nothing_new_changes_no_table(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.work(30)
    caught_up(shop, pipeline, no_spark)
    before = steps.read_status(pipeline)
    again = steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=no_spark)

    assert (again.windows, again.batches) == (0, 0)
    assert steps.read_status(pipeline) == before


def test_no_file_contains_a_setting_of_spark_and_only_their_owner_may_read_them(shop: Shop, no_spark: str) -> None:
    key = {"spark.hadoop.fs.s3a.secret.key": "hunter2"}
    pipeline = shop.pipeline(tables=TWO_TABLES, spark={"conf": key})
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.work(10)
    caught_up(shop, pipeline, no_spark)
    files = [path for path in (shop.folder / "landing").rglob("*") if path.is_file()]

    assert [path for path in files if path.name == "spec.json"] != []
    assert [path for path in files if b"hunter2" in path.read_bytes()] == []
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert "hunter2" not in repr(pipeline)


def test_nothing_switches_the_container_where_the_pdb_has_its_own_service(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=TWO_TABLES)
    source = replace(shop.params, pdb_dsn=shop.oracle.pdb_dsn)
    shop.oracle.faults.refuse_set_container(24964)
    steps.take_snapshot(pipeline, source=source, spark=no_spark)
    shop.work(30)
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=source, spark=no_spark)
    assert [f for f in run_doctor(pipeline, source) if f.severity == "error"] == []
    with pytest.raises(ConfigurationError, match="ORA-24964") as refused:
        steps.begin_snapshot(Run(pipeline, shop.params), TWO_TABLES, replace=True)
    shop.oracle.faults.allow_set_container()

    assert "`pdb_service`" in refused.value.cure
    assert differences(shop, pipeline) == {}


def fail_reads(shop: Shop, code: int, times: int, wrapped_in: int | None = None) -> None:
    """Let the read of one table fail, not the doctor's test of its flashback privilege."""
    shop.oracle.faults.fail_statements(code, '\n  FROM "SHOP"."ORDER_LINES" AS OF SCN', times, wrapped_in)


@pytest.mark.parametrize(("code", "wrapped_in"), [(1555, 12801), (1466, None)])
def test_a_table_whose_scn_is_out_of_reach_is_read_again_without_the_others(
    shop: Shop, no_spark: str, code: int, wrapped_in: int | None
) -> None:
    pipeline = shop.pipeline(tables=TWO_TABLES)
    shop.work(10)
    fail_reads(shop, code, 2, wrapped_in)
    taken = steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=lambda _: shop.oracle.database.tick())
    loaded = {table.table: table.scn for table in taken.tables}
    shop.work(30, seed=3)
    lose_ledger(shop.folder / "landing")  # the rebuilt ledger knows each table's own SCN
    caught_up(shop, pipeline, no_spark)

    reads = {table: len(list((shop.folder / "landing").rglob(f"{table}/*/snapshot.json"))) for table in loaded}
    assert reads == dict.fromkeys(TWO_TABLES, 1)
    assert loaded["SHOP.ORDER_LINES"] > loaded["SHOP.CUSTOMERS"]
    assert differences(shop, pipeline) == {}


def test_a_table_that_cannot_be_read_at_any_scn_stops_with_the_cure(shop: Shop, no_spark: str) -> None:
    fail_reads(shop, 1555, 99)
    with pytest.raises(TableHeld, match="ORA-01555") as caught:
        steps.take_snapshot(shop.pipeline(tables=TWO_TABLES), source=shop.params, spark=no_spark)

    assert "UNDO_RETENTION" in caught.value.cure


def test_a_window_mined_again_has_an_equal_manifest(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.work(40)
    shop.switch_logs()
    window = capture(Run(pipeline, shop.params)).plan.window

    again = steps.remine_window(Run(pipeline, shop.params), window)
    fewer = steps.remine_window(Run(shop.pipeline(tables=TWO_TABLES[:1]), shop.params), window)

    assert again.equal, again.differs
    assert fewer.equal, fewer.differs  # planned while the other table was in `tables`, too


def test_a_window_that_is_mined_after_a_table_was_removed_lands(shop: Shop, no_spark: str) -> None:
    """As in Airflow, where a plan and the tasks that carry it out read pipelines.yml one after the other."""
    both, one = shop.pipeline(tables=TWO_TABLES), shop.pipeline(tables=TWO_TABLES[:1])
    steps.take_snapshot(both, source=shop.params, spark=no_spark)
    shop.work(40)
    shop.switch_logs()
    planned = steps.plan_next_window(Run(both, shop.params))
    assert planned.window is not None

    mined = [steps.mine_window_slice(Run(one, shop.params), planned.window, number) for number in planned.slices]
    steps.land_window(Run(one, shop.params), planned.window, mined)
    caught_up(shop, one, no_spark)

    found = steps.verify_tables(one, source=shop.params, spark=no_spark)
    assert (found.equal, [t.table for t in found.tables]) == (True, TWO_TABLES[:1])


def test_a_transaction_over_many_windows_arrives_when_it_commits(shop: Shop, no_spark: str) -> None:
    pipeline = parts_pipeline(shop)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900001, 'W1', 1)")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    with shop.oracle.connect("SHOP") as long:
        cursor = long.cursor()
        for quantity in (2, 3, 4):
            cursor.execute("UPDATE parts SET quantity = :1 WHERE id = 900001", [quantity])
            caught_up(shop, pipeline, no_spark)
        assert [t.rows for t in steps.list_transactions(pipeline).open] == [3]
        long.commit()
    caught_up(shop, pipeline, no_spark)

    assert steps.list_transactions(pipeline).open == ()
    assert differences(shop, pipeline) == {}


def test_a_lost_ledger_is_rebuilt_from_what_is_landed(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.work(30)
    caught_up(shop, pipeline, no_spark)
    lose_ledger(shop.folder / "landing")
    shop.work(30, seed=5)
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_a_table_that_was_left_out_for_a_while_is_held(shop: Shop, no_spark: str) -> None:
    both, one = (shop.pipeline(tables=tables) for tables in (["SHOP.PAYMENTS", "SHOP.ORDER_LINES"], ["SHOP.ORDER_LINES"]))
    shop.work(30)
    steps.take_snapshot(both, source=shop.params, spark=no_spark)
    shop.work(30, seed=3)
    caught_up(shop, one, no_spark)
    shop.work(30, seed=4)
    caught_up(shop, both, no_spark)

    held = {t.table: t.error for t in steps.read_status(both).tables if t.state == "held"}
    assert held == {"SHOP.PAYMENTS": "a window was landed without the table"}


def test_a_table_that_cannot_be_read_does_not_stop_the_comparison_of_the_others(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=["SHOP.CUSTOMERS", "SHOP.ORDER_LINES", "SHOP.STOCK"])
    steps.take_snapshot(pipeline, ["SHOP.CUSTOMERS", "SHOP.ORDER_LINES"], source=shop.params, spark=no_spark)
    shop.run_sql("ALTER TABLE customers ADD (shelf NUMBER(5))")
    reported: list[str] = []

    found = steps.verify_tables(pipeline, source=shop.params, spark=no_spark, report=reported.append)

    assert not found.equal
    assert [t.table for t in found.tables] == ["SHOP.ORDER_LINES"]
    assert [(n.table, n.error["what"].partition(":")[0]) for n in found.not_compared] == [
        ("SHOP.CUSTOMERS", "ORA-01466"),
        ("SHOP.STOCK", "the table has no contents yet"),
    ]
    outcomes = [line.partition(",")[0] for line in reported if line and not line.startswith(("reading", "comparing"))]
    assert outcomes == ["SHOP.CUSTOMERS: NOT COMPARED", "SHOP.ORDER_LINES: equal", "SHOP.STOCK: NOT COMPARED"]


def test_a_table_that_a_batch_advances_during_verify_is_compared_at_its_new_scn(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=["SHOP.CUSTOMERS", "SHOP.PAYMENTS"])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    def apply_meanwhile(line: str) -> None:
        if line == "comparing SHOP.CUSTOMERS with Delta":
            shop.run_sql("INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)")
            caught_up(shop, pipeline, no_spark)

    found = steps.verify_tables(pipeline, source=shop.params, spark=no_spark, report=apply_meanwhile)

    assert found.equal, found
    assert [(t.table, t.source_rows) for t in found.tables] == [("SHOP.CUSTOMERS", 0), ("SHOP.PAYMENTS", 1)]


KILLED_VERIFY = """
import os, signal, sys
from pathlib import Path
from redolake.config import load_pipeline
from redolake.context import Run
from redolake.land import layout
from redolake.steps.shared.comparison_rows import comparison_place, folder_name
pipeline = load_pipeline("shop", Path(sys.argv[1]))
with Run(pipeline) as context, comparison_place(context) as place:
    context.landing.files.create(layout.verify_file(folder_name(place), 7), b"rows")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("step", ["verify", "plan"])
def test_rows_that_a_killed_verify_has_left_are_removed_but_not_those_of_one_that_runs(
    shop: Shop, no_spark: str, step: str
) -> None:
    pipeline = shop.pipeline(tables=["SHOP.CUSTOMERS", "SHOP.PAYMENTS"])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    file, rows = shop.folder / "pipelines.yml", shop.folder / "landing" / "shop" / "verify"
    file.write_text(json.dumps({"pipelines": {"shop": pipeline.model_dump(mode="json", exclude_unset=True)}}))
    killed = subprocess.run([sys.executable, "-c", KILLED_VERIFY, str(file)], check=False)
    old = rows / "0123456789abcdef0123456789abcdef"  # as releases before named them
    old.mkdir()
    (old / "7.parquet").write_bytes(b"rows")
    assert (killed.returncode, len(list(rows.iterdir()))) == (-signal.SIGKILL, 2)
    seen = []

    def look_after_another_step(line: str) -> None:
        if line == "comparing SHOP.CUSTOMERS with Delta":
            if step == "verify":
                steps.verify_tables(pipeline, ["SHOP.PAYMENTS"], source=shop.params, spark=no_spark)
            steps.plan_next_window(Run(pipeline, shop.params))
            seen.extend(rows.rglob("*.parquet"))

    if step == "plan":
        steps.plan_next_window(Run(pipeline, shop.params))
        assert list(rows.iterdir()) == []
    found = steps.verify_tables(pipeline, source=shop.params, spark=no_spark, report=look_after_another_step)

    assert found.equal
    assert len(seen) == 1
    assert list(rows.iterdir()) == []


def test_batches_applied_during_a_new_snapshot_survive_the_loss_of_the_ledger(shop: Shop, no_spark: str) -> None:
    pipeline = parts_pipeline(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    begun = steps.begin_snapshot(Run(pipeline, shop.params), ["SHOP.PARTS"], replace=True)
    steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PARTS")
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900001, 'W1', 1)")
    caught_up(shop, pipeline, no_spark)
    load = steps.prepare_snapshot_load(pipeline, {"SHOP.PARTS": begun.scn}, replace=True)
    steps.run_spark_job(Run(pipeline, spark=no_spark), load)
    lose_ledger(shop.folder / "landing")
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_an_unsupported_ddl_holds_its_table_while_the_others_continue(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=[*TWO_TABLES, "SHOP.PAYMENTS"])
    shop.work(30)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.work(30, seed=3)
    shop.run_sql("TRUNCATE TABLE payments")
    shop.work(30, seed=4)
    shop.switch_logs()
    with Spark(pipeline, no_spark) as session:
        while capture(Run(pipeline, shop.params)).plan.outcome == "window":
            pass
        prepared = steps.prepare_batch(pipeline)
        steps.run_spark_job(Run(pipeline, spark=session.session()), prepared.batch)
        with pytest.raises(TableHeld, match=r"SHOP\.PAYMENTS"):
            steps.record_batch(pipeline, prepared.batch)
        apply(Run(pipeline, spark=session))

    states = {t.table: t.state for t in steps.read_status(pipeline).tables}
    others = [name for name in states if name != "SHOP.PAYMENTS"]
    assert states["SHOP.PAYMENTS"] == "held"
    assert {states[name] for name in others} == {"live"}
    assert differences(shop, pipeline, *others) == {}


def test_a_held_table_is_cured_by_a_new_snapshot(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=["SHOP.PAYMENTS", "SHOP.STOCK"])
    shop.work(30)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("TRUNCATE TABLE payments")
    caught_up(shop, pipeline, no_spark)
    steps.take_snapshot(pipeline, ["SHOP.PAYMENTS"], replace=True, source=shop.params, spark=no_spark)
    shop.work(30, seed=4)
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_a_resumed_table_catches_up_on_everything_since_it_was_held(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=["SHOP.PAYMENTS", "SHOP.ORDER_LINES"])
    shop.work(30)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    with Run(pipeline) as context:
        context.ledger.hold(TableId("SHOP", "PAYMENTS"), {"code": "Test", "what": "held by hand"})
    for seed in (3, 4):
        shop.work(30, seed=seed)
        caught_up(shop, pipeline, no_spark)
    steps.resume_tables(pipeline, ["SHOP.PAYMENTS"])
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_an_edit_of_the_configuration_is_explained_before_it_acts(shop: Shop, no_spark: str) -> None:
    before = shop.pipeline(tables=["SHOP.CUSTOMERS", "SHOP.ORDER_LINES", "SHOP.ORDERS", "SHOP.PAYMENTS"])
    steps.take_snapshot(before, source=shop.params, spark=no_spark)
    shop.run_sql("INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)")
    caught_up(shop, before, no_spark)
    edited = shop.pipeline(
        tables=[
            {"table": "SHOP.CUSTOMERS", "key": "rowid"},
            {"table": "SHOP.ORDER_LINES", "properties": {"delta.logRetentionDuration": "interval 9 days"}},
            {"table": "SHOP.PAYMENTS", "deletes": "mark", "columns": {"AMOUNT": "string"}},
            "SHOP.STOCK",
            "ERP.*",
        ]
    )

    found = steps.plan_edit(edited)

    assert steps.plan_edit(before).edits == ()
    elsewhere = shop.folder / "elsewhere"
    moved = before.model_copy(update={"landing": str(elsewhere)})
    shutil.copytree(shop.folder / "landing", elsewhere)
    assert steps.plan_edit(moved).edits == ()  # the ledger's paths are those of the old folder
    lose_ledger(elsewhere)
    caught_up(shop, moved, no_spark)
    assert steps.plan_edit(moved).edits == ()
    for file in elsewhere.glob("*/batches/*/spec-*.json"):
        file.unlink()
    with pytest.raises(LandingDamaged, match="the newest batch is not in the landing"):
        steps.plan_edit(moved)
    assert {edit.table: (edit.effect, edit.what.partition(":")[0]) for edit in found.edits} == {
        "SHOP.CUSTOMERS": ("held", "pipelines.yml says `key"),
        "SHOP.ORDERS": ("leaves", "is no longer captured; its Delta table stays as it is"),
        "SHOP.ORDER_LINES": ("changes", "properties"),
        "SHOP.PAYMENTS": ("held", "deletes, columns"),
        "SHOP.STOCK": ("joins", "is new"),
    }
    assert found.patterns == ("ERP.*",)


def test_a_changed_folder_and_a_table_that_was_not_listed_for_a_while_are_explained_before_they_act(
    shop: Shop, no_spark: str
) -> None:
    both = shop.pipeline(tables=["SHOP.CUSTOMERS", "SHOP.PAYMENTS"])
    steps.take_snapshot(both, source=shop.params, spark=no_spark)
    moved = shop.pipeline(tables=[{"table": "SHOP.CUSTOMERS", "target": "elsewhere"}, "SHOP.PAYMENTS"])
    said = {edit.table: (edit.effect, edit.what) for edit in steps.plan_edit(moved).edits}
    assert said == {
        "SHOP.CUSTOMERS": (
            "held",
            f"`target` or `lake` has changed: its contents are in {both.lake}/shop/customers, and not in {both.lake}/elsewhere",
        )
    }

    without = shop.pipeline(tables=["SHOP.CUSTOMERS"])
    shop.run_sql("INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)")
    caught_up(shop, without, no_spark)
    assert {t.table: (t.state, t.listed) for t in steps.read_status(without).tables} == {
        "SHOP.CUSTOMERS": ("live", True),
        "SHOP.PAYMENTS": ("live", False),
    }
    (edit,) = steps.plan_edit(both).edits
    assert (edit.table, edit.effect, "was not listed when window" in edit.what) == ("SHOP.PAYMENTS", "held", True)
    caught_up(shop, both, no_spark)
    assert [t.state for t in steps.read_status(both).tables if t.table == "SHOP.PAYMENTS"] == ["held"]


def test_an_older_copy_of_the_ledger_is_corrected(shop: Shop, no_spark: str) -> None:
    pipeline = parts_pipeline(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    ledger = shop.folder / "landing" / "redolake-ledger.db"
    copy = ledger.read_bytes() if checkpointed(ledger) else b""
    shop.run_sql(
        "INSERT INTO parts (id, place, quantity) VALUES (900001, 'W1', 1)",
        "ALTER TABLE parts ADD (shelf VARCHAR2(10))",
        "INSERT INTO parts (id, place, quantity, shelf) VALUES (900002, 'W2', 2, 'A')",
    )
    caught_up(shop, pipeline, no_spark)
    steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=no_spark)
    lose_ledger(ledger.parent)
    ledger.write_bytes(copy)
    shop.run_sql("ALTER TABLE parts ADD (spare NUMBER(5))", "UPDATE parts SET spare = 7, shelf = 'B' WHERE id = 900001")
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def checkpointed(ledger: Path) -> bool:
    """Move the ledger's write-ahead log into its database file; return whether that succeeded."""
    with sqlite3.connect(ledger) as connection:
        return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)


def test_a_pdb_without_its_root_is_followed_through_ddl(tmp_path: Path, no_spark: str) -> None:
    with open_tenant(tmp_path, threads=2) as tenant:
        tenant.work(20)
        pipeline = tenant.pipeline(tables=["SHOP.PAYMENTS"])
        steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
        tenant.work(40, seed=2)
        tenant.run_sql(
            "ALTER TABLE payments ADD (shelf VARCHAR2(10))",
            "INSERT INTO payments (id, order_id, amount, shelf) VALUES (900001, 2, 3.25, 'A')",
        )
        caught_up(tenant, pipeline, no_spark)
        tenant.run_sql("ALTER TABLE payments DROP COLUMN shelf", "UPDATE payments SET amount = 4 WHERE id = 900001")
        caught_up(tenant, pipeline, no_spark)

        assert differences(tenant, pipeline) == {}


def test_a_change_that_logminer_cannot_show_holds_its_table_until_a_new_snapshot(shop: Shop, no_spark: str) -> None:
    parts_pipeline(shop)
    pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.STOCK"])
    shop.work(30)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql(
        "ALTER TABLE parts ADD (note CLOB)",
        f"INSERT INTO parts (id, note) VALUES (1, '{'x' * 4000}' || '{'x' * 4000}')",
        "ALTER TABLE parts DROP COLUMN note",
    )
    shop.work(30, seed=4)
    caught_up(shop, pipeline, no_spark)
    with Run(pipeline) as context:
        assert sum(window.counts.get("SHOP.PARTS lob_write", 0) for window in context.landing.windows.after()) > 0
    assert differences(shop, pipeline, "SHOP.STOCK") == {}
    assert {t.table: t.state for t in steps.read_status(pipeline).tables} == {
        "SHOP.PARTS": "held",
        "SHOP.STOCK": "live",
    }

    steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=no_spark)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (2, 'W2', 1)")
    caught_up(shop, pipeline, no_spark)
    assert differences(shop, pipeline) == {}
