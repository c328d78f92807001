"""`<name>_apply`: apply the landed windows that are not applied yet, in one Spark job per run."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import DAG, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.assets import landing_asset, publish_table_events, start_again, tables_alias
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.groups import group_evenly
from redolake.airflow.lineage import Place, column_facet, files, is_installed, landing_folder, oracle_table, report_lineage
from redolake.airflow.links import PAGE_LINKS, give_links
from redolake.airflow.metrics import send_metrics
from redolake.airflow.run_notes import leave_note, window_note
from redolake.airflow.schedule import apply_schedule
from redolake.airflow.settings import dag_settings
from redolake.airflow.spark import spark_task
from redolake.airflow.tasks import StartRun, short_circuit_task, task
from redolake.airflow.texts import APPLY, TASKS, dag_text
from redolake.config import Pipeline
from redolake.errors import ConfigurationError, TableHeld, one_line
from redolake.values.table import TableId
from redolake.values.utc import beside

if TYPE_CHECKING:
    from redolake.steps.apply.batch import RecordedBatch

log = logging.getLogger(__name__)


def apply_dag(pipeline: Pipeline) -> DAG:
    @short_circuit_task(multiple_outputs=True, doc_md=TASKS["prepare"])
    def prepare() -> dict[str, Any]:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            prepared = steps.prepare_batch(resolved)
        if prepared.batch is None:
            log.info("every landed window is applied")
            return {}
        scns = f"[{prepared.start_scn}, {prepared.end_scn}){beside(prepared.ends_at)}"
        log.info("commits of SCN %s, %s: %s", scns, prepared.reason, prepared.batch)
        return {"batch": prepared.batch}

    @task(doc_md=TASKS["record"], multiple_outputs=False, outlets=[tables_alias(pipeline)])
    def record(batch: str) -> dict[str, Any]:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            recorded, message = recorded_apply(resolved, batch)
            complete_to = steps.read_complete_to(resolved)
            send_metrics(resolved)
        for name, table in recorded.tables.items():
            log.info("%s: %s", one_line(name), ", ".join(f"{what} {value}" for what, value in asdict(table).items()))
        advanced = {name for name, table in recorded.tables.items() if table.state == "applied"}
        context = get_current_context()
        events = context["outlet_events"]
        publish_table_events(events, pipeline, advanced, complete_to, batch_extra(recorded))
        rows = sum(table.changed for table in recorded.tables.values())
        note = window_note(recorded.start_scn, recorded.end_scn, recorded.ends_at, rows)
        log.info("%s", note)
        leave_note(context, note)
        if is_installed():
            written = {name: files(pipeline.target(TableId.parse(name))) for name in sorted(advanced)}
            histories = [files(path) for name in written if (path := pipeline.history_target(TableId.parse(name))) is not None]
            written_to = [*written.values(), *histories]
            changes = {place: recorded.tables[name] for name, place in written.items()}
            report_lineage(context, [landing_folder(pipeline)], written_to, column_facets(pipeline, written), changes)
        if recorded.more:
            start_again(events, pipeline, recorded.end_scn)
        return {**asdict(recorded), "message": message}

    @task(doc_md=TASKS["check"])
    def check(recorded: dict[str, Any]) -> None:
        if recorded["message"]:
            raise AirflowFailException(recorded["message"])

    with DAG(
        **dag_settings(pipeline, "apply", apply_schedule(pipeline, landing_asset(pipeline))),
        doc_md=dag_text(APPLY, pipeline),
    ) as dag:
        batch = prepare()["batch"]
        recorded = record(batch)
        spark_task(pipeline, batch, TASKS["spark"]) >> recorded
        give_links(check(recorded), PAGE_LINKS[:1])
        if pipeline.may_resnapshot:
            snapshot_held_tables(pipeline)
    return dag


def column_facets(pipeline: Pipeline, written: Mapping[str, Place]) -> dict[Place, Any]:
    """Return the facets of Delta tables that say which columns of Oracle theirs are made of."""
    from redolake import steps

    try:
        source, container = source_of(pipeline), pipeline.source.container
    except ConfigurationError:
        source = None
    if source is None:
        return {}  # the batch is recorded, and apply needs no source
    with resolved_pipeline(pipeline) as resolved:
        origins = steps.read_column_lineage(resolved, written)
    tables = {one.table: oracle_table(source.dsn, container, TableId.parse(one.table)) for one in origins}
    return {written[one.table]: column_facet(tables[one.table], one) for one in origins}


def snapshot_held_tables(pipeline: Pipeline) -> None:
    """Start a snapshot of each held table that a policy lets read again by itself.

    It does not wait for the batch: a table that this run holds is started by the next one, which a timetable starts.
    """

    @short_circuit_task(doc_md=TASKS["held_tables"])
    def held_tables() -> list[dict[str, Any]]:
        """Return the values for each run of the snapshot's DAG; with none nothing is started."""
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            due = steps.begin_resnapshots(resolved)
        log.info("snapshotted again by itself: %s", one_line(", ".join(due)) or "no table")
        return [{"tables": tables, "replace": True, "by_policy": True} for tables in group_evenly(due)]

    StartRun.partial(
        task_id="snapshot",
        trigger_dag_id=f"{pipeline.name}_snapshot",
        doc_md=TASKS["reload"],
    ).expand(conf=held_tables())


def batch_extra(recorded: RecordedBatch) -> dict[str, Any]:
    """Return the facts of a batch that its events have. Those of an older batch, recorded again, are of that batch."""
    return {"batch_from_scn": recorded.start_scn, "batch_to_scn": recorded.end_scn, "batch_ends_at": recorded.ends_at}


def recorded_apply(pipeline: Pipeline, batch: str) -> tuple[RecordedBatch, str]:
    """Return what was recorded, and a message about tables this batch held: a failed task would publish no event at all."""
    from redolake import steps

    try:
        return steps.record_batch(pipeline, batch), ""
    except TableHeld as error:  # raised after everything is recorded
        return cast("RecordedBatch", error.outcome), str(error)
