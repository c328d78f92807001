"""The small tables of a batch are prepared in groups, whose probes of the changes share Spark jobs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JVMView
from pyspark.sql import functions as F

from redolake.apply import small_tables
from redolake.apply.delivery import few_changes as few_changes_here
from redolake.apply.spark import probes
from redolake.apply.spark.session import SNAPSHOT
from redolake.job.batch import run_batch
from redolake.records.batches.manifest import BatchResult
from redolake.values.table import TableId
from tests.fixtures.spark import setting
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed
from tests.integration.spark.specs import batch_spec, contents, loaded, task
from tests.integration.spark.work import tasks_of, work_done

pytestmark = pytest.mark.spark

JOBS_OF_A_TABLE = {"merge": 5, "direct": 0}
INSERT = (1, """insert into "SHOP"."{}"("ID","V") values ('9','new');""")
DELETE = (2, """delete from "SHOP"."{}" where "ID" = '1' and "V" = 'old';""")
SET_ALONE = (3, """update "SHOP"."{}" set "V" = 'set' where "ID" = '2' and "V" = 'two';""")
MOVED_WITHOUT_V = (3, """update "SHOP"."{}" set "ID" = '7' where "ID" = '2';""")
MISTAKEN = (3, """update "SHOP"."{}" set "W" = 'x' where "ID" = '2';""")
THERE = {1: "old", 2: "two"}


def batch(spark: Any, folder: Path, changes: Mapping[str, tuple[int, str]]) -> tuple[BatchResult, list[dict[int, str]]]:
    """Apply one change in each table, and return the tables' rows too."""
    tasks = [task(folder, TableId("SHOP", name), 200 + n) for n, name in enumerate(changes)]
    rows = []
    for n, (mine, (code, sql)) in enumerate(zip(tasks, changes.values(), strict=True)):
        loaded(spark, folder, mine, rows=[{"ID": key, "V": value} for key, value in THERE.items()])
        name = mine.table.name
        rows += committed(10 * n, 20, (code, sql.format(name)), object_id=200 + n, table_name=name)
    result = run_batch(spark, batch_spec(folder, [land(folder / "w", 10, 100, rows)], tasks))
    return result, [contents(mine) for mine in tasks]


@pytest.mark.parametrize("few_changes", JOBS_OF_A_TABLE, indirect=True)
def test_each_further_table_costs_the_jobs_of_its_merge_alone(spark, tmp_path: Path, few_changes: str) -> None:
    jobs = []
    for names in ("AB", "ABCD"):
        folder = tmp_path / names
        folder.mkdir()
        before = work_done(spark)
        result, found = batch(spark, folder, dict.fromkeys(names, INSERT))
        jobs.append(work_done(spark).since(before).jobs)
        assert [table.error for table in result.tables] == [None] * len(names)
        assert found == [{**THERE, 9: "new"}] * len(names)

    assert (jobs[1] - jobs[0]) / 2 <= JOBS_OF_A_TABLE[few_changes]


def test_java_is_not_asked_for_its_classes_at_each_column(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """py4j keeps none, and a batch of 24 tables asks 13,000 times: an eighth of its CPU time."""
    asked, look, rows = [], JVMView.__getattr__, spark.range(1)
    monkeypatch.setattr(JVMView, "__getattr__", lambda view, name: (asked.append(name), look(view, name))[1])

    rows.select("id", ~F.coalesce(F.col("id"), F.lit(1)).isin(1, 2))

    assert asked == []


@pytest.mark.parametrize("few_changes", ["direct"], indirect=True)
def test_plain_changes_are_prepared_without_a_frame_of_their_own(
    spark, tmp_path: Path, few_changes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's plans of one table cost ten times what this process needs for it."""
    by_spark, prepare = [], small_tables.prepare_range
    monkeypatch.setattr(
        small_tables, "prepare_range", lambda *given: (by_spark.append(given[1].task.table.name), prepare(*given))[1]
    )

    _, found = batch(spark, tmp_path, {"A": INSERT, "B": DELETE, "C": SET_ALONE, "D": MOVED_WITHOUT_V, "E": MISTAKEN})

    assert by_spark == ["D", "E"]
    assert found == [{**THERE, 9: "new"}, {2: "two"}, {1: "old", 2: "set"}, {1: "old", 7: "two"}, THERE]


@pytest.mark.parametrize("few_changes", ["direct"], indirect=True)
def test_a_table_whose_changes_this_process_cannot_read_is_left_to_spark(
    spark, tmp_path: Path, few_changes: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise ArithmeticError("not here")

    monkeypatch.setattr(few_changes_here, "net_rows", failing)
    with caplog.at_level(logging.INFO, "redolake.apply.small_tables"):
        result, found = batch(spark, tmp_path, {"A": INSERT})

    assert "SHOP.A is left to Spark: ArithmeticError" in caplog.text
    assert (result.tables[0].error, found) == (None, [{**THERE, 9: "new"}])


@pytest.mark.usefixtures("merged_by_spark")
def test_the_state_of_a_log_of_few_files_is_not_divided_among_the_cores(spark, tmp_path: Path) -> None:
    """On 64 cores 64 tasks would each find their code for a log of ten actions, at every commit."""
    described = "Delta: Compute snapshot for version: 1"
    mine, seen = task(tmp_path, TableId("SHOP", "T"), 200), tasks_of(spark, described)
    loaded(spark, tmp_path, mine, rows=[{"ID": 1, "V": "old"}])
    redo = [land(tmp_path / "w", 10, 100, committed(0, 20, (1, INSERT[1].format("T")), object_id=200, table_name="T"))]

    with setting(spark, SNAPSHOT, "3"):
        run_batch(spark, batch_spec(tmp_path, redo, [mine]))

    assert {tasks for stage, tasks in tasks_of(spark, described).items() if stage not in seen} == {1}


def test_each_table_of_a_group_gets_the_answers_about_its_own_changes(spark, tmp_path: Path, few_changes: str) -> None:
    """The redo of one UPDATE lacks a column, and moves the key; another table's change is not understood."""
    changes = {"A": INSERT, "B": MOVED_WITHOUT_V, "C": MISTAKEN, "D": DELETE, "E": SET_ALONE}

    result, found = batch(spark, tmp_path, changes)

    assert [table.state for table in result.tables] == ["applied", "applied", "held", "applied", "applied"]
    assert "the redo names unknown columns: W" in result.tables[2].error["what"]
    assert found == [{**THERE, 9: "new"}, {1: "old", 7: "two"}, THERE, {2: "two"}, {1: "old", 2: "set"}]
    assert [table.balance.applied for table in result.tables] == [1, 1, 0, 1, 1]
    assert [(table.inserted, table.updated, table.deleted) for table in result.tables] == [
        (1, 0, 0), (1, 0, 1), (0, 0, 0), (0, 0, 1), (0, 1, 0)
    ]  # fmt: skip


@pytest.mark.usefixtures("merged_by_spark")
def test_where_the_common_job_fails_each_table_is_prepared_by_itself(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One table alone may be the reason, and would hold the others."""

    def failing(asked: Mapping[int, probes.Probe]) -> None:
        raise ArithmeticError("the job failed")

    monkeypatch.setattr(probes, "answer_together", failing)
    with caplog.at_level(logging.INFO, "redolake.apply.small_tables"):
        result, found = batch(spark, tmp_path, {"A": INSERT, "B": DELETE})

    assert "2 tables are prepared one by one: ArithmeticError" in caplog.text
    assert [table.error for table in result.tables] == [None, None]
    assert found == [{**THERE, 9: "new"}, {2: "two"}]
