"""Measure batches whose changes are not spread: `python -m benchmarks.skew [--changes 200000] [--master "local[2]"]`.

The same number of UPDATEs is of as many rows of one table, nearly all of one row, or nearly all of one of five tables. Of each
stage that half of them pass Spark's event log says how many tasks it had, and which part of rows and CPU time the largest had.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.apply_batch import cpu_seconds
from redolake.apply.spark.session import open_session
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.land.files import Files
from redolake.land.parquet import write_parquet
from redolake.records.batches.spec import LandedWindow
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.table import TableId
from tests.integration.spark.landing import AT, OPERATIONS
from tests.integration.spark.redo_rows import committed, of_table, update
from tests.integration.spark.specs import batch_spec, contents, snapshot_spec, task

SHAPES = ("warm-up", "as many rows", "one row", "one of five tables")
REST = 200  # of them one change is somewhere else
FETCHED = 10_000  # rows that capture fetches: Spark reads each row group in a task of its own
TASKS = "8"


def rows_of(shape: str, changes: int) -> dict[str, list[int]]:
    """Return the keys of each table's changes, in their order."""
    rest = changes // REST
    if shape == "one row":
        return {"T": [1] * (changes - rest) + list(range(2, rest + 2))}
    if shape == "one of five tables":
        return {"T": list(range(changes - rest)), **{f"T{n}": list(range(rest // 4)) for n in range(4)}}
    return {"T": list(range(changes // (10 if shape == "warm-up" else 1)))}


def fixed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"at": AT, "operation": OPERATIONS[row["operation_code"]], **row}


def run(spark: Any, folder: Path, shape: str, changes: int) -> tuple[float, float, float]:
    """Return when the batch began and ended, and its CPU seconds, after which each table has its rows."""
    keys, tasks, redo = rows_of(shape, changes), {}, []
    for number, (name, of_name) in enumerate(keys.items()):
        tasks[name] = task(folder, TableId("SHOP", name), object_id=100 + number)
        there = [{"ID": key, "V": f"{key}"} for key in sorted(set(of_name))]
        (loaded,) = run_snapshot(spark, snapshot_spec(folder, tasks[name], 5, there)).tables
        assert loaded.error is None, loaded.error
        seen: dict[int, str] = {key: f"{key}" for key in of_name}
        statements = []
        for turn, key in enumerate(of_name):
            statements.append((3, update(key, seen[key], f"new {turn}"), f"R{key}"))
            seen[key] = f"new {turn}"
        redo += of_table(committed(len(redo), 20 + 2 * number, *statements), name, 100 + number)
    file = folder / "w" / "redo.parquet"
    table = pa.Table.from_pylist([fixed(row) | {"ordinal": n} for n, row in enumerate(redo)], LANDED_SCHEMA)
    write_parquet(Files(str(folder)), "w/redo.parquet", LANDED_SCHEMA, table.to_batches(max_chunksize=FETCHED))
    window = LandedWindow(f"{1:010d}-{10:020d}-{100:020d}", 10, 100, (str(file),))
    before, began = cpu_seconds(), time.time()
    result = run_batch(spark, batch_spec(folder, [window], list(tasks.values()), rows=table.num_rows))
    spent, ended = sum(now - before[name] for name, now in cpu_seconds().items()), time.time()
    assert [one.error for one in result.tables if one.error] == [], result.tables
    for name, of_name in keys.items():
        assert contents(tasks[name]) == {key: f"new {turn}" for turn, key in enumerate(of_name)}, name
    return began * 1000, ended * 1000, spent


def stages(events: Path) -> list[tuple[float, str, list[Mapping[str, Any]]]]:
    """Return when each stage began, its name and its tasks."""
    found, tasks = [], defaultdict[int, list[Mapping[str, Any]]](list)
    for event in map(json.loads, events.read_text().splitlines()):
        if event["Event"] == "SparkListenerTaskEnd":
            tasks[event["Stage ID"]].append(event["Task Metrics"])
        if event["Event"] == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            found.append((info["Submission Time"], info["Stage Name"], tasks[info["Stage ID"]]))
    return found


def rows_in(task: Mapping[str, Any]) -> int:
    return int(task["Shuffle Read Metrics"]["Total Records Read"] + task["Input Metrics"]["Records Read"])


def largest(parts: Sequence[float]) -> float:
    return max(parts) / (sum(parts) or 1)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--changes", type=int, default=200_000)
    arguments.add_argument("--master", default="local[2]")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, events = Path(name), Path(name, "events")
        events.mkdir()
        log = {"enabled": "true", "dir": events.as_uri(), "rolling.enabled": "false", "compress": "false"}
        settings = {f"spark.eventLog.{key}": value for key, value in log.items()}
        few = {"spark.log.level": "ERROR", "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": TASKS,
               "spark.sql.adaptive.coalescePartitions.enabled": "false"}  # fmt: skip
        spark, spent = open_session("local", given.master, {**settings, **few}, [name]), dict[str, tuple[float, float, float]]()
        for shape in SHAPES:
            own = folder / shape.replace(" ", "-")
            (own / "w").mkdir(parents=True)
            spent[shape] = run(spark, own, shape, given.changes)
        spark.stop()
        (file,) = (path for path in events.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
        found = stages(file)
        for shape, (began, ended, cpu) in spent.items():
            sys.stdout.write(f"{shape}: CPU {cpu:.1f} s, {cpu / spent[SHAPES[1]][2]:.2f} of the spread batch\n")
            for at, stage, tasks in found:
                if began <= at <= ended and sum(map(rows_in, tasks)) >= given.changes / 2:
                    of_rows, of_cpu = (largest([*map(part, tasks)]) for part in (rows_in, lambda one: one["Executor CPU Time"]))
                    spilled = sum(one["Disk Bytes Spilled"] for one in tasks)
                    line = f"{len(tasks)} tasks; the largest {of_rows:.2f} of rows, {of_cpu:.2f} of CPU; spilled {spilled}"
                    sys.stdout.write(f"  {stage.partition(' at ')[0]:<12} {line}\n")


if __name__ == "__main__":
    main()
