"""`<name>_resume`: let held tables continue from their own positions. Started by hand, with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param, get_current_context

from redolake.airflow.approval import ApproveChoice, Question, find_decision, trigger_user
from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.fields import chosen_tables, confirmation, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import RESUME, TASKS, dag_text
from redolake.config import Pipeline
from redolake.errors import one_line

log = logging.getLogger(__name__)


CHOICES = {
    "null": "none: the cause is removed",  # as Airflow's form names the empty choice
    "ignore": "ignore: it changes neither columns, key nor rows",
    "follow": "follow: do the same in Delta, to its rows or its column",
    "keep": "keep: leave the rows in Delta as they are",
}


def question(pipeline: Pipeline, chosen: Mapping[str, Any]) -> Question | None:
    """Return the statements that a DDL choice answers. Without one a table only goes on, which loses nothing."""
    from redolake import steps

    if not chosen["ddl"]:
        return None
    found = {table: steps.look_up_ddl(pipeline, table, chosen["ddl"]) for table in chosen_tables(chosen)}
    lines = [CHOICES[chosen["ddl"]], *(f"{table}, SCN {one.scn}: {one.what}" for table, one in found.items())]
    shown = {table: one.address for table, one in found.items()}
    return Question(f"{pipeline.name}: {chosen['ddl']} the DDL that holds {', '.join(found)}", lines, shown)


def resume_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["resume"], retries=0)
    def resume() -> list[str]:
        """Return the tables that are held no more."""
        from redolake import steps

        context = get_current_context()
        with resolved_pipeline(pipeline) as resolved:
            chosen, reason = context["params"], context["params"]["reason"] or ""
            tables = chosen_tables(chosen)
            if chosen["ddl"]:
                by = find_decision(pipeline, context)
                made = [
                    steps.approve_ddl(
                        resolved, table, chosen["ddl"], reason=by.reason, by=by.by, address=(by.shown or {}).get(table)
                    )
                    for table in tables
                ]
                resumed = tuple(one.table for one in made)
            else:
                resumed = steps.resume_tables(resolved, tables, by=trigger_user(context), reason=reason)
        log.info("resumed: %s; the next batch catches them up", one_line(", ".join(resumed)))
        return list(resumed)

    captured = [str(t.id) for t in pipeline.tables]
    params = {
        "tables": tables_param(pipeline, captured if len(captured) == 1 else [], "Held tables.", fewest=1),
        "ddl": Param(
            None,
            type=["null", "string"],
            enum=[None if choice == "null" else choice for choice in CHOICES],
            values_display=CHOICES,
            title="DDL",
            description="Treat the statement that holds the tables in this way, once.",
        ),
        "reason": optional_text("Reason", "Stored with the decision; a DDL choice needs it."),
        "confirm": confirmation(pipeline, "a DDL choice"),
    }
    with DAG(**dag_settings(pipeline, "resume"), schedule=None, params=params, doc_md=dag_text(RESUME, pipeline)) as dag:
        ApproveChoice(pipeline=pipeline, ask=question) >> resume()
    return dag
