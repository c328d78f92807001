"""Measure closing a declared gap from restored logs, beside the same changes through the stream:
`python benchmarks/close_gap.py [--windows 100] [--rows 200]`.

Each window has a log with so many inserted rows, which are captured and applied as a stream does. Then as many are purged, a
gap is declared, the logs are restored, and the gap is closed while another session goes on inserting. The stand-in and Spark
run on this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from standin.serve import StandIn, standin

KEYS = 1_000_000  # the keys of changed rows are spread over these


def change(oracle: StandIn, windows: int, rows: int, first: int) -> None:
    """Change rows, and switch the log after each window's."""
    with oracle.connect("SHOP") as connection, oracle.connect("SYS") as system, connection.cursor() as cursor:
        for window in range(windows):
            keys = [(first + window * rows + n, f"window {window}") for n in range(rows)]
            cursor.executemany("INSERT INTO sales (id, note) VALUES (:1, :2)", keys)
            cursor.execute("UPDATE sales SET note = 'seen' WHERE id < 50 AND MOD(id, 7) = MOD(:1, 7)", [window])
            connection.commit()
            system.cursor().execute("ALTER SYSTEM ARCHIVE LOG CURRENT")


@contextmanager
def load(oracle: StandIn) -> Iterator[None]:
    """Change rows from another session until the end of the block."""
    ended = threading.Event()

    def work() -> None:
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            number = 10 * KEYS
            while not ended.wait(0.01):
                number += 1
                cursor.execute("INSERT INTO sales (id, note) VALUES (:1, 'load')", [number])
                connection.commit()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def pipeline_at(folder: Path) -> Any:
    from redolake.config import Pipeline

    body = {
        "name": "bench",
        "source": {"connection": "oracle_bench", "container": "FREEPDB1", "fetch_rows": 20_000},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "window": {"max_bytes": 1},  # a window for each log
        "tables": ["SHOP.SALES"],
    }
    return Pipeline.model_validate(body)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--windows", type=int, default=100)
    arguments.add_argument("--rows", type=int, default=200)
    given = arguments.parse_args()
    from redolake import steps
    from redolake.source import ConnectParams

    with tempfile.TemporaryDirectory() as name, standin(archive_lag_target=0, log_bytes=4 << 20) as oracle:
        user = oracle.capture_user
        source = ConnectParams(user, oracle.passwords[user], oracle.root_dsn)
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE sales (id NUMBER(12) PRIMARY KEY, note VARCHAR2(60))")
            cursor.execute("ALTER TABLE sales ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
            cursor.execute("INSERT INTO sales SELECT LEVEL, 'first' FROM dual CONNECT BY LEVEL <= 100")
            connection.commit()
        pipeline = pipeline_at(Path(name))
        spark = steps.open_spark(pipeline)
        steps.take_snapshot(pipeline, source=source, spark=spark)
        shown = f"{given.windows} windows of {given.rows} rows; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        print(shown, flush=True)  # noqa: T201

        def timed(what: str, run: Any) -> Any:
            began = time.monotonic()
            found = run()
            seconds, rows = time.monotonic() - began, given.windows * given.rows
            print(f"| {what} | {seconds:8.1f} s | {rows / seconds:8.0f} rows/s |", flush=True)  # noqa: T201
            return found

        def stream() -> None:
            steps.run_pipeline(pipeline, until_caught_up=True, source=source, spark=spark)

        change(oracle, given.windows, given.rows, KEYS)
        timed("the stream: capture and apply", stream)
        change(oracle, given.windows, given.rows, 2 * KEYS)
        oracle.faults.purge_logs()
        change(oracle, 1, given.rows, 3 * KEYS)
        steps.recover_redo_loss(pipeline, "gap", reason="benchmark", by="bench", source=source, spark=spark)
        stream()
        oracle.faults.restore_logs()
        with load(oracle):
            closed = timed(
                "the same from restored logs, under load",
                lambda: steps.close_gap(pipeline, execute=True, reason="benchmark", source=source, spark=spark),
            )
        assert closed.done, closed
        stream()
        found = steps.verify_tables(pipeline, source=source, spark=spark)
        assert found.equal, found
        print(f"{closed.mined} windows, {closed.tables[0]}; equal", flush=True)  # noqa: T201
        spark.stop()


if __name__ == "__main__":
    main()
