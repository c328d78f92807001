"""Connections that Airflow keeps in its database or secrets backend, for commands in a terminal on one of its machines."""

from __future__ import annotations

import os
import sys
from configparser import RawConfigParser
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding
from redolake.host.secrets import connection_variable
from redolake.source.connection import is_connection_set


def is_airflow_set_up() -> bool:
    """Return whether this environment has an Airflow with settings; importing one without would create a folder for them."""
    if find_spec("airflow") is None:
        return False
    return "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" in os.environ or airflow_file().exists()


def airflow_file() -> Path:
    return Path(os.environ.get("AIRFLOW_HOME") or Path.home() / "airflow") / "airflow.cfg"


def airflow_executors() -> list[str]:
    """Return the executors of this machine's Airflow, read from its variable or its file, without importing it."""
    text = os.environ.get("AIRFLOW__CORE__EXECUTOR", "")
    if not text:
        settings = RawConfigParser(strict=False)
        settings.read(airflow_file())
        text = settings.get("core", "executor", fallback="")
    return [name.strip() for name in text.split(",") if name.strip()]


def read_from_airflow(*conn_ids: str | None) -> None:
    """Set AIRFLOW_CONN_<ID> in this process for connections that are not set, as far as Airflow knows them."""
    missing = [conn_id for conn_id in conn_ids if conn_id and not is_connection_set(conn_id, os.environ)]
    if not missing or not is_airflow_set_up():
        return
    with redirect_stdout(sys.stderr):  # Airflow logs to stdout, where results go
        from redolake.airflow.connections import terminal_connection

        for conn_id in missing:
            try:
                found = terminal_connection(conn_id)
            except Exception as error:  # whatever the backend raises
                what = f"Airflow could not be asked: {type(error).__name__}: {error}"
                cure = f"export {connection_variable(conn_id)}, or correct Airflow's settings in this terminal"
                raise ConfigurationError([Finding(f"connection {conn_id}", what, cure)]) from error
            if found is not None:
                os.environ[connection_variable(conn_id)] = found


def resolve_connections(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline once the connections to its source, to Spark where a server is used, and those with the keys of masks
    are known."""
    remote = pipeline.spark.connection if pipeline.spark.mode == "connect" else None
    spark = None if "REDOLAKE_SPARK_REMOTE" in os.environ else remote
    read_from_airflow(pipeline.source.connection, pipeline.source.primary, spark, *pipeline.key_connections)
    return pipeline
