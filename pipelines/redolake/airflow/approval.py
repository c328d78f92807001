"""Choices that cannot be undone: a form confirms them with the pipeline's name, or a person approves them under *Required
Actions* in Airflow. Without either, nothing is done."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.notices import notifiers
from redolake.airflow.texts import TASKS
from redolake.config import Pipeline

log = logging.getLogger(__name__)
TASK, ASKED = "approve", "asked"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person has to approve. `shown` identifies what it is about, so that only this is done afterwards."""

    subject: str
    body: str
    shown: Any


@dataclass(frozen=True, slots=True)
class Decided:
    """Who decided and why; `shown` is None where the form confirmed the choice."""

    by: str
    reason: str
    shown: Any = None


Ask = Callable[[Pipeline, Mapping[str, Any]], Question | None]


class ApproveChoice(ApprovalOperator):
    """Ends at once if nothing was chosen that cannot be undone, or if the form confirmed it. Else it waits for a person."""

    template_fields = ()  # the texts contain names from Oracle, which are no templates

    def __init__(self, *, pipeline: Pipeline, ask: Ask, **settings: Any) -> None:
        to_notify = notifiers(pipeline, "on_approval")
        wait = timedelta(minutes=pipeline.airflow.approval_minutes)
        super().__init__(
            task_id=TASK, subject="", response_timeout=wait, doc_md=TASKS["approve"], notifiers=to_notify, **settings
        )
        self.pipeline, self.ask = pipeline, ask

    def execute(self, context: Any) -> Any:
        chosen = context["params"]
        if is_confirmed(self.pipeline, chosen):
            return None
        with resolved_pipeline(self.pipeline) as resolved:
            question = self.ask(resolved, chosen)
        if question is None:
            return None
        log.info("%s\n%s", question.subject, question.body)
        context["ti"].xcom_push(ASKED, {"subject": question.subject, "shown": question.shown})
        self.subject, self.body = question.subject, f"```text\n{question.body}\n```"
        reason = Param(chosen["reason"], type=["null", "string"], title="Reason", description="Stored with the decision.")
        self.params = ParamsDict({"reason": reason})
        return super().execute(context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        if event.get("chosen_options") == [self.REJECT]:
            from redolake import steps

            made, asked = answer(context, event), context["ti"].xcom_pull(task_ids=TASK, key=ASKED)
            log.warning("rejected by %s: nothing is done", made.by)
            with resolved_pipeline(self.pipeline) as resolved:
                steps.record_rejection(resolved, asked["subject"], reason=made.reason, by=made.by)
        return super().execute_complete(context, event)

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        if event["error_type"] == "timeout":
            raise AirflowFailException(
                f"nobody has approved it within {self.pipeline.airflow.approval_minutes:g} minutes, so nothing was done\n"
                "  do this: trigger it again, and answer under Required Actions"
            )
        super().process_trigger_event_error(event)


def find_decision(pipeline: Pipeline, context: Any) -> Decided:
    """Return who made the choice of this run. Raises AirflowFailException where neither the form nor a person confirmed it."""
    chosen = context["params"]
    if is_confirmed(pipeline, chosen):
        return Decided(trigger_user(context), chosen["reason"] or "")
    found, asked = (context["ti"].xcom_pull(task_ids=TASK, key=key) for key in ("return_value", ASKED))
    if not asked or not found or found["chosen_options"] != [ApprovalOperator.APPROVE]:
        raise AirflowFailException("not confirmed: nothing was done\n  do this: trigger it again")
    made = answer(context, found)
    return Decided(made.by, made.reason, asked["shown"])


def answer(context: Any, response: Mapping[str, Any]) -> Decided:
    """Return who answered, with the person who had asked, and the reason: the answer's own, else that of the form."""
    user, asked = response.get("responded_by_user") or {}, trigger_user(context)
    name = user.get("name") or user.get("id") or "unknown"
    written = (response.get("params_input") or {}).get("reason")
    return Decided(name if name == asked else f"{name}, asked by {asked}", written or context["params"]["reason"] or "")


def trigger_user(context: Any) -> str:
    return getattr(context["dag_run"], "triggering_user_name", None) or "airflow"


def is_confirmed(pipeline: Pipeline, chosen: Mapping[str, Any]) -> bool:
    """Return whether the form contains the pipeline's name. Raises AirflowFailException if it contains another text."""
    written = (chosen["confirm"] or "").strip()
    if written not in ("", pipeline.name):
        raise AirflowFailException(
            f"not confirmed: the field Confirm must contain {pipeline.name}\n  do this: trigger it again and fill it in, or "
            "leave it empty, so that the run waits for an approval"
        )
    return written == pipeline.name
