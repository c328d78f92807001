"""Work beside the rounds of a run: its error ends the run, and the end of the run asks it to stop."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from redolake import context as contexts
from redolake.config import Pipeline
from redolake.context import Run, is_gone, owner, take_lease
from redolake.errors import LeaseHeld, Terminal
from redolake.steps.shared.leases import apply_lease
from redolake.steps.snapshots.beside import Beside
from tests.support.waiting import wait_until


def test_an_error_of_the_work_is_raised_at_the_next_look_and_only_once() -> None:
    def fail() -> None:
        raise Terminal("the lake is gone")

    with Beside() as beside:
        beside.start(fail)
        beside.wait(60)
        with pytest.raises(Terminal, match="the lake is gone"):
            beside.is_free()
        assert beside.is_free()


def test_the_end_of_the_block_asks_the_work_to_stop_and_waits_for_it() -> None:
    ended = list[bool]()

    def read() -> None:
        ended.append(beside.stop.wait(60))

    with Beside() as beside:
        beside.start(read)
        assert not beside.is_free()

    assert ended == [True]


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    monkeypatch.setattr(contexts, "LEASE_POLL_SECONDS", 0.01)
    body = {"name": "p", "source": {"connection": "x"}, "landing": str(tmp_path), "lake": str(tmp_path), "tables": ["A.B"]}
    return Pipeline.model_validate(body)


def test_work_beside_waits_for_the_lease_of_its_own_run(pipeline: Pipeline) -> None:
    waits, done = Event(), list[str]()

    def load() -> None:
        waits.set()
        with Run(pipeline) as context, apply_lease(context):
            done.append("loaded")

    with Run(pipeline) as context:
        batch = take_lease(context, "apply", 900)
        with Beside() as beside:
            beside.start(load)
            assert waits.wait(60)
            for _ in range(20):  # each of them would fail if the work had taken the lease
                beside.wait(0.02)
                batch = context.ledger.renew(batch, 60)
            assert not done
            done.append("applied")
            context.ledger.release_lease(batch)
            beside.wait(60)
            assert beside.is_free()

    assert done == ["applied", "loaded"]


def test_work_that_is_asked_to_stop_waits_for_no_lease(pipeline: Pipeline) -> None:
    """A batch that has failed keeps its lease for minutes, and the end of the run waits for the work."""
    failed = list[BaseException]()

    def load() -> None:
        beside.stop.wait(60)
        try:
            with Run(pipeline) as context, apply_lease(context):
                failed.append(AssertionError("the batch's lease was taken"))
        except LeaseHeld as error:
            failed.append(error)

    with Run(pipeline) as context:
        take_lease(context, "apply", 900)
        with Beside() as beside:
            beside.start(load)

    assert [type(error) for error in failed] == [LeaseHeld]


def test_two_threads_of_one_program_wait_for_each_other(pipeline: Pipeline) -> None:
    """A notebook that repairs a table in a thread while another one runs the pipeline."""
    took, done = Event(), list[str]()

    def repair() -> None:
        with Run(pipeline) as context, apply_lease(context):
            done.append("repaired")
            took.set()

    with ThreadPoolExecutor(2) as pool:

        def apply() -> Future[None]:
            with Run(pipeline) as context:
                batch = take_lease(context, "apply", 900)
                other = pool.submit(repair)
                assert not took.wait(0.3)
                context.ledger.renew(batch, 60)
                done.append("applied")
                context.ledger.release_lease(batch)
            return other

        pool.submit(apply).result(60).result(60)

    assert done == ["applied", "repaired"]


def test_the_owner_of_work_beside_is_gone_with_its_thread_or_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    owners, gone = list[str](), list[bool]()
    with Beside() as beside:
        beside.start(lambda: (owners.append(owner()), gone.append(is_gone(owners[0]))))  # type: ignore[arg-type, return-value, func-returns-value]
    (other,) = owners

    assert other != owner()
    assert gone == [False]
    wait_until(lambda: is_gone(other))  # the system takes the thread away a moment after its last word
    host, _, number = other.rpartition(":")
    assert is_gone(f"{host}:4194305/{number.partition('/')[2]}")  # no process has this number
