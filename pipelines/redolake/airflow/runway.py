"""The task `runway` of every capture run: measure how long redo that is still needed will be kept.

It fails below the threshold, so that it is red in the grid and failure callbacks run. As a teardown task it does not change
the state of the run, and no task waits for it.
"""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.metrics import send_metrics
from redolake.airflow.tasks import task
from redolake.airflow.texts import TASKS
from redolake.config import Pipeline

log = logging.getLogger(__name__)
# The next run measures again; a source that hangs must not delay this run, and so the next window.
TIMEOUT = timedelta(minutes=2)


def runway_task(pipeline: Pipeline) -> Any:
    @task(doc_md=TASKS["runway"], retries=0, execution_timeout=TIMEOUT)
    def runway() -> None:
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            found = steps.measure_runway(resolved, source=source_of(pipeline))
            send_metrics(resolved)
        log.info("%s; %s", found.summary, found.standing)
        for finding in found.findings:
            log.log(logging.INFO if finding.severity == "note" else logging.WARNING, "%s", finding)
        if found.state != "enough":
            raise AirflowFailException("\n".join([found.summary, *(str(f) for f in found.findings if f.severity != "note")]))

    return runway().as_teardown(on_failure_fail_dagrun=False)
