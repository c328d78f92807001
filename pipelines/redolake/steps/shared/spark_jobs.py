"""Run a job's spec on Spark: in this process, on a cluster, or on a Connect server."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redolake.context import Run, read_spec, step
from redolake.land import layout
from redolake.reconcile.batches import check_supersedes
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import decode
from redolake.records.jobs import JobFailure, Result, Spec
from redolake.records.loads import SnapshotSpec
from redolake.steps.shared.leases import kept_lease
from redolake.steps.shared.step_times import START_SPARK, StepTimes


@step
def run_spark_job(run: Run, batch: str, times: StepTimes | None = None) -> Result:
    """Run the spec at `batch`; its result is its manifest. The job stops before its next commit if its lease is lost. A session
    is opened for it unless it is a batch without changes."""
    from redolake.job.job import run as run_job

    spec = spec_to_run(run, batch)
    with kept_lease(run, spec) as check_lease:
        if (done := run_if_quiet(run, spec, check_lease)) is not None:
            return done
        with (times or StepTimes()).of(START_SPARK):
            session = run.spark.session()
        return run_job(session, spec, run.report, check_lease)


def run_if_quiet(run: Run, spec: Spec, check_lease: Callable[[], None]) -> Result | None:
    """Run a batch without changes in this process; None where Spark has to run it."""
    if not isinstance(spec, BatchSpec) or not spec.is_quiet:
        return None
    from redolake.job.job import run_without_spark

    return run_without_spark(spec, run.report, check_lease)


def spec_to_run(run: Run, batch: str) -> Spec:
    spec = read_spec(run, batch)
    if isinstance(spec, SnapshotSpec):
        check_supersedes(run, spec)
    return spec


@contextmanager
def external_spark_job(run: Run, batch: str, stop: Callable[[], None]) -> Iterator[str | None]:
    """Renew the lease while another process runs the spec at `batch`; call `stop` if it is lost. Yields this attempt's path for
    a failure record; None for a batch without changes, which has been run."""
    spec = spec_to_run(run, batch)
    with kept_lease(run, spec, stop) as check_lease:
        done = run_if_quiet(run, spec, check_lease)
        yield layout.failure_file(batch, uuid.uuid4().hex) if done is None else None


@step
def read_job_failure(run: Run, path: str) -> JobFailure | None:
    """Return the failure that the job wrote there, None if it wrote none."""
    text = run.landing.files.read_at(path)
    return None if text is None else decode(JobFailure, text, path)
