"""The walkthrough: start the services, load a snapshot while the source changes, land and apply windows, compare all cells."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import oracledb
from rich.console import Console

from redolake import steps
from redolake.config import Pipeline, load_pipeline
from redolake.errors import Terminal, Transient
from redolake.host.statements import statement
from redolake.records.codec import decode
from redolake.steps.proof.verify import Verification

from .airflow_api import AirflowApi, AirflowUnavailable
from .processes import Child, DemoProcesses
from .report import Report
from .services import DEAD_SECONDS, LOGIN, PASSWORD, PIPELINE, RESTARTED, Services

POLL_SECONDS = 0.5
ON_PRIMARY = (
    "compare_bytes", "current_container", "instances", "visible_containers", "active_transactions", "prepared_transactions",
)  # fmt: skip
COUNTED = "SELECT sql_text, executions FROM v$sql WHERE service = 'FREE'"  # the workload has the service of the PDB
LONGEST_WORKLOAD_SECONDS = 3600
KEPT_RATE = 2.0  # transactions per second
ARCHIVE_SECONDS = 8.0  # between log switches of a database of one's own, as ARCHIVE_LAG_TARGET of the stand-in
STEP_TIMEOUT_SECONDS = 420.0  # for each step, on a machine that has other work too


@dataclass(slots=True)
class Walkthrough:
    services: Services
    processes: DemoProcesses
    console: Console
    workload_seconds: int = 10
    rate: float = 20.0
    started: float = field(default_factory=time.monotonic)
    printed_windows: set[str] = field(default_factory=set)
    archived: float = 0.0

    def run(self) -> Report:
        """Run the walkthrough to the comparison. Raises RedolakeError when a step fails or takes too long."""
        os.environ.update(self.services.connection_variables())
        pipeline = load_pipeline(PIPELINE, self.services.pipeline_file)
        workload = self.start_services(pipeline)
        self.wait_for("Spark Connect listens", lambda: listens(self.services.spark_port))
        warm_up = self.start("warm-up", self.services.warm_up_command(), ends=True)
        api = self.wait_for_airflow()
        self.load_snapshot(api)
        self.wait_for_end(warm_up, "Spark is warmed up")
        self.follow_windows(api, pipeline, self.workload_seconds)
        summary = self.stop_workload(workload)
        self.catch_up(api, pipeline, int(summary["last_scn"]))
        tables = self.compare()
        self.count_on_primary()
        return Report(time.monotonic() - self.started, steps.list_windows(pipeline, 1000), tables, summary)

    def keep_running(self) -> None:
        """Restart the workload at a low rate, and capture with it, for a user who inspects the demo."""
        command = self.services.workload_command(LONGEST_WORKLOAD_SECONDS, KEPT_RATE, "--no-long")  # a user's DDL does not wait
        self.start("workload", command, ends=True)
        api = AirflowApi(self.services.airflow_url, LOGIN, LOGIN)
        api.login()
        api.unpause(f"{PIPELINE}_capture")
        self.say(f"the workload, capture and apply continue for {LONGEST_WORKLOAD_SECONDS // 60} minutes")

    def start_again(self) -> None:
        """Start again what was killed, a while later; nothing if `make stop` in another terminal is ending all."""
        if not (ended := self.processes.killed(RESTARTED)):
            return
        time.sleep(DEAD_SECONDS)
        if self.processes.record.exists():
            for name in ended:
                self.start_service(name)
            self.say(f"{' and '.join(ended)} had ended, and started again")

    def start_service(self, name: str) -> None:
        services = self.services
        if name == "spark":
            self.start(name, services.spark_command())
        else:
            self.processes.start(name, services.airflow_command(), services.airflow_environment(), services.folder)

    # --- steps, in order ---

    def start_services(self, pipeline: Pipeline) -> Child:
        """Start all services and the workload; return the workload."""
        services = self.services
        oracle = "" if services.database else "the Oracle stand-in, "
        oracle += "which serves an OpenLogReplicator per redo thread too, " if services.olr_ports else ""
        oracle += "of which a standby is read, " if services.on_standby else ""
        self.say(f"starting {oracle}Spark Connect and Airflow; logs are in {self.processes.logs}")
        if services.database is None:
            self.start("standin", services.standin_command())
        self.start_service("spark")
        self.start_service("airflow")
        if services.database is None:
            self.wait_for("the stand-in listens", (services.folder / "standin.port").exists, 60)
        workload = self.start("workload", services.workload_command(LONGEST_WORKLOAD_SECONDS, self.rate))
        self.say(f"the workload creates {len(pipeline.tables)} tables on {services.pdb_dsn} and changes their rows")
        self.wait_for("`redolake doctor` finds no error", lambda: doctor_finds_no_error(pipeline))
        self.say("`redolake doctor` finds no error")
        return workload

    def wait_for_airflow(self) -> AirflowApi:
        api = AirflowApi(self.services.airflow_url, LOGIN, LOGIN)
        names = {f"{PIPELINE}_{part}" for part in ("snapshot", "capture", "apply", "backfill")}

        def ready() -> bool:
            try:
                api.login()
                if errors := api.import_errors():
                    raise Terminal("Airflow cannot import the DAGs:\n" + "\n".join(errors), cure="see the traceback")
                return api.healthy() and names <= api.dags()
            except AirflowUnavailable:
                return False

        self.wait_for("Airflow is up and has the DAGs", ready)
        self.say(f"Airflow is up: {self.services.airflow_url} (login {LOGIN}, password {LOGIN})")
        return api

    def load_snapshot(self, api: AirflowApi) -> None:
        """Run the snapshot DAG, then enable capture and apply."""
        dag = f"{PIPELINE}_snapshot"
        api.unpause(dag)
        run = api.trigger(dag)
        self.say(f"{dag} reads the tables AS OF one SCN while the workload runs")
        self.wait_for_dags(api, f"{dag} has loaded the tables", lambda: api.run_state(dag, run) == "success")
        self.say("the snapshot is loaded; capture and apply start")
        for part in ("capture", "apply"):
            api.unpause(f"{PIPELINE}_{part}")

    def follow_windows(self, api: AirflowApi, pipeline: Pipeline, seconds: float) -> None:
        """Print new windows for some seconds."""
        until = time.monotonic() + seconds

        def is_over() -> bool:
            self.archive_logs()
            self.print_windows(pipeline)
            return time.monotonic() >= until

        self.wait_for_dags(api, "the workload has run", is_over, seconds + 60)

    def stop_workload(self, workload: Child) -> dict[str, Any]:
        """Stop the workload and return its summary, the last line of its output."""
        text = self.processes.finish(workload)
        try:
            summary = dict(json.loads(text.strip().splitlines()[-1]))
        except (ValueError, IndexError) as error:
            raise Terminal(f"the workload left no summary:\n{text[-2000:]}", cure=f"read {workload.log}") from error
        if self.services.database:  # its user SHOP may not read V$DATABASE
            summary["last_scn"] = self.services.database.current_scn()
        self.say(f"the workload has stopped: {summary['transactions']} transactions, last SCN {summary['last_scn']}")
        return summary

    def catch_up(self, api: AirflowApi, pipeline: Pipeline, scn: int) -> None:
        """Wait until every table is complete to `scn`; pause capture as soon as that SCN is landed."""
        self.say(f"waiting until every table is complete to SCN {scn}")

        landed = False

        def complete() -> bool:
            nonlocal landed
            self.archive_logs()
            self.print_windows(pipeline)
            found = steps.read_status(pipeline)
            if not landed and found.landed_to_scn is not None and found.landed_to_scn >= scn:
                landed = True
                self.say(f"SCN {scn} is landed; capture is paused")
                api.pause(f"{PIPELINE}_capture")
            tables = found.tables
            held = [f"{t.table} is held: {t.error}" for t in tables if t.state == "held"]
            if held:
                raise Terminal("\n".join(held), cure="see `redolake status`")
            return len(tables) == len(pipeline.tables) and all((t.complete_to_scn or 0) >= scn for t in tables)

        self.wait_for_dags(api, f"every table is complete to SCN {scn}", complete)

    def compare(self) -> Verification:
        """Compare every cell with the source, in a child process, and return what was found."""
        self.say("comparing every cell of every table with the source")
        child = self.start("verify", self.services.verify_command(), ends=True)
        self.wait_for_end(child, "all tables are compared")
        file = self.services.comparison_file
        found = decode(Verification, file.read_bytes(), str(file))
        if found.not_compared:
            raise Terminal("\n".join(map(str, found.not_compared)), cure="see `redolake status`")
        return found

    def count_on_primary(self) -> None:
        """Print what the pipeline of a standby has executed on its primary. Raises Terminal for more than it says."""
        if not self.services.on_standby:
            return
        names = {statement(name)[:1000]: name for name in ON_PRIMARY}
        at = f"127.0.0.1:{self.services.oracle_port}/FREE"
        with oracledb.connect(user="SYS", password=PASSWORD, dsn=at, mode=oracledb.AUTH_MODE_SYSDBA) as sys:
            found = {str(text): int(number) for text, number in sys.cursor().execute(COUNTED) if text != COUNTED}
        counted = ", ".join(f"{names.get(text, text)} {number}" for text, number in sorted(found.items())) or "nothing"
        self.say(f"executed on the primary by Redolake: {counted}")
        if others := found.keys() - (names if self.services.asks_primary else {}):
            raise Terminal("the primary was asked for more: " + "; ".join(sorted(others)), cure="see docs/how-to")

    # --- starting, printing and waiting ---

    def start(self, name: str, command: Sequence[str], *, ends: bool = False) -> Child:
        return self.processes.start(name, command, self.services.environment(), self.services.folder, ends=ends)

    def say(self, text: str) -> None:
        self.console.print(f"[{time.monotonic() - self.started:5.1f} s] {text}", markup=False, highlight=False)

    def archive_logs(self) -> None:
        """Let a database of one's own archive its redo every few seconds; the stand-in does so by itself."""
        if self.services.database and time.monotonic() - self.archived >= ARCHIVE_SECONDS:
            self.services.database.archive_logs()
            self.archived = time.monotonic()

    def print_windows(self, pipeline: Pipeline) -> None:
        """Print the landed windows that are not printed yet."""
        for window in steps.list_windows(pipeline, 1000):
            if window.name not in self.printed_windows:
                self.printed_windows.add(window.name)
                scns = f"{window.from_scn} to {window.last_scn}"
                self.say(f"landed window {scns}: {window.logs} logs, {window.rows} change rows")

    def wait_for(
        self,
        what: str,
        condition: Callable[[], bool],
        seconds: float = STEP_TIMEOUT_SECONDS,
        pause: float = POLL_SECONDS,
    ) -> None:
        """Wait for a condition. Raises ChildDied if a process dies meanwhile, Terminal after `seconds`."""
        deadline = time.monotonic() + seconds
        with self.console.status(f"waiting: {what}"):
            while not condition():
                self.processes.check()
                if time.monotonic() > deadline:
                    raise Terminal(f"not within {seconds:.0f} s: {what}", cure=f"read the logs in {self.processes.logs}")
                time.sleep(pause)

    def wait_for_end(self, child: Child, what: str) -> None:
        self.wait_for(what, lambda: child.process.poll() == 0)

    def wait_for_dags(
        self, api: AirflowApi, what: str, condition: Callable[[], bool], seconds: float = STEP_TIMEOUT_SECONDS
    ) -> None:
        """Wait for a condition. Raises Terminal with the task's own message when a DAG run fails meanwhile."""

        def unless_failed() -> bool:
            try:
                failed = api.failed_run()
                if failed is None:
                    return condition()
                messages = api.failure_messages(*failed)
            except AirflowUnavailable:  # the machine may be busy; the deadline still counts
                return False
            raise Terminal(f"a DAG run failed:\n{messages}", cure=f"open {self.services.airflow_url}")

        self.wait_for(what, unless_failed, seconds, pause=2 * POLL_SECONDS)


def doctor_finds_no_error(pipeline: Pipeline) -> bool:
    """Return whether `redolake doctor` finds no error; False while the source does not answer."""
    try:
        return steps.examine(steps.Run(pipeline)).ok
    except Transient:
        return False


def listens(port: int) -> bool:
    """Return whether a process listens on this port of 127.0.0.1."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
