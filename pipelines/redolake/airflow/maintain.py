"""`<name>_maintain`: remove what `keep` says is too old, then maintain the Delta tables. Started by `maintain_schedule`, or by
hand with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from airflow.sdk import DAG

from redolake.airflow.forms import act, form_of, lines_of
from redolake.airflow.operation_job import job_tasks
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import TASKS, dag_text, operations_text
from redolake.config import Pipeline
from redolake.operations import OPERATIONS

PRUNE, OPTIMIZE = ({name: OPERATIONS[name]} for name in ("prune", "optimize"))


def maintain_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["prune"], multiple_outputs=False)
    def prune() -> list[str]:
        """Return what was removed, and what stays although it is old."""
        return lines_of(act(pipeline, PRUNE))

    settings = dag_settings(pipeline, "maintain", pipeline.maintain_schedule)
    both = PRUNE | OPTIMIZE
    # Its decision is `keep` in pipelines.yml, so nobody is asked again.
    form = form_of(pipeline, both, dry_run=False)
    params = {name: one for name, one in form.items() if name not in ("mend", "confirm")}
    params["reason"].value = "`keep` in pipelines.yml"
    with DAG(**settings, params=params, doc_md=dag_text(operations_text(both, "maintain"), pipeline)) as dag:
        prune() >> job_tasks(pipeline, OPTIMIZE)
    return dag
