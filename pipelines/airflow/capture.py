"""`<name>_capture`: plan a window, mine its slices in parallel, land it."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, get_current_context, task

from pipelines.airflow.assets import landing_asset
from pipelines.airflow.connections import resolved_pipeline, source_of
from pipelines.airflow.runway import runway_task
from pipelines.airflow.schedule import capture_schedule
from pipelines.airflow.settings import dag_settings
from pipelines.airflow.texts import CAPTURE, TASKS, dag_text
from pipelines.airflow.waiting import PlanWindow
from pipelines.config import Pipeline

log = logging.getLogger(__name__)


def slice_label(record: Mapping[str, Any]) -> str:
    """Return the name of a mapped task in Airflow's lists: the logs it read."""
    logs = [tally["log"] for tally in record.get("logs", ())]
    if not logs:
        return f"slice {record.get('number', record.get('slice'))}"
    first, last = logs[0]["sequence"], logs[-1]["sequence"]
    return f"redo thread {logs[0]['thread']}, " + (f"log {first}" if first == last else f"logs {first}-{last}")


def capture_dag(pipeline: Pipeline) -> DAG:
    landing = landing_asset(pipeline)

    @task(
        doc_md=TASKS["mine"],
        max_active_tis_per_dagrun=pipeline.mining_tasks,
        map_index_template="{{ slice_label }}",
    )
    def mine(window: str, slice_number: int) -> dict[str, Any]:
        from pipelines import steps

        context = get_current_context()
        context["slice_label"] = f"slice {slice_number}"  # type: ignore[typeddict-unknown-key]
        with resolved_pipeline(pipeline) as resolved:
            record = dict(steps.mine_window_slice(resolved, source_of(pipeline), window, slice_number))
        context["slice_label"] = label = slice_label(record)  # type: ignore[typeddict-unknown-key]
        log.info("%s: %s rows", label, sum(tally["row_count"] for tally in record.get("logs", ())))
        return record

    @task(doc_md=TASKS["land"], outlets=[landing])
    def land(planned: list[dict[str, Any]], mined: list[dict[str, Any]]) -> dict[str, Any]:
        from pipelines import steps

        with resolved_pipeline(pipeline) as resolved:
            landed = dict(steps.land_window(resolved, planned[0]["window"], list(mined)))
        if landed.get("overtaken"):
            log.info("window %s: the chain already continues past its start, there is nothing to land", landed["window"])
        else:
            log.info("window %s: %s rows in %s", landed["window"], landed["rows"], landed["manifest"])
        get_current_context()["outlet_events"][landing].extra = {k: landed[k] for k in ("window", "start", "end")}
        return landed

    settings = dag_settings(pipeline, "capture")
    with DAG(**settings, schedule=capture_schedule(pipeline), doc_md=dag_text(CAPTURE, pipeline)) as dag:
        runway_task(pipeline)
        planned = PlanWindow(task_id="plan", pipeline=pipeline, doc_md=TASKS["plan"]).output
        land(planned, mine.expand_kwargs(planned))
    return dag
