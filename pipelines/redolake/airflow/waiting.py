"""The first task of `<name>_capture`: plan, end the run if nothing is new, and use no worker while a log is due.

A waiting run blocks no other work: the gate says *wait* only if nothing can be mined without that log. But a deferred run
attracts no attention, and while it lasts no new run measures the runway. So it waits up to a deadline and then fails. The next
scheduled run waits again: a log is awaited without limit, and each deadline raises an alarm.
"""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import BaseOperator
from airflow.sdk.bases.skipmixin import SkipMixin
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.failures import failure, why_in_note
from redolake.airflow.groups import group_evenly
from redolake.airflow.links import PAGE_LINKS
from redolake.airflow.triggers import ArchivedLogTrigger, SourceTrigger
from redolake.config import Pipeline
from redolake.errors import SourceUnavailable, one_line

if TYPE_CHECKING:
    from redolake.steps import AwaitedLog

log = logging.getLogger(__name__)


class PlanWindow(BaseOperator, SkipMixin):
    """Returns the arguments of each `mine`; with none the run ends. An overdue log fails it, and the next run waits again."""

    inherits_from_skipmixin = True
    operator_extra_links = PAGE_LINKS

    def __init__(self, *, pipeline: Pipeline, **settings: Any) -> None:
        super().__init__(**settings)
        self.pipeline = pipeline

    def execute(self, context: Any) -> list[dict[str, Any]]:
        with why_in_note(context):
            return self.plan(context, {})

    def plan_again(self, context: Any, event: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Plan again after the trigger fired; only the plan decides, whatever the trigger saw."""
        log.info("%s", (event or {}).get("because"))
        with why_in_note(context):
            return self.plan(context, event or {})

    def plan(self, context: Any, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        from redolake import steps

        with resolved_pipeline(self.pipeline) as resolved:
            try:
                found = steps.plan_next_window(steps.Run(resolved, source_of(self.pipeline)))
            except SourceUnavailable as error:
                self.wait_for_source(error, event)
        log.info("%s: %s", found.outcome, found.reason)
        for table in found.announced:
            log.warning(
                "%s matches a pattern of `tables` and is not captured: `redolake status` says what to do", one_line(str(table))
            )
        if found.outcome == "window":
            return [{"window": found.window, "slice_numbers": numbers} for numbers in group_evenly(found.slices)]
        context["ti"].xcom_push("outcome", {"outcome": found.outcome, "reason": found.reason})
        if found.awaited is not None:
            self.wait(found.awaited, event)
        self.skip(ti=context["ti"], tasks=context["task"].get_flat_relatives(upstream=False))
        return []

    def wait_for_source(self, error: SourceUnavailable, event: Mapping[str, Any]) -> NoReturn:
        """Defer until Oracle answers, so that an outage is one waiting run. Raise the error at the deadline; without a retry,
        because the next scheduled run waits again."""
        now, deadline = datetime.now(UTC), timedelta(minutes=self.pipeline.wait_max_minutes)
        until = datetime.fromisoformat(event["outage_until"]) if "outage_until" in event else now + deadline
        if until <= now:
            raise failure(error, AirflowFailException) from None
        log.warning("%s", error)
        pipeline, retry = self.pipeline, self.pipeline.retry
        trigger = SourceTrigger(
            pipeline.name, str(pipeline.source.connection), retry.initial_seconds, retry.max_seconds, until.isoformat()
        )
        self.defer(trigger=trigger, method_name="plan_again")
        raise AssertionError("a deferred task does not go on")

    def wait(self, awaited: AwaitedLog, event: Mapping[str, Any]) -> None:
        """Defer until the log arrives or its deadline passes; never returns. Each awaited log has its own deadline."""
        now, deadline = datetime.now(UTC), timedelta(minutes=self.pipeline.wait_max_minutes)
        until = datetime.fromisoformat(event["until"]) if event.get("awaited") == asdict(awaited) else now + deadline
        if until <= now:
            from redolake import steps

            error = steps.log_overdue(awaited, deadline.total_seconds() / 60)
            log.error("%s", error)
            raise AirflowFailException(str(error))
        pipeline = self.pipeline
        trigger = ArchivedLogTrigger(
            pipeline.name, str(pipeline.source.connection), asdict(awaited), pipeline.wait_max_pause_seconds, until.isoformat()
        )
        self.defer(trigger=trigger, method_name="plan_again")
