"""`<name>_mend`: what a person mends by hand. The form's first field says which operation; each is declared in
redolake.operations, and its fields are made from that."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from functools import partial

from airflow.sdk import DAG

from redolake.airflow.approval import ApproveChoice
from redolake.airflow.forms import act, form_of, lines_of, question_of
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import TASKS, dag_text, operations_text
from redolake.config import Pipeline
from redolake.operations import MENDS


def mend_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["mend"], multiple_outputs=False, retries=0)
    def mend() -> list[str]:
        """Return what was done, or would be. Fails if a table is not as it should be, after all were tried."""
        return lines_of(act(pipeline, MENDS))

    doc = dag_text(operations_text(MENDS), pipeline)
    with DAG(**dag_settings(pipeline, "mend"), params=form_of(pipeline, MENDS), doc_md=doc) as dag:
        ApproveChoice(pipeline=pipeline, ask=partial(question_of, MENDS)) >> mend()
    return dag
