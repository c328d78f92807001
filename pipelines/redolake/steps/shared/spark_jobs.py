"""Run a job's spec on Spark: in this process, on a cluster, or on a Connect server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from redolake.config import Pipeline
from redolake.context import Report, open_context, read_spec, silent
from redolake.errors import SparkLost
from redolake.host.connect_token import url_of_connection
from redolake.host.secrets import connection_variable
from redolake.land import layout
from redolake.reconcile.batches import check_supersedes
from redolake.records.codec import decode
from redolake.records.jobs import JobFailure, Result, Spec
from redolake.records.loads import SnapshotSpec
from redolake.steps.shared.leases import kept_lease

REMOTE = "REDOLAKE_SPARK_REMOTE"


def open_spark(pipeline: Pipeline, app: str = "redolake") -> Any:
    """Return a session for this process by the pipeline's Spark settings."""
    from redolake.apply.spark.start import start_session

    if pipeline.spark.mode == "connect":
        return start_session("connect", remote_of(pipeline), dict(pipeline.spark.conf))
    places = (pipeline.landing, pipeline.lake)
    return start_session("local", pipeline.spark.master, dict(pipeline.spark.conf), places)


def stop_session(session: Any) -> None:
    """Raise SparkLost where its Java was killed: what comes next needs another process."""
    try:
        session.stop()
    except Exception as failed:
        what, cure = "Spark's Java has ended, and this process cannot start another", "run the command again"
        raise SparkLost(what, cure=cure) from failed


@contextmanager
def opened_spark(pipeline: Pipeline, given: Any = None) -> Iterator[Any]:
    """Yield the given session, or one that is opened here and stopped at the end."""
    session = open_spark(pipeline) if given is None else given
    try:
        yield session
    finally:
        if given is None:
            with suppress(SparkLost):  # the work is done, or the first error says why it is not
                stop_session(session)


def remote_of(pipeline: Pipeline) -> str:
    """Return the Connect server's URL from REDOLAKE_SPARK_REMOTE or the named Airflow connection in the environment. Raises
    ConfigurationError."""
    if remote := os.environ.get(REMOTE):
        return url_of_connection(remote, REMOTE)
    variable = connection_variable(pipeline.spark.connection)
    return url_of_connection(os.environ.get(variable, ""), variable)


def run_spark_job(pipeline: Pipeline, batch: str, spark: Any, report: Report = silent) -> Result:
    """Run the spec at `batch`; its result is its manifest. The job stops before its next commit if its lease is lost."""
    from redolake.job.job import run

    spec = spec_to_run(pipeline, batch)
    with kept_lease(pipeline, spec) as check_lease:
        return run(spark, spec, report, check_lease)


def spec_to_run(pipeline: Pipeline, batch: str) -> Spec:
    with open_context(pipeline) as context:
        spec = read_spec(context, batch)
        if isinstance(spec, SnapshotSpec):
            check_supersedes(context, spec)
        return spec


@contextmanager
def external_spark_job(pipeline: Pipeline, batch: str, stop: Callable[[], None]) -> Iterator[str]:
    """Renew the lease while another process runs the spec at `batch`; call `stop` if it is lost. Yields this attempt's path for
    a failure record."""
    spec = spec_to_run(pipeline, batch)
    with kept_lease(pipeline, spec, stop):
        yield layout.failure_file(batch, uuid.uuid4().hex)


def read_job_failure(pipeline: Pipeline, path: str) -> JobFailure | None:
    """Return the failure that the job wrote there, None if it wrote none."""
    with open_context(pipeline) as context:
        text = context.landing.files.read_at(path)
    return None if text is None else decode(JobFailure, text, path)
