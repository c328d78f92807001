"""`<name>_verify`: compare tables with the source, cell by cell. Started by hand with a form, or by `verify_schedule`."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from airflow.sdk import DAG, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.fields import chosen_tables, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.spark import connect_url
from redolake.airflow.tasks import task
from redolake.airflow.texts import TASKS, VERIFY, dag_text
from redolake.config import Pipeline
from redolake.errors import one_line

log = logging.getLogger(__name__)


def verify_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["verify"], multiple_outputs=False, retries=0)
    def verify() -> dict[str, Any]:
        """Return how many tables are equal, and the others by name. Fails unless all are equal."""
        from redolake import steps

        context = get_current_context()
        chosen = chosen_tables(context["params"]) or None
        due = chosen is None and pipeline.verify.every is not None and str(context["dag_run"].run_type) == "scheduled"
        opens = session_opener(pipeline)
        with resolved_pipeline(pipeline) as resolved:
            found = steps.verify_tables(resolved, chosen, source_of(pipeline), report=log_line, opens=opens, due=due)
        wrong = [*(one for one in found.tables if not one.equal), *found.not_compared]
        equal = len(found.tables) + len(found.not_compared) - len(wrong)
        log.info("%s of %s tables are equal to the source", equal, equal + len(wrong))
        if wrong:
            raise AirflowFailException("\n".join(map(str, wrong)))
        return {"equal": equal}

    params = {"tables": tables_param(pipeline, [], "None chosen: all tables.")}
    settings = dag_settings(pipeline, "verify")
    with DAG(**settings, schedule=pipeline.verify_schedule, params=params, doc_md=dag_text(VERIFY, pipeline)) as dag:
        verify()
    return dag


def log_line(line: str) -> None:
    if line:  # empty lines only count work, for a terminal
        log.info("%s", one_line(line))


def session_opener(pipeline: Pipeline) -> Callable[[], Any] | None:
    """Return what opens a Connect session by Airflow's connection; None where Spark is opened without one."""
    return partial(connect_session, pipeline) if pipeline.spark.mode == "connect" else None


def connect_session(pipeline: Pipeline) -> Any:
    from redolake.apply.spark.start import start_session

    return start_session("connect", connect_url(pipeline.spark.connection), pipeline.spark.conf)
