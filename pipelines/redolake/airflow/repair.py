"""`<name>_repair`: read rows that `verify` found again, and merge them. Started by hand, with a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging

from airflow.sdk import DAG, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.fields import chosen_tables, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import REPAIR, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline
from redolake.errors import one_line

log = logging.getLogger(__name__)


def repair_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["repair"], multiple_outputs=False, retries=0)
    def repair() -> list[str]:
        """Return the tables whose rows are as in the source now. Fails if a repaired row still differs."""
        from redolake import steps

        context = get_current_context()
        chosen, by = context["params"], trigger_user(context)
        opens = session_opener(pipeline)
        found = []
        with resolved_pipeline(pipeline) as resolved:
            for table in chosen_tables(chosen):
                made = steps.repair_table(
                    resolved,
                    table,
                    reason=chosen["reason"] or "",
                    by=by,
                    source=source_of(pipeline),
                    report=log_line,
                    opens=opens,
                )
                log.info("%s", one_line(str(made)))
                found.append(made)
        if wrong := [one for one in found if not one.equal]:
            raise AirflowFailException("\n".join(map(str, wrong)))
        return [one.table for one in found]

    captured = [str(t.id) for t in pipeline.tables]
    params = {
        "tables": tables_param(
            pipeline, captured if len(captured) == 1 else [], "Tables whose last comparison found rows that differ.", fewest=1
        ),
        "reason": optional_text("Reason", "Stored with the repair and in the Delta commit; a repair needs it."),
    }
    with DAG(**dag_settings(pipeline, "repair"), schedule=None, params=params, doc_md=dag_text(REPAIR, pipeline)) as dag:
        repair()
    return dag
