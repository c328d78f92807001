"""Airflow connections (database, environment or secrets backend) as what the steps take. Read inside tasks only."""

from __future__ import annotations

from typing import Any

from pipelines.config import Pipeline
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
