"""Turn Airflow connections (database, environment or secrets backend) into arguments of the steps. Used inside tasks only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from redolake.airflow.failures import airflow_failures
from redolake.config import LedgerSettings, Pipeline
from redolake.errors import ConfigurationError, Finding
from redolake.host.secrets import connection_variable

LOCAL_EXECUTORS = ("LocalExecutor", "SequentialExecutor")


def connection_json(conn_id: str, named_by: str = "") -> str:
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return str(Connection.get(conn_id).as_json())
    except AirflowNotFoundException as error:
        cure = f"add it under Admin > Connections, or set AIRFLOW_CONN_{conn_id.upper()}"
        what = "does not exist in Airflow" + (f", and {named_by} names it" if named_by else "")
        raise ConfigurationError([Finding(f"connection {conn_id}", what, cure)]) from error


def terminal_connection(conn_id: str) -> str | None:
    """Return a connection of Airflow's database or secrets backend as JSON, in a process that is no task; None without one."""
    from airflow.exceptions import AirflowNotFoundException
    from airflow.models import Connection

    try:
        return str(Connection.get_connection_from_secrets(conn_id).as_json())
    except AirflowNotFoundException:
        return None


def source_of(pipeline: Pipeline) -> Any:
    """Return the pipeline's source as ConnectParams, which shows its password in no repr and no XCom; None without one."""
    from redolake.source.connection import connection_from_json

    def params_of(field: str) -> Any:
        if (conn_id := getattr(pipeline.source, field)) is None:
            return None
        text = connection_json(conn_id, f"`source.{field}` of {pipeline.name}")
        return connection_from_json(text, f"connection {conn_id}")

    own, primary = params_of("connection"), params_of("primary")
    return own if own is None or primary is None else replace(own, primary=primary)


def with_ledger_url(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with the URL of its ledger connection. The URL holds a password: never put it in XCom or logs."""
    conn_id = pipeline.ledger.connection
    if conn_id is None:
        check_executor(pipeline)
        return pipeline
    from redolake.ledger.connection import url_of_connection

    url = url_of_connection(connection_json(conn_id), f"connection {conn_id}")
    return pipeline.model_copy(update={"ledger": LedgerSettings(url=url)})


def check_executor(pipeline: Pipeline) -> None:
    """Raise ConfigurationError where tasks may run on several hosts and the ledger is a SQLite file, of which each host would
    have its own."""
    if not pipeline.ledger_url.startswith("sqlite"):
        return
    from airflow.configuration import conf

    executors = [name.strip() for name in conf.get("core", "executor").split(",")]
    distributed = [name for name in executors if not name.endswith(LOCAL_EXECUTORS)]
    if distributed:
        what = f"is a SQLite file, and Airflow's {', '.join(distributed)} may run tasks on several hosts"
        cure = "set ledger.connection or ledger.url in pipelines.yml to a PostgreSQL database"
        raise ConfigurationError([Finding(f"ledger of {pipeline.name}", what, cure)])


@contextmanager
def resolved_pipeline(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Yield the pipeline that steps take, and turn their errors into Airflow's."""
    with airflow_failures():
        set_keys(pipeline)
        yield with_ledger_url(pipeline)


def set_keys(pipeline: Pipeline) -> None:
    """Let this process, and the Spark that it starts, find the keys of masks and of the landing that are in
    Airflow's connections."""
    for conn_id in pipeline.key_connections:
        os.environ[connection_variable(conn_id)] = connection_json(conn_id)
