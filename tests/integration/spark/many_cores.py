"""Apply a large batch on eight cores, and print how many tasks each stage had.

Run by `python -m tests.integration.spark.many_cores FOLDER`.
A process of its own, for a process has one Spark. Sizes are a thousandth of those that AQE divides by, so that a batch of
twenty thousand changes has as many tasks as one of millions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from redolake.apply.spark.session import open_session
from redolake.job.batch import run_batch
from tests.fixtures.spark import ONE_JAVA_ON_DISK, QUIET
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, insert, update
from tests.integration.spark.specs import batch_spec, loaded, task

CORES, CHANGES = 8, 20_000
OWN_SIZES = {"spark.default.parallelism", "spark.databricks.delta.snapshotPartitions", "spark.sql.adaptive.enabled"}


def main(folder: Path) -> None:
    events = folder / "events"
    events.mkdir()
    small = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1k",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64k",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    quiet = {name: value for name, value in QUIET.items() if name not in OWN_SIZES}
    spark = open_session("local", f"local[{CORES}]", {**quiet, **ONE_JAVA_ON_DISK, **small})
    mine = task(folder)
    loaded(spark, folder, mine, rows=[{"ID": n, "V": f"v{n}"} for n in range(0, CHANGES, 2)])
    changes = [
        (3, update(n, f"v{n}", f"new {n}"), f"R{n}") if n % 2 == 0 else (1, insert(n, f"new {n}"), f"R{n}")
        for n in range(CHANGES)
    ]
    rows = committed(0, 10, *changes)
    (applied,) = run_batch(spark, batch_spec(folder, [land(folder / "w", 10, 100, rows)], [mine])).tables
    assert applied.error is None, applied.error
    spark.stop()
    (file,) = (path for path in events.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    sys.stdout.write(json.dumps(stages(file)) + "\n")


def stages(file: Path) -> list[dict[str, int]]:
    """Return the tasks of each stage, and the rows that they read from shuffles."""
    found: dict[int, dict[str, int]] = {}
    for line in file.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        stage = found.setdefault(event["Stage ID"], {"tasks": 0, "shuffled": 0})
        stage["tasks"] += 1
        stage["shuffled"] += event["Task Metrics"]["Shuffle Read Metrics"]["Total Records Read"]
    return list(found.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
