"""A local Spark session with Delta, shared by a module's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from demo.services import QUICK_JAVA
from pipelines.apply.session import open_session

QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.default.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.python.worker.reuse": "true",
    # Short-lived: the first compiler is enough, and a small heap does.
    "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    # Nearly all the time of these tests went into planning and compiling queries over a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = open_session("local", "local[2]", {**QUIET, "spark.sql.warehouse.dir": str(warehouse)})
    yield session
    session.stop()
