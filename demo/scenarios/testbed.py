"""Where a scenario plays: a stand-in in this process, a pipeline over one of its tables, and what an operator would do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines import steps
from pipelines.config import Pipeline
from pipelines.errors import RedolakeError, Terminal, Transient
from pipelines.source import ConnectParams
from standin.engine.options import DatabaseOptions
from standin.serve import StandIn, start_standin
from standin.workload import Workload, run_workload
from standin.workload_shop import create_shop

LOG_BYTES = 64 * 1024
FAULT = "this is a fault of Redolake, or of the scenario"
PATIENCE = 120.0
# Short-lived and over few rows: planning costs more than working.
QUICK_SPARK = {
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.default.parallelism": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class ReportedError:
    """An error that the pipeline stopped with, as an operator reads it."""

    code: str
    where: Mapping[str, object]
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a scenario ended: what stopped on the way, and the comparison after the cure."""

    errors: tuple[ReportedError, ...]
    tables: tuple[Mapping[str, Any], ...]

    @property
    def tables_equal(self) -> bool:
        """Proven only when there were rows to compare."""
        return bool(self.tables) and all(
            t["source_rows"] and not t["differing_cells"] and t["source_rows"] == t["delta_rows"] for t in self.tables
        )


@dataclass(slots=True)
class Testbed:
    oracle: StandIn
    folder: Path
    pipeline: Pipeline
    spark: Any  # None: a session is made when the first batch needs it
    say: Callable[[str], None]
    errors: list[ReportedError] = field(default_factory=list)
    _seed: int = 0

    # --- what happens at the source ---

    def change_rows(self, transactions: int = 40) -> None:
        """Changes from sessions on every open instance, and the logs switched, so that they are sealed."""
        self._seed += 1
        threads = self.oracle.database.state.threads.values()
        order = Workload(
            dsn=self.oracle.pdb_dsn,
            user="SHOP",
            password=self.oracle.passwords["SHOP"],
            transactions=transactions,
            sessions=3,
            seed=self._seed,
            instances=tuple(thread.instance for thread in threads if thread.is_open),
        )
        done = run_workload(order)
        self.switch_logs()
        self.say(
            f"the shop has worked: {done.tally.commits} commits, {done.tally.rollbacks} rollbacks, up to SCN {done.last_scn}"
        )

    @contextmanager
    def blocked_writers(self) -> Iterator[None]:
        """Work that goes on until no online log is free: its sessions wait, and others are refused, until the block ends."""
        pause, done = threading.Event(), threading.Event()

        def write() -> None:
            while not done.is_set():
                self.change_rows(400)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            until = time.monotonic() + PATIENCE
            while self.oracle.database.archiver.condition != "FAILED":
                if time.monotonic() > until:
                    raise Terminal(f"the archiver was not stuck within {PATIENCE:.0f} s", cure=FAULT)
                pause.wait(0.05)
            done.set()
            yield
        finally:
            done.set()
            self.inject("free-archiver")
            writer.join()

    def switch_logs(self) -> None:
        with self.oracle.connect("SYS") as connection, connection.cursor() as cursor:
            cursor.execute("ALTER SYSTEM ARCHIVE LOG CURRENT")

    def inject(self, fault: str, seconds: float | None = None, **options: Any) -> Any:
        chosen = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in options.items())
        self.say(f"the source: {fault}" + (f" ({chosen})" if chosen else "") + (f" for {seconds:g} s" if seconds else ""))
        return self.oracle.faults.inject(fault, options, seconds)

    def last_archived(self, thread: int) -> int:
        """The last archived sequence of the thread."""
        return max(log.sequence for log in self.oracle.database.state.archived if log.thread == thread)

    # --- what the pipeline does ---

    @property
    def source(self) -> ConnectParams:
        user = self.oracle.capture_user
        return ConnectParams(user, self.oracle.passwords[user], self.oracle.root_dsn)

    def start_pipeline(self) -> None:
        """First contents, and a first stretch captured and applied."""
        steps.snapshot(self.pipeline, source=self.source, spark=self.spark, report=self._told)
        self.change_rows()
        self.catch_up()

    def catch_up(self) -> str:
        """Capture and apply all that is sealed; the reason why it went no further."""
        found = steps.run(self.pipeline, until_caught_up=True, source=self.source, spark=self.spark, report=self._told)
        return str(found["reason"])

    def expect_error(self) -> ReportedError:
        """Go on, and be stopped by a typed error that a person must deal with."""
        try:
            reason = self.catch_up()
        except Terminal as error:
            return self.record_error(error)
        raise Terminal(f"the scenario expected the pipeline to stop, and it said: {reason}", cure=FAULT)

    def expect_redo_loss(self) -> ReportedError:
        """As `stops`, and look at the ways on, as `redolake recover` shows them."""
        error = self.expect_error()
        for line in steps.recovery_text(steps.recover(self.pipeline, self.source)).splitlines():
            self.say(f"  recover: {line}" if line else "")
        return error

    def recover_restored(self) -> None:
        """Look again after logs were put back, and go on."""
        found = steps.look_again(self.pipeline, self.source)
        if found["lost"]:
            raise Terminal(f"the position cannot go on: {found['error']['what']}", cure=FAULT)
        self.say("redolake recover --restored: nothing is lost any more")
        self.catch_up()

    def recover_with_snapshot(self) -> None:
        """What a person chooses where the redo is gone for good."""
        self.say("redolake recover --snapshot")
        steps.lead_over(self.pipeline, "snapshot", source=self.source, spark=self.spark, by="operator", report=self._told)

    def expect_transient_error(self) -> ReportedError:
        """Go on, and give up for now after the configured attempts: Airflow would try again at the next run."""
        try:
            reason = self.catch_up()
        except Transient as error:
            return self.record_error(error)
        raise Terminal(f"the scenario expected the source to refuse, and redolake said: {reason}", cure=FAULT)

    def record_error(self, error: RedolakeError) -> ReportedError:
        reported = ReportedError(error.code, dict(error.where), str(error))
        self.errors.append(reported)
        self.say(f"redolake stops with {reported.text}")
        return reported

    def landed_scn(self) -> int:
        """The SCN up to which redo is landed."""
        return int(steps.status(self.pipeline)["landed_to"] or 0)

    def compare(self) -> Outcome:
        found = steps.verify(self.pipeline, None, source=self.source, spark=self.spark)
        return Outcome(tuple(self.errors), tuple(found["tables"]))

    def _told(self, line: str) -> None:
        self.say(f"  redolake: {line}")


@contextmanager
def open_testbed(folder: Path, say: Callable[[str], None], spark: Any = None) -> Iterator[Testbed]:
    """Two redo threads, two archive destinations, small logs, and a pipeline that has begun nothing yet."""
    folder.mkdir(parents=True, exist_ok=True)
    destinations = (folder / "archive" / "one", folder / "archive" / "two")
    for destination in destinations:
        destination.mkdir(parents=True)
    options = DatabaseOptions(threads=2, log_bytes=LOG_BYTES, destinations=destinations, supplemental=frozenset({"MIN"}))
    with start_standin(options) as oracle:
        with oracle.connect("SHOP") as connection:
            create_shop(connection)
        yield Testbed(oracle, folder, pipeline_of(folder), spark, say)


def pipeline_of(folder: Path) -> Pipeline:
    # NUMBER without precision holds up to 40 digits with any scale: as text nothing is lost.
    tables = [{"table": "SHOP.ORDERS", "columns": {"TOTAL": "string"}}]
    body = {
        "name": "shop",
        "source": {"connection": "scenario", "container": "FREEPDB1"},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "retry": {"attempts": 5, "first_seconds": 0.5, "most_seconds": 2},
        "spark": {"conf": QUICK_SPARK},
        "tables": tables,
    }
    (folder / "pipeline.json").write_text(json.dumps(body, indent=2))
    return Pipeline.model_validate(body)
