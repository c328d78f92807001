"""When DAGs run: a pipeline's `schedule` as Airflow takes it, and what wakes apply when no event does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Asset, AssetOrTimeSchedule, CronTriggerTimetable, DeltaTriggerTimetable
from croniter import croniter  # type: ignore[import-untyped]

from pipelines.config import Pipeline
from pipelines.errors import ConfigurationError, Finding

# Runs stand for no span of time, so the date only has to lie in the past (@continuous starts no run without one).
START = datetime(2024, 1, 1, tzinfo=UTC)
CONTINUOUS = "@continuous"
PRESETS = frozenset({CONTINUOUS, "@hourly", "@daily", "@weekly", "@monthly"})
FALLBACK_CRON = "*/5 * * * *"
UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


def interval_of(schedule: str) -> timedelta | None:
    """`every 10s`, `every 2 minutes`: the time between two starts."""
    match = re.fullmatch(r"every\s+(\d+)\s*(s|m|h|seconds?|minutes?|hours?)", schedule.strip(), re.IGNORECASE)
    if match is None or int(match[1]) == 0:
        return None
    return timedelta(**{UNITS[match[2][0].lower()]: int(match[1])})


def capture_schedule(pipeline: Pipeline) -> Any:
    """Cron text and presets as they are, `every 10s` as a timetable; raises ConfigurationError for anything else."""
    schedule = pipeline.schedule
    if schedule is None or schedule in PRESETS:
        return schedule
    interval = interval_of(schedule)
    if interval is not None:
        return DeltaTriggerTimetable(interval)
    if not croniter.is_valid(schedule):
        cure = "write cron (`*/5 * * * *`), `every 30s`, `@continuous`, or null for runs by hand"
        raise ConfigurationError([Finding(f"pipelines.{pipeline.name}.schedule", f"{schedule!r} is no schedule", cure)])
    return schedule


def apply_schedule(pipeline: Pipeline, landing: Asset) -> Any:
    """By the landing's event, and by time: an event that got lost must only delay. By hand means no time at all."""
    schedule = pipeline.schedule
    if schedule is None:
        return landing
    cron = FALLBACK_CRON if schedule in PRESETS or interval_of(schedule) else schedule
    return AssetOrTimeSchedule(timetable=CronTriggerTimetable(cron, timezone="UTC"), assets=landing)
