"""`runway`, beside every capture run: how much time is left before redo that is still needed may be deleted.

It fails below the threshold, so that it is red in the grid and calls the callbacks of failed tasks. The run goes by landing: a
teardown task does not count for its state, and nothing waits for it.
"""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from airflow.sdk import task
from airflow.sdk.exceptions import AirflowFailException

from pipelines.airflow.connections import source_of, working
from pipelines.airflow.texts import TASKS
from pipelines.config import Pipeline
from pipelines.errors import Finding

log = logging.getLogger(__name__)
# The next run asks again; a source that hangs must not hold this run, and with it the next window, for long.
MOST = timedelta(minutes=2)


def runway_task(pipeline: Pipeline) -> Any:
    @task(doc_md=TASKS["runway"], retries=0, execution_timeout=MOST)
    def runway() -> None:
        from pipelines import steps

        with working(pipeline) as resolved:
            found = steps.measure_runway(resolved, source_of(pipeline))
        log.info("%s; %s", found["summary"], found["standing"])
        findings = [Finding(**finding) for finding in found["findings"]]
        for finding in findings:
            log.log(logging.INFO if finding.severity == "note" else logging.WARNING, "%s", finding)
        if found["state"] != "enough":
            raise AirflowFailException("\n".join([found["summary"], *(str(f) for f in findings if f.severity != "note")]))

    return runway().as_teardown(on_failure_fail_dagrun=False)
