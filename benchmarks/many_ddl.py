"""Measure a batch with many DDL statements of one table: `python benchmarks/many_ddl.py [--ddls 20] [--against CHECKOUT]`.

Between two DDLs are an INSERT and an UPDATE. Beside it a batch with these two changes alone, of the same table: a commit range
should cost what such a batch costs. With another checkout of this repository, each of its rounds runs right after one of ours.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from apply_batch import SETTINGS, checkouts, one_batch, start, summary

from redolake.context import Run

HERE = Path(__file__).resolve()
STEPS = (
    "ALTER TABLE {table} ADD x{n} NUMBER(5) DEFAULT 7",
    "ALTER TABLE {table} RENAME COLUMN x{n} TO y{n}",
    "ALTER TABLE {table} MODIFY y{n} NUMBER(9)",
    "ALTER TABLE {table} DROP COLUMN y{n}",
)
FIGURES = ("small batch, s clock", "small batch, s CPU", "DDLs, s clock", "DDLs, s CPU")


def serve(folder: Path, ddls: int) -> None:
    """Measure a round on a table of its own for each line that is given."""
    from redolake import steps
    from redolake.apply.spark.session import open_session
    from tests.fixtures.shop import open_shop

    spark = open_session("local", "local[2]", SETTINGS)
    with open_shop(folder) as shop:
        for number, _ in enumerate(sys.stdin):
            table = f"ddl{number}"
            shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(50), b NUMBER(10), c DATE)",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                f"INSERT INTO {table} (id, a) VALUES (0, 'first')",
            )
            places = {part: str(folder / part / table) for part in ("landing", "lake")}
            pipeline = shop.pipeline(f"p{number}", tables=[f"SHOP.{table.upper()}"], **places)
            steps.take_snapshot(pipeline, source=shop.params, spark=spark)
            key = iter(range(1, 10_000))
            figures = [0.0, 0.0]
            for _ in range(3):  # the first two are not counted
                shop.run_sql(*changes(table, next(key)))
                figures = applied(shop, pipeline, spark)
            for n in range(ddls):
                shop.run_sql(*changes(table, next(key)))
                shop.run_sql(STEPS[n % len(STEPS)].format(table=table, n=n // len(STEPS)))
            shop.run_sql(*changes(table, next(key)))
            sys.stdout.write(json.dumps(dict(zip(FIGURES, [*figures, *applied(shop, pipeline, spark)], strict=True))) + "\n")
            sys.stdout.flush()
    spark.stop()


def changes(table: str, key: int) -> Iterator[str]:
    yield f"INSERT INTO {table} (id, a) VALUES ({key}, 'row {key}')"
    yield f"UPDATE {table} SET a = 'changed {key}' WHERE id = {key - 1}"


def applied(shop: Any, pipeline: Any, spark: Any) -> list[float]:
    """Capture what has happened, apply it in one batch, and return the seconds of its job: by the clock, and of CPU."""
    from redolake import steps
    from redolake.steps.run import capture

    shop.switch_logs()
    while capture(Run(pipeline, shop.params)).plan.outcome == "window":
        pass
    batch = steps.prepare_batch(pipeline).batch
    assert batch is not None
    began, cpu = time.perf_counter(), cpu_seconds()
    steps.run_spark_job(Run(pipeline, spark=spark), batch)
    seconds = [time.perf_counter() - began, cpu_seconds() - cpu]
    steps.record_batch(pipeline, batch)
    return seconds


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, Spark's and its Python workers', also of those that have ended."""
    mine = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (mine, *mine.children(recursive=True)))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--this", type=Path, default=HERE.parents[1], help="the checkout to measure")
    arguments.add_argument("--against", type=Path, help="another checkout, to be compared with")
    arguments.add_argument("--ddls", type=int, default=20)
    arguments.add_argument("--rounds", type=int, default=3, help="after one that is not counted")
    arguments.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.serve, given.ddls)
        return
    found = checkouts(given.this, given.against)
    with tempfile.TemporaryDirectory() as folder:
        servers = {n: start(p, Path(folder) / n, [f"--ddls={given.ddls}"], script=HERE) for n, p in found.items()}
        turns = [{name: one_batch(server) for name, server in servers.items()} for _ in range(1 + given.rounds)][1:]
        for server in servers.values():
            server.communicate()
    for figure in FIGURES:
        for name in found:
            sys.stdout.write(summary(f"{name}, {figure}", [turn[name][figure] for turn in turns]))
    for unit in ("clock", "CPU"):
        small, ranged = f"small batch, s {unit}", f"DDLs, s {unit}"
        for name in found:
            ranges = [turn[name][ranged] / (given.ddls + 1) / turn[name][small] for turn in turns]
            sys.stdout.write(f"{name}: a range takes {median(ranges):.2f} times the time of a small batch, {unit}\n")
        if "against" in found:
            ratios = [turn["against"][ranged] / turn["this"][ranged] for turn in turns]
            sys.stdout.write(summary(f"ratio, {unit}", ratios))


if __name__ == "__main__":
    main()
