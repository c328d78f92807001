"""`<name>_capture`: plan a window, mine its slices in parallel, land it; or receive one from OpenLogReplicator."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, get_current_context
from airflow.sdk.exceptions import AirflowSkipException

from redolake.airflow.assets import landing_asset
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.forms import old_range
from redolake.airflow.groups import group_label
from redolake.airflow.lineage import is_installed, landing_folder, oracle_table, report_lineage
from redolake.airflow.links import MINE_LINKS, WINDOW_LINKS, give_links
from redolake.airflow.run_notes import leave_note, window_note
from redolake.airflow.runway import runway_task
from redolake.airflow.schedule import capture_schedule
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import StartRun, short_circuit_task, task
from redolake.airflow.texts import CAPTURE, RECEIVE, TASKS, dag_text
from redolake.airflow.waiting import PlanWindow
from redolake.config import Pipeline
from redolake.records.codec import from_body, to_body
from redolake.records.windows import SliceRecord
from redolake.values.redo import logs_text
from redolake.values.table import TableId

if TYPE_CHECKING:
    from redolake.steps import AlreadyLanded
    from redolake.steps.capture.windows import LandedWindowReport

log = logging.getLogger(__name__)


def slice_label(mined: SliceRecord | AlreadyLanded) -> str:
    """Return the name of a mapped task in Airflow's lists: the logs it read."""
    if not isinstance(mined, SliceRecord):
        return mined.logs or f"slice {mined.slice}, landed before"
    if not mined.logs:
        return f"slice {mined.number}"
    first, last = mined.logs[0].log, mined.logs[-1].log
    return logs_text(first.thread, first.sequence, last.sequence)


def log_mined(mined: SliceRecord | AlreadyLanded) -> None:
    if isinstance(mined, SliceRecord):
        log.info("%s: %s rows", slice_label(mined), sum(t.row_count for t in mined.logs))
    else:
        log.info("%s: the window has landed already, nothing is mined again", slice_label(mined))


def slice_to_xcom(mined: SliceRecord | AlreadyLanded) -> dict[str, Any]:
    return to_body(mined) if isinstance(mined, SliceRecord) else {"landed": True, "slice": mined.slice, "logs": mined.logs}


def slice_from_xcom(body: Mapping[str, Any]) -> SliceRecord | AlreadyLanded:
    from redolake import steps

    if body.get("landed"):
        return steps.AlreadyLanded(body["slice"], body.get("logs", ""))
    return from_body(SliceRecord, body, f"the record of slice {body.get('number')}")


def capture_dag(pipeline: Pipeline) -> DAG:
    landing = landing_asset(pipeline)

    @task(
        doc_md=TASKS["mine"],
        multiple_outputs=False,  # else each key of the result is an XCom of its own
        max_active_tis_per_dagrun=pipeline.parallel_sessions,
        map_index_template="{{ slice_label }}",
    )
    def mine(window: str, slice_numbers: list[int]) -> list[dict[str, Any]]:
        from redolake import steps

        context = get_current_context()
        context["slice_label"] = group_label([f"slice {number}" for number in slice_numbers])  # type: ignore[typeddict-unknown-key]
        context["task"].operator_extra_links = MINE_LINKS  # a mapped task is made from its class, which has none
        context["task"].redolake_window = window  # type: ignore[attr-defined]
        found = []
        with resolved_pipeline(pipeline) as resolved, steps.Run(resolved, source_of(pipeline)) as run:
            for number in slice_numbers:
                mined = steps.mine_window_slice(run, window, number)
                log_mined(mined)
                found.append(mined)
        context["slice_label"] = group_label([slice_label(mined) for mined in found])  # type: ignore[typeddict-unknown-key]
        return [slice_to_xcom(mined) for mined in found]

    @task(doc_md=TASKS["land"], multiple_outputs=False, outlets=[landing])
    def land(planned: list[dict[str, Any]], mined: list[list[dict[str, Any]]]) -> dict[str, Any]:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved, steps.Run(resolved, source_of(pipeline)) as run:
            records = [slice_from_xcom(body) for group in mined for body in group]
            landed = steps.land_window(run, planned[0]["window"], records)
            captured = steps.read_complete_to(run) if is_installed() else {}
        if landed.overtaken:
            log.info("window %s: the chain already continues past its start, there is nothing to land", landed.window)
        else:
            note_landed(landed)
        report_landed(pipeline, landed, captured)
        return asdict(landed)

    if pipeline.source.is_stream:
        return receive_dag(pipeline)
    settings = dag_settings(pipeline, "capture", capture_schedule(pipeline))
    params = {"old_range": old_range(pipeline)}
    with DAG(**settings, params=params, doc_md=dag_text(CAPTURE, pipeline)) as dag:
        runway_task(pipeline)
        planned = PlanWindow(task_id="plan", pipeline=pipeline, doc_md=TASKS["plan"]).output
        landed = give_links(land(planned, give_links(mine.expand_kwargs(planned), MINE_LINKS)), WINDOW_LINKS)
        if pipeline.patterns and pipeline.new_tables == "capture":
            join_new_tables(pipeline, landed)
    return dag


def note_landed(landed: LandedWindowReport) -> None:
    """Say in the log, on the run and by the task's links which window has landed."""
    context = get_current_context()
    note = window_note(landed.start_scn, landed.end_scn, landed.ends_at, landed.rows)
    log.info("window %s: %s, in %s", landed.window, note, landed.manifest)
    context["task"].redolake_window = landed.window  # type: ignore[attr-defined]
    leave_note(context, note)


def report_landed(pipeline: Pipeline, landed: LandedWindowReport, captured: Mapping[str, Any]) -> None:
    """Give the event of the landing its facts, and report the lineage where OpenLineage is installed."""
    context = get_current_context()
    extra = {"window": landed.window, "from_scn": landed.start_scn, "to_scn": landed.end_scn, "ends_at": landed.ends_at}
    context["outlet_events"][landing_asset(pipeline)].extra = extra
    if is_installed():
        source, container = source_of(pipeline), pipeline.source.container
        read = [] if source is None else [oracle_table(source.dsn, container, TableId.parse(name)) for name in sorted(captured)]
        report_lineage(context, read, [landing_folder(pipeline)])


def receive_dag(pipeline: Pipeline) -> DAG:
    """Return the DAG of a pipeline whose redo OpenLogReplicator reads."""

    @task(doc_md=TASKS["receive"], multiple_outputs=False, outlets=[landing_asset(pipeline)])
    def receive() -> dict[str, Any]:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved, steps.Run(resolved, source_of(pipeline)) as run:
            received = steps.receive_next_window(run)
            captured = steps.read_complete_to(run) if is_installed() else {}
        landed = received.landed
        if landed is None:
            raise AirflowSkipException(received.plan.reason)
        note_landed(landed)
        report_landed(pipeline, landed, captured)
        return asdict(landed)

    settings = dag_settings(pipeline, "capture", capture_schedule(pipeline))
    params = {"old_range": old_range(pipeline)}
    with DAG(**settings, params=params, doc_md=dag_text(RECEIVE, pipeline)) as dag:
        if pipeline.source.connection is not None:
            runway_task(pipeline)
        landed = give_links(receive(), WINDOW_LINKS)
        if pipeline.patterns and pipeline.new_tables == "capture":
            join_new_tables(pipeline, landed)
    return dag


def join_new_tables(pipeline: Pipeline, landed: Any) -> None:
    """Start the snapshot after a window has landed if a pattern has added tables that have no contents yet."""

    @short_circuit_task(doc_md=TASKS["new_tables"])
    def new_tables() -> list[str]:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            return steps.joined_tables(resolved)

    # No table is named: a second run that waits behind the first then finds nothing to do.
    snapshot = StartRun(
        task_id="snapshot",
        trigger_dag_id=f"{pipeline.name}_snapshot",
        conf={"tables": [], "replace": False},
        doc_md=TASKS["reload"],
    )
    landed >> new_tables() >> snapshot
