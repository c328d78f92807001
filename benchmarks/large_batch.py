"""Measure a batch of many changes of 20 columns into a large table: `python benchmarks/large_batch.py [--against CHECKOUT]`.

40 % of the changes insert new keys, 40 % update and 20 % delete random rows (with `--young` those with the last keys), 100
changes per transaction. One table has all columns logged, the other one only its key; their batches take turns, those of the
other checkout too, because the machine's speed drifts. MERGE's share is the time in Delta's MERGE alone. With `--bare`
a third table gets the same net changes by MERGE from a Parquet file, of which only MERGE is measured. With several `--rows`
there are tables of each size.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apply_batch import HERE, checkouts, cpu_seconds, session, spec_of, start
from statements import COLUMNS, DATE, MONEY, RAW, TEXT, TIMESTAMP, literal

BARE = "bare MERGE"
LOGGING = ("all columns", "primary key")
PER_TRANSACTION = 100
FETCHED = 10_000  # rows of a batch that capture fetches; Spark reads each row group of what it writes in a task of its own


# --- One checkout's table: a process of its own, which runs a batch for each line it is given --------------------------------


def serve(folder: Path, logging: str, changes: int, target_rows: int, young: int, settings: dict[str, str]) -> None:
    from redolake.apply.delta import merge as delta_merge
    from redolake.job.batch import run_batch
    from redolake.job.snapshot import run_snapshot
    from redolake.land.files import Files
    from redolake.land.parquet import write_parquet
    from redolake.records.batches.spec import Course, Destination, LandedWindow, TableTask
    from redolake.records.loads import SnapshotSpec, SnapshotTask
    from redolake.values.landed_schema import LANDED_SCHEMA
    from redolake.values.scn import Scn
    from redolake.values.table import Column, TableId, TableVersion

    columns = tuple(Column(n, name, kind, n) for n, (name, kind) in enumerate(COLUMNS.items(), 1))
    table = TableId("APP", "ORDERS")
    version = TableVersion(table, Scn(0), 1, 1, columns, (1,), len(columns) + 1)
    target, app_id = str(folder / "lake" / "orders"), f"p/{table}/1"
    source = folder / "source.parquet"
    pq.write_table(contents(target_rows), source)
    spark = session(False, settings)
    load = SnapshotTask(table, target, app_id, version, files=(str(source),), scn=1)
    run_snapshot(spark, SnapshotSpec("p", 1, "token", (load,), str(folder / "snapshot.json")))

    in_merge, merge = [0.0, 0.0], delta_merge.merge  # seconds by the clock and of CPU

    def timed_merge(table: Any, net: Any, *arguments: Any) -> Any:
        if logging == BARE:
            net.write.mode("overwrite").parquet(str(folder / "net"))
            net = spark.read.parquet(str(folder / "net"))
        began, cpu = time.perf_counter(), cpu_seconds()
        try:
            return merge(table, net, *arguments)
        finally:
            in_merge[:] = time.perf_counter() - began, cpu_seconds() - cpu

    delta_merge.merge = timed_merge
    history = History(target_rows, logging, young)
    for number, _ in enumerate(sys.stdin, 1):
        step = 2 * changes
        scn = number * step
        file = folder / f"redo-{number}.parquet"
        redo = pa.Table.from_pylist(list(history.redo(scn, changes)), LANDED_SCHEMA)
        write_parquet(Files(str(folder)), file.name, LANDED_SCHEMA, redo.to_batches(max_chunksize=FETCHED))
        window = LandedWindow(f"{1:010d}-{scn:020d}-{scn + step:020d}", scn, scn + step, (str(file),))
        task = TableTask(table, Destination(target, app_id), Course((version,)))
        out = folder / "batches" / str(number)
        spec = spec_of(
            "p", 1, scn, scn + step, "token", (task,), str(out / "carry"), str(out / "manifest.json"),
            redo={"windows": (window,), "rows": redo.num_rows},
        )  # fmt: skip
        began, cpu = time.perf_counter(), cpu_seconds()
        (result,) = run_batch(spark, spec).tables
        seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
        if result.error or result.balance.applied != changes:
            sys.exit(f"the table stopped: {result.error}")
        if logging == BARE:
            seconds, cpu = in_merge
        sys.stdout.write(f"{seconds} {cpu} {in_merge[0]}\n")
        sys.stdout.flush()
    spark.stop()


def contents(rows: int) -> pa.Table:
    ids = pa.array(range(1, rows + 1), pa.int64())
    text = pc.binary_join_element_wise("customer of order", ids.cast(pa.string()), " ")
    moment = pa.array([datetime(2024, 5, 6, 7, 8, 9)] * rows, pa.timestamp("us"))
    money = pc.divide(pc.cast(ids, pa.float64()), 100.0).cast(pa.string())
    by_type = {id(TEXT): text, id(DATE): moment, id(TIMESTAMP): moment, id(MONEY): money, id(RAW): text.cast(pa.binary())}
    return pa.table({name: by_type.get(id(kind), ids) for name, kind in COLUMNS.items()})


class History:
    """The rows of the table by key, and redo of random changes of them."""

    def __init__(self, rows: int, logging: str, young: int) -> None:
        self.keys, self.next_key, self.logging, self.young = list(range(1, rows + 1)), rows + 1, logging, young
        self.random = random.Random(7)

    def redo(self, scn: int, changes: int) -> Iterator[dict[str, Any]]:
        shared = {
            "thread": 1, "sequence": 1, "ssn": 0, "at": datetime(2026, 1, 2, 3, 4, 5), "con_id": 0, "status": 0,
            "rollback": False, "slice": 0,
        }  # fmt: skip
        codes = self.random.choices((1, 3, 2), (4, 4, 2), k=changes)
        touched = self.taken(sum(code != 1 for code in codes))
        for n, code in enumerate(codes):
            key = self.next_key if code == 1 else touched.pop()
            self.next_key += code == 1
            if code != 2:
                self.keys.append(key)
            xid = f"1.{scn}.{n // PER_TRANSACTION}"
            yield {
                **shared, "ordinal": 2 * n, "scn": scn + n, "rs_id": f"{n:09d}", "xid": xid, "operation_code": code,
                "operation": {1: "INSERT", 2: "DELETE", 3: "UPDATE"}[code], "seg_owner": "APP", "table_name": "ORDERS",
                "object_id": 1, "row_id": f"AAAAAAAAA{key:09d}", "sql_redo": self.statement(code, key),
            }  # fmt: skip
            if (n + 1) % PER_TRANSACTION == 0 or n + 1 == changes:
                end = {"scn": scn + n + 1, "rs_id": f"{n:09d}.1", "operation": "COMMIT", "operation_code": 7}
                yield {**shared, "ordinal": 2 * n + 1, "xid": xid, **end}

    def taken(self, count: int) -> list[int]:
        """Remove random keys from the table's, and return them; with `young` from its last ones."""
        found = []
        for _ in range(count):
            place = self.random.randrange(max(0, len(self.keys) - self.young) if self.young else 0, len(self.keys))
            self.keys[place], self.keys[-1] = self.keys[-1], self.keys[place]
            found.append(self.keys.pop())
        return found

    def statement(self, code: int, key: int) -> str:
        values = {name: literal(self.random, name, kind) for name, kind in COLUMNS.items()} | {"ID": f"'{key}'"}
        if code == 1:
            listed = ",".join(f'"{name}"' for name in values)
            return f'insert into "APP"."ORDERS"({listed}) values ({",".join(values.values())});'
        shown = values if self.logging == "all columns" else {"ID": values["ID"]}
        where = " and ".join(f'"{n}" IS NULL' if v == "NULL" else f'"{n}" = {v}' for n, v in shown.items())
        if code == 2:
            return f'delete from "APP"."ORDERS" where {where};'
        changed = sorted(self.random.sample(list(COLUMNS)[1:], 2))
        assigned = ", ".join(f'"{name}" = {literal(self.random, name, COLUMNS[name])}' for name in changed)
        return f'update "APP"."ORDERS" set {assigned} where {where};'


# --- Turn by turn ------------------------------------------------------------------------------------------------------------


def one_batch(server: subprocess.Popen[str]) -> dict[str, float]:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return dict(zip(("seconds", "cpu_seconds", "merge_seconds"), map(float, server.stdout.readline().split()), strict=True))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--this", type=Path, default=HERE.parents[1], help="the checkout to measure")
    arguments.add_argument("--against", type=Path, help="another checkout, to be compared with")
    arguments.add_argument("--logging", choices=LOGGING, action="append", help="only one of the two tables")
    arguments.add_argument("--changes", type=int, default=50_000)
    arguments.add_argument("--bare", action="store_true", help="a bare MERGE of the same net changes beside them")
    arguments.add_argument("--rows", type=int, action="append", help="of the table before the first batch: 500000")
    arguments.add_argument("--young", type=int, default=0, help="update and delete rows among so many of the last keys only")
    arguments.add_argument("--batches", type=int, default=3)
    arguments.add_argument("--warm-up", type=int, default=1, help="batches before, which are not counted")
    arguments.add_argument("--conf", action="append", default=["spark.driver.memory=3g"], metavar="KEY=VALUE")
    arguments.add_argument("--json", type=Path, help="write the figures of every batch to this file")
    arguments.add_argument("--serve", nargs=2, metavar=("FOLDER", "LOGGING"), help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        settings = {"spark.log.level": "ERROR", **dict(item.split("=", 1) for item in given.conf)}
        (rows,) = given.rows
        serve(Path(given.serve[0]), given.serve[1], given.changes, rows, given.young, settings)
        return
    options = [f"--changes={given.changes}", f"--young={given.young}", *(f"--conf={item}" for item in given.conf)]
    found, script, sizes = checkouts(given.this, given.against), Path(__file__).resolve(), given.rows or [500_000]
    kinds = [(name, logging) for name in found for logging in given.logging or LOGGING]
    kinds = [("this", BARE)] * given.bare + kinds
    with tempfile.TemporaryDirectory() as folder:
        servers = {
            f"{name}, {logging}, {rows}": start(
                found[name], Path(folder) / f"{number}-{rows}", [*options, f"--rows={rows}"], (logging,), script=script
            )
            for number, (name, logging) in enumerate(kinds)
            for rows in sizes
        }
        turns = [{name: one_batch(server) for name, server in servers.items()} for _ in range(given.warm_up + given.batches)]
        for server in servers.values():
            server.communicate()
    counted = turns[given.warm_up :]
    sys.stdout.write(f"{given.changes} changes of {len(COLUMNS)} columns, medians of {len(counted)}:\n")
    sys.stdout.write(
        f"{'into rows':<30}{'changes/s':>10}{'CPU us each':>13}{'MERGE share':>13}{'to the first':>14}{'CPU':>6}\n"
    )
    first = next(iter(servers))
    for name in servers:
        rate = median(given.changes / turn[name]["seconds"] for turn in counted)
        cpu = median(turn[name]["cpu_seconds"] / given.changes * 1e6 for turn in counted)
        share = median(turn[name]["merge_seconds"] / turn[name]["seconds"] for turn in counted)
        clock, of_cpu = (median(turn[name][of] / turn[first][of] for turn in counted) for of in ("seconds", "cpu_seconds"))
        sys.stdout.write(f"{name:<30}{rate:>10,.0f}{cpu:>13,.0f}{share:>13.2f}{clock:>14.2f}{of_cpu:>6.2f}\n")
    if given.json:
        given.json.write_text(json.dumps({"changes": given.changes, "rows": sizes, "batches": counted}, indent=1))


if __name__ == "__main__":
    main()
