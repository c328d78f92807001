"""What the product's comments say of delta-rs, Polars and DuckDB, asked of them with small tables of their own."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from tests.support.assumes import assumes
from tests.support.lake_readers import DuckDb, delta_extension, readers_here


def written(path: Path, values: list[Any], type_: pa.DataType, **options: Any) -> dict[str, Any]:
    """Write a table with one column, and return the statistics of its file."""
    write_deltalake(path, pa.table({"a": pa.array(values, type_), "b": range(len(values))}), **options)
    return statistics(path)


def log_of(path: Path) -> Path:
    return sorted(path.glob("_delta_log/*.json"))[-1]


def statistics(path: Path) -> dict[str, Any]:
    (added,) = (action["add"] for action in map(json.loads, log_of(path).read_text().splitlines()) if "add" in action)
    found: dict[str, Any] = json.loads(added["stats"])
    return found


def change_log(path: Path, change: Any) -> None:
    """Let `change` alter each action of the newest commit."""
    actions = [json.loads(line) for line in log_of(path).read_text().splitlines()]
    for action in actions:
        change(action)
    log_of(path).write_text("".join(f"{json.dumps(action)}\n" for action in actions))


@assumes(
    "the maximum of a decimal of more than 18 digits ends at 2^63-1 in a file that it writes",
    of="deltalake",
    used_in="pipelines/redolake/apply/key_range.py",
    says="cuts the statistics of a decimal at 2^63-1",
)
def test_delta_rs_cuts_statistics_of_long_decimals(tmp_path: Path) -> None:
    assert written(tmp_path, [Decimal(10**30)], pa.decimal128(38, 0))["maxValues"]["a"] == 2**63 - 1
    assert written(tmp_path / "short", [Decimal(10**18 - 1)], pa.decimal128(18, 0))["maxValues"]["a"] == 10**18 - 1


@assumes(
    "the statistics of a decimal with a scale are a double: those of 16 digits and more are other numbers",
    of="deltalake",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="a decimal's are doubles",
)
@pytest.mark.parametrize(("value", "exact"), [("99999999999999.9999", False), ("123456789.123456", True)])
def test_delta_rs_makes_doubles_of_decimals_with_a_scale(tmp_path: Path, value: str, exact: bool) -> None:
    type_ = pa.decimal128(18, 4) if not exact else pa.decimal128(15, 6)
    maximum = written(tmp_path, [Decimal(value)], type_)["maxValues"]["a"]
    assert isinstance(maximum, float)
    assert (Decimal(repr(maximum)) == Decimal(value)) == exact


@assumes(
    "the maximum of doubles leaves NaN out, which Spark holds to be the largest",
    of="deltalake",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="a double's leave NaN out",
)
def test_delta_rs_leaves_nan_out(tmp_path: Path) -> None:
    assert written(tmp_path, [1.0, float("nan")], pa.float64())["maxValues"]["a"] == 1.0


def boolean_as_spark_writes_it(path: Path) -> None:
    """Write a BOOLEAN column whose file has a count of NULLs and no minimum."""
    written(path, [False, True], pa.bool_())

    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            stats = json.loads(action["add"]["stats"])
            for bound in ("minValues", "maxValues"):
                stats[bound].pop("a", None)
            action["add"]["stats"] = json.dumps(stats)

    change_log(path, change)


@assumes(
    "a filter of a dataset finds no row by a column with a count of NULLs and no minimum",
    of="deltalake",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="with a count of NULLs and no minimum (BOOLEAN)",
)
def test_delta_rs_finds_no_boolean_to_arrow(tmp_path: Path) -> None:
    boolean_as_spark_writes_it(tmp_path)
    table = DeltaTable(tmp_path)
    assert table.to_pyarrow_table()["a"].to_pylist() == [False, True]
    assert table.to_pyarrow_table(filters=pc.field("a") == pc.scalar(True)).num_rows == 0
    assert pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t WHERE a").read_all()).num_rows == 1
    assert polars.scan_delta(str(tmp_path)).filter(polars.col("a")).collect().height == 1


@assumes(
    "a filter of a dataset finds no row by a minimum with an exponent, such as that of zero with ten decimals",
    of="deltalake",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="with one such as 0E-10",
)
@pytest.mark.parametrize("minimum", ["0E-10", "1E-7"])
def test_delta_rs_finds_no_decimal_with_an_exponent_to_arrow(tmp_path: Path, minimum: str) -> None:
    value, type_ = Decimal(minimum), pa.decimal128(38, 10)
    written(tmp_path, [value], type_)
    bound = re.compile(r'(\\"a\\":)(-?[0-9.eE+-]+)(?=[,}])')
    log_of(tmp_path).write_text(bound.sub(lambda found: found[1] + minimum, log_of(tmp_path).read_text(), count=2))
    assert minimum in log_of(tmp_path).read_text()
    table = DeltaTable(tmp_path)
    assert table.to_pyarrow_table(filters=pc.field("a") == pa.scalar(value, type_)).num_rows == 0
    assert table.to_pyarrow_table().num_rows == 1


@assumes(
    "a table whose partition has a negative fraction cannot be read",
    of="deltalake",
    used_in="pipelines/redolake/values/lake_rules.py",
    says="delta-rs reads no table with a negative fraction such as -0.5 in a path",
)
def test_delta_rs_reads_no_negative_fraction_in_a_path(tmp_path: Path) -> None:
    written(tmp_path, [Decimal("0.5")], pa.decimal128(10, 2), partition_by=["a"])

    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["partitionValues"]["a"] = "-0.50"

    change_log(tmp_path, change)
    with pytest.raises(Exception, match=r"0\.-50"):
        DeltaTable(tmp_path).to_pyarrow_table()


def renamed(path: Path, protocol: dict[str, Any]) -> str:
    """Write a table, rename its column by column mapping, and return its path."""
    write_deltalake(path, pa.table({"a": [1]}))

    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            action["protocol"] = protocol
        if "metaData" in action:
            mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"}
            field = {"name": "renamed", "type": "long", "nullable": True, "metadata": mapped}
            action["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": [field]})
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}

    change_log(path, change)
    return str(path)


OLD = {"minReaderVersion": 2, "minWriterVersion": 5}
NAMED = {"readerFeatures": ["columnMapping", "timestampNtz"], "writerFeatures": ["columnMapping", "timestampNtz"]}


@assumes(
    "a column that was renamed by mapping is NULL to Arrow, where the protocol is a number alone",
    of="deltalake",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="by which delta-rs shows a renamed column as NULL",
)
def test_delta_rs_shows_null_for_a_renamed_column_of_the_older_protocol(tmp_path: Path) -> None:
    path = renamed(tmp_path, OLD)
    assert DeltaTable(path).to_pyarrow_table()["renamed"].to_pylist() == [None]


@assumes(
    "a table with column mapping is refused to Arrow, where the protocol names the feature",
    of="deltalake",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="readers know or refuse them",
)
def test_delta_rs_refuses_a_renamed_column_of_the_newer_protocol(tmp_path: Path) -> None:
    path = renamed(tmp_path, {"minReaderVersion": 3, "minWriterVersion": 7, **NAMED})
    with pytest.raises(Exception, match="columnMapping"):
        DeltaTable(path).to_pyarrow_table()


@pytest.mark.skipif(not delta_extension(), reason="the package duckdb-extension-delta is not installed for this DuckDB")
@pytest.mark.parametrize("protocol", [OLD, {"minReaderVersion": 3, "minWriterVersion": 7, **NAMED}], ids=["old", "named"])
@assumes(
    "a column that was renamed by mapping has its values, by either protocol",
    of="duckdb",
    used_in="docs/concepts/reading-the-lake.md",
    says="| DuckDB | yes | yes | yes | yes |",
)
def test_duckdb_reads_a_renamed_column(tmp_path: Path, protocol: dict[str, Any]) -> None:
    assert DuckDb(delta_extension()).rows(renamed(tmp_path, protocol)) == [{"renamed": 1}]


@assumes(
    "SQL makes nanoseconds of a text that is compared with a timestamp: years after 2262 are an error",
    of="deltalake",
    used_in="docs/concepts/reading-the-lake.md",
    says="makes nanoseconds of a text that it compares with a `timestamp`",
)
def test_delta_rs_sql_compares_no_text_of_a_late_year(tmp_path: Path) -> None:
    written(tmp_path, [datetime(9999, 12, 31)], pa.timestamp("us", "UTC"))
    query = QueryBuilder().register("t", DeltaTable(tmp_path)).execute
    with pytest.raises(Exception, match="9999-01-01"):
        query("SELECT * FROM t WHERE a > '9999-01-01'").read_all()
    assert pa.table(query("SELECT * FROM t WHERE a > '2200-01-01'").read_all()).num_rows == 1


@assumes(
    "time travel to a moment goes by the times of the log's files",
    of="deltalake",
    used_in="docs/concepts/reading-the-lake.md",
    says="goes by the times of the log's files",
)
def test_delta_rs_travels_by_the_times_of_files(tmp_path: Path) -> None:
    written(tmp_path, [1], pa.int64())
    write_deltalake(tmp_path, pa.table({"a": [2], "b": [9]}), mode="append")
    for file in tmp_path.glob("_delta_log/*.json"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    table = DeltaTable(tmp_path)
    table.load_as_version(datetime(2002, 1, 1).astimezone())
    assert table.version() == 1, "both files are of 2001, whatever the commits say"


@assumes(
    "a whole number in a column with NULL is a double to pandas",
    of="pandas",
    used_in="docs/concepts/reading-the-lake.md",
    says="9007199254740993 becomes 9007199254740992",
)
def test_pandas_makes_doubles_of_whole_numbers(tmp_path: Path) -> None:
    written(tmp_path, [2**53 + 1, None], pa.int64())
    assert DeltaTable(tmp_path).to_pandas()["a"][0] == 2**53
    assert DeltaTable(tmp_path).to_pandas(types_mapper=pandas.ArrowDtype)["a"][0] == 2**53 + 1


@assumes(
    "a timestamp that is INT96 is another date outside 1677 to 2262",
    of="polars",
    used_in="docs/concepts/reading-the-lake.md",
    says="9999-12-31 is 2262-04-11 in Polars",
)
def test_polars_shows_another_date_for_int96(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    moments = pa.array([datetime(9999, 12, 31)], pa.timestamp("us"))
    pq.write_table(pa.table({"a": moments}), file, use_deprecated_int96_timestamps=True, store_schema=False)
    assert polars.read_parquet(file)["a"][0] != datetime(9999, 12, 31)


def change_bounds(path: Path, bounds: dict[str, Any] | None) -> None:
    """Give the column a minimum and a maximum in the log, or none."""

    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            stats = json.loads(action["add"]["stats"])
            for bound in ("minValues", "maxValues"):
                stats[bound].pop("a", None)
                stats[bound] |= {} if bounds is None else {"a": bounds[bound]}
            action["add"]["stats"] = json.dumps(stats)

    change_log(path, change)


@assumes(
    "a filter of a dataset finds no text of a file whose texts have a count of NULLs and no maximum",
    of="deltalake",
    used_in="docs/concepts/reading-the-lake.md",
    says="text that begins with 32 characters U+10FFFF",
)
def test_delta_rs_finds_no_text_without_a_maximum(tmp_path: Path) -> None:
    written(tmp_path, ["a", "\U0010ffff" * 40], pa.string())
    change_bounds(tmp_path, None)
    table = DeltaTable(tmp_path)
    assert table.to_pyarrow_table(filters=pc.field("a") == "a").num_rows == 0
    assert pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t WHERE a = 'a'").read_all()).num_rows == 1


@assumes(
    "a file whose bounds are -0.0 is passed over by `= 0`",
    of="deltalake",
    used_in="docs/concepts/reading-the-lake.md",
    says="do not find it by `= 0`",
)
def test_delta_rs_sql_passes_over_minus_zero(tmp_path: Path) -> None:
    written(tmp_path, [-0.0], pa.float64())
    change_bounds(tmp_path, {"minValues": -0.0, "maxValues": -0.0})
    query = QueryBuilder().register("t", DeltaTable(tmp_path)).execute
    assert pa.table(query("SELECT * FROM t WHERE a = 0").read_all()).num_rows == 0
    assert pa.table(query("SELECT * FROM t WHERE a + 0 = 0").read_all()).num_rows == 1


@pytest.mark.skipif(not delta_extension(), reason="the package duckdb-extension-delta is not installed for this DuckDB")
@assumes(
    "a file whose bounds are -0.0 is passed over by `= 0`",
    of="duckdb",
    used_in="docs/concepts/reading-the-lake.md",
    says="do not find it by `= 0`",
)
def test_duckdb_passes_over_minus_zero(tmp_path: Path) -> None:
    written(tmp_path, [-0.0], pa.float64())
    change_bounds(tmp_path, {"minValues": -0.0, "maxValues": -0.0})
    duck = DuckDb(delta_extension()).connection
    assert duck.sql(f"SELECT * FROM delta_scan('{tmp_path}') WHERE a = 0").fetchall() == []
    assert duck.sql(f"SELECT a FROM delta_scan('{tmp_path}')").fetchall() == [(0.0,)]


@pytest.mark.skipif(not delta_extension(), reason="the package duckdb-extension-delta is not installed for this DuckDB")
@assumes(
    "a union of a long number with one with decimals rounds 0.5 to 1",
    of="duckdb",
    used_in="docs/concepts/reading-the-lake.md",
    says="Spark and DuckDB round 0.5 to 1, without an error",
)
def test_duckdb_rounds_in_a_union() -> None:
    found = duckdb.sql("SELECT CAST(0.5 AS DECIMAL(38,10)) AS n UNION ALL SELECT CAST(7 AS DECIMAL(38,0))").fetchall()
    assert sorted(found) == [(Decimal(1),), (Decimal(7),)]


@assumes(
    "a table becomes a frame by way of Arrow",
    of="pandas",
    used_in="docs/concepts/reading-the-lake.md",
    says="pandas reads through delta-rs to Arrow",
)
def test_a_frame_is_made_of_the_arrow_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [1], pa.int64())
    monkeypatch.setattr(DeltaTable, "to_pyarrow_table", lambda *_args, **_kwargs: pa.table({"a": [2]}))
    assert DeltaTable(tmp_path).to_pandas()["a"].tolist() == [2]


@assumes(
    "a text that is no UTF-8 is an error when it is decoded",
    of="deltalake",
    used_in="docs/concepts/reading-the-lake.md",
    says="which all readers but Spark require",
)
def test_readers_refuse_bytes_that_are_no_text(tmp_path: Path) -> None:
    written(tmp_path, ["x"], pa.string())
    (file,) = tmp_path.glob("*.parquet")
    no_text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"], pa.binary()).buffers())
    pq.write_table(pa.table({"a": no_text, "b": [0]}), file)

    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"] |= {"size": file.stat().st_size, "stats": '{"numRecords": 1}'}

    change_log(tmp_path, change)
    for reader in readers_here():
        with pytest.raises(Exception, match=r"(?i)utf-8|string encoding|wrapping"):
            reader.rows(str(tmp_path))


@assumes(
    "a schema named as the open database is ambiguous",
    of="duckdb",
    used_in="docs/how-to/read-as-of.md",
    says="it takes `shop.orders` in `shop.duckdb` for either",
)
def test_duckdb_takes_no_schema_named_as_its_file(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("CREATE SCHEMA shop.shop")
        database.execute("CREATE TABLE shop.shop.orders (id INT)")
        with pytest.raises(duckdb.BinderException, match="Ambiguous reference"):
            database.execute("SELECT * FROM shop.orders")
