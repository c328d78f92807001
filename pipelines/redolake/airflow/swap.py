"""`<name>_swap`: put a whole copy in the place of its live table, or put back what that has replaced. Started by a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import trigger_user
from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.fields import chosen_tables, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import SWAP, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline

log = logging.getLogger(__name__)

CHOICES = {
    "swap": "swap: put a whole copy in the table's place",
    "undo": "undo: put back what the last swap of the table has replaced",
}


def swap_params(pipeline: Pipeline) -> dict[str, Param]:
    captured = [str(t.id) for t in pipeline.tables]
    chosen = captured if len(captured) == 1 else []
    return {
        "choice": Param("swap", type="string", enum=list(CHOICES), values_display=CHOICES, title="Choice"),
        "tables": tables_param(pipeline, chosen, "Which tables have such a copy.", fewest=1),
        "shadow": optional_text("Copy", "With swap: its name, as the log of the backfill with the target copy shows it."),
        "reason": optional_text("Reason", "Stored with the commit; a run that is no dry run needs it."),
        "dry_run": Param(True, type="boolean", title="Dry run", description="Only show what it takes."),
    }


def named_copy(chosen: Mapping[str, Any]) -> str | None:
    """Return the name of the copy; None for what the last swap has kept. Raises AirflowFailException where both, or none, are
    named."""
    name = (chosen["shadow"] or "").strip()
    if chosen["choice"] == "undo":
        if name:
            raise AirflowFailException("undo takes what the last swap has kept\n  do this: leave the field Copy empty")
        return None
    if not name:
        cure = "trigger the backfill with the target copy, whose log has the name; or choose undo"
        raise AirflowFailException(f"the field Copy is empty\n  do this: {cure}")
    return name


def swap_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["swap"], multiple_outputs=False, retries=0)
    def swap() -> list[str]:
        """Return what was kept of each table; nothing after a dry run."""
        from redolake import steps

        context = get_current_context()
        chosen, by = context["params"], trigger_user(context)
        name, kept = named_copy(chosen), list[str]()
        with resolved_pipeline(pipeline) as resolved:
            for table in chosen_tables(chosen):
                found = steps.swap_table(
                    resolved,
                    table,
                    name,
                    execute=not chosen["dry_run"],
                    reason=chosen["reason"] or "",
                    by=by,
                    report=log_line,
                    opens=session_opener(pipeline),
                )
                log.info("%s", "\n".join(found.lines))
                kept += [found.kept] if found.kept else []
        return kept

    params = swap_params(pipeline)
    with DAG(**dag_settings(pipeline, "swap"), schedule=None, params=params, doc_md=dag_text(SWAP, pipeline)) as dag:
        swap()
    return dag
