"""The lake in each of its states, and what each reader makes of every value there: a cell is right, refused or wrong.

A cell is right where the reader shows the value that Redolake means, or finds exactly the rows that meet a condition.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from redolake.apply.delta.features import enable_clause
from redolake.apply.delta.sql import table_at
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import TableTask
from redolake.values.table import TableId
from redolake.values.target_options import Readers, TargetOptions
from tests.integration.spark.specs import ID, snapshot_spec, task, version
from tests.support.lake_readers import COMPARISONS, Condition, KernelJava, Reader, Spark, shown
from tests.tables.lake_values import COLUMNS, LakeValues

RIGHT = "right"
ONE_ROW_A_FILE = "spark.sql.files.maxRecordsPerFile"  # so that each value decides on a file
Key = tuple[str, str, str, str]  # reader, state, column, question
Cells = dict[Key, str]
ELSEWHERE = "America/New_York"
TIMES = tuple(column for column in COLUMNS if column.lake.startswith("timestamp"))
SHORT = 24  # characters of a value in a question
HARD = ("DEC38", "DEC18_4", "DOUBLE_", "BOOL")  # for statistics


@dataclass(frozen=True, slots=True)
class State:
    """A table in one state: what it is called on the page, its columns with values, and the rows that it has no more. `loaded`
    are the columns that it was loaded with, which say how many rows it has."""

    name: str
    path: str
    columns: Sequence[LakeValues]
    gone: frozenset[int] = frozenset()
    loaded: Sequence[LakeValues] = COLUMNS
    zone: str = "UTC"  # of the reader's session
    altered: tuple[str, ...] = ()  # the columns whose type or name is another since they were loaded

    @property
    def key(self) -> str:
        """Return what no other state is called: those of partitions share their name."""
        return self.name if self.loaded is COLUMNS else f"{self.name}: {self.loaded[0].name}"

    def rows(self, column: LakeValues) -> dict[int, Any]:
        """Return the column's value in each row, by the row's number; all columns have NULL in the last one."""
        values = dict(enumerate(column.meanings))
        return {n: values.get(n) for n in range(rows_of(self.loaded)) if n not in self.gone}


def rows_of(columns: Sequence[LakeValues]) -> int:
    """Return how many rows a table is loaded with: one for each value, and one of NULLs."""
    return max(len(column.values) for column in columns) + 1


class Lake:
    """Tables as a snapshot writes them, and as what comes later leaves them."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self.loaded = spark, folder, 0

    def load(self, columns: Sequence[LakeValues], readers: Readers, *, one_file: bool = False, **options: Any) -> str:
        """Load a table with a row for each value, and return its path."""
        self.loaded += 1
        table, known = TableId("SHOP", f"T{self.loaded}"), (ID, *(c.column(n) for n, c in enumerate(columns, 2)))
        rules = {n: c.rule for n, c in enumerate(columns, 2) if c.rule is not None}
        mine: TableTask = task(self.folder, table, self.loaded, versions=(version(table, 0, known, self.loaded),))
        schema = pa.schema([("ID", pa.decimal128(10, 0)), *((c.name, c.file) for c in columns)])
        rows = [{"ID": n, **{c.name: c.values[n] for c in columns if n < len(c.values)}} for n in range(rows_of(columns))]
        spec = snapshot_spec(self.folder, mine, 5)
        pq.write_table(pa.Table.from_pylist(rows, schema), spec.tables[0].files[0])
        loaded = replace(spec.tables[0], rows=len(rows), options=TargetOptions(readers, **options), rules=rules)
        self.spark.conf.set(ONE_ROW_A_FILE, "0" if one_file else "1")
        try:
            self.last = replace(spec, tables=(loaded,))
            (result,) = run_snapshot(self.spark, self.last).tables
        finally:
            self.spark.conf.unset(ONE_ROW_A_FILE)
        assert result.error is None
        return mine.destination.target

    def copy(self, path: str, name: str) -> str:
        return str(shutil.copytree(path, Path(path).with_name(name)))

    def alter(self, path: str, *alterations: str) -> None:
        for alteration in alterations:
            self.spark.sql(f"ALTER TABLE {table_at(path)} {alteration}")


def states_of_any(lake: Lake, partitions: Iterable[LakeValues]) -> Iterator[State]:
    """Yield the states that a table of `readers: any` has."""
    values = lake.load(COLUMNS, "any")
    yield State("as written", values, COLUMNS)
    yield State("as written, a session in New York", values, TIMES, zone=ELSEWHERE)
    optimized = lake.copy(values, "optimized")
    lake.spark.sql(f"OPTIMIZE {table_at(optimized)}")
    yield State("after OPTIMIZE", optimized, COLUMNS)
    compacted = lake.copy(values, "compacted")
    # Files of one row, as delta-rs writes them: a compacted table whose values all share one file would hide its statistics.
    table = DeltaTable(compacted)
    for n in range(rows_of(COLUMNS)):
        table.update(updates={"_commit_scn": "6"}, predicate=f'"ID" = {n}')
    yield State("after delta-rs wrote its files", compacted, COLUMNS)
    joined = lake.copy(values, "joined")
    DeltaTable(joined).optimize.compact()
    yield State("after delta-rs compacted it", joined, COLUMNS)
    for column in partitions:
        path = lake.load((column,), "any", partition_by=(column.name,))
        yield State("as partition", path, (column,), loaded=(column,))
        if column in TIMES:
            yield State("as partition, a session in New York", path, (column,), loaded=(column,), zone=ELSEWHERE)


def states_of_spark(lake: Lake) -> Iterator[State]:
    """Yield the states that only a table of `readers: spark` has."""
    new = lake.load(COLUMNS, "spark", one_file=True)
    yield State("spark: as written", lake.load(COLUMNS, "spark"), COLUMNS)
    deleted = lake.copy(new, "deleted")
    lake.alter(deleted, enable_clause("deletionVectors"))
    lake.spark.sql(f"DELETE FROM {table_at(deleted)} WHERE ID = 0")
    yield State("spark: after a DELETE by deletion vector", deleted, COLUMNS, frozenset({0}))
    widened = lake.copy(new, "widened")
    of = {column.name: column for column in COLUMNS}
    wider = (
        replace(of["INT_"], lake="bigint"),
        replace(of["HUNDREDS"], lake="decimal(12,2)"),
        replace(of["FLOAT_"], lake="double"),
        replace(of["DEC18_4"], lake="decimal(20,6)"),
    )
    lake.alter(widened, enable_clause("typeWidening"), *(f"ALTER COLUMN {c.name} TYPE {c.lake}" for c in wider))
    names = tuple(c.name for c in wider)
    yield State("spark: after types were widened", widened, (*wider, *without(*names)), altered=names)
    mapped = lake.copy(new, "mapped")
    enable = enable_clause("columnMapping")
    lake.alter(mapped, enable, "RENAME COLUMN DEC38 TO RENAMED", "DROP COLUMN LONG_", "RENAME COLUMN TEXT_ TO LONG_")
    renamed = (replace(of["DEC38"], name="RENAMED"), replace(of["TEXT_"], name="LONG_"))
    others = without("DEC38", "TEXT_", "LONG_")
    yield State("spark: after RENAME and DROP COLUMN", mapped, (*renamed, *others), altered=("RENAMED", "LONG_", "DATE_"))


def without(*names: str) -> list[LakeValues]:
    return [column for column in COLUMNS if column.name not in names]


@dataclass(frozen=True, slots=True)
class Past:
    """A table of all values with the change data feed and in-commit timestamps, whose folder was copied after its last commit:
    all its files have another time. Version 1 deletes the row 2, version 2 changes the row 3."""

    path: str
    moments: tuple[datetime, ...]  # of each version


def past(lake: Lake) -> Past:
    path, written = str(lake.folder / "past"), lake.load(COLUMNS, "any", one_file=True)
    features = {"delta.enableChangeDataFeed": "true", "delta.enableInCommitTimestamps": "true"}
    rows = lake.spark.read.format("delta").load(written).selectExpr("*", "'old' AS V")
    rows.write.format("delta").options(**features).save(path)
    lake.spark.sql(f"DELETE FROM {table_at(path)} WHERE ID = 2")
    lake.spark.sql(f"UPDATE {table_at(path)} SET V = 'new' WHERE ID = 3")
    copied = lake.copy(path, "copied")
    for file in Path(copied).glob("_delta_log/*.json"):
        os.utime(file)
    history = (
        lake.spark.sql(f"DESCRIBE HISTORY {table_at(path)}").orderBy("version").selectExpr("unix_micros(timestamp)").collect()
    )
    return Past(copied, tuple(datetime.fromtimestamp(micros / 1_000_000, UTC) for (micros,) in history))


FED = (("delete", 2, "old"), ("update_postimage", 3, "new"), ("update_preimage", 3, "old"))
GONE_IN = {0: frozenset[int](), 1: frozenset({2})}  # rows, by version


def cells_of_past(reader: Reader, given: Past) -> Cells:
    """Return the reader's cells of older versions, history and the change data feed, where it has a way to ask for them."""
    found: Cells = {}

    def cell(state: str, column: str, question: str, got: Any, wanted: Any) -> None:
        if got != "refused: NotImplementedError":
            is_refusal = isinstance(got, str)
            found[reader.name, state, column, question] = got if is_refusal else RIGHT if got == wanted else f"wrong: {got}"

    for version_, gone in GONE_IN.items():
        table = State("", given.path, COLUMNS, gone)
        for state, when in (("AS OF by time, of a copied table", given.moments[version_]), ("AS OF by version", version_)):
            rows = answer(partial(by_number, reader, given.path, when))
            wanted = {n: "old" for n in table.rows(COLUMNS[0])}
            got = rows if isinstance(rows, str) else {n: row["V"] for n, row in rows.items()}
            cell(state, "all", f"version {version_}", got, wanted)
            if got == wanted:
                for column in COLUMNS:
                    values = {n: shown(value) for n, value in table.rows(column).items()}
                    cell(state, column.name, f"shows version {version_}", shown_of(rows, column), values)
    cell(
        "history, of a copied table",
        "all",
        "times of the versions",
        answer(lambda: tuple(reader.history(given.path))),
        given.moments,
    )
    fed = answer(lambda: sorted(reader.feed(given.path, 1, 2), key=lambda row: (row["_change_type"], row["ID"])))
    what = fed if isinstance(fed, str) else tuple((row["_change_type"], int(row["ID"]), row["V"]) for row in fed)
    cell("change data feed", "all", "versions 1 and 2", what, FED)
    if what == FED:
        for column in COLUMNS:
            values = {n: shown(State("", given.path, COLUMNS).rows(column)[number]) for n, (_, number, _) in enumerate(FED)}
            cell("change data feed", column.name, "shows versions 1 and 2", shown_of(dict(enumerate(fed)), column), values)
    return found


def by_number(reader: Reader, path: str, when: datetime | int) -> dict[int, Any]:
    return {int(row["ID"]): row for row in reader.as_of(path, when)}


def shown_of(rows: Mapping[int, Any], column: LakeValues) -> dict[int, str]:
    return {n: shown(row[column.name]) for n, row in sorted(rows.items())}


def conditions(column: LakeValues, comparisons: Sequence[str] = COMPARISONS) -> Iterator[Condition]:
    yield Condition(column.name, column.lake, "IS NULL", ())
    values = column.meanings
    for value in (*values, *([-0.0] if column.lake in ("double", "float") else [])):
        for operator in comparisons:
            given = (value, values[0]) if operator == "IN" else (value,) * (2 if operator == "BETWEEN" else 1)
            yield Condition(column.name, column.lake, operator, given)


def each_comparison(column: LakeValues) -> Iterator[Condition]:
    """Yield a condition of each kind, of the values at the ends."""
    first, *_, last = column.meanings
    yield Condition(column.name, column.lake, "IS NULL", ())
    for operator, given in {
        "=": (last,),
        ">": (first,),
        ">=": (last,),
        "<=": (first,),
        "IN": (last, first),
        "BETWEEN": (last, last),
    }.items():
        yield Condition(column.name, column.lake, operator, given)


def asked(reader: Reader, state: State, column: LakeValues, *, everything: bool) -> Iterator[Condition]:
    """Yield the conditions that are asked. Spark plans each for half a second, and Java reads for a fifth: they get fewer."""
    is_first = state.name.startswith(("as written", "as partition"))
    if not everything and state.altered and column.name not in state.altered:
        return
    if isinstance(reader, Spark):
        is_written_by_others = state.name == "after delta-rs wrote its files" and column.name in HARD
        if (everything and is_first) or (is_written_by_others and reader.name == "Spark"):
            yield from conditions(column, ("=",))
        if everything and (is_first or reader.name == "Spark"):  # Connect's server plans as it does
            yield from each_comparison(column)
    elif everything and (is_first or not isinstance(reader, KernelJava)):
        yield from conditions(column)
    else:
        yield from conditions(column, ("=", ">="))
        if everything:
            yield from each_comparison(column)


def question_of(condition: Condition) -> str:
    return f"{condition.operator} {label(condition.values[0])}" if condition.values else condition.operator


def label(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..({len(text)})"


def cells_of(reader: Reader, state: State, asked: Callable[[LakeValues], Iterable[Condition]]) -> Cells:
    """Return the reader's cells of a state: each value of each column, and each condition."""
    found: Cells = {}
    rows = answer(lambda: {int(row["ID"]): row for row in reader.rows(state.path)})
    for column in state.columns:
        meant = state.rows(column)
        for number, value in meant.items():
            if number > len(column.meanings):
                continue  # NULL once
            if isinstance(rows, Mapping):
                got = rows[number][column.name] if number in rows else "no row"
                result = RIGHT if shown(got) == shown(value) else f"wrong: {label(got)}"
            else:
                result = rows
            found[reader.name, state.name, column.name, f"shows {label(value)}"] = result
        if reader.filters != "none":
            found |= filtered(reader, state, column, list({question_of(one): one for one in asked(column)}.values()))
    return found


def filtered(reader: Reader, state: State, column: LakeValues, given: list[Condition]) -> Cells:
    found: list[Any] = []
    if isinstance(reader, Spark):
        together = answer(lambda: reader.all_ids(state.path, given))
        found = [together] * len(given) if isinstance(together, str) else together
    else:
        for condition in given:
            found.append(answer(lambda each=condition: reader.ids(state.path, each)))  # type: ignore[misc]
    cells: Cells = {}
    for condition, ids in zip(given, found, strict=True):
        # Arrow compares NaN by IEEE 754, and finds it by IN all the same: both count as right there.
        both = [
            {n for n, v in state.rows(column).items() if condition.holds(v, orders_nan=orders_nan)}
            for orders_nan in {reader.orders_nan, True}
        ]
        key = (reader.name, state.name, column.name, question_of(condition))
        cells[key] = ids if isinstance(ids, str) else RIGHT if ids in both else f"wrong: rows {difference(ids, both[0])}"
    return cells


def difference(ids: set[int], wanted: set[int]) -> str:
    return " ".join([*(f"-{n}" for n in sorted(wanted - ids)), *(f"+{n}" for n in sorted(ids - wanted))])


def answer(ask: Callable[[], Any]) -> Any:
    """Return the answer, or why the reader refuses: any error of it, by name."""
    try:
        return ask()
    except Exception as refused:
        return f"refused: {type(refused).__name__}"
