"""`<name>_verify`: compare tables with the source, cell by cell. Started by hand with a form, or by `verify_schedule`."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from airflow.sdk import DAG, get_current_context

from redolake.airflow.forms import act, form_of, lines_of
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import TASKS, dag_text, operations_text
from redolake.config import Pipeline
from redolake.operations import OPERATIONS

VERIFY = {"verify": OPERATIONS["verify"]}


def verify_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["verify"], multiple_outputs=False, retries=0)
    def verify() -> list[str]:
        """Return the verdict. Fails unless all tables are equal."""
        is_scheduled = str(get_current_context()["dag_run"].run_type) == "scheduled"
        due = {"due": True} if is_scheduled and pipeline.verify.every is not None else {}
        return lines_of(act(pipeline, VERIFY, **due))

    settings = dag_settings(pipeline, "verify", pipeline.verify_schedule)
    doc = dag_text(operations_text(VERIFY, "verify"), pipeline)
    with DAG(**settings, params=form_of(pipeline, VERIFY), doc_md=doc) as dag:
        verify()
    return dag
