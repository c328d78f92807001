"""The settings that all DAGs of a pipeline share: one run at a time, no catch-up by date, retries as configured."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from redolake.airflow.notices import deadline_of, notifiers
from redolake.airflow.schedule import START
from redolake.config import Pipeline

DESCRIPTIONS = {
    "capture": "Reads the redo of {name} and lands it; {name}_backfill applies an old range again",
    "apply": "Applies what {name} has landed to its Delta tables",
    "snapshot": "Loads the first contents of tables of {name}",
    "backfill": "Applies an old SCN range of {name} to shadow tables",
    "verify": "Compares tables of {name} with the source, cell by cell",
    "doctor": "Checks the source of {name}",
    "mend": "Mends tables of {name} by hand: resume, repair, quarantine, fill columns, swap, drop a transaction",
    "maintain": "Removes what {name} need not keep any longer",
    "recover": "Shows what lost redo of {name} costs, and carries out a choice",
}
# Not Airflow's backfill, whose runs do not count against `max_active_runs`: each stands for a date, and each would mine the
# same windows. Redo has SCNs: `<name>_backfill` takes them.
RUN_TYPES = ("scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization")
STARTED_BY_HAND = frozenset(DESCRIPTIONS) - {"capture", "apply"}

PRIORITY = {"backfill": {"priority_weight": 0}}  # what is new goes first: other tasks have 1, and what comes after them


def dag_settings(pipeline: Pipeline, part: str) -> dict[str, Any]:
    return {
        "dag_id": f"{pipeline.name}_{part}",
        # A form starts these: a paused DAG would queue the run for ever.
        "is_paused_upon_creation": False if part in STARTED_BY_HAND else None,
        "start_date": START,
        "catchup": False,
        "max_active_runs": 1,
        "allowed_run_types": RUN_TYPES,
        "tags": ["redolake", pipeline.name, *pipeline.airflow.tags],
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
