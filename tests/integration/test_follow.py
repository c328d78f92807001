"""`redolake run --follow`: capture and apply in one process until a signal, with a plain fold in place of Spark and Delta."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.context import Run
from redolake.context import spark as spark_session
from redolake.errors import SparkLost, Terminal
from redolake.steps import run as run_steps
from redolake.steps.follow import follow_pipeline
from redolake.steps.run import RunOutcome
from redolake.steps.snapshots.beside import Beside
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import TWO_TABLES, differences
from tests.references.plain_lake import PlainLake
from tests.support.waiting import wait_until

QUICK = {"wait_max_pause_seconds": 0.05, "retry": {"attempts": 1, "initial_seconds": 0.05, "max_seconds": 0.1}}


@contextmanager
def following(shop: Shop, pipeline: Any, lines: list[str], lake: PlainLake | None = None) -> Iterator[list[RunOutcome]]:
    """Follow in a thread while the block runs, then stop. The outcome is there after the block."""
    stop, outcomes = threading.Event(), list[RunOutcome]()
    with (lake or PlainLake()).in_place_of_spark():

        def follow() -> None:
            outcomes.append(follow_pipeline(Run(pipeline, source=shop.params, spark="no Spark", report=lines.append), stop))

        thread = threading.Thread(target=follow)
        thread.start()
        try:
            yield outcomes
        finally:
            stop.set()
            thread.join(60)
        assert not thread.is_alive()
        assert differences(shop, pipeline) == {}


def visible(lines: list[str]) -> int:
    return sum("is visible:" in line for line in lines)


def make_visible(shop: Shop, changes: int, lines: list[str]) -> None:
    """Change rows, switch the logs, and wait until a batch has them."""
    before = visible(lines)
    shop.work(changes, seed=before)
    shop.switch_logs()
    wait_until(lambda: visible(lines) > before, 60)


def test_each_switched_log_becomes_visible_and_its_times_are_reported(shop: Shop) -> None:
    lines: list[str] = []
    with following(shop, shop.pipeline(tables=TWO_TABLES, **QUICK), lines) as outcomes:
        wait_until(lambda: any(line.startswith("nothing:") for line in lines), 60)
        make_visible(shop, 20, lines)
        make_visible(shop, 20, lines)

    assert [(o.windows >= 2, o.batches >= 2, o.retries) for o in outcomes] == [(True, True, 0)]
    assert {t.state for t in outcomes[0].tables} == {"live"}
    (shown, *_) = [line for line in lines if "is visible:" in line]
    assert all(f"{step} " in shown for step in ("mine", "s of work"))


@pytest.mark.parametrize("follow", [True, False], ids=["--follow", "--until-caught-up"])
def test_a_backlog_becomes_visible_in_parts(shop: Shop, follow: bool) -> None:
    lines: list[str] = []
    small = {"window": {"max_bytes": 1, "slice_bytes": 1}, "batch": {"max_rows": 15}}
    pipeline, lake = shop.pipeline(tables=TWO_TABLES, **QUICK, **small), PlainLake()
    with lake.in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    for seed in range(4):
        shop.work(10, seed=seed)
        shop.switch_logs()
    if follow:
        with following(shop, pipeline, lines, lake):
            wait_until(lambda: any(line.startswith("nothing:") for line in lines), 60)
    else:
        with lake.in_place_of_spark():
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark="no Spark", report=lines.append)
            assert differences(shop, pipeline) == {}

    first_visible = next(number for number, line in enumerate(lines) if "is visible:" in line)
    assert any(line.startswith("landed ") for line in lines[first_visible:])
    assert visible(lines) >= 3


def test_a_source_that_does_not_answer_is_tried_again_until_it_does(shop: Shop) -> None:
    lines: list[str] = []
    with following(shop, shop.pipeline(tables=TWO_TABLES, **QUICK), lines) as outcomes:
        make_visible(shop, 10, lines)
        shop.oracle.faults.refuse_clients(12528)
        wait_until(lambda: sum("retrying in" in line for line in lines) >= 3, 60)
        shop.oracle.faults.admit_clients()
        make_visible(shop, 10, lines)

    assert outcomes[0].retries >= 3


def test_a_log_that_is_not_archived_yet_is_reported_as_overdue_and_waited_for(shop: Shop) -> None:
    lines: list[str] = []
    pipeline = shop.pipeline(tables=TWO_TABLES, **QUICK, wait_max_minutes=0.005)
    with following(shop, pipeline, lines):
        make_visible(shop, 10, lines)
        shop.oracle.faults.lag_archiver(2)
        shop.work(10, seed=7)
        shop.switch_logs()
        wait_until(lambda: any(line.startswith("LogOverdue") for line in lines), 60)
        before = visible(lines)
        shop.oracle.faults.catch_up_archiver(2)
        wait_until(lambda: visible(lines) > before, 60)

    assert sum(line.startswith("LogOverdue") for line in lines) == 1


def test_spark_is_not_opened_while_nothing_is_landed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(spark_session, "open_spark", lambda _: opened.append("session"))
    pipeline, stop = shop.pipeline(tables=TWO_TABLES, **QUICK), threading.Event()
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")

        def stop_at_nothing(line: str) -> None:
            if line.startswith("nothing:"):
                stop.set()

        follow_pipeline(Run(pipeline, source=shop.params, report=stop_at_nothing), stop)
    assert stop.is_set()
    assert opened == []


class Session:
    def __init__(self, is_killed: bool = False) -> None:
        self.is_killed = is_killed

    def stop(self) -> None:
        if self.is_killed:
            raise ConnectionRefusedError("Java is gone")


def losing_spark(shop: Shop, monkeypatch: pytest.MonkeyPatch, *, is_killed: bool) -> tuple[Any, list[Session]]:
    """Return a pipeline with redo to apply, and the sessions that are opened; the first of them is lost in its batch."""
    opened: list[Session] = []
    run_job = run_steps.run_spark_job

    def open_spark(_: Any) -> Session:
        opened.append(Session(is_killed))
        return opened[-1]

    def run(run: Any, batch: str, times: Any = None) -> Any:
        run.spark.session()
        if len(opened) == 1:
            raise SparkLost("Spark does not answer any more")
        return run_job(run, batch, times)

    monkeypatch.setattr(spark_session, "open_spark", open_spark)
    monkeypatch.setattr(run_steps, "run_spark_job", run)
    return shop.pipeline(tables=TWO_TABLES, **QUICK), opened


def test_a_lost_session_is_replaced_by_a_new_one(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    with PlainLake().in_place_of_spark():
        pipeline, opened = losing_spark(shop, monkeypatch, is_killed=False)
        stop = threading.Event()

        def stop_at_nothing(line: str) -> None:
            lines.append(line)
            if line.startswith("nothing:"):
                stop.set()

        done = follow_pipeline(Run(pipeline, source=shop.params, report=stop_at_nothing), stop)
        assert differences(shop, pipeline) == {}

    assert (len(opened), done.retries, {t.state for t in done.tables}) == (2, 1, {"live"})
    assert lines.count("SparkLost: Spark does not answer any more\nretrying in 0.05 s") == 1


def test_a_killed_java_ends_the_command_after_what_has_killed_it_is_shown(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    with PlainLake().in_place_of_spark():
        pipeline, opened = losing_spark(shop, monkeypatch, is_killed=True)

        with pytest.raises(SparkLost, match="cannot start another"):
            follow_pipeline(Run(pipeline, source=shop.params, report=lines.append), threading.Event())
    assert (len(opened), lines[-1]) == (1, "SparkLost: Spark does not answer any more")


def test_an_error_is_not_hidden_by_a_killed_java(shop: Shop) -> None:
    def fail() -> None:
        with spark_session.Spark(shop.pipeline(), None) as spark:
            spark._own = Session(is_killed=True)
            raise Terminal("redo is lost")

    with pytest.raises(Terminal, match="redo is lost"):
        fail()


def test_a_session_that_is_lost_in_a_second_snapshot_ends_the_round(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise SparkLost("Spark does not answer any more")

    monkeypatch.setattr(run_steps, "begin_resnapshots", lambda _: ["SHOP.ORDERS"])
    monkeypatch.setattr(run_steps, "begin_snapshot", lost)

    with pytest.raises(SparkLost), Run(shop.pipeline(), spark=Session(), report=print) as run:
        run_steps.snapshot_again(run, Beside())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: signal.Signals(number).name)
def test_a_signal_ends_the_command_after_the_step_that_runs(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    pipeline, lines = shop.pipeline(tables=TWO_TABLES, **QUICK), list[str]()

    def follow(run: Run, stop: threading.Event) -> RunOutcome:
        def reported(line: str) -> None:
            run.report(line)
            lines.append(line)
            if line.startswith("landed"):  # in the middle of a round
                os.kill(os.getpid(), number)
                wait_until(stop.is_set)

        return follow_pipeline(Run(pipeline, source=shop.params, spark="no Spark", report=reported), stop)

    monkeypatch.setattr(steps, "follow_pipeline", follow)
    monkeypatch.setattr("redolake.cli.options.select_pipeline", lambda *_: pipeline)
    before = signal.getsignal(number)
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        shop.work(10)
        shop.switch_logs()
        done = CliRunner().invoke(app, ["run", "--follow"])

    assert (done.exit_code, "stopping after the step that runs" in done.stderr) == (0, True), done.output
    assert lines[-1].startswith("landed")
    assert signal.getsignal(number) is before


def test_follow_refuses_the_options_that_it_makes_needless() -> None:
    done = CliRunner().invoke(app, ["run", "--follow", "--wait"])

    assert done.exit_code == 2
    assert "--follow waits" in done.stderr
