"""Airflow in a temporary folder (tests/fixtures/airflow.py must be imported first), and a Spark Connect server."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from unittest import mock

import pytest

from demo.processes import DemoProcesses
from demo.services import new_services
from demo.walkthrough import listens
from redolake.host.connect_token import TOKEN
from tests.fixtures.airflow import airflow_db
from tests.fixtures.s3 import S3
from tests.fixtures.spark import WorkerSession

__all__ = ["airflow_db"]

DEADLINE_SECONDS = 120
SESSION = str(uuid.uuid4())
TOKEN_OF_TESTS = uuid.uuid4().hex


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory, s3_server: S3) -> Iterator[str]:
    """Start the Spark Connect server that `spark.mode: connect` uses, on disk and on S3; yield its Airflow connection URI. It
    takes who sends the token, which is in the environment of all tests."""
    os.environ[TOKEN] = TOKEN_OF_TESTS
    services = new_services(tmp_path_factory.mktemp("connect"))
    processes = DemoProcesses(services.process_record, services.folder / "logs")
    try:
        env = {**services.environment(), **s3_server.environment}
        processes.start("spark", [*services.spark_command(), "--s3"], env, services.folder)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not listens(services.spark_port):
            processes.check()
            assert time.monotonic() < deadline, "the Connect server does not listen"
            time.sleep(0.2)
        yield f"spark-connect://127.0.0.1:{services.spark_port}"
    finally:
        processes.stop()
        del os.environ[TOKEN]


@pytest.fixture(scope="module")
def connect(connect_server: str, worker_session: WorkerSession) -> Iterator[str]:
    """Yield the Connect server's address. pyspark notes Connect in the environment and then opens no local session.

    All clients of this process use one session and never release it: the server starts new Python workers for each session.
    """
    from pyspark.sql.connect.client.core import ChannelBuilder, SparkConnectClient

    worker_session.close()
    one_session = mock.patch.object(ChannelBuilder, "session_id", SESSION)
    with one_session, mock.patch.object(SparkConnectClient, "release_session"):
        yield connect_server
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
