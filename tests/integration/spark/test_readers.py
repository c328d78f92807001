"""Which readers open the lake: delta-rs, Polars and DuckDB from their packages, after changes and DDL, under both profiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, DeltaProtocolError

from redolake.apply.delta import merge
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import ColumnChange, TableTask
from redolake.values.table import Column, OracleType, TableId
from redolake.values.target_options import TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, of_table, update
from tests.integration.spark.specs import ID, V, batch_spec, snapshot_spec, task, version

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "reading-the-lake.md"
D = Column(3, "D", OracleType("DATE"), 3)
N = Column(4, "N", OracleType("NUMBER", precision=5, scale=1), 4)
AFTER_DDL = (ID, replace(V, name="TEXT"), D)
Rows = set[tuple[Any, ...]]


def by_arrow(path: str) -> Rows:
    return as_rows(DeltaTable(path).to_pyarrow_table())


def by_sql(path: str) -> Rows:
    return as_rows(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t").read_all()))


def by_polars(path: str) -> Rows:
    return as_rows(polars.scan_delta(path).collect().to_arrow())


def delta_extension() -> str:
    """Return the path of DuckDB's extension, which its package contains for one version of DuckDB; empty without it."""
    try:
        contents = files("duckdb-extension-delta") or ()
    except PackageNotFoundError:
        return ""
    return next((str(file.locate()) for file in contents if f"/v{duckdb.__version__}/" in str(file)), "")


DELTA_EXTENSION = delta_extension()


def by_duckdb(path: str) -> Rows:
    with duckdb.connect() as connection:
        connection.load_extension(DELTA_EXTENSION)
        return as_rows(connection.sql(f"SELECT * FROM delta_scan('{path}')").to_arrow_table())


READERS: dict[str, Callable[[str], Rows]] = {
    "delta-rs, to Arrow or pandas": by_arrow,
    "delta-rs, SQL": by_sql,
    "Polars": by_polars,
}
if DELTA_EXTENSION:
    READERS["DuckDB"] = by_duckdb


def as_rows(table: pa.Table) -> Rows:
    return {tuple((name, str(value)) for name, value in row.items()) for row in table.to_pylist()}


def by_spark(spark: Any, path: str) -> Rows:
    return as_rows(spark.read.format("delta").load(path).toArrow())


def answer(reader: Callable[[str], Rows], path: str, expected: Rows) -> str:
    try:
        rows = reader(path)
    except (DeltaProtocolError, DeltaError, polars.exceptions.PolarsError, duckdb.Error) as refused:
        return f"no: {refused}"
    assert rows == expected
    return "yes"


def described() -> list[list[str]]:
    """Return the cells of the page's table: a line for each reader."""
    lines = PAGE.read_text().partition("| Reader |")[2].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    return [line for line in cells if line[0] in READERS]


def captured(folder: Path, name: str, object_id: int, options: TargetOptions) -> TableTask:
    table = TableId("SHOP", name)
    versions = (
        version(table, columns=(ID, V), object_id=object_id),
        version(table, 120, (ID, V, D, N), object_id),
        version(table, 140, AFTER_DDL, object_id),
    )
    steps = (
        ColumnChange(120, "add_column", D),
        ColumnChange(120, "add_column", N, "7.5"),
        ColumnChange(140, "rename_column", AFTER_DDL[1]),
        ColumnChange(140, "drop_column", N),
    )
    return task(folder, table, object_id, versions=versions, ddl=steps, options=options)


AT, DAY = Column(2, "AT", OracleType("TIMESTAMP WITH TIME ZONE", scale=6), 2), Column(3, "DAY", OracleType("DATE"), 3)
MEASURE, WHOLE = (
    Column(4, "MEASURE", OracleType("BINARY_DOUBLE"), 4),
    Column(5, "WHOLE", OracleType("NUMBER", precision=38, scale=0), 5),
)
PART = Column(6, "PART", OracleType("NUMBER", precision=38, scale=10), 6)
VALUES: dict[str, tuple[Column, Any]] = {
    "a `timestamp` of 0001-01-01 00:00:00": (AT, " 0001-01-01 00:00:00.000000000 +00:00"),
    "a `timestamp` of 1500-02-28 00:00:00": (AT, " 1500-02-28 00:00:00.000000000 +00:00"),
    "a `timestamp` of 2024-07-01 12:00:00.123456": (AT, " 2024-07-01 12:00:00.123456000 +00:00"),
    "a `timestamp` of 9999-12-31 23:59:59.999999": (AT, " 9999-12-31 23:59:59.999999000 +00:00"),
    "a `timestamp_ntz` of 0001-01-01 00:00:00": (DAY, datetime(1, 1, 1)),
    "a `timestamp_ntz` of 1500-02-28 00:00:00": (DAY, datetime(1500, 2, 28)),
    "a `timestamp_ntz` of 9999-12-31 23:59:59": (DAY, datetime(9999, 12, 31, 23, 59, 59)),
    "a `double` that is NaN": (MEASURE, float("nan")),
    "a `double` of -0.0": (MEASURE, -0.0),
    "a `decimal(38,0)` of 38 nines": (WHOLE, Decimal("9" * 38)),
    "a `decimal(38,10)` of 38 nines": (PART, Decimal("9" * 28 + "." + "9" * 10)),
}
VALUE_COLUMNS = frozenset(column.name for column, _ in VALUES.values())


def load_values(spark: Any, folder: Path) -> str:
    """Load a table with one value in each row, as a snapshot does, and return its path."""
    columns = (ID, AT, DAY, MEASURE, WHOLE, PART)
    mine = task(folder, versions=(version(columns=columns),))
    loaded = snapshot_spec(folder, mine, 5)
    types = [pa.decimal128(10, 0), pa.string(), pa.timestamp("us"), pa.float64(), pa.decimal128(38), pa.decimal128(38, 10)]
    schema = pa.schema([(column.name, type_) for column, type_ in zip(columns, types, strict=True)])
    rows = [{"ID": n, column.name: value} for n, (column, value) in enumerate(VALUES.values())]
    pq.write_table(pa.Table.from_pylist(rows, schema), loaded.tables[0].files[0])
    (result,) = run_snapshot(spark, replace(loaded, tables=(replace(loaded.tables[0], rows=len(rows)),))).tables
    assert result.error is None
    return mine.target


def test_each_reader_returns_the_values_of_spark_or_what_the_page_says(spark: Any, tmp_path: Path) -> None:
    path = load_values(spark, tmp_path)

    (file,) = (f for f in Path(path).glob("*.parquet"))
    physical = {column.name: column.physical_type for column in map(pq.ParquetFile(file).schema.column, range(6))}
    assert physical["AT"] == "INT64", "INT96 wraps around in most readers"
    expected = values_of(by_spark(spark, path))
    found = {name: values_of(reader(path)) for name, reader in READERS.items()}
    # A filter reads the statistics too: the largest `timestamp` has none that is smaller.
    assert spark.read.format("delta").load(path).where("AT > '9999-01-01'").count() == 1
    assert polars.scan_delta(path).filter(polars.col("AT") > datetime(9999, 1, 1, tzinfo=UTC)).collect().height == 1

    said = [
        [value, *("yes" if found[name][n] == expected[n] else found[name][n] for name in READERS)]
        for n, value in enumerate(VALUES)
    ]
    assert said == described_values()


def values_of(rows: Rows) -> dict[int, str]:
    """Return the one value of each row that is not NULL, by the row's number."""
    found = {}
    for row in rows:
        shown = dict(row)
        number = int(shown.pop("ID"))
        found[number] = next(value for name, value in shown.items() if value != "None" and name in VALUE_COLUMNS)
    return found


def described_values() -> list[list[str]]:
    """Return the cells of the page's table of values, for the readers that are here."""
    head, _, *lines = PAGE.read_text().partition("| Value |")[2].split("\n\n")[0].splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[line[0], *(line[1 + names.index(name)] for name in READERS)] for line in cells]


def test_each_reader_returns_the_rows_of_spark_or_refuses_as_the_page_says(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "REWRITTEN_BYTES", 0)  # as in a large table
    tasks = [captured(tmp_path, "T1", 101, TargetOptions("spark")), captured(tmp_path, "T2", 102, TargetOptions("any"))]
    rows = [{"ID": n, "V": f"v{n}"} for n in range(1, 9)]
    for mine in tasks:
        loaded = snapshot_spec(tmp_path, mine, 5, rows)
        run_snapshot(spark, replace(loaded, tables=(replace(loaded.tables[0], options=mine.options),)))
    answers = {"new": read(spark, tasks)}
    changes = committed(0, 20, (1, insert(9, "new"), "R9"), (3, update(2, "v2", "changed"), "R2"), (2, delete(3, "v3"), "R3"))
    run(spark, tmp_path, tasks, 10, changes)
    answers["merged"] = read(spark, tasks)
    date = "TO_DATE('2026-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS')"
    dated = f"""insert into "SHOP"."T"("ID","TEXT","D") values ('10','ten',{date});"""
    run(spark, tmp_path, tasks, 100, committed(30, 150, (1, dated, "R10")))
    answers["evolved"] = read(spark, tasks)

    assert [len(by_spark(spark, mine.target)) for mine in tasks] == [9, 9]
    of_any = {f"{reader} {when}": found[1][reader] for when, found in answers.items() for reader in READERS}
    assert {key: said for key, said in of_any.items() if said != "yes"} == {}
    found = [[reader, *(answers[when][0][reader][:3].strip(":") for when in answers), "yes"] for reader in READERS]
    assert found == described()


def run(spark: Any, folder: Path, tasks: list[TableTask], start: int, changes: list[dict[str, Any]]) -> None:
    rows = [row for n, mine in enumerate(tasks) for row in of_table(shifted(changes, n), mine.table.name, 101 + n)]
    window = land(folder / f"w{start}", start, 100 if start < 100 else 200, rows)
    result = run_batch(spark, batch_spec(folder / str(start), [window], tasks))
    assert [table.error for table in result.tables] == [None] * len(tasks)


def shifted(rows: list[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """Return the same changes in a transaction of their own."""
    return [{**row, "ordinal": row["ordinal"] + 500 * n, "xid": f"{row['xid']}{n}"} for row in rows]


def read(spark: Any, tasks: list[TableTask]) -> list[dict[str, str]]:
    """Return, for each table, each reader's answer."""
    found = []
    for mine in tasks:
        expected = by_spark(spark, mine.target)
        found.append({name: answer(reader, mine.target, expected) for name, reader in READERS.items()})
    return found
