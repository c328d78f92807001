"""The settings that all DAGs of a pipeline share: one run at a time, no catch-up by date, retries as configured."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pipelines.airflow.schedule import START
from pipelines.config import Pipeline

STARTED_BY_HAND = frozenset({"snapshot", "backfill", "verify", "resume", "recover"})


def dag_settings(pipeline: Pipeline, part: str) -> dict[str, Any]:
    return {
        "dag_id": f"{pipeline.name}_{part}",
        # A form starts these: a paused DAG would queue the run for ever.
        "is_paused_upon_creation": False if part in STARTED_BY_HAND else None,
        "start_date": START,
        "catchup": False,
        "max_active_runs": 1,
        "tags": ["redolake", pipeline.name],
        "default_args": retry_settings(pipeline),
    }


def retry_settings(pipeline: Pipeline) -> dict[str, Any]:
    retry = pipeline.retry
    return {
        "retries": retry.attempts - 1,
        "retry_delay": timedelta(seconds=retry.first_seconds),
        "retry_exponential_backoff": 2.0,
        "max_retry_delay": timedelta(seconds=retry.most_seconds),
    }
