"""`<name>_resume`: let held tables continue from their own positions. Started by hand, with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging

from airflow.sdk import DAG, Param, get_current_context, task

from pipelines.airflow.connections import resolved_pipeline
from pipelines.airflow.settings import dag_settings
from pipelines.airflow.snapshot import chosen_tables, tables_param
from pipelines.airflow.texts import RESUME, TASKS, dag_text
from pipelines.config import Pipeline

log = logging.getLogger(__name__)


CHOICES = {
    "null": "none: the cause is removed",  # as Airflow's form names the empty choice
    "ignore": "ignore: it changes neither columns, key nor rows",
    "evolve": "evolve: change the column in Delta too",
    "follow": "follow: delete the rows in Delta too",
    "keep": "keep: leave the rows in Delta as they are",
}


def resume_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["resume"], retries=0)
    def resume() -> list[str]:
        """Return the tables that are held no more."""
        from pipelines import steps

        context = get_current_context()
        by = getattr(context["dag_run"], "triggering_user_name", None) or "airflow"
        with resolved_pipeline(pipeline) as resolved:
            chosen, reason = context["params"], context["params"]["reason"] or ""
            tables = chosen_tables(chosen)
            if chosen["ddl"]:
                made = [steps.approve_ddl(resolved, table, chosen["ddl"], reason=reason, by=by) for table in tables]
                resumed = tuple(one.table for one in made)
            else:
                resumed = steps.resume_tables(resolved, tables, by=by, reason=reason)
        log.info("resumed: %s; the next batch catches them up", ", ".join(resumed))
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
        "reason": Param(
            None, type=["null", "string"], title="Reason", description="Stored with the decision; a DDL choice needs it."
        ),
    }
    with DAG(**dag_settings(pipeline, "resume"), schedule=None, params=params, doc_md=dag_text(RESUME, pipeline)) as dag:
        resume()
    return dag
