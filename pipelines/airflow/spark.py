"""The task that hands a prepared batch to Spark: spark-submit (any cluster), or a Connect server that is kept alive."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import task

import pipelines
from pipelines.airflow.failures import failing_as_airflow
from pipelines.config import Pipeline

JOB = Path(pipelines.__file__).with_name("job.py")


class SubmitBatch(SparkSubmitOperator):
    """spark-submit of the job file; jars, settings and Java are looked up when it runs, so that parsing needs none of them."""

    def __init__(self, *, spark_conf: dict[str, str], **kwargs: Any) -> None:
        super().__init__(application=str(JOB), **kwargs)
        self.spark_conf = spark_conf

    def execute(self, context: Any) -> None:
        from pipelines.apply.session import spark_conf
        from pipelines.runtime import delta_jars, find_java

        with failing_as_airflow():
            self.jars = ",".join(delta_jars())
            self.conf = spark_conf(self.spark_conf)
            # This process runs this one task, and the operator's own env_vars would be refused by cluster deploy modes.
            os.environ["JAVA_HOME"] = find_java()
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Python would put the job's own folder first, where `airflow` or `statements` mean modules of ours.
        os.environ["PYTHONSAFEPATH"] = "1"
        super().execute(context)


def connect_url(conn_id: str) -> str:
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

    return str(SparkConnectHook(conn_id).get_connection_url())


def run_through_connect(pipeline: Pipeline, batch: str) -> None:
    """One Connect session of its own for the batch; the server stays."""
    from pipelines import steps
    from pipelines.apply.session import open_session

    with failing_as_airflow():
        spark = open_session("connect", connect_url(pipeline.spark.connection), pipeline.spark.conf)
        try:
            steps.run_spark(pipeline, batch, spark)
        finally:
            spark.stop()


def spark_task(pipeline: Pipeline, batch: Any, doc_md: str) -> Any:
    """The task `spark`, after whatever gave `batch`."""
    if pipeline.spark.mode == "submit":
        return SubmitBatch(
            task_id="spark",
            conn_id=pipeline.spark.connection,
            spark_conf=dict(pipeline.spark.conf),
            application_args=[batch],
            name=f"redolake-{pipeline.name}",
            doc_md=doc_md,
        )

    @task(task_id="spark", doc_md=doc_md)
    def spark(batch: str) -> None:
        run_through_connect(pipeline, batch)

    return spark(batch)
