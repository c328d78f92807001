#!/usr/bin/env bash
# A sum of decimals that needs more than 38 digits wraps around to a negative number; in Polars only inside group_by.
#
# Versions: pyarrow 26.0.1, Polars 2.1.0, deltalake (delta-rs) 1.6.6; for comparison DuckDB 1.5.5.
# Expected: an error, as DuckDB gives, and as pyarrow gives when a product leaves the 38 digits. Polars: the same answer with and without groups.
# Seen: 2 * (10^38 - 1) is -140282366920938463463374607431768211458 in pyarrow.compute.sum and in delta-rs's SQL; that number has 39 digits, more than
#   its own type DECIMAL(38,0) can hold. Polars raises in Series.sum() and returns the wrapped number in group_by().agg(sum).
# Matters: control totals. Two sides of a comparison that wrap alike are equal, and a total over NUMBER(38) identifiers, a usual checksum, wraps soon.
# Workaround: sum in DuckDB, which raises; or make sure first that max(abs(n)) * count is below 10^38.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(pyarrow==26.0.1 polars==2.1.0 deltalake==1.6.6 duckdb==1.5.5)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
from decimal import Decimal
import duckdb, polars as pl, pyarrow as pa, pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake

WRAPPED = Decimal(2 * (10**38 - 1) - 2**128)
table = pa.table({"g": [1, 1], "n": pa.array([Decimal("9" * 38)] * 2, pa.decimal128(38, 0))})
write_deltalake("t", table)

def answer(call):
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"

frame = pl.from_arrow(table)
total = QueryBuilder().register("t", DeltaTable("t")).execute("SELECT sum(n) AS s FROM t")
seen = {
    "pyarrow": answer(lambda: pc.sum(table["n"]).as_py()),
    "delta-rs": answer(lambda: pa.table(total.read_all())["s"][0].as_py()),
    "polars, grouped": answer(lambda: frame.group_by("g").agg(pl.col("n").sum())["n"][0]),
    "polars": answer(lambda: frame["n"].sum()),
    "duckdb": answer(lambda: duckdb.sql("SELECT sum(n) FROM \"table\"").fetchone()[0]),
}
print(seen)
assert seen["pyarrow"] == seen["delta-rs"] == WRAPPED
assert seen["polars, grouped"] < -(10**38)  # the same number, of which Polars shows 38 digits
assert "overflow" in seen["polars"] and "Overflow" in seen["duckdb"]
print(f"SEEN: two numbers of 38 nines add up to {WRAPPED} in pyarrow, delta-rs and Polars' group_by")
PYTHON
