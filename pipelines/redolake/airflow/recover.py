"""`<name>_recover`: carry out what a person chooses when redo is lost. Started by hand, with a form."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import ApproveChoice, Question, find_decision, trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.fields import chosen_tables, confirmation, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import StartRun, short_circuit_task
from redolake.airflow.texts import RECOVER, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline
from redolake.errors import one_line

if TYPE_CHECKING:
    from redolake.records.shown_facts import Choice

log = logging.getLogger(__name__)

CHOICES = {
    "show": "show: show what is lost and what each option costs; changes nothing",
    "restored": "restored: the logs were restored, check again",
    "snapshot": "snapshot: continue from now and read the tables again",
    "gap": "gap: continue without the lost redo; it stays visible until the tables are read again",
    "position": "position: continue from the SCN below, which is checked",
    "closing": "closing: show what closing a declared gap takes, now that its logs may be back; changes nothing",
    "close": "close: close a declared gap from logs that were restored",
}
CLOSE = ("closing", "close")
KINDS = ("snapshot", "gap", "position")
NEEDS = {"gap": " and a *Reason*", "position": ", an *SCN* and a *Reason*"}


def recover_params(pipeline: Pipeline) -> dict[str, Param]:
    return {
        "choice": Param("show", type="string", enum=list(CHOICES), values_display=CHOICES, title="Choice"),
        "scn": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            title="SCN",
            description="The position; the end of the gap to declare (optional); or an SCN in the gap to close (optional).",
        ),
        "reason": optional_text("Reason", "Stored with the decision; gap, position and close need it."),
        "tables": tables_param(
            pipeline,
            [],
            "With snapshot or close: none chosen means all. After a snapshot the others are held until read again.",
        ),
        "confirm": confirmation(pipeline, "snapshot, gap and position"),
    }


def in_form(choice: Choice) -> str:
    """Say how a way to continue is chosen here; some need work outside of Airflow."""
    from redolake.cockpit.actions import FORM_CHOICES

    name = FORM_CHOICES.get(choice.name)
    return choice.command if name is None else f"trigger this DAG again with *Choice* {name}{NEEDS.get(name, '')}"


def question(pipeline: Pipeline, chosen: Mapping[str, Any]) -> Question | None:
    """Return what a choice costs that cannot be undone."""
    from redolake import steps

    kind = chosen["choice"]
    if kind not in KINDS:
        return None
    cost = steps.cost_of(steps.inspect_redo_loss(pipeline, source_of(pipeline)), kind)
    given = (("SCN", chosen["scn"]), ("tables", ", ".join(chosen_tables(chosen))))
    lines = [cost, *(f"{name}: {value}" for name, value in given if value)]
    return Question(f"{pipeline.name}: {kind} after lost redo", "\n".join(lines), cost)


def close(pipeline: Pipeline, context: Any) -> None:
    """Close a declared gap, or log what it takes. Fails while logs are missing, or a table stays as it is."""
    from redolake import steps

    chosen = context["params"]
    with resolved_pipeline(pipeline) as resolved:
        found = steps.close_gap(
            resolved,
            chosen["scn"],
            chosen_tables(chosen),
            execute=chosen["choice"] == "close",
            reason=chosen["reason"] or "",
            by=trigger_user(context),
            source=source_of(pipeline),
            report=log_line,
            opens=session_opener(pipeline),
        )
    text = "\n".join(one_line(line) for line in found.lines if line)
    if found.missing or any(table.why_not for table in found.tables):
        raise AirflowFailException(text)
    log.info("%s", text)


def recover_dag(pipeline: Pipeline) -> DAG:
    @short_circuit_task(doc_md=TASKS["recover"])
    def decide() -> list[str]:
        """Return the tables to read again; with none the run ends."""
        from redolake import steps

        context = get_current_context()
        chosen = context["params"]
        if chosen["choice"] in CLOSE:
            close(pipeline, context)
            return []
        with resolved_pipeline(pipeline) as resolved:
            if chosen["choice"] not in KINDS:
                inspect = steps.recheck_redo_loss if chosen["choice"] == "restored" else steps.inspect_redo_loss
                found = inspect(resolved, source_of(pipeline))
                text = steps.recovery_text(found, in_form)
                if found.lost:
                    raise AirflowFailException(text)
                log.info("%s", text)
                return []
            by = find_decision(pipeline, context)
            made = steps.declare_gap(
                resolved,
                chosen["choice"],
                source_of(pipeline),
                scn=chosen["scn"],
                reason=by.reason,
                by=by.by,
                approved=by.shown,
            )
            log.info("SCN %s to %s is not read; the next run continues after it", made.from_scn, made.to_scn - 1)
            for dropped in made.dropped:
                log.warning("transaction %s: %s row(s) dropped", dropped.xid, dropped.rows)
            if chosen["choice"] != "snapshot":
                return []
            return chosen_tables(chosen) or steps.capturable_tables(resolved)

    params = recover_params(pipeline)
    with DAG(**dag_settings(pipeline, "recover"), schedule=None, params=params, doc_md=dag_text(RECOVER, pipeline)) as dag:
        again = decide()
        ApproveChoice(pipeline=pipeline, ask=question) >> again
        StartRun(
            task_id="snapshot",
            trigger_dag_id=f"{pipeline.name}_snapshot",
            conf={"tables": again, "replace": True},
            doc_md=TASKS["reload"],
        )
    return dag
