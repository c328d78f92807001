"""`<name>_fill_columns`: fill columns that tables lack and pipelines.yml wants now. Started by a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging

from airflow.sdk import DAG, Param, get_current_context

from redolake.airflow.approval import trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.fields import chosen_tables, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import FILL_COLUMNS, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline

log = logging.getLogger(__name__)


def fill_columns_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["fill"], multiple_outputs=False, retries=0)
    def fill() -> list[str]:
        """Return the tables that have their columns now; none after a dry run."""
        from redolake import steps

        context = get_current_context()
        chosen, by = context["params"], trigger_user(context)
        filled = list[str]()
        with resolved_pipeline(pipeline) as resolved:
            for table in chosen_tables(chosen):
                found = steps.fill_columns(
                    resolved,
                    table,
                    execute=not chosen["dry_run"],
                    reason=chosen["reason"] or "",
                    by=by,
                    source=source_of(pipeline),
                    report=log_line,
                    opens=session_opener(pipeline),
                )
                log.info("%s", "\n".join(found.lines))
                filled += [] if found.delta_version is None else [found.table]
        return filled

    captured = [str(t.id) for t in pipeline.tables]
    params = {
        "tables": tables_param(
            pipeline, captured if len(captured) == 1 else [], "Tables that lack columns which pipelines.yml wants.", fewest=1
        ),
        "reason": optional_text("Reason", "Stored with the decision; a run that is no dry run needs it."),
        "dry_run": Param(True, type="boolean", title="Dry run", description="Only show which columns, and AS OF which SCN."),
    }
    with DAG(
        **dag_settings(pipeline, "fill_columns"), schedule=None, params=params, doc_md=dag_text(FILL_COLUMNS, pipeline)
    ) as dag:
        fill()
    return dag
