#!/usr/bin/env bash
# delta-rs computes and compares decimals with number literals as doubles, and UPDATE stores the damage.
#
# Versions: deltalake (delta-rs) 1.6.6.
# Expected: in SQL a literal with a decimal point is an exact number (as in Oracle, Spark and DuckDB), so n + 0.01 on DECIMAL(38,2) is exact.
# Seen: the literal is a Float64, and it takes the column with it: 12345678901234567890.12 + 0.01 is stored as ..741.44, and a comparison with
#   the column's own value is false. No error, and the column's type stays DECIMAL(38,2), so nothing in the table shows that digits are invented.
# Matters: amounts and long keys of Oracle's NUMBER, in DeltaTable.update, in merge expressions, and in the WHERE of every query.
# Workaround: write each number as a typed text: CAST('0.01' AS DECIMAL(38,2)). Shown below to be exact.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(deltalake==1.6.6 pyarrow==26.0.1)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
from decimal import Decimal
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

VALUE = "12345678901234567890.12"

def rows():
    return DeltaTable("t").to_pyarrow_table()["n"].to_pylist()

def matches(literal):
    query = f"SELECT count(*) AS c FROM t WHERE id = 1 AND (n = {literal}) IS TRUE"
    return pa.table(QueryBuilder().register("t", DeltaTable("t")).execute(query).read_all())["c"][0].as_py()

def stored_after(expression):
    write_deltalake("t", pa.table({"id": [1], "n": pa.array([Decimal(VALUE)], pa.decimal128(38, 2))}), mode="overwrite")
    DeltaTable("t").update(updates={"n": expression}, predicate="id = 1")
    return rows()[0]

plain = stored_after("n + 0.01")
typed = stored_after("n + CAST('0.01' AS DECIMAL(38,2))")
literal = stored_after(VALUE)
write_deltalake("t", pa.table({"id": [1], "n": pa.array([Decimal(VALUE)], pa.decimal128(38, 2))}), mode="overwrite")
found = matches(VALUE)
print(f"n = {VALUE}; n + 0.01: {plain}; with a typed literal: {typed}; the literal itself: {literal}; rows that '=' finds: {found}")
assert typed == Decimal("12345678901234567890.13")
assert (plain, literal, found) == (Decimal("12345678901234567741.44"), Decimal("12345678901234567741.44"), 0)
print(f"SEEN: UPDATE n = n + 0.01 of {VALUE} stores {plain}")
PYTHON
