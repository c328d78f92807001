#!/usr/bin/env bash
# delta-rs writes statistics of decimals that do not bound the values, and then every reader skips the file.
#
# Versions: deltalake (delta-rs) 1.6.6; read by itself, DuckDB 1.5.5, Polars 2.1.0.
# Expected: the Delta protocol defines minValues as at most, and maxValues as at least, every value in the file. A reader skips a file by them.
# Seen: DECIMAL(38,0) stops at 2^63-1; DECIMAL(18,2) becomes the nearest double with 17 digits, above or below the value. The row is in
#   the file, a scan finds it, and `n = value` finds nothing (in a larger file: the rows at the ends of its range). DELETE with that
#   condition deletes nothing. A table without statistics, or with exact ones by Spark, answers rightly until delta-rs compacts it.
# Matters: NUMBER(38) keys and NUMBER(18,2) amounts of Oracle are such columns. A lookup or a DELETE by key misses rows without an error.
# Workaround: do not let delta-rs write or compact a table with such columns, or leave these columns out of its statistics
#   (delta.dataSkippingStatsColumns). For a table written so: let Spark write its files again; its statistics are exact.
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
from decimal import Decimal
import duckdb, duckdb_extension_delta, polars as pl, pyarrow as pa, pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, write_deltalake

path = f"{os.path.dirname(duckdb_extension_delta.__file__)}/extensions/v{duckdb.__version__}/delta.duckdb_extension"
duck = duckdb.connect()
duck.load_extension(path)

def counts(path, kind, value):
    where = f"n = CAST('{value}' AS {kind})"
    rows = QueryBuilder().register("t", DeltaTable(path)).execute(f"SELECT count(*) AS c FROM t WHERE {where}").read_all()
    wanted = pl.col("n") == pl.lit(Decimal(value), pl.read_delta(path).schema["n"])
    return {
        "delta-rs": pa.table(rows)["c"][0].as_py(),
        "duckdb": duck.sql(f"SELECT count(*) FROM delta_scan('{path}') WHERE {where}").fetchone()[0],
        "polars": pl.scan_delta(path).filter(wanted).collect().height,
        "scan": pl.read_delta(path).filter(wanted).height,
    }

LOST = {"delta-rs": 0, "duckdb": 0, "polars": 0, "scan": 1}
for path, digits, scale, value in (("key", 38, 0, "9" * 38), ("amount", 18, 2, "1234567890123456.78")):
    write_deltalake(path, pa.table({"n": pa.array([Decimal(value)], pa.decimal128(digits, scale))}))
    log = pathlib.Path(path, "_delta_log", f"{0:020}.json").read_text().splitlines()
    stats = next(json.loads(a["add"]["stats"]) for a in map(json.loads, log) if "add" in a)
    seen = counts(path, f"DECIMAL({digits},{scale})", value)
    print(f"DECIMAL({digits},{scale}) {value}: min {stats['minValues']['n']} max {stats['maxValues']['n']}; rows found by '=': {seen}")
    assert seen == LOST
deleted = DeltaTable("key").delete(f"n = CAST('{'9' * 38}' AS DECIMAL(38,0))")["num_deleted_rows"]
assert deleted == 0

# A table whose two files have no statistics, which the protocol allows.
value = "12345678901234567890123456789012345678"
write_deltalake("compacted", pa.table({"n": pa.array([], pa.decimal128(38, 0))}))
adds = []
for name, one in (("a.parquet", value), ("b.parquet", "1")):
    pq.write_table(pa.table({"n": pa.array([Decimal(one)], pa.decimal128(38, 0))}), f"compacted/{name}")
    size = os.path.getsize(f"compacted/{name}")
    adds.append({"add": {"path": name, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}})
pathlib.Path("compacted/_delta_log", f"{1:020}.json").write_text("".join(json.dumps(a) + "\n" for a in adds))
before = counts("compacted", "DECIMAL(38,0)", value)
DeltaTable("compacted").optimize.compact()
after = counts("compacted", "DECIMAL(38,0)", value)
assert (set(before.values()), after) == ({1}, LOST), (before, after)
print("SEEN: '=' finds 0 of 1 rows in delta-rs, DuckDB and Polars; DELETE deletes 0; compact() turns 1 of 1 into 0 of 1")
PYTHON
