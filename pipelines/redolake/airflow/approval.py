"""Choices that cannot be undone: a form confirms them with the pipeline's name, or a person approves them under *Required
Actions* in Airflow. Without either, nothing is done.

With `airflow.approval_by_another`, only the approval counts, and only that of another person than who started the run. Airflow
knows both by name; where it knows one of them not, nobody may approve."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.failures import why_in_note
from redolake.airflow.notices import notifiers
from redolake.airflow.texts import TASKS, code_block
from redolake.config import Pipeline
from redolake.errors import one_line

log = logging.getLogger(__name__)
TASK, ASKED = "approve", "asked"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person has to approve. `shown` identifies what it is about, so that only this is done afterwards. The lines may
    contain any name and value."""

    subject: str
    lines: Sequence[str]
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
        with why_in_note(context):
            return self.ask_or_pass(context)

    def ask_or_pass(self, context: Any) -> Any:
        chosen = context["params"]
        if is_confirmed(self.pipeline, chosen):
            return None
        with resolved_pipeline(self.pipeline) as resolved:
            question = self.ask(resolved, chosen)
        if question is None:
            return None
        if self.pipeline.airflow.approval_by_another and not trigger_name(context):
            raise AirflowFailException(
                "Airflow does not know who started this run, so nobody can approve it as another person\n"
                "  do this: trigger it as a user of Airflow, on its page or by its API"
            )
        lines = [*map(one_line, (*question.lines, f"asked by {trigger_user(context)}"))]
        self.subject, self.body = one_line(question.subject), code_block(lines)
        log.info("%s", "\n".join([self.subject, *lines]))
        context["ti"].xcom_push(ASKED, {"subject": self.subject, "shown": question.shown})
        reason = Param(chosen["reason"], type=["null", "string"], title="Reason", description="Stored with the decision.")
        self.params = ParamsDict({"reason": reason})
        return super().execute(context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        with why_in_note(context):
            return self.take_answer(context, event)

    def take_answer(self, context: Any, event: dict[str, Any]) -> Any:
        if event.get("chosen_options") == [self.REJECT]:
            from redolake import steps

            made, asked = answer(context, event), context["ti"].xcom_pull(task_ids=TASK, key=ASKED)
            log.warning("rejected by %s: nothing is done", made.by)
            with resolved_pipeline(self.pipeline) as resolved:
                steps.record_rejection(steps.Run(resolved, by=made.by, reason=made.reason), asked["subject"])
        elif "error" not in event:
            check_another(self.pipeline, context, event)
        return super().execute_complete(context, event)

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        if event["error_type"] == "timeout":
            raise AirflowFailException(
                f"nobody has approved it within {self.pipeline.airflow.approval_minutes:g} minutes, so nothing was done\n"
                "  do this: trigger it again, and answer under Required Actions"
            )
        super().process_trigger_event_error(event)


def find_decision(pipeline: Pipeline, context: Any) -> Decided:
    """Return who made the choice of this run. Raises AirflowFailException where neither the form nor a person confirmed it,
    or not the person who has to."""
    chosen = context["params"]
    if is_confirmed(pipeline, chosen):
        return Decided(trigger_user(context), chosen["reason"] or "")
    found, asked = (context["ti"].xcom_pull(task_ids=TASK, key=key) for key in ("return_value", ASKED))
    if not asked or not found or found["chosen_options"] != [ApprovalOperator.APPROVE]:
        raise AirflowFailException("not confirmed: nothing was done\n  do this: trigger it again")
    check_another(pipeline, context, found)
    made = answer(context, found)
    return Decided(made.by, made.reason, asked["shown"])


def check_another(pipeline: Pipeline, context: Any, response: Mapping[str, Any]) -> None:
    """Raise AirflowFailException where another person has to approve, and who did is who started the run, or is not known."""
    if not pipeline.airflow.approval_by_another:
        return
    user, asked = response.get("responded_by_user") or {}, trigger_name(context)
    name, number = ((user.get(field) or "").strip() for field in ("name", "id"))
    is_known = bool(asked and name)
    if is_known and asked.casefold() not in (name.casefold(), number.casefold()):
        return
    what = f"{one_line(asked)} started this run and may not approve it" if is_known else "Airflow does not know who it was"
    raise AirflowFailException(
        f"not approved: {what}. Nothing was done\n  do this: trigger it again, and let another person answer"
    )


def answer(context: Any, response: Mapping[str, Any]) -> Decided:
    """Return who answered, with the person who had asked, and the reason: the answer's own, else that of the form."""
    user, asked = response.get("responded_by_user") or {}, trigger_user(context)
    name = user.get("name") or user.get("id") or "unknown"
    written = (response.get("params_input") or {}).get("reason")
    return Decided(name if name == asked else f"{name}, asked by {asked}", written or context["params"]["reason"] or "")


def trigger_name(context: Any) -> str:
    """Return the name of who started the run, as Airflow's login knows it; "" for a run of a schedule or of another DAG's."""
    return (getattr(context["dag_run"], "triggering_user_name", None) or "").strip()


def trigger_user(context: Any) -> str:
    return trigger_name(context) or "airflow"


def is_confirmed(pipeline: Pipeline, chosen: Mapping[str, Any]) -> bool:
    """Return whether the form contains the pipeline's name, and that is enough. Raises AirflowFailException if it contains
    another text."""
    if pipeline.airflow.approval_by_another:
        return False
    written = (chosen["confirm"] or "").strip()
    if written not in ("", pipeline.name):
        raise AirflowFailException(
            f"not confirmed: the field Confirm must contain {pipeline.name}\n  do this: trigger it again and fill it in, or "
            "leave it empty, so that the run waits for an approval"
        )
    return written == pipeline.name
