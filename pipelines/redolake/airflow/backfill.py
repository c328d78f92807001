"""`<name>_backfill`: apply an old SCN range to shadow tables, or to what else its form says. Started by hand."""

from __future__ import annotations

from airflow.sdk import DAG

from redolake.airflow.forms import form_of
from redolake.airflow.operation_job import job_tasks
from redolake.airflow.settings import dag_settings
from redolake.airflow.texts import dag_text, operations_text
from redolake.config import Pipeline
from redolake.operations import OPERATIONS

BACKFILL = {"backfill": OPERATIONS["backfill"]}


def backfill_dag(pipeline: Pipeline) -> DAG:
    doc = dag_text(operations_text(BACKFILL), pipeline)
    with DAG(**dag_settings(pipeline, "backfill"), params=form_of(pipeline, BACKFILL), doc_md=doc) as dag:
        job_tasks(pipeline, BACKFILL)
    return dag
