"""Measure how fast redo SQL becomes arrays and typed columns on one core: `python benchmarks/parse_redo_sql.py`.

The input is made here: 40 % inserts, 40 % updates with all columns logged, 20 % deletes, of a table with the columns below,
the first of them (--columns 5), or several times them (--columns 100). Each figure is the CPU time of the best pass. With
`--debezium` Debezium's parser, which types no values, reads the same statements; its jars come from Maven Central.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from statements import COLUMNS, literal

from redolake.decode.changes import decode_changes
from redolake.decode.compiled.changes import decode_compiled
from redolake.decode.compiled.locate import locate
from redolake.decode.redo_sql import parse_redo_sql
from redolake.host import runtime
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

DEBEZIUM = "io.debezium:debezium-connector-oracle:3.6.1.Final"
NOT_NEEDED = (
    "com.oracle.database.jdbc:ojdbc11", "com.oracle.database.xml:xdb", "com.oracle.database.xml:xmlparserv2",
    "com.oracle.instantclient:xstreams", "io.debezium:debezium-embedded", "org.ehcache:ehcache",
    "org.infinispan:infinispan-client-hotrod", "org.infinispan:infinispan-core",
)  # fmt: skip


def columns_of(count: int) -> dict[str, OracleType]:
    rounds = (f"{name}{number or ''}" for number in range(-(-count // len(COLUMNS))) for name in COLUMNS)
    return {name: COLUMNS[name.rstrip("0123456789")] for _, name in zip(range(count), rounds, strict=False)}


def statement(random: random.Random, columns: dict[str, OracleType]) -> tuple[int, str]:
    code = random.choices((1, 3, 2), (4, 4, 2))[0]
    values = {name: literal(random, name, kind) for name, kind in columns.items()}
    if code == 1:
        listed = ",".join(f'"{name}"' for name in values)
        return code, f'insert into "APP"."ORDERS"({listed}) values ({",".join(values.values())});'
    terms = [f'"{n}" IS NULL' if v == "NULL" else f'"{n}" = {v}' for n, v in values.items()]
    where = " and ".join([*terms, f"ROWID = 'AAAR3sAAE{random.randint(10**8, 10**9 - 1)}'"])
    if code == 2:
        return code, f'delete from "APP"."ORDERS" where {where};'
    changed = random.sample(list(columns)[1:], min(random.choice((1, 2, 2, 3, 5)), len(columns) - 1))
    assigned = ", ".join(f'"{name}" = {literal(random, name, columns[name])}' for name in sorted(changed))
    return code, f'update "APP"."ORDERS" set {assigned} where {where};'


def redo(rows: int, columns: dict[str, OracleType]) -> pa.RecordBatch:
    seeded = random.Random(7)
    codes, statements = zip(*(statement(seeded, columns) for _ in range(rows)), strict=True)
    zeros = pa.array([0] * rows, pa.int32())
    return pa.RecordBatch.from_arrays(
        [pa.array(statements), zeros, pa.nulls(rows, pa.string()), pa.array(codes, pa.int32()), zeros],
        names=["sql_redo", "status", "info", "operation_code", "rollback"],
    )


def seconds_of(batch: pa.RecordBatch, size: int, work: Callable[[pa.RecordBatch], object]) -> float:
    """Return the CPU time of one pass, which other load on the machine changes less than the time that passes."""
    began = time.process_time()
    for start in range(0, batch.num_rows, size):
        work(batch.slice(start, size))
    return time.process_time() - began


def debezium(batch: pa.RecordBatch, columns: dict[str, OracleType]) -> float:
    """Let Debezium's parser read the statements, and return the seconds of the best pass."""
    jars = runtime.share() / "debezium"
    if not jars.is_dir():
        with tempfile.TemporaryDirectory(dir=runtime.share()) as folder:
            found = runtime.resolve_jars(Path(folder), DEBEZIUM, NOT_NEEDED, ())
            assert not found
            (Path(folder) / "ivy" / "jars").rename(jars)
    statements = batch.column("sql_redo").to_pylist()
    with tempfile.NamedTemporaryFile() as file:
        file.write("\0".join(statements).encode())
        file.flush()
        harness = Path(__file__).with_name("DebeziumParser.java")
        command = ["java", "-cp", f"{jars}/*", str(harness), file.name, ",".join(columns)]
        done = subprocess.run(command, env=runtime.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return min(map(float, done.stdout.split()))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rows", type=int, nargs="?", default=20_000)
    arguments.add_argument("batch_rows", type=int, nargs="?", default=4_000)
    arguments.add_argument("--columns", type=int, default=len(COLUMNS))
    arguments.add_argument("--rounds", type=int, default=3, help="each way once per round, one after another")
    arguments.add_argument("--debezium", action="store_true", help="measure Debezium's parser too; needs the network once")
    given = arguments.parse_args()
    named = columns_of(given.columns)
    columns = tuple(Column(i, name, kind, i) for i, (name, kind) in enumerate(named.items(), 1))
    version = TableVersion(TableId("APP", "ORDERS"), Scn(1), 1, 1, columns, (1,), len(columns) + 1)
    batch = redo(given.rows, named)

    first = batch.slice(0, given.batch_rows)
    errors = decode_changes(first, version, {}).column("error").is_valid().true_count
    if errors or not decode_compiled(first, version, {}).equals(decode_changes(first, version, {})):
        sys.exit(f"{errors} rows were not understood, or not alike")
    ways: dict[str, Callable[[pa.RecordBatch], object]] = {
        "parse": lambda b: parse_redo_sql(b.column("sql_redo")),
        "parse, compiled": lambda b: locate(b, version, before={1}),
        "decode": lambda b: decode_changes(b, version, {}, before={1}),
        "decode, compiled": lambda b: decode_compiled(b, version, {}, before={1}),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        if given.debezium:
            seconds.setdefault("Debezium parse", []).append(debezium(batch, named))
        for name, work in ways.items():
            seconds[name].append(min(seconds_of(batch, given.batch_rows, work) for _ in range(3)))
    text_bytes = sum(len(text.encode()) for text in batch.column("sql_redo").to_pylist())
    for name, taken in seconds.items():
        sys.stdout.write(f"{name:<17}{batch.num_rows / min(taken):>10,.0f} rows/s {text_bytes / min(taken) / 1e6:>8,.1f} MB/s")
        if given.debezium:
            ratios = sorted(other / own for other, own in zip(seconds["Debezium parse"], taken, strict=True))
            sys.stdout.write(
                f"   {ratios[0]:.2f} {ratios[len(ratios) // 2]:.2f} {ratios[-1]:.2f} times Debezium (min, median, max)"
            )
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
