"""Measure the time from a log switch until the committed changes are visible in the Delta tables, and its terms.

`python benchmarks/latency.py [--ways follow connect submit] [--rounds 5]`

Each way has an Oracle stand-in and the demo's five tables for itself. A round commits changes of some seconds, switches the
logs, and waits until the batch that contains them has its manifest. The change is visible with the last commit in the Delta
logs that contains it, by that file's time.

    follow   `redolake run --follow`: Spark in the same process
    connect  Airflow, Spark on a Connect server that runs
    submit   Airflow, spark-submit for each batch
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Protocol
from urllib.parse import quote

import oracledb
import psutil
from rich.console import Console

from demo.airflow_api import AirflowApi
from demo.processes import DemoProcesses
from demo.services import PASSWORD, PIPELINE, Services, new_services
from demo.walkthrough import Walkthrough, listens
from redolake.config import Pipeline, load_pipeline
from redolake.records.batches.manifest import BatchResult
from redolake.records.codec import decode
from standin.workload import Workload, run_workload
from standin.workload.shop import create_shop

TERMS = ("wait", "gate", "mine", "land", "scheduler", "prepare", "start Spark", "assemble", "decode", "merge", "rest")
CPU = ("CPU", "CPU of others")  # meanwhile: where others work too, the terms are upper bounds
BEFORE_JOB = TERMS[: TERMS.index("start Spark")]
RATE = 10.0  # transactions per second
ROUND_SECONDS = 300.0
EVERY = 0.1  # seconds between two looks of a waiting round
# Rounds begin at different moments of a schedule and of the looks of `--follow`.
SPREAD_SECONDS, SPREAD = 10.0, 0.618
ASSEMBLED = re.compile(r"\b(?:assembled \d+ change rows|\d+ change rows assembled)")
SPARK = {
    "follow": "{mode: submit, connection: demo_spark, conf: %s}",
    "connect": "{mode: connect, connection: demo_spark}",
    "submit": "{mode: submit, connection: demo_spark, conf: %s}",
}
Terms = dict[str, float]


@dataclass(frozen=True)
class MeasuredServices(Services):
    """The services of the demo, without log switches by time, and with Spark and the schedule as the way has them."""

    way: str = ""
    schedule: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    airflow_settings: Mapping[str, str] = field(default_factory=dict)

    def write_files(self) -> None:
        super().write_files()
        spark = SPARK[self.way]
        text = self.pipeline_file.read_text()
        text = re.sub(r"schedule: .*", f"schedule: {json.dumps(self.schedule)}", text)
        text = re.sub(r"spark: .*", lambda _: f"spark: {spark % json.dumps(self.conf) if '%' in spark else spark}", text)
        self.pipeline_file.write_text(text)

    def connection_variables(self) -> dict[str, str]:
        found = super().connection_variables()
        if self.way == "submit":
            found["AIRFLOW_CONN_DEMO_SPARK"] = json.dumps({"conn_type": "spark", "host": "local[2]"})
        return found

    def airflow_environment(self) -> dict[str, str]:
        return {**super().airflow_environment(), **self.airflow_settings}

    def standin_command(self) -> list[str]:
        return [*super().standin_command(), "--archive-lag-target", "0"]

    def spark_settings(self) -> dict[str, str]:
        """Return only what was asked for: a user's server stays up for days, so the demo's settings do not fit it."""
        return dict(self.conf)


# --- One round ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Switch:
    """A log switch after commits up to `scn`."""

    scn: int
    at: float


class Way(Protocol):
    """`terms` returns those before Spark's job begins, and when that task or step began, of the batch that ended last."""

    def check(self) -> None: ...

    def settled(self) -> bool: ...

    def terms(self, switch: Switch) -> tuple[Terms, float]: ...

    def assembled_at(self) -> float: ...


def commit_and_switch(services: Services, seed: int) -> Switch:
    """Change rows for some seconds, then switch the logs of both redo threads."""
    order = Workload(
        dsn=services.pdb_dsn,
        user="SHOP",
        password=PASSWORD,
        seconds=2 + SPREAD_SECONDS * (seed * SPREAD % 1),
        rate=RATE,
        seed=seed,
    )
    run_workload(order)
    with connected(services, "SYS") as session, session.cursor() as cursor:
        ((scn,),) = cursor.execute("SELECT current_scn FROM v$database")
        at = time.time()
        cursor.execute("ALTER SYSTEM ARCHIVE LOG CURRENT")
    return Switch(scn, at)


@contextmanager
def connected(services: Services, user: str) -> Iterator[Any]:
    dsn = services.pdb_dsn if user == "SHOP" else services.pdb_dsn.replace("FREEPDB1", "FREE")
    with oracledb.connect(user=user, password=PASSWORD, dsn=dsn) as session:
        yield session


def wait_for(what: str, reached: Any, way: Way) -> Any:
    """Return the first result that is not None and not False."""
    deadline = time.monotonic() + ROUND_SECONDS
    while (found := reached()) in (None, False):
        way.check()
        if time.monotonic() > deadline:
            sys.exit(f"not within {ROUND_SECONDS:.0f} s: {what}")
        time.sleep(EVERY)
    return found


def measure(services: Services, pipeline: Pipeline, way: Way, seed: int) -> Terms:
    """Return the seconds of each term of a round, and `visible`, the time from the switch."""
    wait_for("the round before has ended", way.settled, way)
    switch = commit_and_switch(services, seed)
    before = cpu_seconds()
    manifest = wait_for("a batch that contains the switch", lambda: manifest_after(pipeline, switch.scn), way)
    result = decode(BatchResult, manifest.read_bytes(), str(manifest))
    visible = max(commit_times(pipeline, switch.scn))
    own, others = (after - first for after, first in zip(cpu_seconds(), before, strict=True))
    wait_for("the batch is recorded", way.settled, way)
    found, ready = way.terms(switch)
    job = way.assembled_at() - result.assemble_seconds
    applying = manifest.stat().st_mtime - result.apply_seconds
    in_tables = sum(table.seconds for table in result.tables) or 1.0
    merge = (visible - applying) * sum(table.merge_seconds for table in result.tables) / in_tables
    of_job = {"start Spark": job - ready, "assemble": applying - job, "decode": visible - applying - merge, "merge": merge}
    terms = {**found, **of_job}
    whole = visible - switch.at
    return {**terms, "rest": whole - sum(terms.values()), "visible": whole, "CPU": own, "CPU of others": others}


def manifest_after(pipeline: Pipeline, scn: int) -> Path | None:
    """Return the manifest of the batch whose range contains the SCN."""
    for manifest in Path(pipeline.landing, pipeline.name, "batches").glob("*/manifest.json"):
        start, end = map(int, manifest.parent.name.split("-")[1:3])
        if start <= scn < end:
            return manifest
    return None


def commit_times(pipeline: Pipeline, scn: int) -> Iterator[float]:
    """Yield when each table's commit was written that makes it complete to the SCN; nothing of a table without changes."""
    for table in pipeline.tables:
        for commit in sorted(Path(pipeline.target(table.id), "_delta_log").glob("0*.json"), reverse=True)[:5]:
            actions = map(json.loads, commit.read_text().splitlines())
            if any(action.get("txn", {}).get("version", -1) >= scn for action in actions):
                yield commit.stat().st_mtime


def cpu_seconds() -> tuple[float, float]:
    """Return the CPU seconds of all processes of this measurement so far, those that have ended included, and of all others."""
    own, busy = 0.0, psutil.cpu_times()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            own += sum(process.cpu_times()[:4])
    return own, busy.user + busy.system + busy.nice - own


# --- redolake run --follow ---------------------------------------------------------------------------------------------------


class Follow:
    """`redolake run --follow`, whose lines of progress are kept with the time at which each came."""

    def __init__(self, services: Services) -> None:
        command = [str(Path(sys.executable).with_name("redolake")), "run", "--follow"]
        self.lines: list[tuple[float, str]] = []
        self.process = subprocess.Popen(
            command,
            env=services.environment(),
            cwd=services.folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append((time.time(), line))

    def check(self) -> None:
        if self.process.poll() is not None:
            sys.exit("redolake run --follow has ended:\n" + "".join(line for _, line in self.lines[-20:]))

    def settled(self) -> bool:
        """Return whether nothing was left to land, and all that was landed is visible."""
        is_landed = self.last("nothing:", 0.0) > self.last("window:", 0.0)
        return is_landed and self.last(" is visible: ", 0.0) >= self.last("applying commits of", 0.0)

    def last(self, text: str, default: float | None = None) -> float:
        for at, line in reversed(self.lines):
            if text in line:
                return at
        assert default is not None, f"no line contains {text!r}"
        return default

    def terms(self, switch: Switch) -> tuple[Terms, float]:
        found = dict.fromkeys(BEFORE_JOB, 0.0)
        (line,) = [line for at, line in self.lines if at > switch.at and " is visible: " in line]
        for step, seconds in re.findall(r"(gate|mine|land|prepare) ([\d.]+) s", line):
            found[step] = float(seconds)
        second_plan = self.last("nothing:") - self.last("landed SCN")
        found["wait"] = self.last("window:") - (found["gate"] - second_plan) - switch.at
        return found, self.last("applying commits of")

    def assembled_at(self) -> float:
        return self.last("change rows assembled")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.reader.join(10)


# --- Airflow -----------------------------------------------------------------------------------------------------------------


@dataclass
class Airflow:
    """Airflow's DAGs; the times are those of the task instances."""

    api: AirflowApi
    processes: DemoProcesses
    switched: Switch = field(default_factory=lambda: Switch(0, 0.0))
    spark: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        self.processes.check()
        if (failed := self.api.failed_run()) is not None:
            sys.exit(self.api.failure_messages(*failed))

    def settled(self) -> bool:
        query = {"state": ["running", "queued"], "limit": 1}
        return not self.api.request("GET", f"/api/v2/dags/{PIPELINE}_apply/dagRuns", query=query)["dag_runs"]

    def tasks(self, part: str, task: str, since: float) -> list[Mapping[str, Any]]:
        """Return the tasks of the first run of a DAG in which this task succeeded and began after `since`."""
        query = {"start_date_gte": datetime.fromtimestamp(since).astimezone().isoformat(), "limit": 1000}
        path = f"/api/v2/dags/{PIPELINE}_{part}/dagRuns/~/taskInstances"
        found = self.api.request("GET", path, query=query)["task_instances"]
        first = min((t for t in found if (t["task_id"], t["state"]) == (task, "success")), key=lambda t: t["start_date"])
        path = f"/api/v2/dags/{PIPELINE}_{part}/dagRuns/{quote(first['dag_run_id'])}"
        run = self.api.request("GET", path)
        return [{**run, "task_id": ""}, *self.api.request("GET", f"{path}/taskInstances")["task_instances"]]

    def terms(self, switch: Switch) -> tuple[Terms, float]:
        capture = self.tasks("capture", "land", switch.at)
        apply = self.tasks("apply", "spark", ended(capture, "land"))
        (self.spark,) = [task for task in apply if task["task_id"] == "spark"]
        run = max(began(capture, ""), switch.at)
        path = [(capture, "plan"), (capture, "mine"), (capture, "land"), (apply, "prepare"), (apply, "spark")]
        begins, ends = [began(*task) for task in path], [ended(*task) for task in path]
        scheduler = sum(begin - end for end, begin in zip([run, *ends], begins, strict=False))
        gate, mine, land, prepare, _ = (end - begin for begin, end in zip(begins, ends, strict=True))
        found = dict(zip(BEFORE_JOB, (run - switch.at, gate, mine, land, scheduler, prepare), strict=True))
        return found, begins[-1]

    def assembled_at(self) -> float:
        task = self.spark
        path = (
            f"/api/v2/dags/{task['dag_id']}/dagRuns/{quote(task['dag_run_id'])}/taskInstances/spark/logs/{task['try_number']}"
        )
        lines = self.api.request("GET", path, query={"full_content": "true"})["content"]
        (at,) = [line["timestamp"] for line in lines if ASSEMBLED.search(str(line.get("event")))]
        return seconds_of(at)


def began(tasks: Sequence[Mapping[str, Any]], name: str) -> float:
    return min(seconds_of(task["start_date"]) for task in tasks if task["task_id"] == name)


def ended(tasks: Sequence[Mapping[str, Any]], name: str) -> float:
    return max(seconds_of(task["end_date"]) for task in tasks if task["task_id"] == name)


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# --- All rounds of a way -----------------------------------------------------------------------------------------------------


def run_way(services: MeasuredServices, given: argparse.Namespace, console: Console) -> list[Terms]:
    """Return the terms of the rounds that count."""
    services.folder.mkdir()
    services.write_files()
    os.environ.update(services.connection_variables())
    pipeline = load_pipeline(PIPELINE, services.pipeline_file)
    processes = DemoProcesses(services.process_record, services.folder / "logs")
    walkthrough = Walkthrough(services, processes, console)
    try:
        walkthrough.start("standin", services.standin_command())
        walkthrough.wait_for("the stand-in listens", (services.folder / "standin.port").exists, 60)
        with connected(services, "SHOP") as session:
            create_shop(session)
        with opened(services, walkthrough) as way:
            rounds = []
            for number in range(1, given.warm_up + given.rounds + 1):
                rounds.append(measure(services, pipeline, way, number))
                terms = ", ".join(f"{name} {rounds[-1][name]:.1f}" for name in ("visible", *TERMS, *CPU))
                walkthrough.say(f"{services.way}, round {number}: {terms}")
    finally:
        processes.stop()
    return rounds[given.warm_up :]


@contextmanager
def opened(services: MeasuredServices, walkthrough: Walkthrough) -> Iterator[Way]:
    """Start what captures and applies, load the snapshot, and yield it once it is ready for a log switch."""
    if services.way == "follow":
        follow = Follow(services)
        try:
            yield follow
        finally:
            follow.stop()
        return
    if services.way == "connect":
        walkthrough.start("spark", services.spark_command())
        walkthrough.wait_for("Spark Connect listens", lambda: listens(services.spark_port))
        warm_up = walkthrough.start("warm-up", services.warm_up_command(), ends=True)
        walkthrough.wait_for_end(warm_up, "Spark is warmed up")
    processes = walkthrough.processes
    processes.start("airflow", services.airflow_command(), services.airflow_environment(), services.folder)
    api = walkthrough.wait_for_airflow()
    walkthrough.load_snapshot(api)
    yield Airflow(api, processes)


def services_of(way: str, folder: Path, given: argparse.Namespace) -> MeasuredServices:
    new = new_services(folder)
    ports = (new.oracle_port, new.spark_port, new.airflow_port)
    pairs = {name: dict(item.split("=", 1) for item in getattr(given, name)) for name in ("conf", "airflow")}
    chosen = {"way": way, "schedule": given.schedule, "conf": pairs["conf"], "airflow_settings": pairs["airflow"]}
    return MeasuredServices(new.folder, *ports, **chosen)


def table(found: Mapping[str, Sequence[Terms]]) -> str:
    """Return median, lowest and highest seconds of each term as Markdown."""
    lines = ["| s | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for term in ("visible", *TERMS, *CPU):
        cells = []
        for rounds in found.values():
            figures = [terms[term] for terms in rounds]
            cells.append(f"{median(figures):.1f} ({min(figures):.1f} to {max(figures):.1f})")
        lines.append(f"| {term} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ways", nargs="+", choices=list(SPARK), default=list(SPARK))
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--warm-up", type=int, default=2, help="rounds before, which are not counted")
    arguments.add_argument("--schedule", default="every 10s", help="of the capture DAG")
    arguments.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="of Spark")
    arguments.add_argument("--airflow", action="append", default=[], metavar="VARIABLE=VALUE", help="of Airflow's processes")
    arguments.add_argument("--keep", type=Path, help="an empty folder for all files, which stays")
    arguments.add_argument("--json", type=Path, help="write the figures of every round to this file")
    given = arguments.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that all processes are stopped
    console = Console(stderr=True, soft_wrap=True)
    found: dict[str, list[Terms]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in given.ways:
            found[way] = run_way(services_of(way, (given.keep or Path(folder)) / way, given), given, console)
            if given.json:
                given.json.write_text(json.dumps(found, indent=1))
    sys.stdout.write(table(found))


if __name__ == "__main__":
    main()
