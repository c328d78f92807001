"""Kill a process with SIGKILL after any write, run it again: the tables equal the source.

Each workflow is a sequence of commands that operators or DAGs run. Each command is repeated until it ends. Every attempt kills
itself after the first write at which no attempt was killed before (pipelines/crash.py). Between a kill and the repeat more
windows land, or the ledger is lost or replaced by an older copy. One pipeline goes through all workflows.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines import steps
from pipelines.apply.session import spark_conf
from pipelines.runtime import delta_jars, environment
from pipelines.table import TableId
from tests.delta_table import delta_rows
from tests.e2e.kills import (
    BOTH,
    IN_TURN,
    MEANWHILE,
    SECONDS,
    TABLES,
    ChangingSource,
    KillSequence,
    PipelineCopy,
    begin_first_snapshot,
    capture_all,
    load,
    prepare,
    read_snapshot_again,
    redolake,
)
from tests.fix_shop import open_shop
from tests.fix_spark import QUIET
from tests.unit.test_crash import NOT_KILLED_AT, ledger_points, named_points, writers_of_files
from tests.waiting import wait_until

pytestmark = pytest.mark.spark
everywhere = pytest.mark.skipif(
    "REDOLAKE_ALL_KILLS" not in os.environ,
    reason="takes an hour: every write of every workflow with every event between; `make soak` runs it",
)

PIPELINES = Path(steps.__file__).parents[1]


# --- The testbed of all cases ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class KillTestbed:
    source: ChangingSource
    folder: Path
    remote: str
    copy: PipelineCopy | None = None
    done: set[tuple[str, str]] = field(default_factory=set)
    names: Iterator[int] = field(default_factory=lambda: count(1))
    turns: Iterator[int] = field(default_factory=count)

    def new_copy(self) -> PipelineCopy:
        name = f"shop{next(self.names)}"
        return PipelineCopy(name, self.source, self.folder / name, self.remote)

    def usable_copy(self) -> PipelineCopy:
        """Return the pipeline that the earlier workflows left correct, or a new one if the last workflow failed."""
        copy, self.copy = self.copy, None
        if copy is None:
            self.source.finish_open()
            copy = self.new_copy()
            copy.catch_up()
            copy.keep_ledger()
        return copy

    def check(self, copy: PipelineCopy) -> None:
        """Compare every cell of both tables with the source, and check landing, batches and status."""
        for table in TABLES:
            delta = delta_rows(copy.pipeline.target(TableId.parse(table)))
            assert by_id(delta) == by_id(self.source.rows(table)), table
            assert len(delta) >= 9
        copy.check_landing()
        copy.check_batches()
        status = steps.read_status(copy.pipeline)
        assert {t.state for t in status.tables} == {"live"}
        still_open = int(self.source.open_one is not None)
        assert (status.lost, status.declared_gaps, status.open_transactions) == (None, (), still_open)
        copy.keep_ledger()
        self.copy = copy


def by_id(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["ID"]))


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory, connect: str) -> Iterator[KillTestbed]:
    remote = connect.replace("spark-connect", "sc")
    with open_shop(tmp_path_factory.mktemp("kills")) as shop:
        yield KillTestbed(ChangingSource(shop), shop.folder, remote)


# --- The workflows --------------------------------------------------------------------------------------------------------

ONE = ("parts",)
CATCH_UP = (redolake, "run", "--until-caught-up")
NOTHING_LEFT = (0, 1)  # 1: it is done already, and says so
Workflow = Callable[[KillTestbed, KillSequence], None]


def first_run(testbed: KillTestbed, kills: KillSequence) -> None:
    """Take the first snapshot of a new pipeline, then land the first windows and apply the first batch."""
    another = testbed.new_copy()
    kills.run(redolake, "snapshot")
    later_points = KillSequence(another, kills.killed_at, kills.between, kills.turns)
    later_points.run(begin_first_snapshot, another.name)
    kills.run_in_rounds(testbed.source.work, capture_all, kills.copy.name)
    kills.run(*CATCH_UP)


def ddl(testbed: KillTestbed, kills: KillSequence) -> None:
    """Apply a batch while columns are dropped and added, one of them with a default."""
    testbed.source.changing = ONE
    kills.kill_again_at("merge")
    testbed.source.work(ddl=True)
    kills.run(*CATCH_UP)


def re_snapshot(testbed: KillTestbed, kills: KillSequence) -> None:
    """Replace a live table's snapshot; batches have passed the snapshot's SCN before it is loaded."""
    testbed.source.changing = ONE
    scn = kills.copy.folder / "scn"
    testbed.source.work()
    kills.run(read_snapshot_again, kills.copy.name, "SHOP.PARTS", str(scn))
    testbed.source.more()
    kills.run(*CATCH_UP)
    kills.kill_again_at(
        "prepare_snapshot_load", "snapshot", "write_snapshot_result", "ledger.move_table", "ledger.record_complete_to"
    )
    kills.run(load, kills.copy.name, "SHOP.PARTS", int(scn.read_text()))


def held_table(testbed: KillTestbed, kills: KillSequence) -> None:
    """Hold a table because its Delta table is missing; put that back, resume the table and catch up."""
    target, aside = kills.copy.folder / "lake" / "shop" / "bins", kills.copy.folder / "aside"
    testbed.source.work()
    target.rename(aside)
    kills.run(*CATCH_UP, codes=(3,))
    aside.rename(target)
    kills.kill_again_at("merge", "prepare_batch")
    for _ in range(3):  # that it was released is nowhere but in the ledger, and so is lost with it
        kills.run(redolake, "resume", "SHOP.BINS", codes=NOTHING_LEFT)
        if kills.run(*CATCH_UP, codes=(0, 3)) == 0:
            break


def dropped_transaction(testbed: KillTestbed, kills: KillSequence) -> None:
    """Drop an open transaction; it commits, and a new snapshot repairs its table."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.run(*CATCH_UP)
    (still_open,) = steps.list_transactions(kills.copy.pipeline).open
    assert still_open.rows == 2
    kills.kill_again_at("ledger.record_decision")
    kills.run(redolake, "tx", "drop", still_open.xid, "--reason", "test", "--yes", codes=NOTHING_LEFT)
    testbed.source.finish()
    kills.run(*CATCH_UP)
    (drop,) = steps.list_transactions(kills.copy.pipeline).dropped
    assert (drop.state, drop.lacking) == ("committed", ("SHOP.PARTS",))
    kills.run(redolake, "snapshot", "--replace", "SHOP.PARTS")


def restored_logs(testbed: KillTestbed, kills: KillSequence) -> None:
    """Remove logs, so that capture stops; restore them, and it goes on."""
    testbed.source.changing = ONE
    testbed.source.work()
    testbed.source.shop.oracle.faults.purge_logs()
    testbed.source.more()
    kills.run(*CATCH_UP, codes=(1,))
    testbed.source.shop.oracle.faults.restore_logs()
    kills.run(*CATCH_UP)


def redo_loss(testbed: KillTestbed, kills: KillSequence) -> None:
    """Lose redo, and take new snapshots of the tables after it."""
    lose_redo(testbed, kills)
    kills.run(redolake, "recover", "--snapshot", "--yes", codes=NOTHING_LEFT)
    kills.run(redolake, "snapshot", "--replace", *TABLES)


def declared_gap(testbed: KillTestbed, kills: KillSequence) -> None:
    """Lose redo, declare a gap, and take new snapshots later."""
    lose_redo(testbed, kills)
    kills.kill_again_at("ledger.record_gap", "declare", "finish")
    kills.run(redolake, "recover", "--declare-gap", "--reason", "the tapes are gone", "--yes", codes=NOTHING_LEFT)
    kills.run(*CATCH_UP)
    kills.run(redolake, "snapshot", "--replace", *TABLES)


def lose_redo(testbed: KillTestbed, kills: KillSequence) -> None:
    """Lose redo that contains the commit of a transaction open before it."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.run(*CATCH_UP)
    testbed.source.finish()
    testbed.source.shop.oracle.faults.purge_logs()
    testbed.source.more()
    kills.kill_again_at("ledger.record_loss")
    kills.run(*CATCH_UP, codes=(1,))


def backfill_and_verify(testbed: KillTestbed, kills: KillSequence) -> None:
    """Backfill the last batch's range into shadow tables, mine again and verify: these commands write too, but to no table."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.copy.catch_up()  # a range can only begin after the snapshot
    before = steps.list_windows(kills.copy.pipeline)[-1]
    kills.run(redolake, "remine", before.name, codes=NOTHING_LEFT)  # 1: a lost ledger has no plan of the window
    testbed.source.work()
    kills.run(*CATCH_UP)
    last = steps.list_windows(kills.copy.pipeline)[-1]
    kills.kill_again_at("merge")
    scns = ("--from", str(before.end), "--to", str(last.end))
    kills.run(redolake, "backfill", "SHOP.PARTS", *scns, "--execute")
    shadow = kills.copy.folder / "lake" / "_shadow" / f"{before.end}-{last.end}" / "shop" / "parts"
    live = delta_rows(kills.copy.pipeline.target(TableId("SHOP", "PARTS")))
    brought = delta_rows(str(shadow))
    assert len(brought) > 5
    assert all(row in live for row in brought)
    kills.run(redolake, "verify", "SHOP.PARTS")


WORKFLOWS = (
    first_run,
    ddl,
    re_snapshot,
    held_table,
    dropped_transaction,
    restored_logs,
    redo_loss,
    declared_gap,
    backfill_and_verify,
)


def run_workflow(testbed: KillTestbed, workflow: Workflow, between: str, killed_at: Path) -> None:
    copy = testbed.new_copy() if workflow is first_run else testbed.usable_copy()
    testbed.source.changing = BOTH
    workflow(testbed, KillSequence(copy, killed_at, between, testbed.turns))
    testbed.done.add((workflow.__name__, between))

    copy.catch_up()
    testbed.check(copy)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.__name__)
def test_each_workflow_survives_a_kill_after_each_write(testbed: KillTestbed, workflow: Workflow) -> None:
    run_workflow(testbed, workflow, IN_TURN, testbed.folder / "killed-at")


@everywhere
@pytest.mark.parametrize("between", MEANWHILE)
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.__name__)
def test_each_workflow_survives_a_kill_after_each_write_with_each_event_between(
    testbed: KillTestbed, workflow: Workflow, between: str
) -> None:
    killed_at = testbed.folder / f"killed-at, {workflow.__name__}, {between}"
    run_workflow(testbed, workflow, between, killed_at)
    assert len(killed_at.read_text().splitlines()) > 5


# --- Killed from outside ---------------------------------------------------------------------------------------------


@everywhere
def test_a_client_may_be_killed_while_the_server_merges_for_it(testbed: KillTestbed) -> None:
    """The server continues the killed client's merge: the next run may conflict with it, and tries again."""
    copy = testbed.usable_copy()
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
    order = copy.folder / "order"
    testbed.source.work()
    copy.succeed(capture_all, copy.name)
    copy.succeed(prepare, copy.name, str(order))
    before = copy.data_files()
    settings = [f"--conf={key}={value}" for key, value in spark_conf(QUIET).items()]
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


# --- Full disks, and two at once --------------------------------------------------------------------------------------


def test_a_full_disk_while_spark_merges_stops_the_run_and_holds_no_table(testbed: KillTestbed) -> None:
    copy = testbed.usable_copy()
    copy.configure("16MiB")
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


def test_of_two_runs_at_once_one_gives_way(testbed: KillTestbed) -> None:
    copy = testbed.usable_copy()
    testbed.source.work()
    testbed.source.more()
    both = [copy.start_process(*CATCH_UP) for _ in range(2)]
    for process, _ in both:
        process.join(SECONDS)
    ends = [(process.exitcode, log.read_text()) for process, log in both]
    assert {code for code, _ in ends} <= {0, 75}, ends
    assert 0 in {code for code, _ in ends}, ends
    assert all("LeaseHeld" in said for code, said in ends if code == 75), ends

    testbed.source.finish()
    copy.catch_up()
    testbed.check(copy)


# --- No write is left out --------------------------------------------------------------------------------------------


# The workflows have no large objects, no settings of Delta, and only tables below the size that needs deletion vectors.
NOT_IN_WORKFLOWS = {
    "reread": "killed in tests/integration/test_large_objects.py",
    "whole": "killed in tests/integration/test_whole_tables.py",
    "ledger.restate_hold": "a held table's error text, which the next run writes again",
    "settings": "killed in tests/integration/spark/test_batch.py",
    "feature": "killed in tests/integration/spark/test_batch.py",
}


def test_no_write_is_left_out(testbed: KillTestbed) -> None:
    """Needs the workflows before it: only running them shows where they were killed."""
    if not {(workflow.__name__, IN_TURN) for workflow in WORKFLOWS} <= testbed.done:
        pytest.skip("needs all workflows of this module in the same run")
    killed_at = (testbed.folder / "killed-at").read_text().splitlines()

    assert (named_points() | ledger_points()) - set(NOT_IN_WORKFLOWS) <= set(killed_at)
    assert writers_of_files() - set(NOT_KILLED_AT) <= {line.partition(" ")[0] for line in killed_at}
