"""`<name>_drop_transaction`: list open transactions, show what dropping one costs, and drop it. Started by a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import ApproveChoice, Question, find_decision
from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.fields import confirmation, optional_text
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import DROP, TASKS, dag_text
from redolake.config import Pipeline

log = logging.getLogger(__name__)

CHOICES = {
    "list": "list: show the open transactions; changes nothing",
    "show": "show: show what dropping the transaction costs; changes nothing",
    "drop": "drop: never apply the transaction, however it ends",
}


def drop_params(pipeline: Pipeline) -> dict[str, Param]:
    return {
        "choice": Param("list", type="string", enum=list(CHOICES), values_display=CHOICES, title="Choice"),
        "xid": optional_text("Transaction", "Its XID, as the list shows it, such as 3.12.45."),
        "container": Param(
            None, type=["null", "integer"], minimum=0, title="Container", description="Only if the XID is open in several."
        ),
        "reason": optional_text("Reason", "Stored with the decision; drop needs it."),
        "confirm": confirmation(pipeline, "drop"),
    }


def question(pipeline: Pipeline, chosen: Mapping[str, Any]) -> Question | None:
    """Return what dropping the transaction costs."""
    from redolake import steps

    if chosen["choice"] != "drop":
        return None
    cost = steps.look_up_transaction(pipeline, chosen_xid(chosen), chosen["container"])
    return Question(f"{pipeline.name}: drop transaction {cost.xid}", cost.lines, cost.start_scn)


def drop_transaction_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["drop"], retries=0)
    def drop() -> str:
        """Return what was done."""
        from redolake import steps

        context = get_current_context()
        chosen = context["params"]
        with resolved_pipeline(pipeline) as resolved:
            if chosen["choice"] == "list":
                return log_transactions(steps.list_transactions(resolved))
            xid = chosen_xid(chosen)
            cost = steps.look_up_transaction(resolved, xid, chosen["container"])
            log.info("%s", "\n".join(cost.lines))
            if chosen["choice"] == "show":
                return "\n".join(cost.lines)
            by = find_decision(pipeline, context)
            begun_at = cost.start_scn if by.shown is None else by.shown
            steps.drop_transaction(resolved, xid, cost.con_id, reason=by.reason, by=by.by, start_scn=begun_at)
        log.warning("transaction %s is dropped; the next batch leaves out its rows", xid)
        return f"transaction {xid} is dropped"

    params = drop_params(pipeline)
    with DAG(
        **dag_settings(pipeline, "drop_transaction"), schedule=None, params=params, doc_md=dag_text(DROP, pipeline)
    ) as dag:
        ApproveChoice(pipeline=pipeline, ask=question) >> drop()
    return dag


def chosen_xid(chosen: Mapping[str, Any]) -> str:
    """Return the XID in the form's field Transaction. Raises AirflowFailException for an empty one."""
    if found := (chosen["xid"] or "").strip():
        return str(found)
    raise AirflowFailException(
        "the field Transaction is empty\n  do this: trigger it with `list`, and copy the XID from its log"
    )


def log_transactions(found: Any) -> str:
    """Log each open transaction; return how many there are."""
    for one in found.open:
        log.info(
            "%s of container %s: open since SCN %s (%s), %s row(s), user %s, redo thread %s",
            *(one.xid, one.con_id, one.start_scn, one.first_at, one.rows, one.username or "unknown", one.thread),
        )
    log.info("%s open transaction(s)", len(found.open))
    return f"{len(found.open)} open transaction(s)"
