"""Measure what many tables cost where no rows are read.

`python benchmarks/many_tables.py [--tables 10 200 1000] [--windows 5]`

For each number of tables: the seconds of each step, the CPU seconds of the client, and the statements that Oracle and the
ledger get. The stand-in runs in a process of its own: what the client waits without CPU time is mostly the stand-in's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from sqlalchemy import event
from sqlalchemy.engine import Engine
from standin_process import Served, standin_process

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.source.session import OracleSession
from redolake.steps.apply.batch import prepare_batch
from redolake.steps.capture.windows import PlanOutcome


@dataclass(slots=True)
class Sent:
    """Statements of one step."""

    oracle: int = 0
    ledger: int = 0


@contextmanager
def counted() -> Iterator[Sent]:
    """Count the statements of Oracle and of the ledger."""
    sent, query = Sent(), OracleSession.query_text

    def timed(session: OracleSession, sql: str, *rest: object) -> object:
        sent.oracle += 1
        return query(session, sql, *rest)  # type: ignore[arg-type]

    def executed(*_: object) -> None:
        sent.ledger += 1

    event.listen(Engine, "before_cursor_execute", executed)
    try:
        with mock.patch.object(OracleSession, "query_text", timed):
            yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", executed)


def create_tables(oracle: Served, number: int) -> list[str]:
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for n in range(number):
            columns = ", ".join(f"c{c} VARCHAR2(20)" for c in range(8))
            cursor.execute(f"CREATE TABLE t{n:05d} (id NUMBER(9) CONSTRAINT t{n:05d}_pk PRIMARY KEY, {columns})")
            cursor.execute(f"ALTER TABLE t{n:05d} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    return [f"SHOP.T{n:05d}" for n in range(number)]


def change_and_switch(oracle: Served) -> None:
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE t00000 SET c1 = 'x'")
        connection.commit()
    with oracle.connect("SYS") as connection, connection.cursor() as cursor:
        cursor.execute("ALTER SYSTEM ARCHIVE LOG CURRENT")


def measured(what: str, tables: int, run: Callable[[], object]) -> object:
    with counted() as sent:
        started, cpu = time.perf_counter(), time.process_time()
        result = run()
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    sys.stdout.write(
        f"{tables:6} tables {what:<16} {seconds:8.2f} s, {cpu:7.2f} s CPU of the client; {sent.oracle:5} statements to Oracle, "
        f"{sent.ledger:6} to the ledger\n"
    )
    sys.stdout.flush()
    return result


def measure(number: int, windows: int, folder: Path) -> None:
    with standin_process(log_bytes=64 * 1024 * 1024, background=False) as oracle:
        tables = create_tables(oracle, number)
        params = oracle.params
        pipeline = Pipeline.model_validate(
            {
                "name": "many",
                "source": {"connection": "oracle_many", "container": "FREEPDB1"},
                "landing": str(folder / "landing"),
                "lake": str(folder / "lake"),
                "tables": tables,
            }
        )
        measured("doctor", number, lambda: steps.examine(steps.Run(pipeline, params)))
        measured("begin snapshot", number, lambda: steps.begin_snapshot(Run(pipeline, params)))
        for window in range(windows):
            change_and_switch(oracle)
            name = "first plan" if window == 0 else "plan"
            found = measured(name, number, lambda: steps.plan_next_window(Run(pipeline, params)))
            assert isinstance(found, PlanOutcome)
            assert found.window is not None
            mined = [steps.mine_window_slice(Run(pipeline, params), found.window, n) for n in found.slices]
            measured("land", number, lambda: steps.land_window(pipeline, found.window, mined))  # noqa: B023
        read = sum(file.stat().st_size for file in folder.rglob("*.json") if "/dictionary/" in str(file))
        sys.stdout.write(f"{number:6} tables {read / windows / 1024:8.0f} KiB of dictionary readings per window\n")
        measured("prepare", number, lambda: prepare_batch(pipeline))
        measured("status", number, lambda: steps.read_status(pipeline))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, nargs="+", default=[10, 200, 1000])
    parser.add_argument("--windows", type=int, default=5)
    chosen = parser.parse_args()
    for number in chosen.tables:
        with tempfile.TemporaryDirectory() as folder:
            measure(number, chosen.windows, Path(folder))


if __name__ == "__main__":
    main()
