"""Measure what a mapping or an error policy costs a batch: `python benchmarks/mapping.py [--changes 50000] [--only TEXT ..]`.

Tables of 20 columns with equal changes, all columns logged, in one session: two without a mapping, whose ratio says how much of
the others is chance, and one of each kind. Their batches take turns, because the machine's speed drifts, and each turn begins
with another table; the ratio is that of each turn to the table without a mapping. The first turns are not counted: Java
compiles what batches run. No change is bad, so the policies find none.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apply_batch import session, spec_of
from large_batch import FETCHED, History, contents
from statements import COLUMNS

from redolake.config.expressions import uses, with_ids
from redolake.host.user_code import digest_of
from redolake.values.mapping import FIRST_ADDED, Computed, RowFilter, SecretName, TableMapping, Transform
from redolake.values.null_rule import with_nulls
from redolake.values.quarantine import CLASSES, FOLDER, QuarantineRule
from redolake.values.table import Column, Rules, TableId, TableVersion

# In place of the values of ten columns, so that the lake has as many columns as without them.
EXPRESSIONS = {
    "AMOUNT": ("amount + coalesce(tax, 0)", "decimal(38,4)"), "CITY": ("upper(city)", "string"),
    "EMAIL": ("substring_index(email, '@', -1)", "string"), "CLOSED": ("closed IS NULL", "boolean"),
    "QTY": ("qty > 100", "boolean"), "ADDRESS": ("concat_ws(', ', address, city, country)", "string"),
    "CREATED": ("to_date(created)", "date"), "UPDATED": ("datediff(updated, created)", "int"),
    "STATUS": ("CASE status WHEN 'order' THEN 'O' ELSE 'X' END", "string"), "NOTE": ("'ERP'", "string"),
}  # fmt: skip
ADDED = {
    "total": ("amount + coalesce(tax, 0)", "decimal(38,4)"), "city_upper": ("upper(city)", "string"),
    "domain": ("substring_index(email, '@', -1)", "string"), "is_open": ("closed IS NULL", "boolean"),
    "big": ("qty > 100", "boolean"), "where_to": ("concat_ws(', ', address, city, country)", "string"),
    "created_on": ("to_date(created)", "date"), "days": ("datediff(updated, created)", "int"),
    "kind": ("CASE status WHEN 'order' THEN 'O' ELSE 'X' END", "string"), "origin": ("'ERP'", "string"),
}  # fmt: skip
WARM_UP = 3  # turns
VARIABLE = "REDOLAKE_BENCHMARK_KEY"
IDS = {name: number for number, name in enumerate(COLUMNS, 1)}


def lengths(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the length of NAME: users' code of the benchmark."""
    return pa.RecordBatch.from_arrays([pc.utf8_length(batch.column("NAME"))], names=["name_length"])


def computed(column_id: int, name: str, text: str, type_: str) -> Computed:
    needs = tuple(sorted({IDS[name] for name, _, _ in uses(text)}))
    return Computed(column_id, name, type_, "expression", needs, with_ids(text, IDS), text)


@dataclass(frozen=True, slots=True)
class Settings:
    """What pipelines.yml says of a table."""

    mapping: TableMapping | None = None
    quarantines: bool = False
    nulls: bool = False


def kinds() -> Mapping[str, Settings]:
    """Return each kind by its name; the first is the one to which the others are compared."""
    policies = {
        "no mapping": Settings(),
        "no mapping, again": Settings(),
        "quarantine": Settings(quarantines=True),
        "NULL by rule": Settings(nulls=True),
    }
    return policies | {name: Settings(mapping) for name, mapping in mappings().items()}


def mappings() -> Mapping[str, TableMapping]:
    ten = tuple(computed(IDS[name], name, *one) for name, one in EXPRESSIONS.items())
    added = tuple(computed(FIRST_ADDED + n, name, *one) for n, (name, one) in enumerate(ADDED.items()))
    constants = tuple(computed(FIRST_ADDED + n, f"constant_{n}", "'ERP'", "string") for n in range(len(ADDED)))
    hashed = tuple(Computed(IDS[name], name, "string", "mask", (IDS[name],), mask="hash") for name in ("EMAIL", "PHONE"))
    plain = tuple(Computed(IDS[name], name, "string", "mask", (IDS[name],), mask="last4") for name in ("EMAIL", "PHONE"))
    text = "status <> 'void' OR qty > 5"
    where = RowFilter(with_ids(text, IDS), tuple(sorted({IDS[name] for name, _, _ in uses(text)})), text)
    inputs = tuple((number, name) for name, number in IDS.items())
    code = Transform("mapping:lengths", digest_of("mapping:lengths"), inputs)
    made = Computed(FIRST_ADDED, "name_length", "int", "transform", tuple(IDS.values()), text="mapping:lengths")
    return {
        "five names": TableMapping(names=tuple((IDS[name], f"new_{name}") for name in ("NAME", "CITY", "QTY", "NOTE", "RATE"))),
        "ten expressions": TableMapping(computed=ten),
        "ten more columns, computed": TableMapping(computed=added),
        "ten more columns, constant": TableMapping(computed=constants),
        "two masks, last4": TableMapping(computed=plain),
        "two masks, hash": TableMapping(computed=hashed, secret=SecretName(variable=VARIABLE)),
        "a filter": TableMapping(where=where),
        "users' code": TableMapping(computed=(made,), transform=code),
    }


@dataclass(slots=True)
class Measured:
    """One table, and its batches so far."""

    spark: Any
    folder: Path
    settings: Settings
    rows: int
    changes: int
    number: int = 0
    history: History | None = None

    @property
    def version(self) -> TableVersion:
        from redolake.values.scn import Scn

        columns = tuple(Column(n, name, kind, n) for n, (name, kind) in enumerate(COLUMNS.items(), 1))
        return TableVersion(
            TableId("APP", "ORDERS"), Scn(0), 1, 1, columns, (1,), len(columns) + 1, mapping=self.settings.mapping
        )

    @property
    def target(self) -> str:
        return str(self.folder / "lake" / "orders")

    @property
    def rules(self) -> Rules:
        return with_nulls({}, [self.version]) if self.settings.nulls else {}

    @property
    def quarantine(self) -> QuarantineRule | None:
        path = str(self.folder / "lake" / FOLDER / "APP.ORDERS")
        return QuarantineRule(path, CLASSES) if self.settings.quarantines else None

    def load(self, source: Path) -> float:
        from redolake.job.snapshot import run_snapshot
        from redolake.records.loads import SnapshotSpec, SnapshotTask

        task = SnapshotTask(
            self.version.table, self.target, "p/APP.ORDERS/1", self.version, files=(str(source),), scn=1, rules=self.rules
        )
        self.history, began = History(self.rows, "all columns", 0), time.perf_counter()
        (loaded,) = run_snapshot(self.spark, SnapshotSpec("p", 1, "token", (task,), str(self.folder / "snapshot.json"))).tables
        if loaded.error:
            sys.exit(f"the load stopped: {loaded.error}")
        return time.perf_counter() - began

    def batch(self) -> float:
        from redolake.job.batch import run_batch
        from redolake.land.files import Files
        from redolake.land.parquet import write_parquet
        from redolake.records.batches.spec import Course, Destination, LandedWindow, TableTask
        from redolake.values.landed_schema import LANDED_SCHEMA

        assert self.history is not None
        self.number, step = self.number + 1, 2 * self.changes
        scn = self.number * step
        redo = pa.Table.from_pylist(list(self.history.redo(scn, self.changes)), LANDED_SCHEMA)
        name = f"redo-{self.number}.parquet"
        write_parquet(Files(str(self.folder)), name, LANDED_SCHEMA, redo.to_batches(max_chunksize=FETCHED))
        window = LandedWindow(f"{1:010d}-{scn:020d}-{scn + step:020d}", scn, scn + step, (str(self.folder / name),))
        task = TableTask(
            self.version.table, Destination(self.target, "p/APP.ORDERS/1", quarantine=self.quarantine),
            Course((self.version,), self.rules),
        )  # fmt: skip
        out = self.folder / "batches" / str(self.number)
        spec = spec_of(
            "p", 1, scn, scn + step, "token", (task,), str(out / "carry"), str(out / "manifest.json"),
            redo={"windows": (window,), "rows": redo.num_rows},
        )  # fmt: skip
        began = time.perf_counter()
        (result,) = run_batch(self.spark, spec).tables
        if result.error:
            sys.exit(f"the table stopped: {result.error}")
        return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--changes", type=int, default=50_000)
    arguments.add_argument("--rows", type=int, default=200_000)
    arguments.add_argument("--batches", type=int, default=3)
    arguments.add_argument("--only", nargs="+", default=[""], help="Only kinds with one of these texts in their name.")
    given = arguments.parse_args()
    os.environ[VARIABLE] = "a key of a benchmark, not of users"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.parquet"
        pq.write_table(contents(given.rows), source)
        spark = session(False, {"spark.log.level": "ERROR", "spark.driver.memory": "3g"})
        chosen = {name: one for name, one in kinds().items() if any(text in name for text in ("no mapping", *given.only))}
        tables = {
            name: Measured(spark, Path(folder) / str(number), settings, given.rows, given.changes)
            for number, (name, settings) in enumerate(chosen.items())
        }
        for one in tables.values():
            one.folder.mkdir()
        loads = {name: one.load(source) for name, one in tables.items()}
        names = list(tables)
        orders = [names[turn % len(names) :] + names[: turn % len(names)] for turn in range(WARM_UP + given.batches)]
        turns = [{name: tables[name].batch() for name in order} for order in orders][WARM_UP:]
        spark.stop()
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    sys.stdout.write(f"{given.changes} changes into {given.rows} rows, medians of {given.batches} batches; load {load}:\n")
    sys.stdout.write(f"{'kind':<28}{'load, s':>10}{'batch, s':>10}{'to none':>10}{'from':>10}{'to':>10}\n")
    for name in tables:
        ratios = [turn[name] / turn["no mapping"] for turn in turns]
        found = (loads[name], median(turn[name] for turn in turns))
        shown = (median(ratios), min(ratios), max(ratios))
        sys.stdout.write(f"{name:<28}{''.join(f'{one:>10.1f}' for one in found)}{''.join(f'{one:>10.2f}' for one in shown)}\n")


if __name__ == "__main__":
    main()
