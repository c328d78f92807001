"""Build seven DAGs for each pipeline of pipelines.yml. A wrong file is one import error that lists all findings."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import DAG

from pipelines.airflow.apply import apply_dag
from pipelines.airflow.backfill import backfill_dag
from pipelines.airflow.capture import capture_dag
from pipelines.airflow.recover import recover_dag
from pipelines.airflow.resume import resume_dag
from pipelines.airflow.snapshot import snapshot_dag
from pipelines.airflow.verify import verify_dag
from pipelines.config import CONFIG_VARIABLE, DEFAULT_FILE, load_configuration

BUILDERS = (capture_dag, apply_dag, snapshot_dag, backfill_dag, verify_dag, resume_dag, recover_dag)


def configuration_file(dag_file: Path) -> Path:
    """Return REDOLAKE_CONFIG, else pipelines.yml beside the DAG file or one folder above: the working folders of Airflow's
    processes differ."""
    if named := os.environ.get(CONFIG_VARIABLE):
        return Path(named)
    beside = dag_file.resolve().parent
    return next((f for f in (beside / DEFAULT_FILE, beside.parent / DEFAULT_FILE) if f.exists()), beside / DEFAULT_FILE)


def build_dags(dag_file: Path) -> dict[str, DAG]:
    """Return DAGs by id, for the globals of the DAG file."""
    configuration = load_configuration(configuration_file(dag_file))
    dags = [build(pipeline) for pipeline in configuration.pipelines.values() for build in BUILDERS]
    return {dag.dag_id: dag for dag in dags}
