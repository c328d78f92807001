"""Measure a batch of small tables on a warm session: `python benchmarks/apply_batch.py [--tables 50] [--against CHECKOUT]`.

Every batch inserts, updates and deletes in each of the tables, and leaves a transaction open. With another checkout of this
repository, or with other settings of Spark (`--against-conf`), each of its batches runs right after one of ours, and the ratio
is reported pair by pair: the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve()
KEYS, STEP = 200, 1000  # changes of a table in a batch, and SCNs
JAVA, WORKERS, CLIENT = "Java", "workers", "client"
# Of a server that is kept alive: Java compiles all the better what every batch runs.
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.default.parallelism": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


# --- One checkout's batches: a process of its own, which runs one for each line it is given ----------------------------------


def serve(
    folder: Path, number_of_tables: int, keys: int, at_once: int, connect: bool, settings: dict[str, str], looks: bool = False
) -> None:
    from redolake.job.batch import run_batch
    from redolake.job.snapshot import run_snapshot
    from redolake.records.batches.spec import Course, Destination, LandedWindow, TableTask
    from redolake.records.loads import SnapshotSpec, SnapshotTask
    from redolake.values.scn import Scn
    from redolake.values.table import Column, OracleType, TableId, TableVersion

    types = {
        "ID": OracleType("NUMBER", 22, 12, 0),
        "NAME": OracleType("VARCHAR2", 400),
        "AMOUNT": OracleType("NUMBER", 22),
        "PRICE": OracleType("NUMBER", 22, 10, 2),
        "PLACED": OracleType("DATE", 7),
        "UPDATED": OracleType("TIMESTAMP", 11, None, 6),
        "TOKEN": OracleType("RAW", 32),
    }
    columns = tuple(Column(n, name, kind, n) for n, (name, kind) in enumerate(types.items(), 1))
    tables = [TableId("SHOP", f"T{n}") for n in range(number_of_tables)]
    versions = [TableVersion(table, Scn(0), n, n, columns, (1,), len(columns) + 1) for n, table in enumerate(tables)]
    app_ids = [f"p/{table}/1" for table in tables]
    targets = [str(folder / "lake" / table.name) for table in tables]
    source = folder / "source.parquet"
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in types}), source)

    requests = count_requests()
    spark = session(connect, settings)
    loads = zip(tables, targets, app_ids, versions, strict=True)
    loaded = SnapshotTask(*next(iter(loads)), files=(str(source),), scn=1)
    run_snapshot(spark, SnapshotSpec("p", 1, "token", (loaded,), str(folder / "snapshot.json")))
    for table, target in zip(tables[1:], targets[1:], strict=True):
        copy_table(targets[0], target, str(tables[0]), str(table))
    carried: tuple[str, ...] = ()
    for number, _ in enumerate(sys.stdin, 1):
        start = number * STEP
        file = land(folder, number, [table.name for table in tables], keys)
        window = LandedWindow(f"{1:010d}-{start:020d}-{start + STEP:020d}", start, start + STEP, (str(file),))
        tasks = tuple(
            TableTask(table, Destination(target, app_id), Course((version,)))
            for table, target, app_id, version in zip(tables, targets, app_ids, versions, strict=True)
        )
        out = folder / "batches" / str(number)
        spec = spec_of(
            "p", 1, start, start + STEP, "token", tasks, str(out / "carry"), str(out / "manifest.json"),
            parallel_tables=at_once,
            redo={"windows": (window,), "carry_in": carried, "rows": pq.read_metadata(file).num_rows + number_of_tables},
        )  # fmt: skip
        began, cpu, asked = time.perf_counter(), cpu_seconds(), len(requests)
        jobs = jobs_of(spark, connect)
        result = run_batch(spark, spec)
        seconds, spent = time.perf_counter() - began, {name: now - cpu[name] for name, now in cpu_seconds().items()}
        counted = {"requests": len(requests) - asked, "jobs": jobs_of(spark, connect) - jobs}
        if errors := [table.error for table in result.tables if table.error]:
            sys.exit(f"a table stopped: {errors[0]}")
        carried = result.carry_files
        if looks:
            counted |= memory(spark, connect)
        figures = {"clock": seconds, "CPU": sum(spent.values()), **spent, **counted}
        sys.stdout.write(json.dumps({name: value for name, value in figures.items() if value}) + "\n")
        sys.stdout.flush()
    spark.stop()


def copy_table(source: str, target: str, table: str, other: str) -> None:
    """Copy a loaded table as if another one had been loaded, which Spark would do in seconds."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*.crc"))
    for file in Path(target, "_delta_log").glob("0*"):
        file.write_text(file.read_text().replace(table, other))


def spec_of(*arguments: Any, redo: Mapping[str, Any], **newer: Any) -> Any:
    """Return the batch's spec, without what a commit from before it does not know."""
    from redolake.records.batches import spec

    known = spec.BatchSpec.__dataclass_fields__
    redo = {"redo": spec.Redo(**redo)} if "redo" in known else redo
    given = dict(
        zip(("pipeline", "resetlogs_id", "start", "end", "token", "tables", "carry_out", "manifest"), arguments, strict=True)
    )
    return spec.BatchSpec(**given, **{name: value for name, value in {**redo, **newer}.items() if name in known})


def cpu_seconds() -> dict[str, float]:
    """Return the CPU seconds of Spark's Java, of its Python workers with those that have ended, and of this process."""
    mine, spent = psutil.Process(), dict.fromkeys((JAVA, WORKERS, CLIENT), 0.0)
    for process in (mine, *mine.children(recursive=True)):
        times = process.cpu_times()
        kind = CLIENT if process == mine else JAVA if process.name() == "java" else WORKERS
        spent[kind] += sum(times[:4] if kind == WORKERS else times[:2])
    return spent


def memory(spark: Any, connect: bool) -> dict[str, int]:
    """Return the most kB that Spark's Java and this process have had, and what is left in Java's heap without garbage."""
    from peaks import high_water

    mine = psutil.Process()
    java = max((high_water(process) for process in mine.children(recursive=True) if process.name() == "java"), default=0)
    found = {"kB of Java": java // 1024, "kB of the client": high_water(mine) // 1024}
    if not connect:  # a client of a server cannot ask
        runtime = spark._jvm.java.lang.Runtime.getRuntime()
        runtime.gc()
        found["kB in the heap"] = (runtime.totalMemory() - runtime.freeMemory()) // 1024
    return found


def count_requests() -> list[str]:
    """Return a list that grows by the name of each request to a Connect server."""
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

    sent, create = list[str](), SparkConnectServiceStub.__init__

    def counted(stub: Any, channel: Any) -> None:
        create(stub, channel)
        for name, call in list(vars(stub).items()):
            setattr(stub, name, lambda *given, _name=name, _call=call, **more: (sent.append(_name), _call(*given, **more))[1])

    SparkConnectServiceStub.__init__ = counted
    return sent


def jobs_of(spark: Any, connect: bool) -> int:
    """Return how many jobs Spark has begun; a Connect client cannot ask."""
    return 0 if connect else int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def session(connect: bool, settings: dict[str, str]) -> Any:
    from demo.walkthrough import listens
    from redolake.apply.spark.session import open_session

    if not connect:
        return open_session("local", "local[2]", settings)
    with socket.create_server(("127.0.0.1", 0)) as free:  # another checkout has its own server at the same time
        port = free.getsockname()[1]
    options = [
        f"--port={port}",
        f"--memory={settings['spark.driver.memory']}",
        *(f"--conf={k}={v}" for k, v in settings.items()),
    ]
    server = subprocess.Popen([f"{sys.prefix}/bin/redolake", "spark", "serve", *options], stdout=sys.stderr)
    atexit.register(server.terminate)
    deadline = time.monotonic() + 300
    while not listens(port):
        if server.poll() is not None or time.monotonic() > deadline:
            sys.exit("the Connect server does not listen")
        time.sleep(0.2)
    return open_session("connect", f"sc://127.0.0.1:{port}", settings)


def land(folder: Path, number: int, tables: Sequence[str], keys: int = KEYS) -> Path:
    from redolake.values.landed_schema import LANDED_SCHEMA

    file = folder / f"redo-{number}.parquet"
    rows = [{**row, "slice": 0, "ordinal": ordinal} for ordinal, row in enumerate(redo(number, tables, keys))]
    pq.write_table(pa.Table.from_pylist(rows, LANDED_SCHEMA), file)
    return file


def redo(number: int, tables: Sequence[str], keys: int = KEYS) -> Iterator[dict[str, Any]]:
    """Yield transactions of one change per table: new keys, an update of each key of the batch before, deletes of the oldest.
    The last one ends in the next batch."""
    scn = number * STEP
    shared = {
        "thread": 1, "sequence": number, "ssn": 0, "at": datetime(2026, 1, 2, 3, 4, 5), "con_id": 0, "status": 0,
        "rollback": False,
    }  # fmt: skip
    if number > 1:
        yield {**shared, "scn": scn, "rs_id": "0", "xid": f"1.{number - 1}.{keys}", "operation": "COMMIT", "operation_code": 7}
    for n in range(1, keys + 1):
        kind = (1, 3, 2)[n % 3] if number > 2 else 1
        own = {**shared, "xid": f"1.{number}.{n}", "rs_id": f"{n:06d}"}
        for table_number, table in enumerate(tables):
            code, sql, key = change(kind, number, n, table, keys)
            operation = {1: "INSERT", 2: "DELETE", 3: "UPDATE"}[code]
            yield {
                **own, "scn": scn + n, "operation": operation, "operation_code": code, "seg_owner": "SHOP", "table_name": table,
                "object_id": table_number, "row_id": f"AAAAAAAAA{key:09d}", "sql_redo": sql,
            }  # fmt: skip
        if n < keys:
            yield {**own, "scn": scn + n + 1, "operation": "COMMIT", "operation_code": 7}


def change(kind: int, number: int, n: int, table: str, keys: int = KEYS) -> tuple[int, str, int]:
    key = (number if kind == 1 else number - 1 if kind == 3 else number - 2) * keys + n - {1: 0, 3: 1, 2: 2}[kind]
    name = f'"SHOP"."{table}"'
    values = {
        "ID": f"'{key}'", "NAME": f"'row {key}, it''s text'", "AMOUNT": f"'{key}.25'", "PRICE": "'9.99'",
        "PLACED": "TO_DATE('2026-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS')",
        "UPDATED": "TO_TIMESTAMP('2026-01-02 03:04:05.123456')", "TOKEN": "HEXTORAW('0123456789abcdef')",
    }  # fmt: skip
    if kind == 1:
        listed = ",".join(f'"{column}"' for column in values)
        return kind, f"insert into {name}({listed}) values ({','.join(values.values())});", key
    where = " and ".join(f'"{column}" = {value}' for column, value in values.items())
    return (
        kind,
        f"delete from {name} where {where};" if kind == 2 else f"""update {name} set "NAME" = 'new' where {where};""",
        key,
    )


# --- Turn by turn ------------------------------------------------------------------------------------------------------------


def checkouts(this: Path, against: Path | None) -> dict[str, Path]:
    return {"this": this.resolve()} | ({"against": against.resolve()} if against else {})


def start(
    checkout: Path, folder: Path, options: Sequence[str], more: Sequence[str] = (), script: Path = HERE
) -> subprocess.Popen[str]:
    """Start a process that imports the checkout and serves batches in `folder`."""
    folder.mkdir()
    command = [sys.executable, str(script), "--serve", str(folder), *more, *options]
    environment = {**os.environ, "PYTHONPATH": f"{checkout}/pipelines:{checkout}"}
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def one_batch(server: subprocess.Popen[str]) -> dict[str, float]:
    """Return wall-clock seconds, CPU seconds, those of each process, and how often Spark was asked."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return dict(json.loads(server.stdout.readline()))


def summary(name: str, figures: Sequence[float]) -> str:
    return f"{name:<16} median {median(figures):6.2f}   from {min(figures):6.2f} to {max(figures):6.2f}\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--this", type=Path, default=HERE.parents[1], help="the checkout to measure")
    arguments.add_argument("--against", type=Path, help="another checkout, to be compared with")
    arguments.add_argument("--tables", type=int, default=5)
    arguments.add_argument("--changes", type=int, default=KEYS, help="of each table in a batch")
    arguments.add_argument("--at-once", type=int, default=2, help="tables that are merged side by side")
    arguments.add_argument("--connect", action="store_true", help="through Spark Connect instead of in the same process")
    arguments.add_argument("--batches", type=int, default=8)
    arguments.add_argument("--warm-up", type=int, default=4, help="batches before, which are not counted")
    arguments.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    arguments.add_argument("--against-conf", action="append", default=[], metavar="KEY=VALUE", help="settings of the other one")
    arguments.add_argument("--json", type=Path, help="write the figures of every batch to this file")
    arguments.add_argument("--memory", action="store_true", help="look at the memory after each batch")
    arguments.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(
            given.serve,
            given.tables,
            given.changes,
            given.at_once,
            given.connect,
            {**SETTINGS, **dict(item.split("=", 1) for item in given.conf)},
            given.memory,
        )
        return
    options = [
        f"--tables={given.tables}",
        f"--at-once={given.at_once}",
        f"--changes={given.changes}",
        *["--connect"] * given.connect,
        *["--memory"] * given.memory,
    ] + [f"--conf={item}" for item in given.conf]
    found = checkouts(given.this, given.against or (given.this if given.against_conf else None))
    own = {"this": [], "against": [f"--conf={item}" for item in given.against_conf]}
    with tempfile.TemporaryDirectory() as folder:
        servers = {name: start(path, Path(folder) / name, [*options, *own[name]]) for name, path in found.items()}
        turns: list[dict[str, dict[str, float]]] = []
        for _ in range(given.warm_up + given.batches):
            turns.append({name: one_batch(server) for name, server in servers.items()})
            if given.json:  # a run that is ended early has these
                given.json.write_text(json.dumps(turns[given.warm_up :], indent=1))
        for server in servers.values():
            server.communicate()
    counted = turns[given.warm_up :]
    for unit in counted[0]["this"]:
        for name in found:
            sys.stdout.write(summary(f"{name}, {unit}", [turn[name].get(unit, 0) for turn in counted]))
        if "against" in found:
            pairs = [turn["this"][unit] / turn["against"][unit] for turn in counted if turn["against"].get(unit)]
            sys.stdout.write(summary(f"ratio, {unit}", pairs) if pairs else "")
    for name in found:
        spent = {
            kind: 1000 * median(turn[name].get(kind, 0) for turn in counted) / given.tables for kind in (JAVA, WORKERS, CLIENT)
        }
        listed = ", ".join(f"{kind} {ms:.0f}" for kind, ms in spent.items())
        sys.stdout.write(f"{name}, ms of CPU a table: {listed}, all {sum(spent.values()):.0f}\n")


if __name__ == "__main__":
    main()
