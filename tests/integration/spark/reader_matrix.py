"""The lake in each of its states, and what each reader makes of every value there: a cell is right, refused or wrong.

A cell is right where the reader shows the value that Redolake means, or finds exactly the rows that meet a condition.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from redolake.apply.delta.features import enable_clause
from redolake.apply.delta.maintain import rewrite_small_files
from redolake.apply.spark.quoting import table_at
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import TableTask
from redolake.values.table import TableId
from redolake.values.target_options import Readers, TargetOptions
from tests.integration.spark.specs import ID, snapshot_spec, task, version
from tests.support.lake_readers import COMPARISONS, Condition, Reader, Spark, shown
from tests.tables.lake_values import COLUMNS, LakeValues

RIGHT = "right"
ONE_ROW_A_FILE = "spark.sql.files.maxRecordsPerFile"  # so that each value decides on a file
Key = tuple[str, str, str, str]  # reader, state, column, question
Cells = dict[Key, str]
SHORT = 24  # characters of a value in a question


@dataclass(frozen=True, slots=True)
class State:
    """A table in one state: what it is called on the page, its columns with values, and the rows that it has no more."""

    name: str
    path: str
    columns: Sequence[LakeValues]
    gone: frozenset[int] = frozenset()

    def rows(self, column: LakeValues) -> dict[int, Any]:
        """Return the column's value in each row, by the row's number; all columns have NULL in the last one."""
        most = max(len(each.values) for each in self.columns)
        values = dict(enumerate(column.meanings))
        return {n: values.get(n) for n in range(most + 1) if n not in self.gone}


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
        most = max(len(c.values) for c in columns)
        rows = [{"ID": n, **{c.name: c.values[n] for c in columns if n < len(c.values)}} for n in range(most + 1)]
        spec = snapshot_spec(self.folder, mine, 5)
        pq.write_table(pa.Table.from_pylist(rows, schema), spec.tables[0].files[0])
        loaded = replace(spec.tables[0], rows=len(rows), options=TargetOptions(readers, **options), rules=rules)
        self.spark.conf.set(ONE_ROW_A_FILE, "0" if one_file else "1")
        try:
            (result,) = run_snapshot(self.spark, replace(spec, tables=(loaded,))).tables
        finally:
            self.spark.conf.unset(ONE_ROW_A_FILE)
        assert result.error is None
        return mine.target

    def copy(self, path: str, name: str) -> str:
        return str(shutil.copytree(path, Path(path).with_name(name)))

    def alter(self, path: str, *alterations: str) -> None:
        for alteration in alterations:
            self.spark.sql(f"ALTER TABLE {table_at(path)} {alteration}")


def states_of_any(lake: Lake, partitions: Iterable[LakeValues]) -> Iterator[State]:
    """Yield the states that a table of `readers: any` has."""
    values = lake.load(COLUMNS, "any")
    yield State("as written", values, COLUMNS)
    optimized = lake.copy(values, "optimized")
    rewrite_small_files(lake.spark, optimized)
    yield State("after OPTIMIZE", optimized, COLUMNS)
    compacted = lake.copy(values, "compacted")
    # Files of one row, as delta-rs writes them: a compacted table whose values all share one file would hide its statistics.
    table = DeltaTable(compacted)
    for n in range(max(len(c.values) for c in COLUMNS) + 1):
        table.update(updates={"_commit_scn": "6"}, predicate=f'"ID" = {n}')
    yield State("after delta-rs wrote its files", compacted, COLUMNS)
    for column in partitions:
        yield State("as partition", lake.load((column,), "any", partition_by=(column.name,)), (column,))


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
    yield State("spark: after types were widened", widened, wider)
    mapped = lake.copy(new, "mapped")
    enable = enable_clause("columnMapping")
    lake.alter(mapped, enable, "RENAME COLUMN DEC38 TO RENAMED", "DROP COLUMN LONG_", "RENAME COLUMN TEXT_ TO LONG_")
    renamed = (replace(of["DEC38"], name="RENAMED"), replace(of["TEXT_"], name="LONG_"), of["DATE_"])
    yield State("spark: after RENAME and DROP COLUMN", mapped, renamed)


def conditions(column: LakeValues, comparisons: Sequence[str] = COMPARISONS) -> Iterator[Condition]:
    yield Condition(column.name, column.lake, "IS NULL", ())
    values = column.meanings
    for value in (*values, *([0.0] if column.lake in ("double", "float") else [])):
        for operator in comparisons:
            given = (value, values[0]) if operator == "IN" else (value,) * (2 if operator == "BETWEEN" else 1)
            yield Condition(column.name, column.lake, operator, given)


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
            found |= filtered(reader, state, column, list(asked(column)))
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
        wanted = {n for n, v in state.rows(column).items() if condition.holds(v, orders_nan=reader.orders_nan)}
        key = (reader.name, state.name, column.name, question_of(condition))
        cells[key] = ids if isinstance(ids, str) else RIGHT if ids == wanted else f"wrong: rows {difference(ids, wanted)}"
    return cells


def difference(ids: set[int], wanted: set[int]) -> str:
    return " ".join([*(f"-{n}" for n in sorted(wanted - ids)), *(f"+{n}" for n in sorted(ids - wanted))])


def answer(ask: Callable[[], Any]) -> Any:
    """Return the answer, or why the reader refuses: any error of it, by name."""
    try:
        return ask()
    except Exception as refused:
        return f"refused: {type(refused).__name__}"
