"""The testbed of a scenario: a stand-in in this process, a pipeline over one of its tables, and an operator's actions."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redolake import steps
from redolake.config import Pipeline
from redolake.errors import RedolakeError, Terminal, Transient
from redolake.records.proofs import TableProof
from redolake.source import ConnectParams
from standin.engine.settings.options import DatabaseOptions
from standin.serve import StandIn, start_standin
from standin.workload import Workload, run_workload
from standin.workload.shop import create_shop

LOG_BYTES = 64 * 1024
REPORT_BUG = "this is a bug in Redolake or in the scenario; report it"
TIMEOUT_SECONDS = 120.0
# A short run over few rows: planning costs more than execution.
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
    """An error that stopped the pipeline, as an operator reads it."""

    code: str
    where: Mapping[str, object]
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The errors of a scenario, and the comparison at its end."""

    errors: tuple[ReportedError, ...]
    tables: tuple[TableProof, ...]

    @property
    def tables_equal(self) -> bool:
        """Whether every table has rows and no cell differs."""
        return bool(self.tables) and all(
            t.source_rows and not t.differing_cells and t.source_rows == t.delta_rows for t in self.tables
        )


@dataclass(slots=True)
class Testbed:
    """Each method prints its progress with `say`."""

    oracle: StandIn
    folder: Path
    pipeline: Pipeline
    spark: Any  # None: the first batch that needs a session creates it
    say: Callable[[str], None]
    errors: list[ReportedError] = field(default_factory=list)
    _seed: int = 0

    # --- at the source ---

    def change_rows(self, transactions: int = 40) -> None:
        """Run the workload in sessions on every open instance, then switch the logs, so that the changes can be landed."""
        self._seed += 1
        threads = self.oracle.database.state.threads.values()
        spec = Workload(
            dsn=self.oracle.pdb_dsn,
            user="SHOP",
            password=self.oracle.passwords["SHOP"],
            transactions=transactions,
            sessions=3,
            seed=self._seed,
            instances=tuple(thread.instance for thread in threads if thread.is_open),
        )
        done = run_workload(spec)
        self.switch_logs()
        self.say(
            f"the workload has run: {done.tally.commits} commits, {done.tally.rollbacks} rollbacks, up to SCN {done.last_scn}"
        )

    @contextmanager
    def blocked_writers(self) -> Iterator[None]:
        """Run a workload until no online log is free. Its sessions wait and new ones are refused until the block ends."""
        pause, done = threading.Event(), threading.Event()

        def write() -> None:
            while not done.is_set():
                self.change_rows(400)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while self.oracle.database.archiver.condition != "FAILED":
                if time.monotonic() > deadline:
                    raise Terminal(f"the archiver was not stuck within {TIMEOUT_SECONDS:.0f} s", cure=REPORT_BUG)
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
        """Inject a fault of the stand-in, or the action that ends one, and return its result."""
        chosen = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in options.items())
        self.say(f"the source: {fault}" + (f" ({chosen})" if chosen else "") + (f" for {seconds:g} s" if seconds else ""))
        return self.oracle.faults.inject(fault, options, seconds)

    def last_archived(self, thread: int) -> int:
        """Return the sequence of the thread's last archived log."""
        return max(log.sequence for log in self.oracle.database.state.archived if log.thread == thread)

    # --- the pipeline and its operator ---

    @property
    def source(self) -> ConnectParams:
        user = self.oracle.capture_user
        return ConnectParams(user, self.oracle.passwords[user], self.oracle.root_dsn)

    def start_pipeline(self) -> None:
        """Load a snapshot, then capture and apply first changes."""
        steps.take_snapshot(self.pipeline, source=self.source, spark=self.spark, report=self._say_redolake)
        self.change_rows()
        self.catch_up()

    def catch_up(self) -> str:
        """Capture and apply every sealed window; return the reason for the end."""
        found = steps.run_pipeline(
            self.pipeline, until_caught_up=True, source=self.source, spark=self.spark, report=self._say_redolake
        )
        return found.reason

    def expect_error(self) -> ReportedError:
        """Catch up, and return the error that stops the pipeline until an operator acts."""
        try:
            reason = self.catch_up()
        except Terminal as error:
            return self.record_error(error)
        raise Terminal(f"the pipeline did not stop as the scenario expects; it ended with: {reason}", cure=REPORT_BUG)

    def expect_redo_loss(self) -> ReportedError:
        """Expect an error, and print the options that `redolake recover` shows."""
        error = self.expect_error()
        for line in steps.recovery_text(steps.inspect_redo_loss(self.pipeline, source=self.source)).splitlines():
            self.say(f"  recover: {line}" if line else "")
        return error

    def recover_restored(self) -> None:
        """Run `redolake recover --restored` after logs were restored, then catch up."""
        found = steps.recheck_redo_loss(self.pipeline, source=self.source)
        if found.error is not None:
            raise Terminal(f"redo is still lost: {found.error['what']}", cure=REPORT_BUG)
        self.say("`redolake recover --restored`: no redo is lost any more")
        self.catch_up()

    def recover_with_snapshot(self) -> None:
        """Run `redolake recover snapshot --execute --yes --reason TEXT`, the choice when the redo has no backup."""
        self.say("redolake recover snapshot --execute --yes --reason TEXT")
        steps.recover_redo_loss(
            self.pipeline, "snapshot", source=self.source, spark=self.spark, by="operator", report=self._say_redolake
        )

    def expect_transient_error(self) -> ReportedError:
        """Catch up, and return the transient error after the configured attempts. Airflow would try again in the next run."""
        try:
            reason = self.catch_up()
        except Transient as error:
            return self.record_error(error)
        raise Terminal(f"the source did not refuse as the scenario expects; the run ended with: {reason}", cure=REPORT_BUG)

    def record_error(self, error: RedolakeError) -> ReportedError:
        reported = ReportedError(error.code, dict(error.where), str(error))
        self.errors.append(reported)
        self.say(f"redolake stops with {reported.text}")
        return reported

    def landed_scn(self) -> int:
        """Return the first SCN that is not landed."""
        return int(steps.read_status(self.pipeline).next_start_scn or 0)

    def compare(self) -> Outcome:
        found = steps.verify_tables(steps.Run(self.pipeline, self.source, self.spark))
        if found.not_compared:
            raise Terminal("\n".join(map(str, found.not_compared)), cure="see `redolake status`")
        return Outcome(tuple(self.errors), found.tables)

    def _say_redolake(self, line: str) -> None:
        self.say(f"  redolake: {line}")


@contextmanager
def open_testbed(folder: Path, say: Callable[[str], None], spark: Any = None) -> Iterator[Testbed]:
    """Start a stand-in with two redo threads, two archive destinations and small logs, and define a pipeline on it."""
    folder.mkdir(parents=True, exist_ok=True)
    destinations = (folder / "archive" / "one", folder / "archive" / "two")
    for destination in destinations:
        destination.mkdir(parents=True)
    supplemental = frozenset({"MIN"})
    options = DatabaseOptions(threads=2, log_bytes=LOG_BYTES, destinations=destinations, supplemental=supplemental, ddl_age=60)
    with start_standin(options) as oracle:
        with oracle.connect("SHOP") as connection:
            create_shop(connection)
        yield Testbed(oracle, folder, write_pipeline(folder), spark, say)


def write_pipeline(folder: Path) -> Pipeline:
    """Write pipeline.json for SHOP.ORDERS and return the pipeline."""
    body = {
        "name": "shop",
        "source": {"connection": "scenario", "container": "FREEPDB1"},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        # Pauses of 3 s together: longer than the 2 s for which a listener refuses clients, and what stays is reported soon.
        "retry": {"attempts": 6, "initial_seconds": 0.2, "max_seconds": 0.8},
        "wait_max_pause_seconds": 0.1,
        "spark": {"conf": QUICK_SPARK},
        "tables": ["SHOP.ORDERS"],
    }
    (folder / "pipeline.json").write_text(json.dumps(body, indent=2))
    return Pipeline.model_validate(body)
