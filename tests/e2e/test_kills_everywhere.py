"""Kill a process with SIGKILL after Spark's writes through a Connect server, run it again: the tables equal the source.

tests/integration/test_kills_without_spark.py kills after every other write, and after each of Spark's that it has too. `make
soak` runs its workflows here, and kills after every write of each, with every event between.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from redolake import steps
from redolake.apply.spark.session import spark_conf
from redolake.host.runtime import delta_jars, environment
from tests.e2e.kill_workflows import (
    CATCH_UP,
    WORKFLOWS,
    KillTestbed,
    Workflow,
    each_write_of_spark,
    quarantined_row,
    run_workflow,
)
from tests.e2e.kills import IN_TURN, MEANWHILE, SECONDS, ChangingSource, capture_all, prepare
from tests.fixtures.shop import open_shop
from tests.fixtures.spark import QUIET_AND_SHORT
from tests.support.assumes import assumes
from tests.support.waiting import wait_until
from tests.thirds import third_of_this_run
from tests.unit.host.test_crash import spark_points

pytestmark = pytest.mark.spark
everywhere = pytest.mark.skipif(
    "REDOLAKE_ALL_KILLS" not in os.environ,
    reason="takes an hour: every write of every workflow with every event between; `make soak` runs it",
)

PIPELINES = Path(steps.__file__).parents[1]
# A transaction is dropped by its rows in Spark's carry-over.
DROP = {"drop_transaction drops/*.json", "ledger.record_decision"}
NOT_IN_WORKFLOWS = {
    **dict.fromkeys(("optimize", "retention", "vacuum"), "stopped at in tests/integration/spark/test_maintenance.py"),
    "feature": "killed in tests/integration/spark/test_batch.py: no table is large enough for deletion vectors",
    **dict.fromkeys(("quarantine", "quarantine decision"), "killed in the next test"),
    **dict.fromkeys(("events", "old events"), "killed in tests/integration/spark/test_events.py"),
    **dict.fromkeys(
        ("history created", "history", "history's columns", "history cut"),
        "stopped at in tests/integration/test_history.py, and in its Spark tests",
    ),
    "columns added": "killed in tests/integration/test_filled_columns.py",
    "repair": "killed in tests/integration/spark/test_verify_buckets.py",
    "snapshot's log put aside": "killed in tests/integration/spark/test_snapshot.py: no log is damaged",
    **dict.fromkeys(("changes", "copy removed", "copy's rows", "swap"), "killed in tests/integration/test_backfill_ranges.py"),
    **dict.fromkeys(
        ("copy", "copy's position", "quarantine copied", "rows as of"), "nothing depends on what a read AS OF an SCN leaves"
    ),
}


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory, connect: str) -> Iterator[KillTestbed]:
    remote = connect.replace("spark-connect", "sc")
    with open_shop(tmp_path_factory.mktemp("kills")) as shop:
        yield KillTestbed(ChangingSource(shop), shop.folder, remote)


def test_a_pipeline_survives_a_kill_after_each_write_of_spark(testbed: KillTestbed) -> None:
    """The first snapshot and batch of the pipeline are not killed."""
    killed_at, points = testbed.folder / "killed-at", third_of_this_run().of(spark_points() | DROP)

    run_workflow(testbed, each_write_of_spark, IN_TURN, killed_at, points)

    assert points_in(killed_at) == points - set(NOT_IN_WORKFLOWS)


def test_a_row_is_in_quarantine_once_after_a_kill_at_each_write_of_it(testbed: KillTestbed) -> None:
    killed_at, points = testbed.folder / "killed-at, quarantine", third_of_this_run().of({"quarantine", "quarantine decision"})

    run_workflow(testbed, quarantined_row, IN_TURN, killed_at, points)

    assert points_in(killed_at) == points


def points_in(killed_at: Path) -> set[str]:
    return set(killed_at.read_text().splitlines()) if killed_at.exists() else set()


@everywhere
@pytest.mark.parametrize("between", [IN_TURN, *MEANWHILE])
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.__name__)
def test_each_workflow_survives_a_kill_after_each_write_with_each_event_between(
    testbed: KillTestbed, workflow: Workflow, between: str
) -> None:
    killed_at = testbed.folder / f"killed-at, {workflow.__name__}, {between}"
    run_workflow(testbed, workflow, between, killed_at)
    assert len(killed_at.read_text().splitlines()) > 5


# --- Killed from outside ---------------------------------------------------------------------------------------------


@assumes(
    "a server goes on with the statement of a client that is gone",
    of="pyspark",
    used_in="docs/architecture/writes.md",
    says="a Connect server goes on with the statement of a killed client",
)
@everywhere
def test_a_client_may_be_killed_while_the_server_merges_for_it(testbed: KillTestbed) -> None:
    """The server continues the killed client's merge: the next run may conflict with it, and tries again."""
    copy = testbed.usable_copy()
    copy.configure(few_changes="merge")
    testbed.source.work()
    before = copy.data_files()
    process, log = copy.start_process(*CATCH_UP)
    wait_until(lambda: copy.data_files() != before or not process.is_alive(), SECONDS)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, log.read_text()
    assert steps.read_status(copy.pipeline).windows[-1].state == "landed"

    testbed.source.finish()
    wait_until(lambda: copy.run_process(*CATCH_UP)[0] == 0, SECONDS)
    testbed.check(copy)


@everywhere
def test_a_spark_job_may_be_killed_while_it_merges(testbed: KillTestbed) -> None:
    """Kill spark-submit, its JVM and its driver at once."""
    copy = testbed.usable_copy()
    copy.configure(few_changes="merge")
    order = copy.folder / "order"
    testbed.source.work()
    copy.succeed(capture_all, copy.name)
    copy.succeed(prepare, copy.name, str(order))
    before = copy.data_files()
    settings = [f"--conf={key}={value}" for key, value in spark_conf(QUIET_AND_SHORT).items()]
    jars = ",".join(delta_jars())
    job = [
        "spark-submit",
        "--master",
        "local[2]",
        "--jars",
        jars,
        *settings,
        str(PIPELINES / "job" / "job.py"),
        order.read_text(),
    ]
    env = {name: value for name, value in environment().items() if name != "SPARK_CONNECT_MODE_ENABLED"}  # ours, not its
    with (copy.folder / "submit.log").open("w") as log:
        submitted = subprocess.Popen(job, env=env, stdout=log, stderr=log, start_new_session=True)
    wait_until(lambda: copy.data_files() != before or submitted.poll() is not None, SECONDS)
    assert submitted.poll() is None, (copy.folder / "submit.log").read_text()[-2000:]
    os.killpg(submitted.pid, signal.SIGKILL)
    assert submitted.wait() == -signal.SIGKILL, (copy.folder / "submit.log").read_text()[-2000:]
    assert not Path(order.read_text()).with_name("manifest.json").exists()

    testbed.source.finish()
    copy.catch_up()
    testbed.check(copy)


# --- A full disk ------------------------------------------------------------------------------------------------------


def test_a_full_disk_while_spark_merges_stops_the_run_and_holds_no_table(testbed: KillTestbed) -> None:
    copy = testbed.usable_copy()
    copy.configure("16MiB", few_changes="merge")
    testbed.source.much()
    with file_limit(server_of(testbed.remote), 128 * 1024):
        code, said = copy.run_process(*CATCH_UP)
    assert code == 1, said[-2000:]
    assert "LakeFull: " in said
    assert {t.state for t in steps.read_status(copy.pipeline).tables} == {"live"}

    testbed.source.finish()
    copy.catch_up()
    testbed.check(copy)


def server_of(remote: str) -> psutil.Process:
    port = int(remote.rpartition(":")[2])
    return next(
        psutil.Process(c.pid) for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN and c.laddr.port == port
    )


@contextmanager
def file_limit(process: psutil.Process, file_bytes: int) -> Iterator[None]:
    """Limit the size of the process's files, as if the device were full."""
    before = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (file_bytes, before[1]))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, before)
