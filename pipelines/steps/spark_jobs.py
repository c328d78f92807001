"""Runs a job's order with a Spark session: the session of this process, a cluster's, or a Connect server's."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from pipelines.config import Pipeline
from pipelines.context import Report, read_order, silent, workplace
from pipelines.errors import ConfigurationError, Finding
from pipelines.land import layout
from pipelines.reconcile.batches import check_names_all
from pipelines.records.codec import decode
from pipelines.records.job_failure import JobFailure
from pipelines.records.job_spec import Result, Spec
from pipelines.records.snapshot_load import SnapshotSpec
from pipelines.steps.leases import kept_lease

CONNECT_PORT = 15002


def open_spark(pipeline: Pipeline, app: str = "redolake") -> Any:
    """A session for work in this process, by the pipeline's spark settings."""
    from pipelines.apply.session import open_session

    if pipeline.spark.mode == "connect":
        return open_session("connect", remote_of(pipeline), dict(pipeline.spark.conf))
    return open_session("local", pipeline.spark.master, dict(pipeline.spark.conf))


def remote_of(pipeline: Pipeline) -> str:
    """The Connect server's address, from REDOLAKE_SPARK_REMOTE or the named Airflow connection in the environment."""
    if remote := os.environ.get("REDOLAKE_SPARK_REMOTE"):
        return remote
    variable = f"AIRFLOW_CONN_{pipeline.spark.connection.upper()}"
    host, port = host_and_port(os.environ.get(variable, ""))
    if host:
        return f"sc://{host}:{port or CONNECT_PORT}"
    what = f"spark.mode is connect, but {variable} names no host"
    raise ConfigurationError([Finding("spark.connection", what, f"export {variable}=spark-connect://host:{CONNECT_PORT}")])


def host_and_port(connection: str) -> tuple[str | None, int | None]:
    """Of an Airflow connection in the environment, URI or JSON. A URL's scheme has hyphens, where Airflow's types have `_`."""
    if connection.startswith("{"):
        body = json.loads(connection)
        return body.get("host"), body.get("port")
    scheme, _, rest = connection.partition("://")
    parts = urlsplit(f"{scheme.replace('_', '-')}://{rest}")
    return parts.hostname, parts.port


def run_spark_job(pipeline: Pipeline, batch: str, spark: Any, report: Report = silent) -> Result:
    """Run the order at `batch`; what it did lies in its manifest. It stops before its next commit when its lease is lost."""
    from pipelines.job.job import run

    spec = order_to_run(pipeline, batch)
    with kept_lease(pipeline, spec) as check_lease:
        return run(spark, spec, report, check_lease)


def order_to_run(pipeline: Pipeline, batch: str) -> Spec:
    with workplace(pipeline) as work:
        spec = read_order(work, batch)
        if isinstance(spec, SnapshotSpec):
            check_names_all(work, spec)
        return spec


@contextmanager
def external_spark_job(pipeline: Pipeline, batch: str, stop: Callable[[], None]) -> Iterator[str]:
    """Around a process that runs the order at `batch`: keeps its lease, and calls `stop` when that is lost. Yields a path of
    this attempt's own for the job to leave its failure at."""
    spec = order_to_run(pipeline, batch)
    with kept_lease(pipeline, spec, stop):
        yield layout.failure_file(batch, uuid.uuid4().hex)


def read_job_failure(pipeline: Pipeline, path: str) -> JobFailure | None:
    """What the job said there as it failed; None when it could say nothing."""
    with workplace(pipeline) as work:
        text = work.landing.files.read_at(path)
    return None if text is None else decode(JobFailure, text, path)
