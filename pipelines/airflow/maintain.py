"""`<name>_maintain`: remove what `keep` says is too old. Started by `maintain_schedule`, or by hand with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task

from pipelines.airflow.approval import trigger_user
from pipelines.airflow.connections import resolved_pipeline
from pipelines.airflow.settings import dag_settings
from pipelines.airflow.texts import MAINTAIN, TASKS, dag_text
from pipelines.config import Pipeline

log = logging.getLogger(__name__)


def maintain_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["prune"], multiple_outputs=False)
    def prune() -> dict[str, Any]:
        """Return what was removed, and what stays although it is old."""
        from pipelines import steps

        context = get_current_context()
        execute = not context["params"]["dry_run"]
        with resolved_pipeline(pipeline) as resolved:
            found = steps.prune_pipeline(resolved, execute=execute, by=trigger_user(context) or "maintain_schedule")
        for line in steps.describe_pruned(found):
            log.info("%s", line)
        return asdict(found)

    params = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only show what would go.")}
    settings = dag_settings(pipeline, "maintain")
    with DAG(**settings, schedule=pipeline.maintain_schedule, params=params, doc_md=dag_text(MAINTAIN, pipeline)) as dag:
        prune()
    return dag
