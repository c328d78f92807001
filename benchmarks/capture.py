"""Measure the client's CPU time of capturing a window, beside a bare fetch of the same rows: `python benchmarks/capture.py`.

The stand-in runs in a process of its own, so that its time counts for neither. The bare fetch runs the product's SELECT with
the driver's `fetch_df_batches` and drops what comes, once with the product's arguments and once with NUMBERs as decimals; its
connection and LogMiner session are not counted. Capture is the whole task that mines: connections, LogMiner session, checks,
counts, hashes and the Parquet file. They take turns, because the machine's speed drifts. In turns of their own, `--terms`
divides capture's time among its parts.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from standin_process import Served, standin_process
from statements import WORDS

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run, open_pipeline_source
from redolake.host.statements import statement
from redolake.land import layout, parquet, tally
from redolake.mine import LogSet, mining
from redolake.mine.selection import predicate
from redolake.mine.session import logminer
from redolake.source import ConnectParams
from redolake.source.session import OracleSession
from redolake.steps.capture.windows import plan_of

PER_TRANSACTION = 100
TEXTS = ("status", "name", "email", "city", "country", "address", "phone", "note")
COLUMNS = {
    "id": "NUMBER(12) CONSTRAINT orders_pk PRIMARY KEY", "customer_id": "NUMBER(12)", "qty": "NUMBER(12)",
    "amount": "NUMBER(12, 2)", "created": "DATE", "updated": "TIMESTAMP(6)",
} | dict.fromkeys(TEXTS, "VARCHAR2(200)")  # fmt: skip
BARE = {"bare fetch": "bare", "bare fetch of decimals": "decimals"}
# A part of capture, and the functions whose time it is; the rest of the module's names are looked up when they are called.
TERMS = {
    "fetch": (),
    "checks": ((mining, "check_stream"), (mining, "check_rows"), (mining, "fit_numbers")),
    "columns": ((mining, "lower_case"), (mining, "landed_rows")),
    "counts and hashes": ((tally.Tally, "add"),),
    "Parquet": ((parquet, "_write"),),
}


def create_table(oracle: Served) -> None:
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE orders ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
        cursor.execute("ALTER TABLE orders ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")


def change(oracle: Served, changes: int) -> None:
    """Insert half as many rows, update three fifths of them and delete the others, and archive the log."""
    choose = random.Random(7)
    inserted = changes // 2
    binds = ", ".join(f":{n}" for n, _ in enumerate(COLUMNS, 1))
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'")
        cursor.execute("ALTER SESSION SET NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6'")
        for start in range(0, inserted, PER_TRANSACTION):
            keys = range(start, min(start + PER_TRANSACTION, inserted))
            cursor.executemany(f"INSERT INTO orders VALUES ({binds})", [row(choose, key) for key in keys])
            connection.commit()
        updated = inserted * 3 // 5
        for start in range(0, inserted, PER_TRANSACTION):
            end = min(start + PER_TRANSACTION, inserted)
            if start < updated:
                cursor.execute(
                    "UPDATE orders SET status = 'shipped', qty = qty + 1 WHERE id >= :1 AND id < :2", [start, min(end, updated)]
                )
            if end > updated:
                cursor.execute("DELETE FROM orders WHERE id >= :1 AND id < :2", [max(start, updated), end])
            connection.commit()
    with oracle.connect("SYS") as connection, connection.cursor() as cursor:
        cursor.execute("ALTER SYSTEM ARCHIVE LOG CURRENT")


def row(choose: random.Random, key: int) -> list[Any]:
    texts = [" ".join(choose.choices(WORDS, k=3)) for _ in TEXTS]
    moment = f"2026-{choose.randint(1, 12):02d}-{choose.randint(1, 28):02d} 13:14:15"
    return [key, choose.randrange(10**6), 1, choose.randrange(10**6) / 100, moment, f"{moment}.123456", *texts]


class Capture:
    """One planned window, which can be mined any number of times until it is landed."""

    def __init__(self, params: ConnectParams, folder: Path, fetch_rows: int) -> None:
        self.params = params
        self.pipeline = Pipeline.model_validate(
            {
                "name": "captured",
                "source": {"connection": "oracle", "container": "FREEPDB1", "fetch_rows": fetch_rows},
                "landing": str(folder / "landing"),
                "lake": str(folder / "lake"),
                "tables": ["SHOP.ORDERS"],
            }
        )
        steps.begin_snapshot(Run(self.pipeline, params))

    def plan(self) -> None:
        found = steps.plan_next_window(Run(self.pipeline, self.params))
        assert found.window is not None, found.reason
        self.window, self.slices = found.window, found.slices

    def mine(self) -> list[Any]:
        return [steps.mine_window_slice(Run(self.pipeline, self.params), self.window, number) for number in self.slices]

    def discard(self, records: Sequence[Any]) -> None:
        with Run(self.pipeline) as context:
            for record in records:
                context.landing.windows.discard_slice(record)

    def bytes_of(self, records: Sequence[Any]) -> int:
        with Run(self.pipeline) as context:
            files = [layout.in_window(self.window, file) for record in records for file in record.files]
            return sum(Path(context.landing.files.path(file)).stat().st_size for file in files)

    def bare(self, decimals: bool) -> tuple[int, float]:
        """Return the rows and the CPU seconds of fetching every slice's rows with the driver alone; numbers as integers, as
        capture has them, or as decimals."""
        with Run(self.pipeline) as context:
            made = plan_of(context, self.window)
        number, seconds = 0, 0.0
        for piece in made.window.slices:
            logs = LogSet.of(piece, made.window.dictionary_logs)
            with open_pipeline_source(self.pipeline, self.params) as oracle:
                oracle.use_container(None)
                oracle.pin_session()
                container = mining.mined_container(oracle, self.pipeline.source.container)
                where, binds = predicate(made.tables, frozenset(made.object_ids), container)
                sql = f"{statement('redo_rows')}\n WHERE {where}"
                with logminer(oracle, logs, made.window):
                    connection, size = oracle._session._connection, self.pipeline.source.fetch_rows
                    began = time.process_time()
                    for frame in connection.fetch_df_batches(sql, binds, size=size, fetch_decimals=decimals):
                        number += frame.num_rows()
                    seconds += time.process_time() - began
        return number, seconds


@contextmanager
def timed_terms() -> Iterator[dict[str, float]]:
    """Count the CPU seconds of each term. What no term has is `the rest`."""
    spent = dict.fromkeys(TERMS, 0.0)

    def timed(term: str, function: Any, *arguments: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            return function(*arguments, **named)
        finally:
            spent[term] += time.process_time() - began

    def fetched(function: Any, *arguments: Any, **named: Any) -> Iterator[Any]:
        answers = function(*arguments, **named)
        while True:
            frame = timed("fetch", next, answers, None)
            if frame is None:
                return
            yield frame

    with mock.patch.object(OracleSession, "arrow", _method(fetched, OracleSession.arrow)):
        patches = [
            mock.patch.object(place, name, _method(partial(timed, term), getattr(place, name)))
            for term, functions in TERMS.items()
            for place, name in functions
        ]
        for patch in patches:
            patch.start()
        try:
            yield spent
        finally:
            for patch in patches:
                patch.stop()


def _method(around: Any, function: Any) -> Any:
    return lambda *arguments, **named: around(function, *arguments, **named)


def cpu_of(run: Any) -> tuple[Any, float]:
    gc.collect()
    began = time.process_time()
    result = run()
    return result, time.process_time() - began


def one_turn(capture: Capture, turn: int) -> dict[str, float]:
    """Measure capture and the bare fetches, in an order that changes from turn to turn."""
    figures: dict[str, float] = {}
    kinds = ("capture", "bare", "decimals")
    for kind in (*kinds[turn % 3 :], *kinds[: turn % 3]):
        gc.collect()
        if kind == "capture":
            records, figures["capture"] = cpu_of(capture.mine)
            figures["bytes"] = capture.bytes_of(records)
            capture.discard(records)
        else:
            figures["rows"], figures[kind] = capture.bare(kind == "decimals")
    return figures


def term_turn(capture: Capture) -> dict[str, float]:
    with timed_terms() as spent:
        records, whole = cpu_of(capture.mine)
    capture.discard(records)
    return {**spent, "the rest": whole - sum(spent.values())}


def line(name: str, figures: Sequence[float], unit: str = "") -> str:
    return f"{name:<36} min {min(figures):8.3f}   median {median(figures):8.3f}   max {max(figures):8.3f} {unit}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000, help="changes of the window")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--terms", type=int, default=3, help="turns that divide capture's time among its parts")
    parser.add_argument("--fetch-rows", type=int, default=10_000, help="`source.fetch_rows`")
    parser.add_argument("--json", type=Path, help="write the figures of every turn to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, standin_process(log_bytes=2**30, background=False) as oracle:
        create_table(oracle)
        capture = Capture(oracle.params, Path(folder), given.fetch_rows)
        change(oracle, given.rows)
        capture.plan()
        one_turn(capture, 0)  # imports, the stand-in's caches
        turns = [one_turn(capture, turn) for turn in range(given.turns)]
        terms = [term_turn(capture) for _ in range(given.terms)]
        records = capture.mine()
        _, landed = cpu_of(lambda: steps.land_window(Run(capture.pipeline, oracle.params), capture.window, records))
    rows = turns[0]["rows"]
    sys.stdout.write(
        f"{rows:,.0f} rows of LogMiner in {len(capture.slices)} slice(s); {turns[0]['bytes'] / 1e6:.1f} MB of Parquet\n"
    )
    for name, kind in (("capture", "capture"), *BARE.items()):
        sys.stdout.write(line(f"{name}, us CPU per row", [turn[kind] / rows * 1e6 for turn in turns]))
    for name, kind in BARE.items():
        sys.stdout.write(line(f"capture / {name}", [turn["capture"] / turn[kind] for turn in turns]))
    for name in terms[0] if terms else ():
        sys.stdout.write(line(f"  {name}, us CPU per row", [turn[name] / rows * 1e6 for turn in terms]))
    sys.stdout.write(f"landing the window: {landed:.3f} s CPU\n")
    if given.json:
        given.json.write_text(json.dumps({"turns": turns, "terms": terms, "land": landed}, indent=1))


if __name__ == "__main__":
    main()
