"""Airflow connections (database, environment or secrets backend) as what the steps take. Read inside tasks only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.airflow.failures import failing_as_airflow
from pipelines.config import Ledger, Pipeline
from pipelines.errors import ConfigurationError, Finding


def connection_json(conn_id: str) -> str:
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return str(Connection.get(conn_id).as_json())
    except AirflowNotFoundException as error:
        cure = f"add it under Admin > Connections, or set AIRFLOW_CONN_{conn_id.upper()}"
        raise ConfigurationError([Finding(f"connection {conn_id}", "is not known to Airflow", cure)]) from error


def source_of(pipeline: Pipeline) -> Any:
    """The pipeline's source as ConnectParams, whose password no repr and no XCom shows."""
    from pipelines.source.connection import connection_from_json

    conn_id = pipeline.source.connection
    return connection_from_json(connection_json(conn_id), f"connection {conn_id}")


def resolved(pipeline: Pipeline) -> Pipeline:
    """With the URL of the ledger that its connection names. It holds a password: for steps, never for XCom or logs."""
    conn_id = pipeline.ledger.connection
    if conn_id is None:
        return pipeline
    from pipelines.ledger.connection import url_of_connection

    url = url_of_connection(connection_json(conn_id), f"connection {conn_id}")
    return pipeline.model_copy(update={"ledger": Ledger(url=url)})


@contextmanager
def working(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Around the steps of a task: the pipeline as they take it, and their errors as Airflow's."""
    with failing_as_airflow():
        yield resolved(pipeline)
