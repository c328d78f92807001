#!/usr/bin/env bash
# DuckDB brings DECIMAL(38,0) and DECIMAL(38,10) together by rounding to whole numbers, silently, and IN then matches other numbers.
#
# Versions: DuckDB 1.5.5; for comparison pyarrow 26.0.1 and deltalake (delta-rs) 1.6.6.
# Expected: SQL takes a type for a UNION that holds the values of both sides, or raises. pyarrow widens to 48 digits, delta-rs raises when a
#   value does not fit; DuckDB itself raises on a decimal overflow in arithmetic, and its own `=` compares these two types exactly.
# Seen: UNION ALL, COALESCE, CASE, IN (subquery) and INSERT round half up to the scale 0: 0.5 becomes 1, 0.25 becomes 0; 0.5 IN (SELECT 1) is true,
#   while 0.5 = 1 and the join on it are false. Spark 4.2 does the same in UNION ALL and COALESCE (its result is DECIMAL(38,0) too).
# Matters: both types are what Oracle's NUMBER becomes in a lake (NUMBER(38) and NUMBER without precision), so a view over old and new table, or
#   COALESCE(corrected, original), rounds money to whole numbers.
# Workaround: cast both sides to one type that fits before they meet; to text where nothing fits, as 38 digits plus 10 do not.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(duckdb==1.5.5 deltalake==1.6.6 pyarrow==26.0.1)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
from decimal import Decimal
import duckdb, pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

duck = duckdb.connect()
whole = pa.table({"n": pa.array([Decimal("12345678901234567890123456789012345678")], pa.decimal128(38, 0))})
part = pa.table({"n": pa.array([Decimal("0.5"), Decimal("0.25")], pa.decimal128(38, 10))})
one = "(SELECT 1::DECIMAL(38,0) AS n)"
half = "(SELECT 0.5::DECIMAL(38,10) AS n)"
duck.sql("CREATE TABLE stored (n DECIMAL(38,0))")
duck.sql("INSERT INTO stored SELECT n FROM part")

def ask(query):
    return [str(row[0]) for row in duck.sql(query).fetchall()]

seen = {
    "union": sorted(ask("SELECT n FROM part UNION ALL SELECT n FROM whole")),
    "coalesce": ask(f"SELECT coalesce(h.n, o.n) FROM {half} h, {one} o"),
    "case": ask(f"SELECT CASE WHEN true THEN h.n ELSE o.n END FROM {half} h, {one} o"),
    "insert": ask("SELECT n FROM stored"),
    "in": ask(f"SELECT n IN {one} FROM {half}"),
    "equals": ask(f"SELECT h.n = o.n FROM {half} h, {one} o"),
    "join": ask(f"SELECT count(*) FROM {half} h JOIN {one} o ON h.n = o.n"),
}
print(seen)
assert seen == {
    "union": ["0", "1", "12345678901234567890123456789012345678"],
    "coalesce": ["1"], "case": ["1"], "insert": ["1", "0"], "in": ["True"], "equals": ["False"], "join": ["0"],
}

kept = pa.concat_tables([whole, part], promote_options="permissive")
write_deltalake("whole", whole)
write_deltalake("part", part)
tables = QueryBuilder().register("whole", DeltaTable("whole")).register("part", DeltaTable("part"))
try:
    raised = tables.execute("SELECT n FROM whole UNION ALL SELECT n FROM part").read_all()
except Exception as error:
    raised = str(error)
print("pyarrow:", kept.schema.field("n").type, "delta-rs:", raised)
assert kept["n"].to_pylist()[1] == Decimal("0.5") and "Overflowing" in raised
print("SEEN: in DuckDB 0.5 UNION ALL a DECIMAL(38,0) is 1, and 0.5 IN (SELECT 1) is true although 0.5 = 1 is false")
PYTHON
