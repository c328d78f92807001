"""The task that runs a prepared batch on Spark: by spark-submit (any cluster), or on a Connect server."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import redolake
from redolake.airflow.connections import connection_json, resolved_pipeline
from redolake.airflow.failures import airflow_failures, why_in_note
from redolake.airflow.tasks import WithoutTemplates, task
from redolake.config import Pipeline
from redolake.host.connect_token import url_of_connection
from redolake.host.spark_settings import DRIVERS_PYTHON, WORKERS_PYTHON
from redolake.records.jobs import TERMINAL_EXIT, JobFailure

JOB = Path(redolake.__file__).with_name("job") / "job.py"


class SubmitBatch(WithoutTemplates, SparkSubmitOperator):
    """Runs the job file by spark-submit; finds jars, settings and Java at run time, so that parsing DAGs needs none of them."""

    application_args: list[Any]

    def __init__(self, *, pipeline: Pipeline, batch: Any, **kwargs: Any) -> None:
        super().__init__(application=str(JOB), application_args=[batch], **kwargs)
        self.pipeline = pipeline

    def execute(self, context: Any) -> None:
        from redolake import steps
        from redolake.apply.spark.session import spark_conf
        from redolake.host.runtime import find_java, spark_jars

        with why_in_note(context), airflow_failures():
            self.jars = ",".join(spark_jars(self.pipeline.landing, self.pipeline.lake))
            self.conf = spark_conf(self.pipeline.spark.settings)
            if WORKERS_PYTHON in self.conf:  # which would be the driver's too, and a path below an executor's folder
                self.conf.setdefault(DRIVERS_PYTHON, sys.executable)
            # This process runs only this task, and cluster deploy modes refuse the operator's own env_vars.
            os.environ["JAVA_HOME"] = find_java()
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Otherwise Python puts the job's own folder first on its path, where `batch` and `snapshot` are our modules.
        os.environ["PYTHONSAFEPATH"] = "1"
        (batch,) = self.application_args
        with (
            why_in_note(context),
            resolved_pipeline(self.pipeline) as pipeline,
            steps.Run(pipeline) as run,
            steps.external_spark_job(run, batch, self.on_kill) as failed,
        ):
            if failed is None:
                return
            self.application_args = [batch, failed]
            try:
                super().execute(context)
            except Exception as error:
                raise_failure(steps.read_job_failure(run, failed), error)


def raise_failure(failure: JobFailure | None, error: Exception) -> None:
    """Raise with the job's own error text if it left one; spark-submit knows only the exit code."""
    terminal = failure.terminal if failure else f"Error code is: {TERMINAL_EXIT}." in str(error)
    kind = AirflowFailException if terminal else AirflowException
    raise kind(failure.text if failure else str(error)) from (None if failure else error)


def connect_url(conn_id: str) -> str:
    """Return the URL of a connection as in a terminal: Airflow's own hook leaves out what it does not know."""
    return url_of_connection(connection_json(conn_id), conn_id)


def session_opener(pipeline: Pipeline) -> Callable[[], Any] | None:
    """Return what opens a Connect session by Airflow's connection; None where Spark is opened without one."""
    return partial(connect_session, pipeline) if pipeline.spark.mode == "connect" else None


def connect_session(pipeline: Pipeline) -> Any:
    from redolake.apply.spark.start import start_session

    return start_session("connect", connect_url(pipeline.spark.connection), pipeline.spark.settings)


def run_through_connect(pipeline: Pipeline, batch: str) -> None:
    """Run the batch in its own session on the Connect server."""
    from redolake import steps

    with resolved_pipeline(pipeline) as resolved, steps.Run(resolved, opens=partial(connect_session, pipeline)) as run:
        steps.run_spark_job(run, batch)


def spark_task(pipeline: Pipeline, batch: Any, doc_md: str) -> Any:
    """Return the task `spark`."""
    if pipeline.spark.mode == "submit":
        return SubmitBatch(
            task_id="spark",
            conn_id=pipeline.spark.connection,
            pipeline=pipeline,
            batch=batch,
            name=f"redolake-{pipeline.name}",
            doc_md=doc_md,
        )

    @task(task_id="spark", doc_md=doc_md)
    def spark(batch: str) -> None:
        run_through_connect(pipeline, batch)

    return spark(batch)
