"""Measure what a history costs over MERGE: `python benchmarks/history.py [--rows 200000] [--changes 20000] [--batches 5]`.

Two tables with the same rows get the same changes, one after the other; one of them has a history. The median of the pairs'
ratios is reported: the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

STEP = 1000


def measure(folder: Path, rows: int, changes: int, batches: int) -> list[tuple[float, float]]:
    from redolake.apply.spark.session import open_session
    from redolake.job.batch import run_batch
    from redolake.job.snapshot import run_snapshot
    from redolake.records.batches.spec import BatchSpec, Course, Destination, LandedWindow, Redo, TableTask
    from redolake.records.loads import SnapshotSpec, SnapshotTask
    from redolake.values.scn import Scn
    from redolake.values.table import Column, OracleType, TableId, TableVersion

    columns = (
        Column(1, "ID", OracleType("NUMBER", precision=10, scale=0), 1, False),
        Column(2, "V", OracleType("VARCHAR2", length=100), 2),
    )
    spark, found = open_session("local", "local[2]", {"spark.log.level": "ERROR"}, [str(folder)]), []
    source = folder / "source.parquet"
    named = {"ID": pa.array([str(n) for n in range(rows)]), "V": pa.array([f"value {n}" for n in range(rows)])}
    pq.write_table(pa.table(named), source)
    tasks = []
    for name in ("PLAIN", "KEPT"):
        table = TableId("SHOP", name)
        version = TableVersion(table, Scn(0), 1, 1, columns, (1,), 3)
        target, history = str(folder / "lake" / name), str(folder / "lake" / "_history") if name == "KEPT" else None
        app = f"p/{table}/1"
        load = SnapshotTask(table, target, app, version, (str(source),), scn=1)
        run_snapshot(spark, SnapshotSpec("p", 1, "token", (load,), str(folder / f"{name}.json")))
        tasks.append(TableTask(table, Destination(target, app, history=history), Course((version,))))
    for number in range(1, batches + 2):  # the first warms Java up, and begins the history
        seconds = []
        for task in tasks:
            start, out = number * STEP, folder / "batches" / task.table.name / str(number)
            file = land(out, start, task.table.name, changes, rows, number)
            window = LandedWindow(f"{1:010d}-{start:020d}-{start + STEP:020d}", start, start + STEP, (str(file),))
            spec = BatchSpec(
                "p", 1, start, start + STEP, "token", Redo((window,)), (task,), str(out / "carry"), str(out / "manifest.json")
            )
            began = time.perf_counter()
            result = run_batch(spark, spec)
            seconds.append(time.perf_counter() - began)
            assert result.tables[0].error is None, result.tables[0].error
        found.append((seconds[0], seconds[1]))
    spark.stop()
    return found[1:]


def land(folder: Path, start: int, table: str, changes: int, rows: int, number: int) -> Path:
    """Write UPDATEs of one transaction, with the values before that ALL COLUMN LOGGING adds."""
    from redolake.values.landed_schema import LANDED_SCHEMA

    folder.mkdir(parents=True)
    fixed: dict[str, Any] = {
        "slice": 0, "thread": 1, "sequence": 1, "ssn": 0, "at": datetime(2026, 1, 2, 3, 4, 5), "con_id": 0,
        "xid": f"1.2.{number}", "status": 0, "rollback": False,
    }  # fmt: skip

    def sql(key: int) -> str:
        was = f"value {key}" if number == 1 else f"batch {number - 1}"
        return f"""update "SHOP"."{table}" set "V" = 'batch {number}' where "ID" = '{key}' and "V" = '{was}';"""

    keys = [(n * 7919) % rows for n in range(changes)]
    found = [
        {**fixed, "ordinal": n, "rs_id": f"{n:08d}", "scn": start + 1, "operation_code": 3, "operation": "UPDATE",
         "seg_owner": "SHOP", "table_name": table, "object_id": 1, "row_id": f"R{key:08d}", "sql_redo": sql(key)}
        for n, key in enumerate(keys)
    ]  # fmt: skip
    end = {"ordinal": changes, "rs_id": f"{changes:08d}", "scn": start + 2, "operation_code": 7, "operation": "COMMIT"}
    pq.write_table(pa.Table.from_pylist([*found, {**fixed, **end}], LANDED_SCHEMA), folder / "redo-a-0000.parquet")
    return folder / "redo-a-0000.parquet"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--changes", type=int, default=20_000)
    parser.add_argument("--batches", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = measure(Path(folder), asked.rows, asked.changes, asked.batches)
    for plain, kept in pairs:
        sys.stdout.write(f"{asked.changes} changes of {asked.rows} rows: {plain:.2f} s, with a history {kept:.2f} s\n")
    sys.stdout.write(f"median ratio {median(kept / plain for plain, kept in pairs):.2f}\n")


if __name__ == "__main__":
    main()
