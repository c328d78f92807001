#!/usr/bin/env bash
# A file with an infinity disappears from delta-rs's Arrow data set when a filter is given; a file with a NaN from SQL readers.
#
# Versions: deltalake (delta-rs) 1.6.6; DuckDB 1.5.5; Polars 2.1.0; pyarrow 26.0.1.
# Expected: infinity > 5 by IEEE 754 everywhere; NaN > 5 in the SQL of Delta's own engine (Spark), and in DuckDB, which orders NaN last.
#   The protocol: maxValues is at least as large as every value, or is absent.
# Seen: for [infinity, 1.0] the log has maxValues null. delta-rs's SQL, DuckDB and Polars take that for unknown and find the row; delta-rs's own
#   to_pyarrow_dataset, to_pyarrow_table(filters=..) and to_pandas(filters=..) find nothing, and no error is raised.
#   For [1.0, NaN] maxValues is 1.0: delta-rs's SQL and DuckDB skip the file, although DuckDB itself answers that NaN > 5.
# Matters: BINARY_DOUBLE and BINARY_FLOAT of Oracle hold both. The row is lost only under a filter, so a count of the whole table is right.
# Workaround: read the whole column and filter in Arrow, or exclude the column from delta.dataSkippingStatsColumns.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(deltalake==1.6.6 pyarrow==26.0.1 polars==2.1.0 duckdb==1.5.5 duckdb-extension-delta==1.5.5)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import json, os, pathlib
import duckdb, duckdb_extension_delta, polars as pl, pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds
from deltalake import DeltaTable, QueryBuilder, write_deltalake

path = f"{os.path.dirname(duckdb_extension_delta.__file__)}/extensions/v{duckdb.__version__}/delta.duckdb_extension"
duck = duckdb.connect()
duck.load_extension(path)

def found(path):
    table = DeltaTable(path)
    sql = QueryBuilder().register("t", table).execute("SELECT count(*) AS c FROM t WHERE d > 5").read_all()
    whole = table.to_pyarrow_table()
    return {
        "arrow data set": table.to_pyarrow_dataset().to_table(filter=ds.field("d") > 5).num_rows,
        "arrow filters": table.to_pyarrow_table(filters=[("d", ">", 5.0)]).num_rows,
        "arrow, filtered later": whole.filter(pc.field("d") > 5).num_rows,
        "delta-rs sql": pa.table(sql)["c"][0].as_py(),
        "duckdb": duck.sql(f"SELECT count(*) FROM delta_scan('{path}') WHERE d > 5").fetchone()[0],
        "polars": pl.scan_delta(path).filter(pl.col("d") > 5).collect().height,
    }

def max_value(path):
    log = pathlib.Path(path, "_delta_log", f"{0:020}.json").read_text().splitlines()
    return next(json.loads(a["add"]["stats"])["maxValues"]["d"] for a in map(json.loads, log) if "add" in a)

write_deltalake("infinite", pa.table({"d": [float("inf"), 1.0]}))
write_deltalake("nan", pa.table({"d": [1.0, float("nan")]}))
infinite, nan = found("infinite"), found("nan")
print("infinity: maxValues", max_value("infinite"), infinite)
print("NaN: maxValues", max_value("nan"), nan)
assert duck.sql("SELECT 'nan'::DOUBLE > 5").fetchone() == (True,)
assert infinite == {
    "arrow data set": 0, "arrow filters": 0, "arrow, filtered later": 1, "delta-rs sql": 1, "duckdb": 1, "polars": 1
}
assert (nan["delta-rs sql"], nan["duckdb"], nan["polars"]) == (0, 0, 1)
print("SEEN: d > 5 finds the row with infinity in SQL but 0 rows in delta-rs's data set; NaN > 5 finds 0 in DuckDB, 1 in Polars")
PYTHON
