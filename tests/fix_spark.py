"""A local Spark session with Delta, shared by all tests of a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from demo.services import JAVA, QUICK_JAVA
from pipelines.apply.session import open_session

# Most objects live as long as a query's plan, so a large young generation. Java collects all garbage whenever it makes the old
# one, or the room for classes, larger: both have their size from the start, in large pages, which Java has on Linux alone.
LARGE_PAGES = "-XX:+UseTransparentHugePages -XX:+AlwaysPreTouch" if sys.platform == "linux" else ""
HEAP = f"-Xms2g -Xmn800m -XX:MetaspaceSize=256m {LARGE_PAGES}"
# For the code that runs most, and with less code copied into one method: ten minutes do not repay what Java's second compiler
# compiles by default.
SECOND_COMPILER = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400 -XX:Tier4CompileThreshold=60000 "
    "-XX:Tier4BackEdgeThreshold=160000 -XX:MaxInlineLevel=4 -XX:FreqInlineSize=60 -XX:InlineSmallCode=500"
)

QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.default.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.python.worker.reuse": "true",
    "spark.driver.extraJavaOptions": f"{JAVA} {HEAP} {SECOND_COMPILER}",
    "spark.driver.memory": "2g",
    # Nearly all the time of these tests went into planning and compiling queries over a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Blocks stay in memory, and what Spark itself may break in a plan is tested by Spark.
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.shuffle.compress": "false",
    "spark.broadcast.compress": "false",
    # What a session remembers of queries and tables it no longer needs.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.databricks.delta.delta.log.cacheSize": "20",
    # VACUUM lists the files of a table in this many tasks, by default 10,000.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
# Of a Java that ends after one batch: the first compiler is enough.
QUIET_AND_SHORT = {**QUIET, "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Xmn512m"}
# For lakes on disk that one Java alone writes. By default Hadoop starts up to ten processes (chmod, readlink) for each commit.
ONE_JAVA_ON_DISK = {
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}


class WorkerSession:
    """The local session of one test process; opening it again after a Connect module costs less than one per module."""

    def __init__(self, warehouse: Path) -> None:
        self.settings = {**QUIET, **ONE_JAVA_ON_DISK, "spark.sql.warehouse.dir": str(warehouse)}
        self.session: SparkSession | None = None

    def open(self) -> SparkSession:
        """Return the session; open a new one after `close`, or where a pipeline has stopped the last one."""
        if self.session is None or self.session.sparkContext._jsc is None:
            self.session = open_session("local", "local[2]", self.settings)
        return self.session

    def close(self) -> None:
        """Stop the session: a process cannot use a local session and a Connect session side by side."""
        if self.session is not None:
            self.session.stop()
        self.session = None


@pytest.fixture(scope="session")
def worker_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerSession]:
    found = WorkerSession(tmp_path_factory.mktemp("warehouse"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def spark(worker_session: WorkerSession) -> SparkSession:
    return worker_session.open()
