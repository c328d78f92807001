"""`<name>_doctor`: check the source, as `redolake doctor` does. Started by hand."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging

from airflow.sdk import DAG, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.run_notes import leave_note
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import DOCTOR, TASKS, dag_text
from redolake.config import Pipeline

log = logging.getLogger(__name__)
LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}


def doctor_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["doctor"], retries=0)
    def doctor() -> str:
        """Return the closing line, which the run's note has too. Fails with the errors, each with its cure."""
        from redolake import steps

        with resolved_pipeline(pipeline) as resolved:
            found = steps.examine(steps.Run(resolved, source_of(pipeline)))
        for finding in found.findings:
            log.log(LEVELS[finding.severity], "%s", finding)
        if not found.ok:
            errors = [str(finding) for finding in found.findings if finding.severity == "error"]
            raise AirflowFailException("\n".join([*errors, found.closing]))
        log.info("%s", found.closing)
        leave_note(get_current_context(), found.closing)
        return found.closing

    with DAG(**dag_settings(pipeline, "doctor"), doc_md=dag_text(DOCTOR, pipeline)) as dag:
        doctor()
    return dag
