"""OPTIMIZE and VACUUM by the pipeline: rows stay, small files go, and the pipeline and its comparisons go on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.apply.delta.log import our_metadata, read_log
from redolake.job.job import run
from redolake.records.maintenance import MaintenanceResult, MaintenanceSpec, MaintenanceTask
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.integration.spark.specs import copied
from tests.integration.test_pipeline import caught_up, parts_pipeline
from tests.references.delta_table import read_delta
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark

T = TableId("SHOP", "T")


def small_files(spark: Any, path: Path, files: int = 5) -> str:
    writer = spark.range(20).repartition(files).write.format("delta")
    copied(("small files", files), str(path), lambda: writer.save(str(path)))
    return str(path)


def maintained(spark: Any, folder: Path, *tasks: MaintenanceTask, **more: Any) -> MaintenanceResult:
    settings: dict[str, Any] = {"files": 4, "file_bytes": 1 << 20, "minutes": 5.0, "history_hours": 48, **more}
    found = run(spark, MaintenanceSpec("p", "t", tasks, str(folder / "maintenance" / "manifest.json"), **settings))
    assert isinstance(found, MaintenanceResult)
    return found


def info(table: Path, version: int) -> dict[str, Any]:
    lines = (table / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return next(action for action in map(json.loads, lines) if "commitInfo" in action)


def rows(path: str) -> list[int]:
    return sorted(read_delta(path).column("id").to_pylist())


def test_small_files_are_joined_once_and_history_gets_its_length(spark: Any, tmp_path: Path) -> None:
    task = MaintenanceTask(T, small_files(spark, tmp_path / "t"))
    (first,), (again,) = (maintained(spark, tmp_path, task).tables for _ in range(2))

    assert (first.files_before, first.files_after, first.optimized, first.error) == (5, 1, True, "")
    assert (again.files_before, again.optimized) == (1, False)
    assert rows(task.target) == list(range(20))
    log = read_log(task.target)
    assert log is not None
    assert log.properties()["delta.deletedFileRetentionDuration"] == "interval 48 hours"
    assert log.properties()["delta.logRetentionDuration"] == "interval 48 hours"
    assert log.last_version_with(0) == log.version  # a comparison goes on to what OPTIMIZE has left
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 6  # the old files are of the last 48 hours


def test_each_commit_of_upkeep_says_which_version_was_right_before_it(spark: Any, tmp_path: Path) -> None:
    """Log retention may leave no other commit of a table at rest."""
    path = tmp_path / "t"
    ours = {"txnAppId": "p/SHOP.T/1", "txnVersion": "5"}
    spark.range(20).repartition(5).write.format("delta").options(**ours).save(str(path))
    for _ in range(2):
        maintained(spark, tmp_path, MaintenanceTask(T, str(path)))
    log = read_log(str(path))
    assert log is not None
    before = {version: our_metadata(info(path, version)).get("checked") for version in range(1, log.version + 1)}

    assert before == {1: 0, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4}  # OPTIMIZE, the length of the history, VACUUM's start and end, twice
    names = [f"{version:020d}" for version in range(log.version)]
    (path / "_delta_log" / f"{names[-1]}.checkpoint.parquet").write_bytes(b"")
    for name in names[:-1]:
        (path / "_delta_log" / f"{name}.json").unlink()
    left = read_log(str(path))
    assert left is not None
    assert left.foreign_writes("p/SHOP.T/") == []


def test_a_table_that_cannot_be_maintained_does_not_stop_the_others(spark: Any, tmp_path: Path) -> None:
    gone = MaintenanceTask(TableId("SHOP", "GONE"), str(tmp_path / "gone"))
    there = MaintenanceTask(T, small_files(spark, tmp_path / "t"), ("delta.logRetentionDuration",))
    found = maintained(spark, tmp_path, gone, there)

    assert [(one.error, one.optimized) for one in found.tables] == [("no Delta table is there", False), ("", True)]
    log = read_log(there.target)
    assert log is not None
    assert "delta.logRetentionDuration" not in log.properties()  # pipelines.yml has its own


def test_tables_for_which_no_time_is_left_are_named(spark: Any, tmp_path: Path) -> None:
    tasks = [MaintenanceTask(TableId("SHOP", name), small_files(spark, tmp_path / name)) for name in ("A", "B", "C")]
    found = maintained(spark, tmp_path, *tasks, minutes=0.0)

    assert ([str(one.table) for one in found.tables], found.left) == (["SHOP.A"], ("SHOP.B", "SHOP.C"))


def test_a_job_that_ends_after_any_commit_is_finished_by_the_next(spark: Any, tmp_path: Path) -> None:
    task = MaintenanceTask(T, small_files(spark, tmp_path / "t"))
    for place in ("optimize", "retention", "vacuum"):
        with killed_at(place):
            maintained(spark, tmp_path, task)
    maintained(spark, tmp_path, task)
    log = read_log(task.target)

    assert log is not None
    assert log.properties()["delta.logRetentionDuration"] == "interval 48 hours"
    assert (rows(task.target), len(log.checkpoint)) == (list(range(20)), 0)


def test_a_pipeline_goes_on_after_maintenance_and_its_tables_equal_the_source(shop: Shop, spark: Any) -> None:
    settings: dict[str, Any] = {"optimize": {"files": 2, "file_bytes": "1MiB", "minutes": 5}, "keep": {"delta_history": "2d"}}
    parts_pipeline(shop)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"], **settings)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (1, 'W1', 1)")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    for number in range(2, 5):
        shop.run_sql(f"INSERT INTO parts (id, place, quantity) VALUES ({number}, 'W{number}', {number})")
        caught_up(shop, pipeline, spark)
    done = steps.run_maintenance(pipeline, spark=spark)
    shop.run_sql("UPDATE parts SET quantity = 9 WHERE id = 2")
    caught_up(shop, pipeline, spark)

    assert [one.error for one in done.tables] == [""]
    assert [table.equal for table in steps.verify_tables(pipeline, source=shop.params, spark=spark).tables] == [True]
    steps.run_maintenance(pipeline, spark=spark)  # of a table that is not written afterwards
    assert [table.equal for table in steps.verify_tables(pipeline, source=shop.params, spark=spark).tables] == [True]


def test_files_of_a_table_of_another_pipeline_inside_the_folder_are_not_removed(spark: Any, tmp_path: Path) -> None:
    """VACUUM removes what is below a table's folder and is not its own."""
    outer = MaintenanceTask(T, small_files(spark, tmp_path / "t"))
    inner = small_files(spark, tmp_path / "t" / "other" / "SHOP" / "U")
    for file in Path(inner).glob("*.parquet"):
        os.utime(file, (0, 0))

    (done,) = maintained(spark, tmp_path, outer).tables
    (other,) = maintained(spark, tmp_path, MaintenanceTask(T, inner)).tables

    assert "lies around that of a Delta table that Redolake did not write" in done.error
    assert "lies inside that of" in other.error
    assert rows(inner) == list(range(20))
