"""Airflow in a folder of the tests' own (see tests/fix_airflow.py for what must happen first), and Spark as a server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from demo.processes import Crew
from demo.scene import new_scene
from demo.story import listens
from tests.fix_airflow import airflow_db

__all__ = ["airflow_db"]

DEADLINE_SECONDS = 120


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Connect server that is kept alive, as `spark.mode: connect` has it; its connection in Airflow's words."""
    scene = new_scene(tmp_path_factory.mktemp("connect"))
    crew = Crew(scene.record, scene.folder / "logs")
    try:
        crew.start("spark", scene.spark(), scene.child_environment(), scene.folder)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not listens(scene.spark_port):
            crew.check()
            assert time.monotonic() < deadline, "the Connect server does not listen"
            time.sleep(0.2)
        yield f"spark-connect://127.0.0.1:{scene.spark_port}"
    finally:
        crew.stop()


@pytest.fixture(scope="module")
def connect(connect_server: str) -> Iterator[str]:
    """For a module that works through the server: pyspark keeps in mind that it did, and would open no classic session."""
    yield connect_server
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
