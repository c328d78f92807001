"""The demo's course: a source that changes, a snapshot while it does, windows landed and applied, and the comparison."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from demo.airflow_api import AirflowApi, AirflowUnavailable
from demo.processes import Child, DemoProcesses
from demo.report import Report
from demo.services import LOGIN, PIPELINE, Services
from pipelines import steps
from pipelines.config import Pipeline, load_pipeline
from pipelines.errors import Terminal, Transient

POLL_SECONDS = 0.5
LONGEST_WORKLOAD = 3600
KEPT_RATE = 2.0
SLOWEST_SECONDS = 420.0  # for one part, on a machine that has other work too


@dataclass(slots=True)
class Walkthrough:
    services: Services
    processes: DemoProcesses
    console: Console
    work_seconds: int = 20
    rate: float = 20.0
    began: float = field(default_factory=time.monotonic)
    windows_told: set[str] = field(default_factory=set)

    def tell(self) -> Report:
        os.environ.update(self.services.connections())
        pipeline = load_pipeline(PIPELINE, self.services.settings)
        workload = self.start_all(pipeline)
        self.wait_for("Spark Connect listens", lambda: listens(self.services.spark_port), SLOWEST_SECONDS)
        warm = self.processes.start(
            "warm-up", self.services.warm_up(), self.services.child_environment(), self.services.folder, ends=True
        )
        api = self.airflow()
        self.snapshot(api)
        self.ended(warm, "Spark is warm", SLOWEST_SECONDS)
        self.follow(api, pipeline, self.work_seconds)
        work = self.end(workload)
        self.catch_up(api, pipeline, int(work["last_scn"]))
        tables = self.compare()
        return Report(time.monotonic() - self.began, steps.landed_windows(pipeline, 1000), tables, work)

    def go_on(self) -> None:
        """A demo that is kept: more work, captured and applied as before, for who looks around."""
        env = self.services.child_environment()
        self.processes.start(
            "workload", self.services.workload(LONGEST_WORKLOAD, KEPT_RATE), env, self.services.folder, ends=True
        )
        api = AirflowApi(self.services.address, LOGIN, LOGIN)
        api.login()
        api.unpause(f"{PIPELINE}_capture")
        self.say(f"the workload goes on for {LONGEST_WORKLOAD // 60} minutes, and so do capture and apply")

    # --- the parts of it ---

    def start_all(self, pipeline: Pipeline) -> Child:
        services, env = self.services, self.services.child_environment()
        self.say("starting the Oracle stand-in, Spark Connect and Airflow; their logs lie in " + str(self.processes.logs))
        self.processes.start("standin", services.standin(), env, services.folder)
        self.processes.start("spark", services.spark(), env, services.folder)
        self.processes.start("airflow", services.airflow(), services.airflow_environment(), services.folder)
        self.wait_for("the stand-in listens", (services.folder / "standin.port").exists, 60)
        workload = self.processes.start("workload", services.workload(LONGEST_WORKLOAD, self.rate), env, services.folder)
        self.say(f"a shop of {len(pipeline.tables)} tables is created on {services.pdb} and changed from now on")
        self.wait_for("redolake doctor finds the shop in order", lambda: nothing_in_the_way(pipeline), 60)
        self.say("redolake doctor: nothing stands in the way")
        return workload

    def airflow(self) -> AirflowApi:
        api = AirflowApi(self.services.address, LOGIN, LOGIN)
        names = {f"{PIPELINE}_{part}" for part in ("snapshot", "capture", "apply", "backfill")}

        def ready() -> bool:
            try:
                api.login()
                if errors := api.import_errors():
                    raise Terminal("Airflow cannot import the DAGs:\n" + "\n".join(errors), cure="see the traceback")
                return api.healthy() and names <= api.dags()
            except AirflowUnavailable:
                return False

        self.wait_for("Airflow is up and has the DAGs", ready, SLOWEST_SECONDS)
        self.say(f"Airflow is up: {self.services.address} (login {LOGIN}, password {LOGIN})")
        return api

    def snapshot(self, api: AirflowApi) -> None:
        dag = f"{PIPELINE}_snapshot"
        api.unpause(dag)
        run = api.trigger(dag)
        self.say(f"{dag} reads the tables AS OF one SCN, while the workload goes on")
        self.watched(api, f"{dag} has loaded the tables", lambda: api.run_state(dag, run) == "success", SLOWEST_SECONDS)
        self.say("the snapshot is loaded; capture and apply run from here on")
        for part in ("capture", "apply"):
            api.unpause(f"{PIPELINE}_{part}")

    def follow(self, api: AirflowApi, pipeline: Pipeline, seconds: float) -> None:
        until = time.monotonic() + seconds

        def passed() -> bool:
            self.tell_windows(pipeline)
            return time.monotonic() >= until

        self.watched(api, "the workload has run", passed, seconds + 60)

    def end(self, workload: Child) -> dict[str, Any]:
        """Stop the workload and read its summary, the last line of its output."""
        text = self.processes.finish(workload)
        try:
            summary = dict(json.loads(text.strip().splitlines()[-1]))
        except (ValueError, IndexError) as error:
            raise Terminal(f"the workload left no summary:\n{text[-2000:]}", cure=f"read {workload.log}") from error
        self.say(f"the workload has stopped: {summary['transactions']} transactions, last SCN {summary['last_scn']}")
        return summary

    def catch_up(self, api: AirflowApi, pipeline: Pipeline, scn: int) -> None:
        self.say(f"waiting until every table is complete to SCN {scn}")

        landed = False

        def complete() -> bool:
            nonlocal landed
            self.tell_windows(pipeline)
            found = steps.status(pipeline)
            if not landed and found["landed_to"] > scn:
                landed = True
                self.say("all of it is landed; capture is paused")
                api.pause(f"{PIPELINE}_capture")
            tables = found["tables"]
            held = [f"{t['table']} is held: {t['error']}" for t in tables if t["state"] == "held"]
            if held:
                raise Terminal("\n".join(held), cure="see `redolake status`")
            return len(tables) == len(pipeline.tables) and all((t["complete_to"] or 0) >= scn for t in tables)

        self.watched(api, f"every table is complete to SCN {scn}", complete, SLOWEST_SECONDS)

    def compare(self) -> list[dict[str, Any]]:
        self.say("comparing every cell of every table with the source")
        command, env = self.services.verify(), self.services.child_environment()
        child = self.processes.start("verify", command, env, self.services.folder, ends=True)
        self.ended(child, "all tables are compared", SLOWEST_SECONDS)
        found: list[dict[str, Any]] = json.loads(self.services.compared.read_text())["tables"]
        return found

    # --- telling and waiting ---

    def say(self, text: str) -> None:
        self.console.print(f"[{time.monotonic() - self.began:5.1f} s] {text}", markup=False, highlight=False)

    def tell_windows(self, pipeline: Pipeline) -> None:
        for window in steps.landed_windows(pipeline, 1000):
            if window["name"] not in self.windows_told:
                self.windows_told.add(window["name"])
                scns = f"[{window['start']}, {window['end']})"
                self.say(f"landed window {scns}: {window['logs']} logs, {window['rows']} change rows")

    def wait_for(self, what: str, condition: Callable[[], bool], seconds: float, pause: float = POLL_SECONDS) -> None:
        """Until it is so; a process that dies meanwhile, or the deadline, ends the demo."""
        deadline = time.monotonic() + seconds
        with self.console.status(f"waiting: {what}"):
            while not condition():
                self.processes.check()
                if time.monotonic() > deadline:
                    raise Terminal(f"not within {seconds:.0f} s: {what}", cure=f"read the logs in {self.processes.logs}")
                time.sleep(pause)

    def ended(self, child: Child, what: str, seconds: float) -> None:
        self.wait_for(what, lambda: child.process.poll() == 0, seconds)

    def watched(self, api: AirflowApi, what: str, condition: Callable[[], bool], seconds: float) -> None:
        """As wait_for, and a failed DAG run ends the demo with the task's own message."""

        def unless_failed() -> bool:
            try:
                failed = api.failed_run()
                if failed is None:
                    return condition()
                why = api.why(*failed)
            except AirflowUnavailable:  # a busy machine; the deadline counts
                return False
            raise Terminal(f"a DAG run failed:\n{why}", cure=f"look at {self.services.address}")

        self.wait_for(what, unless_failed, seconds, pause=2 * POLL_SECONDS)


def nothing_in_the_way(pipeline: Pipeline) -> bool:
    try:
        return not any(finding.severity == "error" for finding in steps.doctor(pipeline))
    except Transient:
        return False


def listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
