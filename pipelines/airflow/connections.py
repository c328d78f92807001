"""Turn Airflow connections (database, environment or secrets backend) into arguments of the steps. Used inside tasks only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.airflow.failures import airflow_failures
from pipelines.config import LedgerSettings, Pipeline
from pipelines.errors import ConfigurationError, Finding


def connection_json(conn_id: str) -> str:
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return str(Connection.get(conn_id).as_json())
    except AirflowNotFoundException as error:
        cure = f"add it under Admin > Connections, or set AIRFLOW_CONN_{conn_id.upper()}"
        raise ConfigurationError([Finding(f"connection {conn_id}", "does not exist in Airflow", cure)]) from error


def source_of(pipeline: Pipeline) -> Any:
    """Return the pipeline's source as ConnectParams, which shows its password in no repr and no XCom."""
    from pipelines.source.connection import connection_from_json

    conn_id = pipeline.source.connection
    return connection_from_json(connection_json(conn_id), f"connection {conn_id}")


def with_ledger_url(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with the URL of its ledger connection. The URL holds a password: never put it in XCom or logs."""
    conn_id = pipeline.ledger.connection
    if conn_id is None:
        return pipeline
    from pipelines.ledger.connection import url_of_connection

    url = url_of_connection(connection_json(conn_id), f"connection {conn_id}")
    return pipeline.model_copy(update={"ledger": LedgerSettings(url=url)})


@contextmanager
def resolved_pipeline(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Yield the pipeline that steps take, and turn their errors into Airflow's."""
    with airflow_failures():
        yield with_ledger_url(pipeline)
