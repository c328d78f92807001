"""Measure what the checks of landed files cost: `python benchmarks/file_checks.py [--rows 1000000]`.

Prints seconds, the lowest of several turns: writing a landed file with and without checksums of pages and a hash, reading it
once to compare the hash as a batch does, and Spark reading all of its columns with and without comparing the checksums.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from apply_batch import session
from large_batch import FETCHED, History

TURNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="changes in the file")
    rows = parser.parse_args().rows

    from redolake.assemble.landed import read_rows
    from redolake.land.files import Files
    from redolake.land.parquet import LANDED_OPTIONS, write_parquet
    from redolake.records.batches.spec import LandedWindow
    from redolake.values.landed_schema import LANDED_SCHEMA

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        redo = pa.Table.from_pylist(list(History(rows, "all columns", 0).redo(0, rows)), LANDED_SCHEMA)
        files, batches = Files(name), redo.to_batches(max_chunksize=FETCHED)

        def write_plain() -> None:
            with (folder / "plain.parquet").open("wb") as out:
                options = {**LANDED_OPTIONS, "write_page_checksum": False}
                with pq.ParquetWriter(out, LANDED_SCHEMA, **options) as writer:
                    writer.write_table(redo, row_group_size=64 * 1024)

        written = write_parquet(files, "checked.parquet", LANDED_SCHEMA, batches)
        timed("write, without", write_plain)
        timed("write, with checksums and hash", lambda: write_parquet(files, "checked.parquet", LANDED_SCHEMA, batches))
        timed("compare the hash", lambda: files.check("checked.parquet", written.digest))
        spark = session(False, {})
        window = LandedWindow("w", 0, 2 * rows, (str(folder / "checked.parquet"),))

        def read(verify: str) -> None:
            spark.conf.set("parquet.page.verify-checksum.enabled", verify)
            frame = spark.read.schema(read_rows(spark, [window], []).drop("window_start", "carried").schema)
            options = {"parquet.page.verify-checksum.enabled": verify}
            frame.options(**options).parquet(*window.files).write.format("noop").mode("overwrite").save()

        timed("Spark reads it, without", lambda: read("false"))
        timed("Spark reads it, with checksums", lambda: read("true"))
        spark.stop()
        sys.stdout.write(f"{written.rows} rows, {written.digest.bytes:,} bytes\n")


def timed(what: str, work: Callable[[], object]) -> None:
    seconds = []
    for _ in range(TURNS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    sys.stdout.write(f"{what:32} {min(seconds):8.3f} s\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
