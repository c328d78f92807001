"""What a Run keeps from step to step never outlasts its truth: dead connections, leases of others, transactions."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any
from unittest import mock

import pytest
from sqlalchemy import event

from redolake import steps
from redolake.config import Pipeline
from redolake.context import KEPT_SECONDS, Run, take_lease
from redolake.errors import RedolakeError, SourceUnavailable
from redolake.ledger.entries import lease_name
from redolake.ledger.store import checked_url, kept_engine
from redolake.reconcile.ledger import reconcile_once
from redolake.source.session import OracleSession
from redolake.steps.follow import follow_pipeline
from redolake.steps.snapshots.begin import begin_snapshot
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import TWO_TABLES, differences
from tests.references.plain_lake import PlainLake
from tests.support.costs import counted

ONCE = {"attempts": 1, "initial_seconds": 0.05, "max_seconds": 0.1}


@pytest.fixture
def pipeline(shop: Shop, lake: PlainLake) -> Pipeline:
    shop.work(10)
    made = shop.pipeline(tables=TWO_TABLES, retry=ONCE)
    steps.take_snapshot(made, source=shop.params)
    return made


def kill_after(shop: Shop, line_begins: str, killed: list[int], lines: list[str]) -> Any:
    def report(line: str) -> None:
        lines.append(line)
        if line.startswith(line_begins) and not killed:
            killed.append(shop.oracle.faults.kill_sessions(shop.oracle.capture_user))

    return report


def test_a_session_that_is_killed_between_two_steps_of_a_turn_is_replaced(shop: Shop, pipeline: Pipeline) -> None:
    killed, lines = list[int](), list[str]()
    shop.work(10, seed=2)
    shop.switch_logs()

    done = steps.run_pipeline(
        pipeline, until_caught_up=True, source=shop.params, report=kill_after(shop, "landed", killed, lines)
    )

    assert (killed[0] > 0, done.batches) == (True, 1)
    assert differences(shop, pipeline) == {}


def test_a_session_that_is_killed_between_two_rounds_is_replaced(shop: Shop, pipeline: Pipeline) -> None:
    killed, lines, stop = list[int](), list[str](), threading.Event()
    shop.work(10, seed=2)
    shop.switch_logs()
    kill = kill_after(shop, "SCN ", killed, lines)

    def report(line: str) -> None:
        if killed and line.startswith("SCN "):
            stop.set()
        elif not killed:
            kill(line)
            if killed:
                shop.work(10, seed=3)
                shop.switch_logs()

    done = follow_pipeline(Run(pipeline, source=shop.params, report=report), stop)

    assert (killed[0] > 0, done.batches, done.retries) == (True, 2, 0)
    assert differences(shop, pipeline) == {}


def test_a_kept_connection_is_used_again_for_a_while(shop: Shop, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run(pipeline, shop.params) as run, counted() as counts:
        for _ in range(3):
            with run.oracle() as oracle:
                oracle.query("redo_head")
        assert counts["connections"] == 1

        now = [0.0]
        monkeypatch.setattr("redolake.context.time.monotonic", lambda: now[0])
        for seconds, connections in ((0, 1), (KEPT_SECONDS - 1, 1), (2 * KEPT_SECONDS, 2)):
            now[0] = seconds
            with run.oracle() as oracle:
                oracle.query("redo_head")
            assert counts["connections"] == connections, seconds


def test_a_connection_in_which_something_failed_is_not_kept(shop: Shop, pipeline: Pipeline) -> None:
    with Run(pipeline, shop.params) as run, counted() as counts:
        for _ in range(2):
            with pytest.raises(RedolakeError), run.oracle() as oracle:
                oracle.query_text("SELECT", {}, "no statement")
        assert counts["connections"] == 2


@pytest.mark.parametrize("what", ["apply", "load", "capture"])
def test_the_ledger_is_corrected_once_in_a_turn_and_again_after_a_lease_of_somebody_else(
    shop: Shop, pipeline: Pipeline, what: Any
) -> None:
    with Run(pipeline) as run, Run(pipeline) as other, counted() as counts:

        def after(*taken_by: Run) -> int:
            for one in taken_by:
                one.ledger.release_lease(take_lease(one, what, 60))
            reconcile_once(run)
            return counts["reconciled"]

        found = [after(), after(), after(run), after(run, run), after(other), after(other, run), after(run), after(run)]
        run.begin_turn()
        assert [*found, after()] == [1, 1, 1, 1, 1, 2, 2, 2, 3]


def test_who_held_a_lease_while_the_ledger_was_corrected_may_have_written_after_that(shop: Shop, pipeline: Pipeline) -> None:
    with Run(pipeline) as run, counted() as counts:
        run.ledger.lease(lease_name("apply", run.name), "one on another host", -1, lambda _: False)  # expired, not given back
        reconcile_once(run)
        take_lease(run, "apply", 60)
        reconcile_once(run)
        assert counts["reconciled"] == 2


def test_a_failed_attempt_believes_nothing_of_the_ledger_that_it_had(shop: Shop) -> None:
    attempts = list[int]()

    def step(run: Run) -> None:
        reconcile_once(run)
        attempts.append(counts["reconciled"])
        if len(attempts) == 1:
            raise SourceUnavailable("gone for a moment")

    with Run(shop.pipeline(tables=TWO_TABLES)) as run, counted() as counts:
        run.retry(step)
    assert attempts == [1, 2]


def test_no_transaction_of_the_ledger_is_open_while_the_source_is_asked(shop: Shop, lake: PlainLake) -> None:
    pipeline, ask, asked = shop.pipeline(tables=["SHOP.C*", "SHOP.PAYMENTS"]), OracleSession.query_text, list[str]()
    engine, held = kept_engine(checked_url(pipeline.ledger_url)), Counter[int]()  # connections in use, by thread
    event.listen(engine, "checkout", lambda *_: held.update([threading.get_ident()]))
    event.listen(engine, "checkin", lambda *_: held.subtract([threading.get_ident()]))

    def watched(session: OracleSession, sql: str, binds: Any, name: str) -> Any:
        asked.append(name)
        assert held[threading.get_ident()] == 0, name
        return ask(session, sql, binds, name)

    with mock.patch.object(OracleSession, "query_text", watched):
        shop.work(10)
        steps.take_snapshot(pipeline, source=shop.params)
        shop.work(10, seed=2)
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params)
        assert steps.verify_tables(pipeline, source=shop.params).equal
        steps.measure_runway(pipeline, source=shop.params)
        begin_snapshot(Run(pipeline, shop.params), ["SHOP.PAYMENTS"], replace=True)

    assert len(set(asked)) > 20


def test_a_failed_attempt_opens_everything_again(shop: Shop, pipeline: Pipeline) -> None:
    seen = list[tuple[int, int]]()
    twice = pipeline.model_copy(update={"retry": pipeline.retry.model_copy(update={"attempts": 2})})

    def step(run: Run) -> int:
        seen.append((id(run.ledger), id(run.landing)))
        if len(seen) == 1:
            raise SourceUnavailable("the listener does not answer")
        return len(run.ledger.tables())

    with Run(twice, shop.params) as run, counted() as counts:
        assert run.retry(step) == 2
        assert counts["ledgers opened"] == 1
    first, second = seen
    assert (first[0] == second[0], first[1] == second[1]) == (False, False)
