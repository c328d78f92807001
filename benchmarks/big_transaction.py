"""Measure one transaction over several batches: `python benchmarks/big_transaction.py [--changes 1000000] [--json FILE]`.

The stand-in runs in a process of its own. Each part of the transaction takes back what the part before has done since its
savepoint; then it inserts, updates and deletes. A log switch, a capture and an apply follow. After the last part comes the
COMMIT, and `redolake verify` compares every cell with the source. Each step is a process, as in Airflow. Its peaks are
compared with those of a transaction of 10,000 changes.

With `--copies 10` the jobs run a second time, on ten copies of the landed changes under other keys and ROWIDs: for sizes
that the stand-in cannot hold. Then the lake is compared with ten copies of the lake that was verified.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import oracledb
import yaml
from landed_copies import FIRST_KEY, copy_all
from peaks import Step, watch

HERE = Path(__file__).resolve()
BASELINE = 10_000
PASSWORD = "oracle"
TABLE = (
    "CREATE TABLE big (id NUMBER(10) CONSTRAINT big_pk PRIMARY KEY, name VARCHAR2(60), amount NUMBER(12,2), placed DATE, "
    "note VARCHAR2(40))"
)
LOGGED = "ALTER TABLE big ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


# --- Processes ---------------------------------------------------------------------------------------------------------------


def run_step(name: str, *arguments: str, environment: Mapping[str, str]) -> Step:
    """Run this script in another process, and watch it. Its last line says how long its work took, and for how many rows."""
    command = [sys.executable, str(HERE), "--step", name, *arguments]
    step, ended = Step(name), Event()
    with subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, text=True) as process:
        watcher = Thread(target=watch, args=(process.pid, step, ended))
        watcher.start()
        lines = process.communicate()[0].splitlines()
        ended.set()
        watcher.join()
    if process.returncode:
        sys.exit(f"{name} failed: {lines[-20:]}")
    answer = json.loads(lines[-1])
    step.seconds, step.rows = answer["seconds"], answer["rows"]
    say(
        f"    {name}: {step.seconds:.1f} s, {step.cpu:.1f} s CPU with all starts, "
        + ", ".join(f"{kind} {peak / 1e6:,.0f} MB" for kind, peak in step.peaks.items())
    )
    return step


# --- The steps, each in a process of its own ---------------------------------------------------------------------------------


def do_step(name: str, arguments: Sequence[str]) -> None:
    began, rows = {
        "snapshot": do_snapshot,
        "capture": do_capture,
        "apply": do_apply,
        "verify": do_verify,
        "job": do_job,
        "compare": do_compare,
    }[name](*arguments)
    sys.stdout.write(f"\n{json.dumps({'seconds': time.perf_counter() - began, 'rows': rows})}\n")


def pipeline() -> Any:
    from redolake.config import load_pipeline

    return load_pipeline("big", Path(os.environ["REDOLAKE_CONFIG"]))


def do_snapshot() -> tuple[float, int]:
    from redolake.steps.run import take_snapshot

    began = time.perf_counter()
    return began, sum(table.rows for table in take_snapshot(pipeline()).tables)


def do_capture() -> tuple[float, int]:
    from redolake.steps.run import capture

    began, rows, mine = time.perf_counter(), 0, pipeline()
    while (found := capture(mine)).plan.window is not None:
        rows += found.rows
    return began, rows


def do_apply() -> tuple[float, int]:
    from redolake.context import Run
    from redolake.steps.run import apply

    with Run(pipeline()) as run:
        run.spark.session()
        began = time.perf_counter()
        batches = 0
        while apply(run):
            batches += 1
            run.begin_turn()
        taken = time.perf_counter() - began
    return time.perf_counter() - taken, batches


def do_verify() -> tuple[float, int]:
    from redolake.steps.proof.verify import verify_tables

    began = time.perf_counter()
    found = verify_tables(pipeline())
    if not found.equal:
        sys.exit(f"the lake differs from the source: {found}")
    return began, 0


def do_job(path: str) -> tuple[float, int]:
    """Run a spec, a batch's or a snapshot's."""
    from redolake.context.spark import open_spark
    from redolake.job.job import read_spec, run

    spec, spark = read_spec(path), open_spark(pipeline())
    began = time.perf_counter()
    result = run(spark, spec)
    taken = time.perf_counter() - began
    if any(table.error for table in result.tables):
        sys.exit(f"a table stopped: {result}")
    spark.stop()
    return time.perf_counter() - taken, 0


def do_compare(verified: str, copies: str, number: str) -> tuple[float, int]:
    """Compare a lake of copies with the lake of the original: each row of that one as often, with its copies' keys."""
    from pyspark.sql import functions as F

    from redolake.context.spark import open_spark

    spark, began = open_spark(pipeline()), time.perf_counter()
    original = spark.read.format("delta").load(verified)
    key = F.col("ID") - F.lit(FIRST_KEY)
    found = spark.read.format("delta").load(copies)
    folded = found.withColumns({"copy": F.floor(key / 1_000_000), "ID": F.lit(FIRST_KEY) + key % 1_000_000})
    values = [name for name in original.columns if not name.startswith("_")]
    counted = folded.groupBy(*values).agg(F.countDistinct("copy").alias("copies"), F.count("*").alias("rows"))
    wanted = original.select(*values, F.lit(int(number)).alias("copies"), F.lit(int(number)).alias("rows"))
    lacking, surplus = wanted.exceptAll(counted).count(), counted.exceptAll(wanted).count()
    if lacking or surplus:
        sys.exit(f"the lake of copies differs: {lacking} rows are lacking, {surplus} are too many")
    rows = found.count()
    spark.stop()
    return began, rows


# --- The source --------------------------------------------------------------------------------------------------------------


@contextmanager
def source(folder: Path) -> Iterator[Step]:
    """Start the stand-in in a process of its own; yield its peaks, with its port as `rows`."""
    port_file, step, ended = folder / "port", Step("stand-in"), Event()
    command = [sys.executable, "-m", "standin", "start", "--port", "0", "--port-file", str(port_file), "--log-size", "65536"]
    command += ["--archive-lag-target", "0", "--no-flashback-by-seconds", "--archive-dest", str(folder / "archive")]
    environment = {**os.environ, "STANDIN_PASSWORD": PASSWORD, "PYTHONPATH": f"{HERE.parents[1]}/pipelines:{HERE.parents[1]}"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        watcher = Thread(target=watch, args=(process.pid, step, ended))
        watcher.start()
        try:
            while not port_file.exists():
                time.sleep(0.1)
                if process.poll() is not None:
                    sys.exit("the stand-in has stopped")
            step.rows = int(port_file.read_text())
            yield step
        finally:
            ended.set()
            watcher.join()
            process.terminate()


@dataclass(slots=True)
class Transaction:
    """One transaction of `parts` parts, `changes` in all, undo rows included. Each statement is one of many rows."""

    connection: Any
    switch: Any
    changes: int
    parts: int

    @property
    def per_part(self) -> int:
        return self.changes // self.parts

    def prepare(self) -> None:
        """Create the table with a fifth as many rows as there will be changes."""
        cursor, rows = self.connection.cursor(), self.changes // 5
        cursor.execute(TABLE)
        cursor.execute(LOGGED)
        for start in range(0, rows, 50_000):
            keys = range(start, min(rows, start + 50_000))
            values = [(FIRST_KEY + n, f"customer {n}, it's text", n / 100, f"note {n % 7}") for n in keys]
            cursor.executemany("INSERT INTO big VALUES (:1, :2, :3, DATE '2026-01-02', :4)", values)
            self.connection.commit()
        self.archive()

    def part(self, number: int) -> None:
        """Make one part. What it does after its savepoint, the next part takes back first."""
        n, cursor = self.per_part, self.connection.cursor()
        if number:
            cursor.execute("ROLLBACK TO SAVEPOINT part")
        base, new = FIRST_KEY + number * n // 5, FIRST_KEY + self.changes // 5 + number * n // 2
        self.insert(new, 45 * n // 100)
        self.update(base, n // 5)
        self.update(new, n // 20)
        cursor.execute("DELETE FROM big WHERE id BETWEEN :1 AND :2", [base, base + n // 10 - 1])
        cursor.execute("SAVEPOINT part")
        self.insert(new + 45 * n // 100, n // 20)
        self.update(new, n // 20)
        if number == self.parts - 1:
            cursor.execute("ROLLBACK TO SAVEPOINT part")

    def insert(self, first: int, rows: int) -> None:
        """Copy rows that no part deletes: of each fifth of the base, the upper half."""
        cursor, step = self.connection.cursor(), self.per_part // 10
        upper = FIRST_KEY + (self.parts - 1) * self.per_part // 5 + step  # of the last part, which is changed last
        for start in range(0, rows, step):
            last = upper + min(step, rows - start) - 1
            copied = "SELECT id + :1, name, amount, placed, note FROM big WHERE id BETWEEN :2 AND :3"
            cursor.execute(f"INSERT INTO big {copied}", [first + start - upper, upper, last])

    def update(self, first: int, rows: int) -> None:
        changed = "UPDATE big SET amount = amount + 1, note = 'changed' WHERE id BETWEEN :1 AND :2"
        self.connection.cursor().execute(changed, [first, first + rows - 1])

    def archive(self) -> None:
        self.switch.cursor().execute("ALTER SYSTEM ARCHIVE LOG CURRENT")


# --- A run -------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """A transaction through all steps. `carried` has the bytes of carry-over by batch: written by it, and kept as they were."""

    changes: int
    steps: list[Step] = field(default_factory=list)
    carried: list[tuple[int, int]] = field(default_factory=list)

    def peak(self, *names: str, kind: str) -> int:
        return max((step.peaks.get(kind, 0) for step in self.steps if step.name in names), default=0)

    def peaks(self) -> dict[str, int]:
        return {
            "capture, client": self.peak("capture", kind="Python"),
            "apply, driver's Python": self.peak("apply", "job", kind="Python"),
            "apply, Java": self.peak("apply", "job", kind="Java"),
            "apply, Python worker": self.peak("apply", "job", kind="workers"),
        }

    def seconds(self) -> dict[str, float]:
        return {name: sum(step.seconds for step in self.steps if step.name == name) for name in self.names()}

    def cpu(self) -> dict[str, float]:
        return {name: sum(step.cpu for step in self.steps if step.name == name) for name in self.names()}

    def names(self) -> list[str]:
        return list(dict.fromkeys(step.name for step in self.steps))


def run(changes: int, folder: Path, given: argparse.Namespace) -> Run:
    """Make the transaction in the stand-in and bring it to the lake."""
    folder.mkdir()
    found = Run(changes)
    with source(folder) as standin:
        environment = configure(folder, standin.rows, given)
        dsn = f"127.0.0.1:{standin.rows}"
        with (
            oracledb.connect(user="SHOP", password=PASSWORD, dsn=f"{dsn}/FREEPDB1") as shop,
            oracledb.connect(user="SYS", password=PASSWORD, dsn=f"{dsn}/FREE") as switch,
        ):
            transaction = Transaction(shop, switch, changes, given.parts)
            transaction.prepare()
            found.steps.append(run_step("snapshot", environment=environment))
            for number in range(given.parts):
                began = time.perf_counter()
                transaction.part(number)
                if number == given.parts - 1:
                    shop.commit()
                transaction.archive()
                standin.seconds += time.perf_counter() - began
                found.steps += [run_step(name, environment=environment) for name in ("capture", "apply")]
                found.carried.append(carry_over(folder, found.carried))
            found.steps.append(run_step("verify", environment=environment))
            found.steps.append(replace(standin, rows=changes))
    return found


def configure(folder: Path, port: int, given: argparse.Namespace) -> dict[str, str]:
    """Write pipelines.yml, and return the environment of a step."""
    settings = {
        "spark.driver.memory": given.heap,
        "spark.local.dir": str(folder / "spark"),
        "spark.log.level": "ERROR",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    } | dict(item.split("=", 1) for item in given.conf)
    described = {
        "source": {"connection": "oracle_big", "container": "FREEPDB1"},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "tables": ["SHOP.BIG"],
        "window": {"max_bytes": 256 * 2**20, "slice_bytes": 64 * 2**20},
        "parallel_sessions": given.parallel_sessions,
        "spark": {"conf": settings},
    }
    file = folder / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"big": described}}))
    return {
        **os.environ,
        "PYTHONPATH": f"{HERE.parents[1]}/pipelines:{HERE.parents[1]}",
        "REDOLAKE_CONFIG": str(file),
        "AIRFLOW_CONN_ORACLE_BIG": f"oracle://c%23%23redolake:{PASSWORD}@127.0.0.1:{port}/FREE",
    }


def carry_over(folder: Path, before: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the bytes that the newest batch has written to its carry-over, and those that it lists from earlier ones."""
    newest = max((folder / "landing").rglob("batches/*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    written = sum(file.stat().st_size for file in newest.parent.rglob("carry*/**/*.parquet"))
    result = json.loads(newest.read_text())
    listed = [Path(file) for one in result["parked"] for file in one["files"]] + [Path(file) for file in result["carry_files"]]
    return written, sum(file.stat().st_size for file in listed if newest.parent not in file.parents)


# --- Copies of what was landed -----------------------------------------------------------------------------------------------


def run_copies(original: Run, folder: Path, copies: int, given: argparse.Namespace) -> Run:
    """Run the original's jobs again, each on copies of the files that it read."""
    from redolake.job.job import read_spec
    from redolake.records.batches.manifest import BatchResult
    from redolake.records.codec import decode, encode

    environment = configure(folder, 0, given)
    landing, copied = folder / "landing" / "big", folder / "copied"
    copied.mkdir()
    found, parked, carried = Run(original.changes * copies), (), ()
    (load,) = landing.glob("loads/*/spec.json")
    target = str(folder / "lake-of-copies")
    spec = read_spec(str(load))
    (task,) = spec.tables
    task = replace(task, target=target, files=copy_all(task.files, copied, copies), rows=copies * (task.rows or 0) or None)
    paths = [write(copied / "load.json", encode(replace(spec, tables=(task,), manifest=str(copied / "loaded.json"))))]
    found.steps.append(run_step("job", paths[0], environment=environment))
    found.steps[-1].name = "snapshot"
    for number, file in enumerate(sorted(landing.glob("batches/*/spec-*.json"))):
        spec, out = read_spec(str(file)), copied / str(number)
        windows = tuple(replace(window, files=copy_all(window.files, copied, copies)) for window in spec.redo.windows)
        tables = tuple(replace(task, target=target) for task in spec.tables)
        again = replace(
            spec, redo=replace(spec.redo, windows=windows, carry_in=carried, parked=parked), tables=tables,
            carry_out=str(out / "carry"), manifest=str(out / "manifest.json"),
        )  # fmt: skip
        found.steps.append(run_step("job", write(copied / f"{number}.json", encode(again)), environment=environment))
        result = decode(BatchResult, (out / "manifest.json").read_text(), str(out))
        kept = sum(Path(name).stat().st_size for one in result.parked if one in parked for name in one.files)
        found.carried.append((sum(name.stat().st_size for name in out.rglob("carry*/**/*.parquet")), kept))
        carried, parked = result.carry_files, result.parked
    arguments = (str(folder / "lake" / "shop" / "big"), target, str(copies))
    found.steps.append(run_step("compare", *arguments, environment=environment))
    return found


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


# --- What is printed ---------------------------------------------------------------------------------------------------------


def report(found: Run, baseline: Run, heap: str) -> None:
    say(f"\n{found.changes:,} changes in one transaction:")
    for name, peak in found.peaks().items():
        if peak:
            than = baseline.peaks()[name]  # 0 for Python workers where few changes needed none
            ratio = f"{peak / than:5.2f} times that of {baseline.changes:,}" if than else ""
            bound = f", heap {heap}" if "Java" in name else ""
            say(f"  {name + bound:<34}{peak / 1e6:>8,.0f} MB   {ratio}")
    cpu = found.cpu()
    for name, seconds in found.seconds().items():
        rate = f"{found.changes / seconds:>10,.0f} changes/s" if name in ("capture", "apply", "job", "stand-in") else ""
        say(f"  {name:<34}{seconds:>8,.1f} s  {cpu[name]:>8,.1f} s CPU {rate}")
    for number, (written, kept) in enumerate(found.carried, 1):
        say(f"  batch {number}: carry-over written {written / 1e6:,.2f} MB, kept as it was {kept / 1e6:,.2f} MB")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def as_json(found: Run) -> dict[str, Any]:
    by_step = [
        {"step": s.name, "seconds": s.seconds, "rows": s.rows, "cpu": s.cpu, "java": s.java, "peaks": s.peaks}
        for s in found.steps
    ]
    whole = {"changes": found.changes, "peaks": found.peaks(), "seconds": found.seconds(), "carried": found.carried}
    return {**whole, "steps": by_step}


def of_json(found: Mapping[str, Any]) -> Run:
    by_step = [Step(s["step"], s["seconds"], s["rows"], s.get("cpu", 0.0), s["peaks"], s["java"]) for s in found["steps"]]
    return Run(found["changes"], by_step, [tuple(each) for each in found["carried"]])


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        do_step(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--parts", type=int, default=4, help="batches that the transaction spans")
    parser.add_argument("--copies", type=int, help="apply this many copies of the landed changes too")
    parser.add_argument("--heap", default="1g", help="spark.driver.memory")
    parser.add_argument("--parallel-sessions", type=int, default=1)
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="of Spark")
    parser.add_argument("--folder", type=Path, help="a folder on a disk with room; its contents are removed")
    parser.add_argument("--baseline", type=Path, help="take the figures to compare with from this file of an earlier run")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    given = parser.parse_args()
    runs = [of_json(one) for one in json.loads(given.baseline.read_text())[:1]] if given.baseline else []
    for changes in dict.fromkeys((*([] if runs else [BASELINE]), *given.changes)):
        with tempfile.TemporaryDirectory(dir=given.folder) as parent:
            folder = Path(parent) / "run"
            runs.append(run(changes, folder, given))
            report(runs[-1], runs[0], given.heap)
            if given.copies and changes == given.changes[-1]:
                if given.json:
                    given.json.write_text(json.dumps([as_json(one) for one in runs], indent=1))
                shutil.rmtree(folder / "archive")
                runs.append(run_copies(runs[-1], folder, given.copies, given))
                report(runs[-1], runs[0], given.heap)
        if given.json:
            given.json.write_text(json.dumps([as_json(one) for one in runs], indent=1))


if __name__ == "__main__":
    main()
