"""The settings that all DAGs of a pipeline share: one run at a time, no catch-up by date, retries as configured."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from redolake.airflow.notices import deadline_of, notifiers
from redolake.airflow.schedule import START
from redolake.config import Pipeline
from redolake.operations import MENDS, OPERATIONS

DESCRIPTIONS = {
    "capture": "Reads the redo of {name} and lands it; {name}_backfill applies an old range again",
    "apply": "Applies what {name} has landed to its Delta tables",
    "snapshot": "Loads the first contents of tables of {name}",
    "doctor": "Checks the source of {name}",
    "mend": f"Mends tables of {{name}} by hand: {', '.join(MENDS)}",
    "maintain": "Removes what {name} need not keep any longer, and maintains its Delta tables",
    **{part: f"{{name}}: {OPERATIONS[part].does}" for part in ("backfill", "verify", "recover")},
}
# Not Airflow's backfill, whose runs do not count against `max_active_runs`: each stands for a date, and each would mine the
# same windows. Redo has SCNs: `<name>_backfill` takes them.
RUN_TYPES = ("scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization")
STARTED_BY_HAND = frozenset(DESCRIPTIONS) - {"capture", "apply"}

BY_ITSELF, BY_HAND = "runs by itself", "by hand"
PRIORITY = {"backfill": {"priority_weight": 0}}  # what is new goes first: other tasks have 1, and what comes after them


def dag_settings(pipeline: Pipeline, part: str, schedule: Any = None) -> dict[str, Any]:
    return {
        "schedule": schedule,
        "dag_id": f"{pipeline.name}_{part}",
        # A form starts these: a paused DAG would queue the run for ever.
        "is_paused_upon_creation": False if part in STARTED_BY_HAND else None,
        "start_date": START,
        "catchup": False,
        "max_active_runs": 1,
        "allowed_run_types": RUN_TYPES,
        "tags": ["redolake", pipeline.name, BY_HAND if schedule is None else BY_ITSELF, *pipeline.airflow.tags],
        "description": DESCRIPTIONS[part].format(name=pipeline.name),
        "default_args": {**retry_settings(pipeline), **task_settings(pipeline), **PRIORITY.get(part, {})},
        "deadline": deadline_of(pipeline, part),
    }


def task_settings(pipeline: Pipeline) -> dict[str, Any]:
    """Return what all tasks share. A failed task notifies and not only a failed run: `runway` fails no run."""
    chosen = pipeline.airflow
    where = {n: v for n, v in (("pool", chosen.pool), ("queue", chosen.queue)) if v is not None}
    return {"owner": chosen.owner, **where, "on_failure_callback": notifiers(pipeline, "on_failure")}


def retry_settings(pipeline: Pipeline) -> dict[str, Any]:
    retry = pipeline.retry
    return {
        "retries": retry.attempts - 1,
        "retry_delay": timedelta(seconds=retry.initial_seconds),
        "retry_exponential_backoff": 2.0,
        "max_retry_delay": timedelta(seconds=retry.max_seconds),
    }
