"""Who has the lease of a pipeline's tables, while a job runs and after it."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.config import Pipeline
from pipelines.context import now, open_context
from pipelines.errors import LeaseHeld, LedgerUnavailable
from pipelines.ledger import Ledger, open_ledger
from pipelines.records.batch_result import BatchResult
from pipelines.records.batch_spec import BatchSpec
from pipelines.steps import leases as leases_steps
from pipelines.steps.apply import record_batch
from pipelines.steps.leases import kept_lease, take_apply_lease
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(leases_steps, "RENEW_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(leases_steps, "RENEWED_FOR_SECONDS", 0.3)


@pytest.fixture
def pipeline(tmp_path):
    body = {
        "name": "shop",
        "source": {"connection": "nowhere"},
        "landing": f"{tmp_path}/landing",
        "lake": f"{tmp_path}/lake",
        "tables": ["SHOP.ORDERS"],
    }
    return Pipeline.model_validate(body)


@pytest.fixture
def order(pipeline):
    """The order of a batch without windows and tables, prepared under the lease; its path too."""
    with open_context(pipeline) as context:
        lease = take_apply_lease(context)
        folder = context.landing.files.location("batches/b")
        spec = BatchSpec("shop", 1, 100, 200, "t", (), (), f"{folder}/carry", f"{folder}/manifest.json", lease=lease.token)
        return spec, context.landing.files.write_new_record("batches/b/spec-t.json", spec)


def leave_manifest(pipeline):
    result = BatchResult("shop", 1, 100, 200, "t", (), (), (), ())
    with open_context(pipeline) as context:
        context.landing.files.write_new_record("batches/b/manifest.json", result)


def take_over(pipeline, owner="somebody else", after_seconds=3600):
    ledger = open_ledger(pipeline.ledger_url, "shop", lambda: now() + timedelta(seconds=after_seconds))
    return ledger.lease("apply/shop", owner, 60)


def lost(check):
    try:
        check()
    except LeaseHeld:
        return True
    return False


def work_until_lost(pipeline, spec, harm, on_loss=lambda: None):
    with kept_lease(pipeline, spec, on_loss) as check:
        harm()
        wait_until(lambda: lost(check))


def test_a_job_that_lives_longer_than_its_lease_keeps_it(pipeline, order):
    renewed_at = now()

    with kept_lease(pipeline, order[0]) as check:
        wait_until(lambda: now() > renewed_at + timedelta(seconds=2 * leases_steps.RENEWED_FOR_SECONDS))
        with pytest.raises(LeaseHeld, match="holds the lease apply/shop"):
            take_over(pipeline, after_seconds=0)
        check()


def test_the_lease_outlasts_the_wait_for_the_next_task(pipeline, order):
    with kept_lease(pipeline, order[0]):
        pass

    with pytest.raises(LeaseHeld):
        take_over(pipeline, after_seconds=leases_steps.LEASE_SECONDS - 60)


def test_a_job_that_failed_leaves_the_lease_to_run_out_soon(pipeline, order):
    with pytest.raises(ValueError, match="broken"), kept_lease(pipeline, order[0]):
        raise ValueError("broken")

    assert take_over(pipeline, after_seconds=1).token > order[0].lease


def test_a_job_whose_lease_was_taken_is_stopped_and_fails(pipeline, order):
    stopped = []

    with pytest.raises(LeaseHeld, match="taken over"):
        work_until_lost(pipeline, order[0], lambda: take_over(pipeline), lambda: stopped.append(1))

    assert stopped == [1]


def test_a_job_whose_lease_cannot_be_renewed_stops_when_others_may_begin(pipeline, order, monkeypatch):
    def no_answer(*_):
        raise LedgerUnavailable("the ledger's database does not answer")

    with pytest.raises(LeaseHeld, match="could not be renewed"):
        work_until_lost(pipeline, order[0], lambda: monkeypatch.setattr("pipelines.ledger.Ledger.renew", no_answer))


def test_a_job_stops_when_its_lease_meets_what_nobody_foresaw(pipeline, order, monkeypatch):
    def broken(*_):
        raise TypeError("the driver is broken")

    def harm():
        monkeypatch.setattr("pipelines.ledger.Ledger.renew", broken)

    stopped = []
    with pytest.raises(LeaseHeld, match="could not be renewed: TypeError: the driver is broken"):
        work_until_lost(pipeline, order[0], harm, lambda: stopped.append(1))

    assert stopped == [1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_job_stops_before_its_next_commit_when_nobody_renews_its_lease_any_more(pipeline, order, monkeypatch):
    renew = Ledger.renew

    def die(*given):
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit
        return renew(*given)

    with kept_lease(pipeline, order[0]) as check:
        monkeypatch.setattr(Ledger, "renew", die)
        wait_until(lambda: lost(check))
        with pytest.raises(LeaseHeld, match="thread that renews it has ended"):
            check()


def test_a_job_whose_lease_was_taken_while_it_waited_does_not_begin(pipeline, order):
    take_over(pipeline)

    with pytest.raises(LeaseHeld, match="taken over"), kept_lease(pipeline, order[0]):
        pytest.fail("it began")


def test_a_batch_that_was_overtaken_is_not_recorded(pipeline, order):
    leave_manifest(pipeline)
    take_over(pipeline)

    with pytest.raises(LeaseHeld, match="taken over"):
        record_batch(pipeline, order[1])
    with open_context(pipeline) as context:
        assert context.ledger.batches("applied") == []


def test_what_is_recorded_already_may_be_recorded_again_whoever_has_the_lease(pipeline, order):
    leave_manifest(pipeline)
    record_batch(pipeline, order[1])
    take_over(pipeline)

    assert record_batch(pipeline, order[1]).end == 200


def test_a_batch_that_has_its_manifest_needs_no_lease_to_be_run_again(pipeline, order):
    leave_manifest(pipeline)
    take_over(pipeline)

    with kept_lease(pipeline, order[0]) as check:
        check()


def test_what_writes_no_live_table_needs_no_lease(pipeline, order):
    take_over(pipeline)

    with kept_lease(pipeline, replace(order[0], lease=None)) as check:
        check()


def test_a_ledger_that_was_lost_gives_no_token_twice(pipeline):
    with open_context(pipeline) as context:
        before = take_apply_lease(context)
    for file in Path(pipeline.landing).glob("redolake-ledger.db*"):
        file.unlink()

    with open_context(pipeline) as context:
        assert take_apply_lease(context).token > before.token
        with pytest.raises(LeaseHeld):
            context.ledger.renew(before, 60)
