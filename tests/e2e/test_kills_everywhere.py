"""kill -9 after any write of capture, apply, snapshots and breaks, then the same again: the tables equal the source.

Each case is a way of working, on which processes of `redolake` kill themselves at one named point (pipelines/crash.py) after
the other, and what happens between a kill and the repeat. One copy lives on from case to case.
"""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

from pipelines import steps
from pipelines.apply.session import open_session, spark_conf
from pipelines.runtime import delta_jars, environment
from pipelines.table import TableId
from tests.e2e.kills import TABLES, Copy, Source, capture_all, load, prepare, read_anew, redolake
from tests.fix_shop import open_shop
from tests.fix_spark import QUIET

pytestmark = pytest.mark.spark
everywhere = pytest.mark.skipif(
    "REDOLAKE_ALL_KILLS" not in os.environ,
    reason="some 150 processes, each killed: over half an hour on two cores; REDOLAKE_ALL_KILLS=1 runs them",
)

Between = Literal["nothing", "more landed", "ledger lost", "ledger older"]
PIPELINES = Path(steps.__file__).parents[1]


# --- The world of all cases ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class World:
    source: Source
    folder: Path
    remote: str
    spark: Any
    copy: Copy | None = None
    names = count(1)

    def new_copy(self) -> Copy:
        name = f"shop{next(self.names)}"
        return Copy(name, self.source, self.folder / name, self.remote)

    def living_copy(self) -> Copy:
        """The one that the cases before have left good, with a copy of its ledger from before the first of them."""
        if self.copy is None:
            copy = self.new_copy()
            copy.run()
            copy.keep_ledger()
            return copy
        copy, self.copy = self.copy, None
        return copy

    def check(self, copy: Copy) -> None:
        """Every cell, and the landing; nothing is open any more, so the source is what it is now."""
        for table in TABLES:
            delta = (
                self.spark.read.format("delta").load(copy.pipeline.target(TableId.parse(table))).drop("_commit_scn").collect()
            )
            assert by_id(row.asDict() for row in delta) == by_id(self.source.rows(table)), table
            assert len(delta) > 9
        copy.check_landing()
        copy.check_batches()
        status = steps.status(copy.pipeline)
        assert {t["state"] for t in status["tables"]} == {"live"}
        assert (status["lost"], status["breaks"], status["open_transactions"]) == (None, [], 0)
        self.copy = copy


def by_id(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["ID"]))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, connect: str) -> Iterator[World]:
    remote = connect.replace("spark-connect", "sc")
    with open_shop(tmp_path_factory.mktemp("kills")) as shop:
        spark = open_session("connect", remote)
        yield World(Source(shop), shop.folder, remote, spark)
        spark.stop()


def between(copy: Copy, what: Between) -> None:
    """What happens between the kill and the repeat."""
    if what == "more landed":
        copy.source.more()
        copy.good(capture_all, copy.name)
    elif what == "ledger lost":
        copy.lose_ledger()
    elif what == "ledger older":
        copy.put_back_ledger()


# --- The ways --------------------------------------------------------------------------------------------------------

CATCH_UP = (redolake, "run", "--until-caught-up")
CAPTURE = (
    "ledger.add_table",
    "landing.part",
    "plan.dictionary",
    "ledger.lease",
    "ledger.plan_window",
    "ledger.release_lease",
    "landing.part#2",
    "mine.slice",
    "mine.slice#2",
    "land.chain",
    "land.manifest",
    "ledger.landed_as",
    "ledger.correct_position",
)
APPLY = (
    "apply.order",
    "ledger.prepare_batch",
    "ledger.renew",
    "carry-over",
    "merge",
    "table",
    "merge",
    "before manifest",
    "manifest",
    "ledger.complete_as",
    "ledger.move",
    "ledger.replace_open_transactions",
    "ledger.move_batch",
)
APPLY_AMID_MORE = ("carry-over", "merge", "manifest", "ledger.move")  # where it matters what lies beside the order
DDL = ("ledger.record_version", "evolve", "evolve#3", "fill", "merge")
BEGIN = (
    "ledger.start_at",
    "snapshot.begun",
    "snapshot.dictionary",
    "snapshot.chunk",
    "snapshot.published",
    "ledger.move_table",
    "snapshot.order",
    "ledger.move_table#3",
)
LOAD = (
    "snapshot.handover",
    "snapshot",
    "snapshot.manifest",
    "ledger.forget_versions_above",
    "ledger.record_version",
    "ledger.move_table",
    "ledger.complete_as",
)
ANEW = ("snapshot removed", "snapshot", "snapshot.manifest", "ledger.forget_versions_above", "ledger.move_table#2")
HELD = ("ledger.hold", "ledger.release", "ledger.record_decision", "merge")
LOST = ("ledger.lose", "land.break", "ledger.record_break", "ledger.regain")
GAP = ("ledger.lose", "land.break", "land.torn")


def capture(world: World, what: Between) -> Copy:
    """A window with a slice of each redo thread each time; the landing is good again before the next kill."""
    copy = world.living_copy()
    for point in CAPTURE:
        world.source.finish_open()
        world.source.work()
        copy.kill_at(point, capture_all, copy.name)
        between(copy, what)
        copy.good(capture_all, copy.name)
        copy.check_landing()
    return copy


def apply(world: World, what: Between) -> Copy:
    """The batch that was killed is killed again at the next point, with a transaction open at its end."""
    copy = world.living_copy()
    world.source.work()
    kill_on_the_way(copy, APPLY if what == "nothing" else APPLY_AMID_MORE, what, *CATCH_UP)
    return copy


def ddl(world: World, what: Between) -> Copy:
    """The same while columns are dropped and others added, one of them with a default."""
    copy = world.living_copy()
    world.source.work(ddl=True)
    kill_on_the_way(copy, DDL, what, *CATCH_UP)
    return copy


def begin(world: World, what: Between) -> Copy:
    """The first contents of a new pipeline, up to the moment at which one table is live and the other is not."""
    return first_contents(world, BEGIN, what)


def load_first(world: World, what: Between) -> Copy:
    """The same from the loading on, of which the repeat hears by the load's manifest."""
    return first_contents(world, LOAD, what)


def first_contents(world: World, points: tuple[str, ...], what: Between) -> Copy:
    copy = world.new_copy()
    for point in points:
        copy.kill_at(point, *CATCH_UP)
        if what == "ledger lost":
            copy.lose_ledger()
        world.source.more()
    copy.run()
    copy.keep_ledger()
    return copy


def anew(world: World, what: Between) -> Copy:
    """A live table read anew; the batches have passed the snapshot's SCN when it is loaded, and the load is repeated."""
    copy = world.living_copy()
    scn = copy.folder / "scn"
    world.source.work()
    copy.good(read_anew, copy.name, "SHOP.PARTS", str(scn))
    world.source.more()
    copy.run()
    order = (load, copy.name, "SHOP.PARTS", int(scn.read_text()))
    kill_on_the_way(copy, ANEW, what, *order)
    copy.good(*order)
    return copy


def held(world: World, what: Between) -> Copy:
    """A table is held, because its target is not there; it is, and the table is resumed and caught up."""
    copy = world.living_copy()
    target, aside = copy.folder / "lake" / "shop" / "bins", copy.folder / "aside"
    resume = (redolake, "resume", "SHOP.BINS")
    hold, release, decision, merge = HELD
    world.source.work()
    target.rename(aside)
    copy.kill_at(hold, *CATCH_UP)
    between(copy, what)
    copy.run(codes=(3,))
    aside.rename(target)
    copy.kill_at(release, *resume)
    between(copy, what)
    copy.good(*resume, codes=(0, 1))  # 1: it is not held any more
    target.rename(aside)
    world.source.finish()
    copy.run(codes=(3,))
    aside.rename(target)
    copy.kill_at(decision, *resume)
    between(copy, what)
    copy.good(*resume, codes=(0, 1))
    copy.kill_at(merge, *CATCH_UP)
    between(copy, what)
    return copy


def lost(world: World, what: Between) -> Copy:
    """Redo is lost, and the tables are read anew behind it."""
    copy, recover = lose_redo(world), (redolake, "recover", "--snapshot", "--yes")
    copy.kill_at(LOST[0], *CATCH_UP)
    kill_on_the_way(copy, LOST[1:], what, *recover)
    copy.good(*recover)
    return copy


def gap(world: World, what: Between) -> Copy:
    """Redo is lost, a gap is declared, and later the tables are read anew."""
    copy = lose_redo(world)
    recover = (redolake, "recover", "--declare-gap", "--reason", "the tapes are gone", "--yes")
    lose, break_, torn = GAP
    copy.kill_at(lose, *CATCH_UP)
    copy.run(codes=(1,))
    copy.kill_at(break_, *recover)
    between(copy, what)
    copy.good(*recover)
    copy.kill_at(torn, *CATCH_UP)
    between(copy, what)
    copy.run()
    copy.good(redolake, "snapshot", "--replace", *TABLES)
    return copy


def lose_redo(world: World) -> Copy:
    """A transaction is open where the loss begins, and commits in what is lost."""
    copy = world.living_copy()
    world.source.work()
    copy.run()
    world.source.finish()
    world.source.shop.oracle.misbehave.purge_logs()
    world.source.more()
    return copy


def kill_on_the_way(copy: Copy, points: tuple[str, ...], what: Between, *work: Any) -> None:
    """The same work again and again, killed one point further each time."""
    for point in points:
        copy.kill_at(point, *work)
        between(copy, what)


WAYS: dict[Callable[[World, Between], Copy], tuple[tuple[str, ...], tuple[Between, ...]]] = {
    capture: (CAPTURE, ("nothing", "more landed", "ledger lost", "ledger older")),
    apply: (APPLY, ("nothing", "more landed", "ledger lost", "ledger older")),
    ddl: (DDL, ("nothing", "more landed", "ledger lost")),
    begin: (BEGIN, ("nothing",)),
    load_first: (LOAD, ("nothing", "ledger lost")),
    anew: (ANEW, ("nothing", "ledger older")),
    held: (HELD, ("nothing",)),
    lost: (LOST, ("nothing", "ledger lost")),
    gap: (GAP, ("nothing",)),
}
CASES = [(way, what) for way, (_, between_kills) in WAYS.items() for what in between_kills]


@everywhere
@pytest.mark.parametrize(("way", "what"), [pytest.param(*case, id=f"{case[0].__name__}, {case[1]}") for case in CASES])
def test_killed_at_each_point_on_its_way(world: World, way: Callable[[World, Between], Copy], what: Between) -> None:
    copy = way(world, what)

    world.source.finish()
    copy.run()
    world.check(copy)


# --- Killed from outside ---------------------------------------------------------------------------------------------


@everywhere
def test_a_client_killed_while_the_server_merges_for_it(world: World) -> None:
    """The server goes on with what it was told: the next run may meet it, and tries again."""
    copy = world.living_copy()
    world.source.work()
    before = copy.data_files()
    process, log = copy.start(*CATCH_UP)
    wait_until(lambda: copy.data_files() != before or not process.is_alive())
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, log.read_text()
    assert steps.status(copy.pipeline)["windows"][-1]["state"] == "landed"

    world.source.finish()
    wait_until(lambda: copy.do(*CATCH_UP)[0] == 0)
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
    job = ["spark-submit", "--master", "local[2]", "--jars", jars, *settings, str(PIPELINES / "job.py"), order.read_text()]
    env = {name: value for name, value in environment().items() if name != "SPARK_CONNECT_MODE_ENABLED"}  # ours, not its
    with (copy.folder / "submit.log").open("w") as log:
        submitted = subprocess.Popen(job, env=env, stdout=log, stderr=log, start_new_session=True)
    wait_until(lambda: copy.data_files() != before or submitted.poll() is not None)
    assert submitted.poll() is None, (copy.folder / "submit.log").read_text()[-2000:]
    os.killpg(submitted.pid, signal.SIGKILL)
    assert submitted.wait() == -signal.SIGKILL, (copy.folder / "submit.log").read_text()[-2000:]
    assert not Path(order.read_text()).with_name("manifest.json").exists()

    world.source.finish()
    copy.run()
    world.check(copy)


def wait_until(reached: Callable[[], bool], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.005)


# --- No point is left out --------------------------------------------------------------------------------------------


def named_points() -> set[str]:
    """As the code names them; a name that is no literal shows as an empty one."""
    calls = [
        node
        for file in PIPELINES.rglob("*.py")
        if file.name != "crash.py" and "standin" not in file.parts
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("point", "crash.point")
    ]
    return {str(call.args[0].value) if isinstance(call.args[0], ast.Constant) else "" for call in calls}


def ledger_points() -> set[str]:
    """Every method that writes the ledger and is used by the pipeline."""
    used = {
        node.func.attr
        for file in PIPELINES.rglob("*.py")
        if "standin" not in file.parts
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    writing = {
        node.name
        for file in (PIPELINES / "ledger").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and "self._write(" in ast.unparse(node)
    }
    return {f"ledger.{name}" for name in writing & used}


def test_no_point_is_left_out() -> None:
    killed_at = {point.partition("#")[0] for points, _ in WAYS.values() for point in points}

    assert killed_at == named_points() | ledger_points()
