"""Measure how long the cockpit needs for a ledger with 100,000 windows and 1,000 tables: reading, and reading with rendering.

python -m benchmarks.cockpit [windows] [tables] [URL of an empty PostgreSQL database]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from sqlalchemy import create_engine, insert

from redolake.cockpit import read_overview
from redolake.cockpit.render import Pages
from redolake.ledger import tables as t
from tests.states.cockpit_ledger import FIRST_SCN, INCARNATION, SCNS, CockpitLedger

REPEATS = 15
LATEST = 20  # windows that are recorded as a pipeline does; those before them only fill the ledger


def fill(made: CockpitLedger, windows: int) -> None:
    """Add older windows, their batches, and rows by the hour for every table."""
    engine, start = create_engine(made.url), made.now - timedelta(days=1)
    rows, batches = [], []
    for back in range(1, windows + 1):
        scn, at = FIRST_SCN - back * SCNS, start - timedelta(minutes=5 * back)
        name, batch = f"{INCARNATION:010d}-{scn:020d}-{scn + SCNS:020d}", f"old-{back:09d}"
        times = {"planned_at": at, "changed_at": at, "ends_at": at, "landed_at": at, "applied_at": at}
        rows.append({
            "pipeline": "shop", "name": name, "resetlogs_id": INCARNATION, "start_scn": scn, "end_scn": scn + SCNS,
            "state": "applied", "plan": {"slices": [{"logs": ["x" * 400] * 4}]}, "token": 1, "batch": batch, "row_count": 900,
            "log_count": 2, "redo_bytes": 49_000_000, "mine_seconds": 8.0, "account": {"landed": 900, "applied": 900}, **times,
        })  # fmt: skip
        batches.append({
            "pipeline": "shop", "name": batch, "start_scn": scn, "end_scn": scn + SCNS, "state": "applied", "spec_path": "x",
            "result": {"tables": {"x": 1}}, "created_at": at, "changed_at": at,
        })  # fmt: skip
    hours = [
        {"pipeline": "shop", "owner": table.owner, "table_name": table.name, "hour": made.now - timedelta(hours=back),
         "inserted": 10, "updated": 5, "deleted": 1}
        for table in made.tables for back in range(2, 24)
    ]  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(t.windows), rows)
        connection.execute(insert(t.batches), batches)
        connection.execute(insert(t.table_rows), hours)


def measured(work: Callable[[], object]) -> str:
    times, busy = [], []
    for _ in range(REPEATS):
        began, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - began) * 1000)
        busy.append((time.process_time() - cpu) * 1000)
    return (
        f"{median(times):.1f} ms ({min(times):.1f} to {max(times):.1f}), {median(busy):.1f} ms of them CPU time of this process"
    )


def main(windows: int = 100_000, tables: int = 1_000, url: str = "") -> None:
    now = datetime(2026, 5, 1, 14, 2, 41, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as folder:
        made = CockpitLedger(Path(folder), now, tuple(f"SHOP.T{n:04d}" for n in range(tables)), url=url)
        made.run(LATEST)
        made.open_transactions(200)
        fill(made, windows)
        names = [str(table) for table in made.tables]

        def read(**more: str) -> object:
            return read_overview(made.pipeline, made.url, now, **more)

        def page() -> str:
            return Pages("", "", ["shop"], now).pipeline(read_overview(made.pipeline, made.url, now), names)

        old = f"{INCARNATION}-{FIRST_SCN - windows // 2 * SCNS}"
        lines = [f"{windows:,} windows, {tables:,} tables", f"read: {measured(read)}"]
        lines += [f"read windows from the middle: {measured(lambda: read(before=old))}", f"page: {measured(page)}"]
        sys.stdout.write("\n".join([*lines, f"page size: {len(page()) / 1000:.0f} kB", ""]))
        made.ledger.close()


if __name__ == "__main__":
    counts = [int(argument) for argument in sys.argv[1:3]]
    main(*counts, url="".join(sys.argv[3:4]))
