"""The tasks of an operation whose work is a Spark job: it prepares the job, Spark runs it, and its end is recorded."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redolake.airflow.connections import resolved_pipeline
from redolake.airflow.forms import act, end_with, lines_of
from redolake.airflow.spark import spark_task
from redolake.airflow.tasks import short_circuit_task, task
from redolake.airflow.texts import TASKS
from redolake.config import Pipeline
from redolake.operations import Operation


def job_tasks(pipeline: Pipeline, operations: Mapping[str, Operation]) -> Any:
    """Return the first of the tasks of the only operation."""
    (operation,) = operations.values()

    @short_circuit_task(multiple_outputs=True, doc_md=TASKS["prepare"])
    def prepare() -> dict[str, Any]:
        """Return the spec of the job; end the run after a dry run, and where no job is needed."""
        (made,) = act(pipeline, operations, apart=True)
        return {} if made.rest is None else {"batch": made.rest, "plan": list(made.lines)}

    @task(doc_md=TASKS["ended"], multiple_outputs=False)
    def record(batch: str) -> list[str]:
        """Return what was done. Fails with what was not."""
        assert operation.record is not None
        with resolved_pipeline(pipeline) as resolved:
            made = operation.record(resolved, batch)
        end_with([made])
        return lines_of([made])

    prepared = prepare()
    batch = prepared["batch"]
    recorded = record(batch)
    spark_task(pipeline, batch, TASKS["spark"]) >> recorded
    return prepared
