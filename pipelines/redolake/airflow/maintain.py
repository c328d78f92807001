"""`<name>_maintain`: remove what `keep` says is too old, then maintain the Delta tables. Started by `maintain_schedule`, or by
hand with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import trigger_user
from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.settings import dag_settings
from redolake.airflow.spark import spark_task
from redolake.airflow.tasks import short_circuit_task, task
from redolake.airflow.texts import MAINTAIN, TASKS, dag_text
from redolake.config import Pipeline
from redolake.errors import one_line

log = logging.getLogger(__name__)


def maintain_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["prune"], multiple_outputs=False)
    def prune() -> dict[str, Any]:
        """Return what was removed, and what stays although it is old."""
        from redolake import steps

        context = get_current_context()
        execute = not context["params"]["dry_run"]
        with resolved_pipeline(pipeline) as resolved:
            found = steps.prune_pipeline(resolved, execute=execute, by=trigger_user(context) or "maintain_schedule")
        for line in steps.describe_pruned(found):
            log.info("%s", one_line(line))
        return asdict(found)

    @short_circuit_task(multiple_outputs=True, doc_md=TASKS["prepare"])
    def prepare() -> dict[str, Any]:
        """Return the spec of the job; end the run where no table has contents, and after a dry run."""
        from redolake import steps

        if get_current_context()["params"]["dry_run"]:
            return {}
        with resolved_pipeline(pipeline) as resolved:
            batch = steps.prepare_maintenance(resolved).batch
        return {} if batch is None else {"batch": batch}

    @task(doc_md=TASKS["maintained"], multiple_outputs=False)
    def record(batch: str) -> dict[str, Any]:
        """Return what was done. Fails with the tables that could not be maintained."""
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            found = steps.record_maintenance(resolved, batch)
        for line in steps.describe_maintenance(found):
            log.info("%s", one_line(line))
        wrong = [f"{one.table}: {one.error}" for one in found.tables if one.error]
        if wrong:
            raise AirflowFailException("\n".join(wrong))
        return {"optimized": [str(one.table) for one in found.tables if one.optimized], "left": list(found.left)}

    params = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only show what would go.")}
    settings = dag_settings(pipeline, "maintain")
    with DAG(**settings, schedule=pipeline.maintain_schedule, params=params, doc_md=dag_text(MAINTAIN, pipeline)) as dag:
        prepared = prepare()
        batch = prepared["batch"]
        recorded = record(batch)
        prune() >> prepared
        spark_task(pipeline, batch, TASKS["spark"]) >> recorded
    return dag
