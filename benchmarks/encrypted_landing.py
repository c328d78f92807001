"""Measure what reading an encrypted landing costs: `python benchmarks/encrypted_landing.py [--rows 1000000] [--turns 5]`.

The same redo in clear text, which Spark reads, and encrypted, which its Python workers read. The two take turns.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from apply_batch import session

from redolake.host.encrypted_parquet import encrypted_name
from redolake.host.parquet_frames import read_parquet
from redolake.host.secrets import key_from
from redolake.land.files import Files
from redolake.land.parquet import write_parquet
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.mapping import SecretName

VARIABLE = "REDOLAKE_BENCHMARK_KEY"
BATCH = 10_000


def redo(rows: int) -> Iterator[pa.RecordBatch]:
    """Yield rows of redo with texts of some 260 bytes."""
    for first in range(0, rows, BATCH):
        numbers = range(first, min(first + BATCH, rows))
        texts = [
            f'insert into "SHOP"."ORDERS"("ID","NAME","NOTE") values ({n},\'{n * 7919 % 1_000_003:040}\',\'{n:0150}\')'
            for n in numbers
        ]
        given = {"ordinal": numbers, "scn": numbers, "xid": [f"{n // 50:016X}" for n in numbers], "sql_redo": texts}
        columns = [
            pa.array(given[field.name], field.type) if field.name in given else pa.nulls(len(texts), field.type)
            for field in LANDED_SCHEMA
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=LANDED_SCHEMA)


def seconds(spark: Any, file: str) -> float:
    began = time.perf_counter()
    read_parquet(spark, [file]).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    os.environ[VARIABLE] = "the key of the benchmark"
    with tempfile.TemporaryDirectory() as folder:
        clear, hidden = Files(folder), Files(folder)
        hidden.rows_key = lambda: key_from(SecretName(None, VARIABLE))
        for files in (clear, hidden):
            write_parquet(files, "redo.parquet", LANDED_SCHEMA, redo(options.rows))
        paths = [str(Path(folder, name)) for name in ("redo.parquet", encrypted_name("redo.parquet"))]
        spark = session(False, {"spark.driver.memory": "2g", "spark.sql.warehouse.dir": folder})
        for path in paths:
            seconds(spark, path)  # the first reading starts workers and compiles
        turns = [[seconds(spark, path) for path in paths] for _ in range(options.turns)]
        spark.stop()
    for name, taken in zip(("clear text, Spark's reader", "encrypted, Python workers"), zip(*turns, strict=True), strict=True):
        sys.stdout.write(f"{name}: {median(taken):.2f} s ({min(taken):.2f} to {max(taken):.2f}) for {options.rows} rows\n")
    sys.stdout.write(f"ratio of each turn: {median(b / a for a, b in turns):.2f}\n")


if __name__ == "__main__":
    main()
