"""kill -9 behind any write, then the same again: the tables equal the source.

Each way is something that people or DAGs do. It is begun again and again, and each time the process kills itself behind a write
at which it was not killed before (pipelines/crash.py), until it ends; between a kill and the repeat more windows land, or the
ledger is lost or put back from an older copy. One copy of the source lives on from way to way.
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
    Copy,
    Kills,
    Source,
    begin_first,
    capture_all,
    load,
    prepare,
    read_anew,
    redolake,
)
from tests.fix_shop import open_shop
from tests.fix_spark import QUIET
from tests.unit.test_crash import NOT_KILLED_AT, ledger_points, named_points, writers_of_files
from tests.waiting import wait_until

pytestmark = pytest.mark.spark
everywhere = pytest.mark.skipif(
    "REDOLAKE_ALL_KILLS" not in os.environ,
    reason="each write of each way with each thing that may happen meanwhile: about an hour; REDOLAKE_ALL_KILLS=1 runs it",
)

PIPELINES = Path(steps.__file__).parents[1]


# --- The world of all cases ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class World:
    source: Source
    folder: Path
    remote: str
    copy: Copy | None = None
    gone: set[tuple[str, str]] = field(default_factory=set)
    names: Iterator[int] = field(default_factory=lambda: count(1))
    turns: Iterator[int] = field(default_factory=count)

    def new_copy(self) -> Copy:
        name = f"shop{next(self.names)}"
        return Copy(name, self.source, self.folder / name, self.remote)

    def living_copy(self) -> Copy:
        """The one that the ways before have left good; a new one when the last of them has failed."""
        copy, self.copy = self.copy, None
        if copy is None:
            self.source.finish_open()
            copy = self.new_copy()
            copy.run()
            copy.keep_ledger()
        return copy

    def check(self, copy: Copy) -> None:
        """Every cell of what is committed, and the landing."""
        for table in TABLES:
            delta = delta_rows(copy.pipeline.target(TableId.parse(table)))
            assert by_id(delta) == by_id(self.source.rows(table)), table
            assert len(delta) >= 9
        copy.check_landing()
        copy.check_batches()
        status = steps.read_status(copy.pipeline)
        assert {t["state"] for t in status["tables"]} == {"live"}
        still_open = int(self.source.open_one is not None)
        assert (status["lost"], status["breaks"], status["open_transactions"]) == (None, [], still_open)
        copy.keep_ledger()
        self.copy = copy


def by_id(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["ID"]))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, connect: str) -> Iterator[World]:
    remote = connect.replace("spark-connect", "sc")
    with open_shop(tmp_path_factory.mktemp("kills")) as shop:
        yield World(Source(shop), shop.folder, remote)


# --- The ways --------------------------------------------------------------------------------------------------------

ONE = ("parts",)
CATCH_UP = (redolake, "run", "--until-caught-up")
NOTHING_LEFT = (0, 1)  # 1: it is done already, and says so


def first_run(world: World, kills: Kills) -> None:
    """First contents of a new pipeline, and then the first windows and the first batch."""
    another = world.new_copy()
    kills.on(redolake, "snapshot")
    Kills(another, kills.killed_at, kills.what, kills.turns).on(begin_first, another.name)  # which is killed further on
    kills.rounds(world.source.work, capture_all, kills.copy.name)
    kills.on(*CATCH_UP)


def ddl(world: World, kills: Kills) -> None:
    """A batch while columns are dropped and others added, one of them with a default."""
    world.source.changing = ONE
    kills.again_at("merge")
    world.source.work(ddl=True)
    kills.on(*CATCH_UP)


def anew(world: World, kills: Kills) -> None:
    """A live table read anew; the batches have passed the snapshot's SCN when it is loaded."""
    world.source.changing = ONE
    scn = kills.copy.folder / "scn"
    world.source.work()
    kills.on(read_anew, kills.copy.name, "SHOP.PARTS", str(scn))
    world.source.more()
    kills.on(*CATCH_UP)
    kills.again_at(
        "prepare_snapshot_load", "snapshot", "write_snapshot_result", "ledger.move_table", "ledger.record_complete_to"
    )
    kills.on(load, kills.copy.name, "SHOP.PARTS", int(scn.read_text()))


def held(world: World, kills: Kills) -> None:
    """A table is held, because its target is not there; it is, and the table is resumed and caught up."""
    target, aside = kills.copy.folder / "lake" / "shop" / "bins", kills.copy.folder / "aside"
    world.source.work()
    target.rename(aside)
    kills.on(*CATCH_UP, codes=(3,))
    aside.rename(target)
    kills.again_at("merge", "prepare_batch")
    for _ in range(3):  # that it was released is nowhere but in the ledger, and so is lost with it
        kills.on(redolake, "resume", "SHOP.BINS", codes=NOTHING_LEFT)
        if kills.on(*CATCH_UP, codes=(0, 3)) == 0:
            break


def dropped(world: World, kills: Kills) -> None:
    """A person drops an open transaction; it commits, and its table is read anew."""
    world.source.changing = ONE
    world.source.work()
    kills.on(*CATCH_UP)
    (still_open,) = steps.list_transactions(kills.copy.pipeline)["open"]
    assert still_open["rows"] == 2
    kills.again_at("ledger.record_decision")
    kills.on(redolake, "tx", "drop", still_open["xid"], "--reason", "test", "--yes", codes=NOTHING_LEFT)
    world.source.finish()
    kills.on(*CATCH_UP)
    (drop,) = steps.list_transactions(kills.copy.pipeline)["dropped"]
    assert (drop["state"], drop["lacking"]) == ("committed", ["SHOP.PARTS"])
    kills.on(redolake, "snapshot", "--replace", "SHOP.PARTS")


def restored(world: World, kills: Kills) -> None:
    """Logs are gone, and capture stops; they are restored, and it goes on."""
    world.source.changing = ONE
    world.source.work()
    world.source.shop.oracle.faults.purge_logs()
    world.source.more()
    kills.on(*CATCH_UP, codes=(1,))
    world.source.shop.oracle.faults.restore_logs()
    kills.on(*CATCH_UP)


def lost(world: World, kills: Kills) -> None:
    """Redo is lost, and the tables are read anew behind it."""
    lose_redo(world, kills)
    kills.on(redolake, "recover", "--snapshot", "--yes", codes=NOTHING_LEFT)
    kills.on(redolake, "snapshot", "--replace", *TABLES)


def gap(world: World, kills: Kills) -> None:
    """Redo is lost, a gap is declared, and later the tables are read anew."""
    lose_redo(world, kills)
    kills.again_at("ledger.record_gap", "declare", "finish")
    kills.on(redolake, "recover", "--declare-gap", "--reason", "the tapes are gone", "--yes", codes=NOTHING_LEFT)
    kills.on(*CATCH_UP)
    kills.on(redolake, "snapshot", "--replace", *TABLES)


def lose_redo(world: World, kills: Kills) -> None:
    """A transaction is open where the loss begins, and commits in what is lost."""
    world.source.changing = ONE
    world.source.work()
    kills.on(*CATCH_UP)
    world.source.finish()
    world.source.shop.oracle.faults.purge_logs()
    world.source.more()
    kills.again_at("ledger.record_loss")
    kills.on(*CATCH_UP, codes=(1,))


def looked_at(world: World, kills: Kills) -> None:
    """Shadows of what the last batch brought, and comparisons: they write, too, and change no table."""
    world.source.changing = ONE
    world.source.work()
    kills.copy.run()  # behind the snapshot, where a range may begin
    before = steps.list_windows(kills.copy.pipeline)[-1]
    kills.on(redolake, "remine", before["name"], codes=NOTHING_LEFT)  # 1: a ledger that was lost has no plan of it
    world.source.work()
    kills.on(*CATCH_UP)
    last = steps.list_windows(kills.copy.pipeline)[-1]
    kills.again_at("merge")
    scns = ("--from", str(before["end"]), "--to", str(last["end"]))
    kills.on(redolake, "backfill", "SHOP.PARTS", *scns, "--execute")
    shadow = kills.copy.folder / "lake" / "_shadow" / f"{before['end']}-{last['end']}" / "shop" / "parts"
    live = delta_rows(kills.copy.pipeline.target(TableId("SHOP", "PARTS")))
    brought = delta_rows(str(shadow))
    assert len(brought) > 5
    assert all(row in live for row in brought)
    kills.on(redolake, "verify", "SHOP.PARTS")


WAYS = (first_run, ddl, anew, held, dropped, restored, lost, gap, looked_at)


def go(world: World, way: Callable[[World, Kills], None], what: str, killed_at: Path) -> None:
    copy = world.new_copy() if way is first_run else world.living_copy()
    world.source.changing = BOTH
    way(world, Kills(copy, killed_at, what, world.turns))
    world.gone.add((way.__name__, what))

    copy.run()
    world.check(copy)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_killed_behind_each_write_once(world: World, way: Callable[[World, Kills], None]) -> None:
    go(world, way, IN_TURN, world.folder / "killed-at")


@everywhere
@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_killed_behind_each_write_of_each_way(world: World, way: Callable[[World, Kills], None], what: str) -> None:
    killed_at = world.folder / f"killed-at, {way.__name__}, {what}"
    go(world, way, what, killed_at)
    assert len(killed_at.read_text().splitlines()) > 5


# --- Killed from outside ---------------------------------------------------------------------------------------------


@everywhere
def test_a_client_killed_while_the_server_merges_for_it(world: World) -> None:
    """The server goes on with what it was told: the next run may meet it, and tries again."""
    copy = world.living_copy()
    world.source.work()
    before = copy.data_files()
    process, log = copy.start(*CATCH_UP)
    wait_until(lambda: copy.data_files() != before or not process.is_alive(), SECONDS)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, log.read_text()
    assert steps.read_status(copy.pipeline)["windows"][-1]["state"] == "landed"

    world.source.finish()
    wait_until(lambda: copy.do(*CATCH_UP)[0] == 0, SECONDS)
    world.check(copy)


@everywhere
def test_a_spark_job_killed_while_it_merges(world: World) -> None:
    """By spark-submit, with its JVM and its driver at once."""
    copy = world.living_copy()
    order = copy.folder / "order"
    world.source.work()
    copy.good(capture_all, copy.name)
    copy.good(prepare, copy.name, str(order))
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

    world.source.finish()
    copy.run()
    world.check(copy)


# --- Full disks, and two at once --------------------------------------------------------------------------------------


def test_a_full_disk_while_spark_merges_is_told_and_holds_no_table(world: World) -> None:
    copy = world.living_copy()
    copy.configure("16MiB")
    world.source.much()
    with file_limit(server_of(world.remote), 128 * 1024):
        code, said = copy.do(*CATCH_UP)
    assert code == 1, said[-2000:]
    assert "LakeFull: " in said
    assert {t["state"] for t in steps.read_status(copy.pipeline)["tables"]} == {"live"}

    world.source.finish()
    copy.run()
    world.check(copy)


def server_of(remote: str) -> psutil.Process:
    port = int(remote.rpartition(":")[2])
    return next(
        psutil.Process(c.pid) for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN and c.laddr.port == port
    )


@contextmanager
def file_limit(process: psutil.Process, file_bytes: int) -> Iterator[None]:
    """As if the device were full for every file of the process that grows larger."""
    before = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (file_bytes, before[1]))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, before)


def test_of_two_runs_at_once_one_gives_way(world: World) -> None:
    copy = world.living_copy()
    world.source.work()
    world.source.more()
    both = [copy.start(*CATCH_UP) for _ in range(2)]
    for process, _ in both:
        process.join(SECONDS)
    ends = [(process.exitcode, log.read_text()) for process, log in both]
    assert {code for code, _ in ends} <= {0, 75}, ends
    assert 0 in {code for code, _ in ends}, ends
    assert all("LeaseHeld" in said for code, said in ends if code == 75), ends

    world.source.finish()
    copy.run()
    world.check(copy)


# --- No write is left out --------------------------------------------------------------------------------------------


def test_no_write_is_left_out(world: World) -> None:
    """It needs the ways before it, for what they were killed at is found by running them."""
    if not {(way.__name__, IN_TURN) for way in WAYS} <= world.gone:
        pytest.skip("not all ways were gone before")
    killed_at = (world.folder / "killed-at").read_text().splitlines()

    assert named_points() | ledger_points() <= set(killed_at)
    assert writers_of_files() - set(NOT_KILLED_AT) <= {line.partition(" ")[0] for line in killed_at}
