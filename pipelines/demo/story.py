"""The demo's course: a source that changes, a snapshot while it does, windows landed and applied, and the comparison."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rich.console import Console

from pipelines import steps
from pipelines.config import Pipeline, load_pipeline
from pipelines.demo.airflow_api import AirflowApi, AirflowUnavailable
from pipelines.demo.processes import Child, Crew
from pipelines.demo.report import Report
from pipelines.demo.scene import LOGIN, PIPELINE, TABLES, Scene
from pipelines.errors import RedolakeError, Terminal, Transient

T = TypeVar("T")
POLL_SECONDS = 0.5
LONGEST_WORKLOAD = 3600


@dataclass(slots=True)
class Story:
    scene: Scene
    crew: Crew
    console: Console
    work_seconds: int = 30
    rate: float = 20.0
    began: float = field(default_factory=time.monotonic)
    windows_told: set[str] = field(default_factory=set)

    def tell(self) -> Report:
        os.environ.update(self.scene.connections())
        pipeline = load_pipeline(PIPELINE, self.scene.settings)
        with ThreadPoolExecutor(1) as pool:
            workload, warm = self.start_all(pool, pipeline)
            api = self.airflow()
            spark = self.settled("Spark Connect answers", warm, 120)
            self.snapshot(api)
            self.follow(api, pipeline, self.work_seconds)
            work = self.end(workload)
            self.catch_up(api, pipeline, int(work["last_scn"]))
        self.say("comparing every cell of every table with the source")
        compared = steps.verify(pipeline, spark=spark)
        windows = steps.landed_windows(pipeline, 1000)
        spark.stop()
        return Report(time.monotonic() - self.began, windows, compared["tables"], work)

    # --- the parts of it ---

    def start_all(self, pool: ThreadPoolExecutor, pipeline: Pipeline) -> tuple[Child, Future[Any]]:
        scene, env = self.scene, self.scene.child_environment()
        self.say("starting the Oracle stand-in, Spark Connect and Airflow; their logs lie in " + str(self.crew.logs))
        self.crew.start("standin", scene.standin(), env, scene.folder)
        self.crew.start("spark", scene.spark(), env, scene.folder)
        self.crew.start("airflow", scene.airflow(), scene.airflow_environment(), scene.folder)
        warm = pool.submit(warmed, scene)
        self.wait_for("the stand-in listens", (scene.folder / "standin.port").exists, 60)
        workload = self.crew.start("workload", scene.workload(LONGEST_WORKLOAD, self.rate), env, scene.folder)
        self.say(f"a shop of {len(TABLES)} tables is created on {scene.pdb} and changed from now on")
        self.wait_for("redolake doctor finds the shop in order", lambda: nothing_in_the_way(pipeline), 60)
        self.say("redolake doctor: nothing stands in the way")
        return workload, warm

    def airflow(self) -> AirflowApi:
        api = AirflowApi(self.scene.address, LOGIN, LOGIN)
        names = {f"{PIPELINE}_{part}" for part in ("snapshot", "capture", "apply", "backfill")}

        def ready() -> bool:
            try:
                api.login()
                if errors := api.import_errors():
                    raise Terminal("Airflow cannot import the DAGs:\n" + "\n".join(errors), cure="see the traceback")
                return api.healthy() and names <= api.dags()
            except AirflowUnavailable:
                return False

        self.wait_for("Airflow is up and has the DAGs", ready, 180)
        self.say(f"Airflow is up: {self.scene.address} (login {LOGIN}, password {LOGIN})")
        return api

    def snapshot(self, api: AirflowApi) -> None:
        dag = f"{PIPELINE}_snapshot"
        api.unpause(dag)
        run = api.trigger(dag)
        self.say(f"{dag} reads the tables AS OF one SCN, while the workload goes on")
        self.watched(api, f"{dag} has loaded the tables", lambda: api.run_state(dag, run) == "success", 180)
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
        text = self.crew.finish(workload)
        try:
            summary = dict(json.loads(text.strip().splitlines()[-1]))
        except (ValueError, IndexError) as error:
            raise Terminal(f"the workload left no summary:\n{text[-2000:]}", cure=f"read {workload.log}") from error
        self.say(f"the workload has stopped: {summary['transactions']} transactions, last SCN {summary['last_scn']}")
        return summary

    def catch_up(self, api: AirflowApi, pipeline: Pipeline, scn: int) -> None:
        self.say(f"waiting until every table is complete to SCN {scn}")

        def complete() -> bool:
            self.tell_windows(pipeline)
            tables = steps.status(pipeline)["tables"]
            held = [f"{t['table']} is held: {t['error']}" for t in tables if t["state"] == "held"]
            if held:
                raise Terminal("\n".join(held), cure="see `redolake status`")
            return len(tables) == len(TABLES) and all((t["complete_to"] or 0) >= scn for t in tables)

        self.watched(api, f"every table is complete to SCN {scn}", complete, 180)

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
                self.crew.check()
                if time.monotonic() > deadline:
                    raise Terminal(f"not within {seconds:.0f} s: {what}", cure=f"read the logs in {self.crew.logs}")
                time.sleep(pause)

    def watched(self, api: AirflowApi, what: str, condition: Callable[[], bool], seconds: float) -> None:
        """As wait_for, and a failed DAG run ends the demo with the task's own message."""

        def unless_failed() -> bool:
            failed = api.failed_run()
            if failed is not None:
                raise Terminal(f"a DAG run failed:\n{api.why(*failed)}", cure=f"look at {self.scene.address}")
            return condition()

        self.wait_for(what, unless_failed, seconds, pause=2 * POLL_SECONDS)

    def settled(self, what: str, future: Future[T], seconds: float) -> T:
        self.wait_for(what, future.done, seconds)
        return future.result()


def nothing_in_the_way(pipeline: Pipeline) -> bool:
    try:
        return not any(finding.severity == "error" for finding in steps.doctor(pipeline))
    except Transient:
        return False


def warmed(scene: Scene) -> Any:
    """A session of the Connect server once it listens, and one MERGE: the first one of a server takes ten times as long."""
    from pipelines.apply.session import open_session

    wait_for_port(scene.spark_port, 90)
    spark = open_session("connect", scene.spark_remote, {})
    path = f"{scene.folder}/warm-up"
    spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{path}` (id BIGINT, value STRING) USING delta").collect()
    source = "(SELECT id, CAST(id AS STRING) AS value FROM range(10)) AS s"
    merge = f"MERGE INTO delta.`{path}` AS t USING {source} ON t.id = s.id"
    spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *").collect()
    return spark


def wait_for_port(port: int, seconds: float) -> None:
    import socket

    deadline = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise Terminal(f"nothing listens on port {port}", cure="read the demo's spark.log") from error
            time.sleep(POLL_SECONDS)


__all__ = ["RedolakeError", "Story"]
