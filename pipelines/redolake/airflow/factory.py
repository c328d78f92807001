"""Build nine DAGs for each pipeline of pipelines.yml.

A wrong pipeline shows its findings in a DAG of its own; a wrong file is one import error that lists all findings.
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context
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
from redolake.errors import ConfigurationError, Finding

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


def build_dags(dag_file: Path, *names: str) -> dict[str, DAG]:
    """Return DAGs by id, for the globals of the DAG file: of the pipelines whose names match one of `names`, or of all.

    In a task's process they are those of the task's own pipeline: Airflow says which DAG it wants, and 450 DAGs need a second.
    Raises ConfigurationError if a name matches no pipeline."""
    file = configuration_file(dag_file)
    configuration, wrong = load_each(file)
    known = [*configuration.pipelines, *wrong]
    if unknown := [name for name in names if not any(fnmatchcase(one, name) for one in known)]:
        raise ConfigurationError(
            [Finding(str(file), f"has no pipeline {name}, which {dag_file} builds", "correct either") for name in unknown]
        )
    dag_id = get_parsing_context().dag_id
    dags = list[DAG]()
    for name in (name for name in known if is_wanted(name, names, dag_id)):
        dags += [misconfigured_dag(name, wrong[name])] if name in wrong else dags_of(configuration.pipelines[name])
    return {dag.dag_id: dag for dag in dags}


def is_wanted(name: str, names: Sequence[str], dag_id: str | None) -> bool:
    """Tell whether a DAG file for `names` (none: all) builds the pipeline `name` where `dag_id` is wanted (None: all)."""
    named = not names or any(fnmatchcase(name, pattern) for pattern in names)
    return named and (dag_id is None or dag_id.startswith(f"{id_part(name)}_"))


def id_part(name: str) -> str:
    """Return `name` as Airflow takes it in a DAG's id: that of a wrong pipeline may be any text."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


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

    dag_id = f"{id_part(name)}_misconfigured"
    what = f"The settings of {in_code(name)} in pipelines.yml are wrong, so its DAGs are missing."
    doc = f"{what}\n\n{code_block([str(error)])}"
    with DAG(dag_id=dag_id, schedule=None, catchup=False, tags=["redolake", name, "misconfigured"], doc_md=doc) as dag:
        findings()
    return dag
