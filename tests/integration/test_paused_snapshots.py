"""Snapshots of large tables that may not be read now: a person has paused them, or their hours are over."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.config.snapshot import SnapshotSettings
from redolake.context import Run
from redolake.errors import SnapshotPaused, Terminal
from redolake.steps.snapshots.read import limit_rate
from redolake.steps.snapshots.read_task import ReadTask
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.integration.test_chunks import large, no_spark, scattered, with_another_table
from tests.integration.test_pipeline import differences
from tests.integration.test_resnapshot import other_hours

__all__ = ["no_spark"]


def paused_after_one_chunk(shop: Shop, pipeline: Any, spark: str) -> None:
    def pause(line: str) -> None:
        if "chunk 1 of" in line:
            steps.pause_snapshots(pipeline, ["SHOP.PARTS"], paused=True, by="ann")

    with pytest.raises(SnapshotPaused, match="ann has paused"):
        steps.take_snapshot(pipeline, ["SHOP.PARTS"], source=shop.params, spark=spark, report=pause)


def test_a_table_that_a_person_has_paused_is_read_by_the_same_follow_once_it_is_resumed(shop: Shop, no_spark: str) -> None:
    pipeline, lines = with_another_table(shop, wait_max_pause_seconds=0.2), list[str]()
    steps.take_snapshot(pipeline, ["SHOP.OTHER"], source=shop.params, spark=no_spark)
    paused_after_one_chunk(shop, pipeline, no_spark)
    stop = threading.Event()

    def report(line: str) -> None:
        lines.append(line)
        if "ann has paused" in line:
            steps.pause_snapshots(pipeline, [], paused=False, by="ann")
        if "chunk 4 of 4" in line:
            shop.run_sql("UPDATE parts SET quantity = 0 WHERE id > 4000")
            shop.switch_logs()
        if "is visible" in line:
            stop.set()

    done = steps.follow_pipeline(Run(pipeline, source=shop.params, spark=no_spark, report=report), stop)

    assert len([line for line in lines if "ann has paused" in line]) == 1
    assert [t.state for t in done.tables] == ["live", "live"]


def test_a_policy_does_not_use_its_attempts_up_while_the_hours_are_over(shop: Shop, no_spark: str) -> None:
    again: dict[str, Any] = {"on_ddl": {"unknown_ddl": "resnapshot"}, "resnapshot": {"attempts": 2, "pause_minutes": 0}}
    pipeline = scattered(shop, **again)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("ALTER TABLE parts MODIFY (place CHAR(20))")
    shop.switch_logs()
    closed = pipeline.model_copy(update={"snapshot": SnapshotSettings(chunk_bytes=65536, hours_utc=other_hours())})
    states = []
    for _ in range(4):
        ended = steps.run_pipeline(closed, until_caught_up=True, source=shop.params, spark=no_spark)
        states += [table.state for table in ended.tables]
    ended = steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=no_spark)

    assert states == ["held"] * 4
    assert [(table.state, table.error) for table in ended.tables] == [("live", None)]
    assert differences(shop, pipeline) == {}


def test_a_table_of_another_pipeline_cannot_be_paused(shop: Shop, no_spark: str) -> None:
    with pytest.raises(Terminal, match="is no table of the pipeline"):
        steps.pause_snapshots(scattered(shop), ["SHOP.PART"], paused=True, by="ann")


def test_the_command_shows_bytes_time_and_pauses_also_of_tables_that_nothing_reads(
    shop: Shop, no_spark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = with_another_table(shop)
    paused_after_one_chunk(shop, pipeline, no_spark)
    monkeypatch.setattr("redolake.cli.options.select_pipeline", lambda *_: pipeline)
    monkeypatch.setattr("redolake.cli.output.console.width", 200)

    def run(*arguments: str) -> str:
        return CliRunner().invoke(app, ["snapshot", *arguments]).output

    shown = run("shop.other", "--pause")
    body = json.loads(run("--status", "--output", "json"))
    (table,) = body["tables"]

    assert "1 of 4" in shown
    assert "65.5 kB of 262.1 kB" in shown
    assert [paused["table"] for paused in body["paused"]] == ["SHOP.OTHER", "SHOP.PARTS"]
    assert (table["read"], table["paused_by"]) == (1, "ann")


@pytest.mark.parametrize("rows_per_second", [1, None])
def test_a_table_in_one_piece_is_read_no_faster_than_the_source_may_be_asked(shop: Shop, rows_per_second: int | None) -> None:
    pipeline = large(shop, snapshot={"rows_per_second": rows_per_second})
    waited = list[float]()

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0)
            return False

    class Answer:
        def num_rows(self) -> int:
            return 1000

    task = ReadTask(Run(pipeline), TableId("SHOP", "PARTS"), 1, stop=Stop())
    list(limit_rate(iter([Answer(), Answer()]), task))

    assert [round(seconds, -2) for seconds in waited] == ([1000, 2000] if rows_per_second else [0, 0])
