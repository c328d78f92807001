"""Load, change and compare a large table with a history on the cores of MASTER, by default eight here, and print how many tasks
each stage had.

Run by `python -m tests.integration.spark.many_cores FOLDER [MASTER]`.
A process of its own, for a process has one Spark. Sizes are a thousandth of those that Spark divides by, so that a batch of
twenty thousand changes has as many tasks as one of millions.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from demo.services import QUICK_JAVA
from redolake.apply.spark.session import open_session
from redolake.apply.verify.comparison import CompareTask
from redolake.host.spark_settings import WORKERS_PYTHON
from redolake.job.comparison import compare_one, compare_with_history
from redolake.job.job import run
from redolake.records.loads import SnapshotSpec
from redolake.records.proofs import ProvedHistory
from tests.fixtures.spark import ONE_JAVA_ON_DISK, QUIET_AND_SHORT
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, insert, update
from tests.integration.spark.specs import batch_spec, snapshot_spec, task
from tests.references.delta_table import latest_version

CORES, CHANGES = 8, 20_000
ROOT = Path(__file__).parents[3]
SOURCE = pa.schema([("ID", pa.decimal128(10, 0)), ("V", pa.string())])
OWN_SIZES = {"spark.default.parallelism", "spark.databricks.delta.snapshotPartitions", "spark.sql.adaptive.enabled"}
ON_HOSTS = {WORKERS_PYTHON: sys.executable, "spark.executorEnv.PYTHONPATH": f"{ROOT / 'pipelines'}:{ROOT}",
            "spark.executor.memory": "512m", "spark.executor.extraJavaOptions": QUICK_JAVA}  # fmt: skip


def main(folder: Path, master: str) -> None:
    events = folder / "events"
    events.mkdir()
    small = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1k",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64k",
        "spark.sql.files.openCostInBytes": "4k",
        "spark.sql.files.maxPartitionBytes": "128k",
        "spark.sql.autoBroadcastJoinThreshold": "10k",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    quiet = {name: value for name, value in QUIET_AND_SHORT.items() if name not in OWN_SIZES}
    spark = open_session("local", master, {**quiet, **ONE_JAVA_ON_DISK, **({} if "local" in master else ON_HOSTS), **small})
    phases: dict[str, float] = {}

    def phase(name: str, work: Callable[[], Any]) -> Any:
        phases[name] = time.time() * 1000
        return work()

    mine = task(folder, history=str(folder / "lake" / "_history"))
    before = {n: f"v{n}" for n in range(0, CHANGES * 2, 2)}
    (load,) = phase("load", lambda: run(spark, in_files(snapshot_spec(folder, mine, 5), before))).tables
    assert load.error is None, load.error
    changes = [
        (3, update(n, f"v{n}", f"new {n}"), f"R{n}") if n % 2 == 0 else (1, insert(n, f"new {n}"), f"R{n}")
        for n in range(CHANGES)
    ]
    window = land(folder / "w", 10, 100, committed(0, 10, *changes))
    (applied,) = phase("batch with history", lambda: run(spark, batch_spec(folder, [window], [mine]))).tables
    assert applied.error is None, applied.error
    there = mine.destination
    compared = CompareTask(
        mine.table, there.target, mine.course.versions[0], (), 99, latest_version(there.target), app_id=there.app_id
    )
    after = before | {n: f"new {n}" for n in range(CHANGES)}
    files = in_files(snapshot_spec(folder, mine, 99), after).tables[0].files
    found = phase("verify", lambda: compare_one(spark, replace(compared, files=files)))
    assert (found.missing_rows, found.extra_rows, found.differing_cells) == (0, 0, 0), found
    assert phase("verify history", lambda: compare_with_history(spark, compared, str(there.history))) == ProvedHistory()
    spark.stop()
    (file,) = (path for path in events.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    sys.stdout.write(json.dumps(stages(file, phases)) + "\n")


def in_files(spec: SnapshotSpec, rows: dict[int, str]) -> SnapshotSpec:
    """Return the spec with these rows, in files as chunks leave them."""
    (one,) = spec.tables
    ids, files = sorted(rows), []
    for number in range(2 * CORES):
        file = Path(one.files[0]).with_suffix(f".{number}.parquet")
        mine = [{"ID": n, "V": rows[n]} for n in ids[number :: 2 * CORES]]
        pq.write_table(pa.Table.from_pylist(mine, SOURCE), file)
        files.append(str(file))
    return replace(spec, tables=(replace(one, files=tuple(files), rows=len(rows)),))


def stages(file: Path, phases: dict[str, float]) -> list[dict[str, Any]]:
    """Return the tasks of each stage, in which phase it ran, and the rows that it read from files and from shuffles."""
    found: dict[int, dict[str, Any]] = {}
    for event in map(json.loads, file.read_text().splitlines()):
        if event["Event"] == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            begun = [name for name, at in phases.items() if at <= info["Submission Time"]]
            stage = found.setdefault(info["Stage ID"], {"tasks": 0, "shuffled": 0, "read": 0, "bytes": 0})
            stage |= {"phase": begun[-1] if begun else "start", "name": info["Stage Name"]}
        if event["Event"] == "SparkListenerTaskEnd":
            stage = found.setdefault(event["Stage ID"], {"tasks": 0, "shuffled": 0, "read": 0, "bytes": 0})
            metrics = event["Task Metrics"]
            stage["tasks"] += 1
            stage["shuffled"] += metrics["Shuffle Read Metrics"]["Total Records Read"]
            stage["read"] += metrics["Input Metrics"]["Records Read"]
            stage["bytes"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return list(found.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else f"local[{CORES}]")
