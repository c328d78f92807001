"""Notify people, as `airflow` in pipelines.yml says: of a failed task, a missed deadline, a choice that waits for an approval.

A notifier is any subclass of Airflow's BaseNotifier, such as those of the Slack, PagerDuty and SMTP providers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseNotifier
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.module_loading import import_string

from redolake.airflow.configuration import configuration_of_airflow
from redolake.config import Pipeline, load_each
from redolake.errors import ConfigurationError, Finding

WITH_DEADLINE = frozenset({"capture", "apply"})


def notifiers(pipeline: Pipeline, event: str) -> list[BaseNotifier]:
    """Return the notifiers of an event such as `on_failure`. Raises ConfigurationError with the place of each mistake."""
    made, findings = [], []
    for number, setting in enumerate(getattr(pipeline.airflow, event)):
        where = f"pipelines.{pipeline.name}.airflow.{event}[{number}]"
        try:
            made.append(made_notifier(setting.notifier, setting.arguments))
        except Exception as error:  # a user's module may raise anything while it is imported or its class is called
            what = f"{setting.notifier}: {type(error).__name__}: {error}"
            cure = "name a subclass of BaseNotifier that every Airflow process can import, with the arguments that it takes"
            findings.append(Finding(where, what, cure))
    if findings:
        raise ConfigurationError(findings)
    return made


def made_notifier(path: str, arguments: dict[str, Any]) -> BaseNotifier:
    kind = import_string(path)
    if not (isinstance(kind, type) and issubclass(kind, BaseNotifier)):
        raise TypeError("it is no subclass of BaseNotifier")
    return kind(**arguments)


def deadline_of(pipeline: Pipeline, part: str) -> DeadlineAlert | None:
    """Return the deadline of a DAG's runs, from when they are queued. Airflow stores it with the DAG, so it has names only."""
    minutes = pipeline.airflow.deadline_minutes
    if minutes is None or part not in WITH_DEADLINE:
        return None
    notifiers(pipeline, "on_deadline")
    callback = AsyncCallback(notify_deadline, {"pipeline": pipeline.name})
    return DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(minutes=minutes), callback)


async def notify_deadline(pipeline: str, context: dict[str, Any]) -> None:
    """Notify `on_deadline`. The triggerer calls it; it reads pipelines.yml, as every process of Airflow can."""
    found, wrong = load_each(configuration_of_airflow())
    if pipeline in wrong:
        raise wrong[pipeline]
    await asyncio.to_thread(notify, notifiers(found.pipelines[pipeline], "on_deadline"), context)


def notify(chosen: Sequence[BaseNotifier], context: dict[str, Any]) -> None:
    for notifier in chosen:
        notifier(context)
