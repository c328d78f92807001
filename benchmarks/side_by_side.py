"""Measure mining an old range from archived logs with one and with several sessions:
`python benchmarks/side_by_side.py [--windows 40] [--rows 2000] [--delay 0.5]`.

Each window has a log with so many inserted rows. The stand-in runs in a process of its own, and another session goes on
inserting meanwhile. With `--delay` each START_LOGMNR waits so many seconds more in the database, as one that reads its logs
from a slow disk; without it, the sessions share this machine's cores with the stand-in.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from redolake.context import Run

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.close_gap import load
from standin.serve import standin

BEGINS = "DBMS_LOGMNR.START_LOGMNR"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--windows", type=int, default=40)
    arguments.add_argument("--rows", type=int, default=2000)
    arguments.add_argument("--delay", type=float, default=0.0)
    given = arguments.parse_args()
    from redolake import steps
    from redolake.config import Pipeline
    from redolake.source import ConnectParams
    from redolake.steps.ranges.logs import LogsToRead, PlannedLogs, mine_logs, plan_logs
    from redolake.values.scn import Scn, ScnRange
    from redolake.values.table import TableId

    with tempfile.TemporaryDirectory() as name, standin(archive_lag_target=0, log_bytes=16 << 20) as oracle:
        source = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
        with oracle.connect("SHOP") as connection, oracle.connect("SYS") as system, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE sales (id NUMBER(12) PRIMARY KEY, note VARCHAR2(60))")
            cursor.execute("ALTER TABLE sales ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
            body: dict[str, Any] = {
                "name": "bench",
                "source": {"connection": "oracle_bench", "container": "FREEPDB1", "fetch_rows": 20_000},
                "landing": f"{name}/landing",
                "lake": f"{name}/lake",
                "window": {"max_bytes": 1},  # a window for each log
                "tables": ["SHOP.SALES"],
            }
            start = steps.begin_snapshot(Run(Pipeline.model_validate(body), source)).scn
            for window in range(given.windows):
                rows = [(window * given.rows + n, f"window {window}") for n in range(given.rows)]
                cursor.executemany("INSERT INTO sales (id, note) VALUES (:1, :2)", rows)
                connection.commit()
                system.cursor().execute("ALTER SYSTEM ARCHIVE LOG CURRENT")
            end = int(oracle.database.clock.scn) - 1
        shown = f"{given.windows} windows of {given.rows} rows, {given.delay} s more for each START_LOGMNR"
        print(f"{shown}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)  # noqa: T201

        def wait_again() -> None:
            oracle.faults.act_before(BEGINS, wait_again)
            time.sleep(given.delay)

        if given.delay:
            oracle.faults.act_before(BEGINS, wait_again)
        scns, table = ScnRange(Scn(start), Scn(end)), TableId.parse("SHOP.SALES")
        with load(oracle):
            for sessions in (1, 2, 4, 8):
                with Run(Pipeline.model_validate({**body, "parallel_sessions": sessions})) as context:
                    planned = plan_logs(context, scns, [table], LogsToRead((), source))
                    assert isinstance(planned, PlannedLogs), planned
                    began = time.monotonic()
                    mined = mine_logs(planned).landing.windows.after()
                    seconds = time.monotonic() - began
                shutil.rmtree(f"{name}/landing/bench/restored")
                rate = given.windows * given.rows / seconds
                print(f"| {sessions} | {len(mined)} windows | {seconds:6.1f} s | {rate:8.0f} rows/s |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
