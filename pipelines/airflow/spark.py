"""The task that hands a prepared batch to Spark: spark-submit (any cluster), or a Connect server that is kept alive."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import pipelines
from pipelines.airflow.connections import working
from pipelines.airflow.failures import failing_as_airflow
from pipelines.config import Pipeline
from pipelines.records.job_failure import TERMINAL_EXIT, JobFailure

JOB = Path(pipelines.__file__).with_name("job") / "job.py"


class SubmitBatch(SparkSubmitOperator):
    """spark-submit of the job file; jars, settings and Java are looked up when it runs, so that parsing needs none of them."""

    application_args: list[Any]

    def __init__(self, *, pipeline: Pipeline, batch: Any, **kwargs: Any) -> None:
        super().__init__(application=str(JOB), application_args=[batch], **kwargs)
        self.pipeline = pipeline

    def execute(self, context: Any) -> None:
        from pipelines import steps
        from pipelines.apply.session import spark_conf
        from pipelines.runtime import delta_jars, find_java

        with failing_as_airflow():
            self.jars = ",".join(delta_jars())
            self.conf = spark_conf(self.pipeline.spark.conf)
            # This process runs this one task, and the operator's own env_vars would be refused by cluster deploy modes.
            os.environ["JAVA_HOME"] = find_java()
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Else Python puts the job's own folder first on its path, where `batch` and `snapshot` are modules of ours.
        os.environ["PYTHONSAFEPATH"] = "1"
        (batch,) = self.application_args
        with working(self.pipeline) as pipeline, steps.external_spark_job(pipeline, batch, self.on_kill) as failed:
            self.application_args = [batch, failed]
            try:
                super().execute(context)
            except Exception as error:
                raise_failure(steps.read_job_failure(pipeline, failed), error)


def raise_failure(told: JobFailure | None, error: Exception) -> None:
    """The job's own words where it left any; spark-submit knows its exit code only."""
    terminal = told.terminal if told else f"Error code is: {TERMINAL_EXIT}." in str(error)
    raise (AirflowFailException if terminal else AirflowException)(told.text if told else str(error)) from error


def connect_url(conn_id: str) -> str:
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

    return str(SparkConnectHook(conn_id).get_connection_url())


def run_through_connect(pipeline: Pipeline, batch: str) -> None:
    """One Connect session of its own for the batch; the server stays."""
    from pipelines import steps
    from pipelines.apply.session import open_session

    with working(pipeline) as resolved:
        spark = open_session("connect", connect_url(pipeline.spark.connection), pipeline.spark.conf)
        try:
            steps.run_spark_job(resolved, batch, spark)
        finally:
            spark.stop()


def spark_task(pipeline: Pipeline, batch: Any, doc_md: str) -> Any:
    """The task `spark`, after whatever gave `batch`."""
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
