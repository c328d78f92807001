"""The lease of a pipeline's tables: who holds it while a job runs, and after it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

import redolake.context
from redolake.config import Pipeline
from redolake.context import Run, is_gone, now, take_lease
from redolake.errors import LandingUnavailable, LeaseHeld, LedgerUnavailable
from redolake.ledger import Ledger, open_ledger
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import BatchSpec, Redo
from redolake.records.maintenance import MaintenanceSpec
from redolake.steps.apply import batch
from redolake.steps.apply.batch import prepare_batch, record_batch
from redolake.steps.shared import leases as leases_steps
from redolake.steps.shared.leases import kept_lease, take_apply_lease
from redolake.steps.snapshots import load
from redolake.steps.snapshots.load import prepare_snapshot_load
from redolake.steps.upkeep import maintenance
from redolake.steps.upkeep.maintenance import prepare_maintenance
from redolake.values.table import TableId
from tests.states.lost_ledger import lose_ledger
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def short_leases(monkeypatch):
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
def prepared(pipeline):
    """Return the spec of a batch without windows and tables, written under the lease, and its location."""
    with Run(pipeline) as context:
        lease = take_apply_lease(context)
        folder = context.landing.files.location("batches/b")
        spec = BatchSpec("shop", 1, 100, 200, "t", Redo(), (), f"{folder}/carry", f"{folder}/manifest.json", lease=lease.token)
        return spec, context.landing.files.write_new_record("batches/b/spec-t.json", spec)


def write_manifest(pipeline):
    result = BatchResult("shop", 1, 100, 200, "t", (), (), (), ())
    with Run(pipeline) as context:
        context.landing.files.write_new_record("batches/b/manifest.json", result)


def take_over(pipeline, owner="somebody else", after_seconds=3600, kind="apply"):
    ledger = open_ledger(pipeline.ledger_url, "shop", lambda: now() + timedelta(seconds=after_seconds))
    return ledger.lease(f"{kind}/shop", owner, 60)


def is_lost(check):
    try:
        check()
    except LeaseHeld:
        return True
    return False


def hold_until_lost(pipeline, spec, harm, on_loss=lambda: None):
    with Run(pipeline) as run, kept_lease(run, spec, on_loss) as check:
        harm()
        wait_until(lambda: is_lost(check))


def test_a_job_that_runs_longer_than_its_lease_keeps_it(pipeline, prepared):
    renewed_at = now()

    with Run(pipeline) as run, kept_lease(run, prepared[0]) as check:
        wait_until(lambda: now() > renewed_at + timedelta(seconds=2 * leases_steps.RENEWED_FOR_SECONDS))
        with pytest.raises(LeaseHeld, match="holds the lease apply/shop"):
            take_over(pipeline, after_seconds=0)
        check()


def test_the_lease_outlasts_the_wait_for_the_next_task(pipeline, prepared):
    with Run(pipeline) as run, kept_lease(run, prepared[0]):
        pass

    with pytest.raises(LeaseHeld):
        take_over(pipeline, after_seconds=leases_steps.LEASE_SECONDS - 60)


def test_the_lease_of_a_failed_job_expires_soon(pipeline, prepared):
    with pytest.raises(ValueError, match="broken"), Run(pipeline) as run, kept_lease(run, prepared[0]):
        raise ValueError("broken")

    assert take_over(pipeline, after_seconds=1).token > prepared[0].lease


def test_a_job_whose_lease_was_taken_is_stopped_and_fails(pipeline, prepared):
    stopped = []

    with pytest.raises(LeaseHeld, match="taken over"):
        hold_until_lost(pipeline, prepared[0], lambda: take_over(pipeline), lambda: stopped.append(1))

    assert stopped == [1]


def test_a_job_whose_lease_cannot_be_renewed_stops_when_others_may_begin(pipeline, prepared, monkeypatch):
    def no_answer(*_):
        raise LedgerUnavailable("the ledger's database does not answer")

    with pytest.raises(LeaseHeld, match="could not be renewed"):
        hold_until_lost(pipeline, prepared[0], lambda: monkeypatch.setattr("redolake.ledger.Ledger.renew", no_answer))


def test_a_job_stops_when_renewing_its_lease_fails_unexpectedly(pipeline, prepared, monkeypatch):
    def broken(*_):
        raise TypeError("the driver is broken")

    def harm():
        monkeypatch.setattr("redolake.ledger.Ledger.renew", broken)

    stopped = []
    with pytest.raises(LeaseHeld, match="could not be renewed: TypeError: the driver is broken"):
        hold_until_lost(pipeline, prepared[0], harm, lambda: stopped.append(1))

    assert stopped == [1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_job_stops_before_its_next_commit_when_its_lease_renewer_is_gone(pipeline, prepared, monkeypatch):
    renew = Ledger.renew

    def die(*given):
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit
        return renew(*given)

    with Run(pipeline) as run, kept_lease(run, prepared[0]) as check:
        monkeypatch.setattr(Ledger, "renew", die)
        wait_until(lambda: is_lost(check))
        with pytest.raises(LeaseHeld, match="thread that renews it has ended"):
            check()


def test_a_job_whose_lease_was_taken_while_it_waited_does_not_begin(pipeline, prepared):
    take_over(pipeline)

    with pytest.raises(LeaseHeld, match="taken over"), Run(pipeline) as run, kept_lease(run, prepared[0]):
        pytest.fail("it began")


def test_a_batch_that_was_overtaken_is_not_recorded(pipeline, prepared):
    write_manifest(pipeline)
    take_over(pipeline)

    with pytest.raises(LeaseHeld, match="taken over"):
        record_batch(pipeline, prepared[1])
    with Run(pipeline) as context:
        assert context.ledger.batches("applied") == []


def test_a_recorded_batch_may_be_recorded_again_whoever_has_the_lease(pipeline, prepared):
    write_manifest(pipeline)
    record_batch(pipeline, prepared[1])
    take_over(pipeline)

    assert record_batch(pipeline, prepared[1]).end_scn == 200


def test_a_batch_that_has_its_manifest_needs_no_lease_to_be_run_again(pipeline, prepared):
    write_manifest(pipeline)
    take_over(pipeline)

    with Run(pipeline) as run, kept_lease(run, prepared[0]) as check:
        check()


def test_a_job_that_writes_no_live_table_needs_no_lease(pipeline, prepared):
    take_over(pipeline)

    with Run(pipeline) as run, kept_lease(run, replace(prepared[0], lease=None)) as check:
        check()


@pytest.mark.parametrize(
    ("prepare", "kinds"),
    [
        (prepare_batch, ["apply"]),
        (partial(prepare_snapshot_load, reads={}), ["load", "apply"]),
        (prepare_maintenance, ["load", "apply"]),
    ],
    ids=["batch", "load", "maintenance"],
)
def test_a_job_that_cannot_be_prepared_holds_no_lease(pipeline, monkeypatch, prepare, kinds):
    """Else a writer on another host, which cannot see that this process has ended, would wait a quarter of an hour."""
    for module in (batch, load):
        monkeypatch.setattr(module, "reconcile_once", refuse)
    monkeypatch.setattr(maintenance, "choose", lambda *_: [TableId("SHOP", "ORDERS")])
    monkeypatch.setattr(maintenance, "tasks_of", refuse)

    with pytest.raises(LandingUnavailable):
        prepare(pipeline)

    for kind in kinds:
        assert take_over(pipeline, "another host", after_seconds=0, kind=kind)


def refuse(*_):
    raise LandingUnavailable("the bucket does not answer", cure="wait")


def fail_when_renewed(pipeline, spec, kind):
    with Run(pipeline) as run, kept_lease(run, spec):
        renewed_at = now()
        wait_until(lambda: now() > renewed_at + timedelta(seconds=2 * leases_steps.RENEWED_FOR_SECONDS))
        with pytest.raises(LeaseHeld, match=f"holds the lease {kind}/shop"):
            take_over(pipeline, after_seconds=0, kind=kind)
        raise ValueError("broken")


def test_a_load_waits_for_maintenance_and_begins_soon_after_it_has_failed(pipeline):
    with Run(pipeline) as run:
        loads, lease = (take_lease(run, kind, leases_steps.LEASE_SECONDS).token for kind in ("load", "apply"))
        spec = MaintenanceSpec("shop", "t", (), f"{pipeline.landing}/m.json", 1, 1, 1, lease=lease, load_lease=loads)

    with pytest.raises(ValueError, match="broken"):
        fail_when_renewed(pipeline, spec, kind="load")

    assert take_over(pipeline, after_seconds=1, kind="load").token > loads


def test_a_lost_ledger_gives_no_token_a_second_time(pipeline):
    with Run(pipeline) as context:
        before = take_apply_lease(context)
    lose_ledger(Path(pipeline.landing))

    with Run(pipeline) as context:
        assert take_apply_lease(context).token > before.token
        with pytest.raises(LeaseHeld):
            context.ledger.renew(before, 60)


def test_a_step_waits_for_another_runs_lease_and_then_takes_it(pipeline, monkeypatch, caplog):
    monkeypatch.setattr(redolake.context, "LEASE_POLL_SECONDS", 0.01)
    ledger = open_ledger(pipeline.ledger_url, "shop", now)
    theirs = ledger.lease("apply/shop", "another run", 60)
    with Run(pipeline) as context, ThreadPoolExecutor(1) as pool:
        ours = pool.submit(take_apply_lease, context)
        wait_until(lambda: "waiting up to 60 minutes: another run holds the lease apply/shop" in caplog.text)
        ledger.release_lease(theirs)
        assert ours.result(10).token > theirs.token


def test_the_wait_for_a_lease_ends_with_its_holder_named(pipeline, monkeypatch):
    monkeypatch.setattr(redolake.context, "LEASE_POLL_SECONDS", 0.01)
    impatient = pipeline.model_copy(update={"lease_wait_minutes": 0.001})
    take_over(pipeline, "another run", after_seconds=0)
    with Run(impatient) as context, pytest.raises(LeaseHeld, match="another run holds the lease apply/shop until 20") as held:
        take_apply_lease(context)
    assert "killed in a container" in held.value.cure, "nobody can look up whether it lives"


def holder(pid, space=None, started=None):
    """Return the owner that a process of this host is, as it is or with another space of numbers, or start."""
    host, _, own = redolake.context.process().rpartition(":")
    own_space, own_start = own.split("/")[1:]
    return f"{host}:{pid}/{space or own_space}/{started or own_start}"


def test_a_lease_is_taken_from_a_process_whose_number_another_program_has_by_now():
    assert not is_gone(holder(os.getpid()))
    assert is_gone(holder(os.getpid(), started="1"))
    assert is_gone(f"thread 1 of {holder(os.getpid(), started='1')}")
    assert is_gone(f"thread 4194305 of {holder(os.getpid())}")
    assert not is_gone(f"beside {holder(os.getpid())}"), "as an older Redolake names a thread, which may still run"
    assert is_gone(holder(1, started="99999999999")), "another user's process has the number"


@pytest.mark.parametrize("pid", [None, 4194305], ids=["own", "none here"])
def test_no_lease_is_taken_from_a_container_whose_host_has_the_same_name(pipeline, pid):
    other = holder(pid or os.getpid(), space="1")
    take_over(pipeline, other, after_seconds=0)

    with (
        Run(pipeline.model_copy(update={"lease_wait_minutes": 0})) as context,
        pytest.raises(LeaseHeld, match="holds the lease"),
    ):
        take_apply_lease(context)
