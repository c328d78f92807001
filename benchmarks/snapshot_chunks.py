"""Measure the snapshot of a large table: `python benchmarks/snapshot_chunks.py [--rows 5000000] [--sessions 4] [--json FILE]`.

In one run: the table is read in one piece, then in chunks, both without load, each in a process of its own; then in chunks,
while another session changes rows, with a process that is killed twice, and with undo that lasts less long than the read
(ORA-01555). What was read under load is loaded, caught up, and compared with the source cell by cell.

The stand-in is one Python process: several sessions share its one core, where those of Oracle would not. Read ratios of memory,
and what a kill costs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import oracledb
from peaks import Step, watch
from standin_process import Served, standin_process

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.source import ConnectParams
from redolake.values.table import TableId

HERE = Path(__file__).resolve()
PATH = f"{HERE.parents[1]}/pipelines:{HERE.parents[1]}"
TABLE = "SHOP.BIG"
ONE_PIECE = 1 << 50


def pipeline_of(folder: Path, name: str, chunk_bytes: int, sessions: int) -> Pipeline:
    return Pipeline.model_validate(
        {
            "name": name,
            "source": {"connection": "oracle_big", "container": "FREEPDB1"},
            "landing": str(folder / "landing"),
            "lake": str(folder / "lake" / name),
            "tables": [TABLE],
            "snapshot": {"chunk_bytes": chunk_bytes, "sessions": sessions},
            "spark": {"conf": {"spark.driver.memory": "3g"}},
        }
    )


def make_table(served: Served, rows: int) -> None:
    with served.connect("SYS") as connection, connection.cursor() as cursor:
        for view in ("dba_extents", "dba_segments"):
            cursor.execute(f"GRANT SELECT ON {view} TO {served.capture_user}")
    columns = "id NUMBER(10) PRIMARY KEY, name VARCHAR2(40), amount NUMBER(12,2), placed DATE"
    served.fill("big", columns, ":first + LEVEL, 'name of ' || LEVEL, LEVEL / 4, DATE '2026-01-01'", rows)


@contextmanager
def changing(served: Served, rows: int) -> Iterator[list[int]]:
    """Change, delete, move and insert rows until the end of the block; yield a list with the number of transactions."""
    stop, done = Event(), [0]

    def change() -> None:
        with served.connect("SHOP") as connection, connection.cursor() as cursor:
            while not stop.wait(0.05):
                n = done[0] = done[0] + 1
                key = n * 7919 % rows + 1
                cursor.execute("UPDATE big SET amount = amount + 1 WHERE id IN (:1, :2, :3)", [key, key + 1, key + 5])
                cursor.execute("DELETE FROM big WHERE id = :1", [key + 7])
                cursor.execute("INSERT INTO big VALUES (:1, 'again', 0, DATE '2026-02-02')", [rows * 10 + n])
                cursor.execute("UPDATE big SET id = :1 WHERE id = :2", [rows * 20 + n, key + 9])
                connection.commit()

    thread = Thread(target=change)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


# --- Processes --------------------------------------------------------------------------------------------------------


def start(name: str, arguments: dict[str, Any]) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE), "--step", name, json.dumps(arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PATH},
    )


def measure(name: str, arguments: dict[str, Any]) -> Step:
    """Run a step in a process of its own, and watch it."""
    step, ended, began = Step(name), Event(), time.perf_counter()
    with start(name, arguments) as process:
        watcher = Thread(target=watch, args=(process.pid, step, ended))
        watcher.start()
        out = process.communicate()[0]
        ended.set()
        watcher.join()
    if process.returncode:
        sys.exit(f"{name} failed: {out[-2000:]}")
    step.seconds, step.rows = time.perf_counter() - began, int(out.splitlines()[-1])
    return step


def kill_after(arguments: dict[str, Any], landing: Path, chunks: int) -> int:
    """Read, and kill the process once so many more chunks are there; return how many there are."""
    wanted = count_chunks(landing) + chunks
    with start("read", arguments) as process:
        while process.poll() is None and count_chunks(landing) < wanted:
            time.sleep(0.02)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
    return count_chunks(landing)


def count_chunks(landing: Path) -> int:
    return sum(1 for path in landing.rglob("chunk-*.json"))


def do_step(name: str, given: dict[str, Any]) -> None:
    source = ConnectParams(*given["source"])
    pipeline = pipeline_of(Path(given["folder"]), given["name"], given["chunk_bytes"], given["sessions"])
    if name == "read":
        begun = steps.begin_snapshot(Run(pipeline, source))
        sys.stdout.write(f"{steps.read_snapshot_table(Run(pipeline, source), begun.scn_of(TABLE), TABLE).rows}\n")
        return
    spark = steps.open_spark(pipeline)
    taken = steps.take_snapshot(pipeline, source=source, spark=spark)
    steps.run_pipeline(pipeline, until_caught_up=True, source=source, spark=spark)
    compare(spark, pipeline, given["shop"])
    sys.stdout.write(f"{taken.tables[0].rows}\n")


def compare(spark: Any, pipeline: Pipeline, shop: Sequence[str]) -> None:
    """Compare every cell with the rows that the source has now: `verify` reads AS OF an SCN, for which undo is too short."""
    frame = spark.read.format("delta").load(pipeline.target(TableId.parse(TABLE)))
    with oracledb.connect(user=shop[0], password=shop[1], dsn=shop[2]) as connection, connection.cursor() as cursor:
        cursor.arraysize = 10_000
        left = {row[0]: hash(row[1:]) for row in cursor.execute("SELECT id, name, amount, placed FROM big")}
    rows, differing = len(left), 0
    for row in frame.toLocalIterator():
        differing += left.pop(int(row.ID), None) != hash((row.NAME, float(row.AMOUNT), row.PLACED))
    if differing or left:
        sys.exit(f"of {rows} rows {len(left)} are missing; {differing} are extra or differ")


def run(rows: int, sessions: int, chunk_bytes: int, undo_seconds: float, folder: Path) -> dict[str, Any]:
    with standin_process(undo_seconds=undo_seconds, background=True) as served:
        began, source = time.perf_counter(), [served.params.user, served.params.password, served.params.dsn]
        make_table(served, rows)
        tell(f"{rows:,} rows made in {time.perf_counter() - began:.0f} s")
        given = {"source": source, "folder": str(folder), "sessions": sessions, "chunk_bytes": chunk_bytes}
        serial = measure("read", {**given, "name": "serial", "chunk_bytes": ONE_PIECE})
        tell(f"read in one piece in {serial.seconds:.0f} s")
        chunked = measure("read", {**given, "name": "chunked"})
        chunks = count_chunks(folder / "landing" / "chunked")
        tell(f"read in {chunks} chunks in {chunked.seconds:.0f} s")
        report: dict[str, Any] = {"rows": rows, "sessions": sessions, "cut into": chunks}
        for name, step in (("one piece", serial), ("in chunks", chunked)):
            memory = step.peaks["Python"] // 10**6
            report[name] = {"seconds": round(step.seconds, 1), "rows/s": round(rows / step.seconds), "MB": memory}
        given = {**given, "name": "loaded", "shop": ["SHOP", served.passwords["SHOP"], served.pdb_dsn]}
        report["under load"] = read_under_load(served, given, rows, chunks, folder / "landing" / "loaded")
    return report


def read_under_load(served: Served, given: dict[str, Any], rows: int, chunks: int, landing: Path) -> dict[str, Any]:
    with changing(served, rows) as transactions:
        kills = [kill_after(given, landing, max(1, chunks // 4)) for _ in range(2)]
        tell(f"killed with {kills} chunks there")
        read = measure("read", given)
    scns = {json.loads(path.read_text())["scn"] for path in landing.rglob("chunk-*.json")}
    tell(f"the rest read in {read.seconds:.0f} s, at {len(scns)} SCNs; {transactions[0]} transactions")
    with served.connect("SYS") as connection, connection.cursor() as cursor:
        cursor.execute("ALTER SYSTEM ARCHIVE LOG CURRENT")
    loaded = measure("load", given)
    return {
        "transactions": transactions[0],
        "chunks there at each kill": kills,
        "seconds of the last read": round(read.seconds, 1),
        "SCNs": len(scns),
        "loaded, caught up, equal: seconds": round(loaded.seconds, 1),
        "MB": {kind: peak // 10**6 for kind, peak in loaded.peaks.items()},
    }


def tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--chunk-bytes", type=int, default=4 << 20, help="in the stand-in 200 rows have 8 KiB")
    parser.add_argument("--undo-seconds", type=float, default=300)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", nargs=2)
    chosen = parser.parse_args(arguments)
    if chosen.step:
        do_step(chosen.step[0], json.loads(chosen.step[1]))
        return
    with tempfile.TemporaryDirectory(prefix="snapshot-chunks-") as folder:
        report = run(chosen.rows, chosen.sessions, chosen.chunk_bytes, chosen.undo_seconds, Path(folder))
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
