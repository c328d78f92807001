"""Build nine DAGs for each pipeline of pipelines.yml.

A wrong pipeline shows its findings in a DAG of its own; a wrong file is one import error that lists all findings.
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import re
from pathlib import Path

from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.apply import apply_dag
from redolake.airflow.backfill import backfill_dag
from redolake.airflow.capture import capture_dag
from redolake.airflow.configuration import configuration_file
from redolake.airflow.doctor import doctor_dag
from redolake.airflow.maintain import maintain_dag
from redolake.airflow.mend import mend_dag
from redolake.airflow.recover import recover_dag
from redolake.airflow.snapshot import snapshot_dag
from redolake.airflow.tasks import task
from redolake.airflow.texts import code_block, in_code
from redolake.airflow.verify import verify_dag
from redolake.config import Pipeline, load_each
from redolake.errors import ConfigurationError

BUILDERS = (
    capture_dag,
    apply_dag,
    snapshot_dag,
    backfill_dag,
    verify_dag,
    doctor_dag,
    mend_dag,
    recover_dag,
    maintain_dag,
)


def build_dags(dag_file: Path) -> dict[str, DAG]:
    """Return DAGs by id, for the globals of the DAG file."""
    configuration, wrong = load_each(configuration_file(dag_file))
    dags = [dag for pipeline in configuration.pipelines.values() for dag in dags_of(pipeline)]
    return {dag.dag_id: dag for dag in [*dags, *(misconfigured_dag(name, error) for name, error in wrong.items())]}


def dags_of(pipeline: Pipeline) -> list[DAG]:
    """Return the DAGs of a pipeline; for a schedule or a notifier that Airflow cannot use, the one that shows it."""
    try:
        return [build(pipeline) for build in BUILDERS]
    except ConfigurationError as error:
        return [misconfigured_dag(pipeline.name, error)]


def misconfigured_dag(name: str, error: ConfigurationError) -> DAG:
    """Return a DAG that shows what is wrong, in place of those of a pipeline with mistakes. An import error would take the DAGs
    of all pipelines away."""

    @task(doc_md="Fails with the findings.", retries=0)
    def findings() -> None:
        raise AirflowFailException(str(error))

    dag_id = f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}_misconfigured"
    what = f"The settings of {in_code(name)} in pipelines.yml are wrong, so its DAGs are missing."
    doc = f"{what}\n\n{code_block([str(error)])}"
    with DAG(dag_id=dag_id, schedule=None, catchup=False, tags=["redolake", name, "misconfigured"], doc_md=doc) as dag:
        findings()
    return dag
