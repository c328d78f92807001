#!/usr/bin/env bash
# Parquet's INT96 holds the year 9999; pyarrow, fastparquet and Polars read another year each, and pyarrow cannot read back what it wrote.
#
# Versions: pyarrow 26.0.1, Polars 2.1.0, fastparquet 2026.9.0; for comparison DuckDB 1.5.5.
# Expected: an INT96 is a Julian day and the nanoseconds of that day (deprecated in Parquet, and the default of Spark 4.2 for TIMESTAMP), so 9999-12-31
#   and 1500-02-28 are in the file exactly. A reader whose nanoseconds of 64 bits end in 2262 should raise.
# Seen: 9999-12-31 is 1816-03-30 in pyarrow and fastparquet, 2262-04-11 (the last moment that fits) in Polars; 1500-02-28 is 2084-09-16, and in Polars
#   2262-04-11 as well. DuckDB reads all of them rightly.
# Matters: 9999-12-31 is the usual "valid until" of Oracle tables. A filter `valid_to > today` finds nothing, and a minimum looks like a real date.
# Workaround: write with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS. For files that exist: pyarrow with
#   coerce_int96_timestamp_unit='us', Polars with scan_parquet(schema={"t": pl.Datetime("us")}); both are exact below.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(pyarrow==26.0.1 polars==2.1.0 duckdb==1.5.5 fastparquet==2026.9.0 pandas==3.1.1)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import datetime as dt
import duckdb, fastparquet, polars as pl, pyarrow as pa, pyarrow.parquet as pq

MOMENTS = [dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1500, 2, 28), dt.datetime(2024, 1, 1)]
# store_schema=False, as Spark writes no Arrow schema into its files.
pq.write_table(
    pa.table({"t": pa.array(MOMENTS, pa.timestamp("us"))}), "t.parquet", use_deprecated_int96_timestamps=True, store_schema=False
)
assert pq.ParquetFile("t.parquet").schema.column(0).physical_type == "INT96"

def days(values):
    return [str(value)[:10] for value in values]

seen = {
    "duckdb": days(row[0] for row in duckdb.sql("SELECT t FROM 't.parquet'").fetchall()),
    "pyarrow": days(pq.read_table("t.parquet")["t"].to_pylist()),
    "fastparquet": days(fastparquet.ParquetFile("t.parquet").to_pandas()["t"]),
    "polars": days(pl.read_parquet("t.parquet")["t"].to_list()),
}
mended = {
    "pyarrow": pq.read_table("t.parquet", coerce_int96_timestamp_unit="us")["t"].to_pylist(),
    "polars": pl.scan_parquet("t.parquet", schema={"t": pl.Datetime("us")}).collect()["t"].to_list(),
}
print(seen)
assert mended == {"pyarrow": MOMENTS, "polars": MOMENTS}
assert seen["duckdb"] == ["9999-12-31", "1500-02-28", "2024-01-01"]
assert seen["pyarrow"] == seen["fastparquet"] == ["1816-03-30", "2084-09-16", "2024-01-01"]
assert seen["polars"] == ["2262-04-11", "2262-04-11", "2024-01-01"]
print("SEEN: INT96 9999-12-31 is 1816-03-30 in pyarrow and fastparquet, 2262-04-11 in Polars, 9999-12-31 in DuckDB")
PYTHON
