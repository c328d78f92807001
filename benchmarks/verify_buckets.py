"""Measure a comparison by the hashes of buckets against one of all rows, and the repair of one cell:
`python benchmarks/verify_buckets.py [--rows 1000000]`.

One table is filled in a stand-in by direct-path loads, loaded into Delta, and compared equal by both methods. Then one cell is
changed in the lake, found by buckets and repaired, and all rows are compared once more. Both sides run on this machine; the
stand-in hashes in Python, far slower than Oracle, so its seconds say little. The bytes that are fetched are what to look at.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from standin_process import standin_process

COLUMNS = "id NUMBER(12) PRIMARY KEY, customer NUMBER(9), at DATE, amount NUMBER(12,2), note VARCHAR2(60), state CHAR(2)"
VALUES = (
    "LEVEL + :first, MOD(LEVEL * 7919, 100003), DATE '2026-01-01' + MOD(LEVEL, 365), LEVEL / 100, "
    "'a note about sale ' || LEVEL, 'ok'"
)


def pipeline_at(folder: Path) -> Any:
    from redolake.config import Pipeline

    body = {
        "name": "bench",
        "source": {"connection": "oracle_bench", "container": "FREEPDB1", "fetch_rows": 20_000},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "tables": ["SHOP.SALES"],
    }
    return Pipeline.model_validate(body)


def say(what: Any) -> None:
    """Show a line of progress beside the table of results."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


def timed(what: str, lines: list[str], run: Any) -> Any:
    began = time.monotonic()
    found = run()
    seconds = time.monotonic() - began
    lake = found.lake_bytes_read or 0
    shown = f"{found.source_rows_read:>12,} | {found.source_bytes_read:>14,} | {lake:>14,}"
    lines.append(f"| {what} | {seconds:8.1f} | {shown} | {'equal' if found.equal else 'DIFFERS'} |")
    print(lines[-1], flush=True)  # noqa: T201
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    rows = arguments.parse_args().rows
    from redolake import steps
    from redolake.values.table import TableId

    options = {"archive_lag_target": 0, "log_bytes": 256 << 20}
    with tempfile.TemporaryDirectory() as name, standin_process(**options) as served:
        folder, lines = Path(name), list[str]()
        began = time.monotonic()
        served.fill("sales", COLUMNS, VALUES, rows)
        print(f"{rows:,} rows in {time.monotonic() - began:.0f} s; {os.cpu_count()} cores", flush=True)  # noqa: T201
        pipeline = pipeline_at(folder)
        spark = steps.open_spark(pipeline)
        began = time.monotonic()
        steps.take_snapshot(pipeline, source=served.params, spark=spark, report=say)
        print(f"loaded in {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201

        def verify(method: Any) -> Any:
            found = steps.verify_tables(pipeline, source=served.params, spark=spark, method=method, report=say)
            assert not found.not_compared, found.not_compared
            return found.tables[0]

        target = pipeline.target(TableId("SHOP", "SALES"))
        print("| | seconds | rows fetched | bytes fetched | bytes of Delta files | result |", flush=True)  # noqa: T201
        timed("buckets, equal", lines, lambda: verify("buckets"))
        timed("all rows, equal", lines, lambda: verify("rows"))
        spark.sql(f"UPDATE delta.`{target}` SET amount = amount + 1 WHERE id = {rows // 2}")
        timed("buckets, one cell changed", lines, lambda: verify("buckets"))
        repaired = timed(
            "repair of the cell",
            lines,
            lambda: steps.repair_table(
                pipeline, "SHOP.SALES", reason="benchmark", source=served.params, spark=spark, report=say
            ),
        )
        assert (repaired.rows, repaired.updated) == (1, 1), repaired
        timed("all rows, after the repair", lines, lambda: verify("rows"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"at most {peak:,} MB in this process, without Spark's", flush=True)  # noqa: T201
        spark.stop()


if __name__ == "__main__":
    main()
