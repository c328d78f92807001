"""`<name>_backfill`: apply an old SCN range to shadow tables. Started by hand, with a form."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.failures import airflow_failures
from redolake.airflow.fields import chosen_tables, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.spark import spark_task
from redolake.airflow.tasks import short_circuit_task, task
from redolake.airflow.texts import BACKFILL, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding, one_line
from redolake.values.moment import FORMS, PATTERN

if TYPE_CHECKING:
    from redolake.steps import LogsToRead

log = logging.getLogger(__name__)

EXAMPLES = ["first", "now", "2026-11-20 08:00 Europe/Berlin"]
TARGETS = {
    "shadow": "shadow: tables beside the live ones, with what committed in the range",
    "live": "live: rows that the range has touched are read again in the live tables",
    "copy": "copy: whole copies of the tables at the range's end, for a swap",
    "changes": "changes: every change as it is, in Delta tables",
    "files": "files: every change as it is, in Parquet files",
}
SOURCES = {"landed": "landed: the windows that have landed", "logs": "logs: archived logs, mined again"}


def backfill_params(pipeline: Pipeline) -> dict[str, Param]:
    def moment(title: str, description: str) -> Param:
        about: dict[str, Any] = {"title": title, "description": description, "examples": EXAMPLES}  # with some, one line
        return Param(type=["string", "integer"], pattern=PATTERN, minimum=0, **about)

    captured = [str(t.id) for t in pipeline.tables]
    return {
        "from_scn": moment("From", f"Changes that committed from here on: {FORMS}."),
        "to_scn": moment("To", "Changes that committed before this moment, in the same forms."),
        "tables": tables_param(pipeline, captured, "Which tables to backfill.", fewest=1),
        "target": Param("shadow", type="string", enum=list(TARGETS), values_display=TARGETS, title="Target"),
        "reason": optional_text("Reason", "With live: stored with the commits; a run that is no dry run needs it."),
        "folder": optional_text("Folder", "With files: where they go, by its whole path."),
        "source": Param("landed", type="string", enum=list(SOURCES), values_display=SOURCES, title="Source"),
        "logs": Param(
            [],
            type=["null", "array"],
            items={"type": "string"},
            title="Logs",
            description="With logs: files or folders that the database can read, one on each line. None: V$ARCHIVED_LOG.",
        ),
        "schema": Param(
            "historic",
            enum=["historic", "current"],
            title="Columns",
            description="Those at the end of the range (historic), or those of today (current).",
        ),
        "dry_run": Param(True, type="boolean", title="Dry run", description="Only show the plan."),
    }


def chosen_logs(pipeline: Pipeline, chosen: Mapping[str, Any]) -> LogsToRead | None:
    """Return the logs that are mined again; None where the range has landed. Raises ConfigurationError for logs that would not
    be read."""
    from redolake import steps

    logs = tuple(name.strip() for name in chosen["logs"] or () if name.strip())
    if chosen["source"] == "logs":
        return steps.LogsToRead(logs, source_of(pipeline))
    if logs:
        raise ConfigurationError([Finding("Logs", "are given, and the source is landed", "choose the source logs")])
    return None


def backfill_here(pipeline: Pipeline, context: Any, logs: LogsToRead | None) -> None:
    """Read the rows of live tables again or make whole copies in this task, or log what that takes. Fails where some rows of
    live tables are not known."""
    from redolake import steps

    chosen = context["params"]
    is_live, how = chosen["target"] == "live", dict[str, Any]()
    step: Any = steps.backfill_live if is_live else steps.copy_tables
    if is_live:
        by, source = trigger_user(context), source_of(pipeline)
        how = {"reason": chosen["reason"] or "", "by": by, "from_logs": logs, "source": source}
    with resolved_pipeline(pipeline) as resolved:
        found = step(
            resolved, chosen["from_scn"], chosen["to_scn"], chosen_tables(chosen), execute=not chosen["dry_run"],
            report=log_line, opens=session_opener(pipeline), **how,
        )  # fmt: skip
    text = "\n".join(map(one_line, found.lines))
    if is_live and not found.is_whole:
        raise AirflowFailException(text)
    log.info("%s", text)


def backfill_dag(pipeline: Pipeline) -> DAG:
    @short_circuit_task(multiple_outputs=True, doc_md=TASKS["prepare"])
    def prepare() -> dict[str, Any]:
        from redolake import steps

        context = get_current_context()
        chosen = context["params"]
        folder = (chosen["folder"] or "").strip()
        with airflow_failures():
            logs = chosen_logs(pipeline, chosen)
            asked = {"schema": chosen["schema"], "folder": folder, "from_logs": logs is not None}
            steps.refuse_unused(chosen["target"], **asked, reason=chosen["reason"] or "")
        if chosen["target"] in ("live", "copy"):
            backfill_here(pipeline, context, logs)
            return {}
        with resolved_pipeline(pipeline) as resolved:
            prepared = steps.prepare_backfill(
                resolved,
                chosen["from_scn"],
                chosen["to_scn"],
                chosen_tables(chosen),
                bool(chosen["dry_run"]),
                chosen["schema"],
                logs,
                log_line,
                source_of(pipeline),
                chosen["target"],
                folder,
            )
        log.info("%s", prepared.plan)
        if prepared.batch is None:
            context["ti"].xcom_push("plan", prepared.plan)
            return {}
        return {"batch": prepared.batch, "plan": prepared.plan}

    @task(doc_md=TASKS["record"], multiple_outputs=False)
    def record(batch: str) -> dict[str, Any]:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            recorded = steps.record_backfill(resolved, batch)
        for table in recorded.tables:
            log.info("%s: %s in %s", one_line(table.table), table.short_text, table.target)
        return asdict(recorded)

    params = backfill_params(pipeline)
    with DAG(**dag_settings(pipeline, "backfill"), schedule=None, params=params, doc_md=dag_text(BACKFILL, pipeline)) as dag:
        batch = prepare()["batch"]
        recorded = record(batch)
        spark_task(pipeline, batch, TASKS["spark"]) >> recorded
    return dag
