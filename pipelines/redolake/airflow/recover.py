"""`<name>_recover`: carry out what a person chooses when redo is lost. Started by hand, with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from functools import partial
from typing import Any

from airflow.sdk import DAG

from redolake.airflow.approval import ApproveChoice
from redolake.airflow.forms import act, form_of, question_of
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import StartRun, short_circuit_task
from redolake.airflow.texts import TASKS, dag_text, operations_text
from redolake.config import Pipeline
from redolake.operations import OPERATIONS

RECOVER = {"recover": OPERATIONS["recover"]}


def recover_dag(pipeline: Pipeline) -> DAG:
    @short_circuit_task(doc_md=TASKS["recover"])
    def decide() -> Any:
        """Return the tables to read again; with none the run ends."""
        (made,) = act(pipeline, RECOVER, apart=True)
        return made.rest or []

    doc = dag_text(operations_text(RECOVER), pipeline)
    with DAG(**dag_settings(pipeline, "recover"), params=form_of(pipeline, RECOVER), doc_md=doc) as dag:
        again = decide()
        ApproveChoice(pipeline=pipeline, ask=partial(question_of, RECOVER)) >> again
        StartRun(
            task_id="snapshot",
            trigger_dag_id=f"{pipeline.name}_snapshot",
            conf={"tables": again, "replace": True},
            doc_md=TASKS["reload"],
        )
    return dag
