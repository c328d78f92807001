"""When DAGs run: a pipeline's `schedule` in Airflow's terms, and the timetable that starts apply without an event."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Asset, AssetOrTimeSchedule, CronTriggerTimetable, DeltaTriggerTimetable
from croniter import croniter  # type: ignore[import-untyped]

from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding

# Runs do not represent a span of time, so any past date will do (@continuous starts no run without one).
START = datetime(2024, 1, 1, tzinfo=UTC)
CONTINUOUS = "@continuous"
PRESETS = frozenset({CONTINUOUS, "@hourly", "@daily", "@weekly", "@monthly"})
FALLBACK_CRON = "*/5 * * * *"
UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


def interval_of(schedule: str) -> timedelta | None:
    """Return the time between two starts of `every 10s` or `every 2 minutes`; None for any other text."""
    match = re.fullmatch(r"every\s+(\d+)\s*(s|m|h|seconds?|minutes?|hours?)", schedule.strip(), re.IGNORECASE)
    if match is None or int(match[1]) == 0:
        return None
    return timedelta(**{UNITS[match[2][0].lower()]: int(match[1])})


def capture_schedule(pipeline: Pipeline) -> Any:
    """Return cron text and presets as they are, `every 10s` as a timetable. Raises ConfigurationError for anything else."""
    schedule = pipeline.schedule
    if schedule is None or schedule in PRESETS:
        return schedule
    interval = interval_of(schedule)
    if interval is not None:
        return DeltaTriggerTimetable(interval)
    if not croniter.is_valid(schedule):
        cure = "write cron (`*/5 * * * *`), `every 30s`, `@continuous`, or null for manual runs"
        raise ConfigurationError([Finding(f"pipelines.{pipeline.name}.schedule", f"{schedule!r} is no schedule", cure)])
    return schedule


def apply_schedule(pipeline: Pipeline, landing: Asset) -> Any:
    """Return a schedule by landing events and by time, so that a lost event only delays. Without `schedule`: events alone."""
    schedule = pipeline.schedule
    if schedule is None:
        return landing
    cron = FALLBACK_CRON if schedule in PRESETS or interval_of(schedule) else schedule
    return AssetOrTimeSchedule(timetable=CronTriggerTimetable(cron, timezone="UTC"), assets=landing)
