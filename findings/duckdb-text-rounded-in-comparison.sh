#!/usr/bin/env bash
# DuckDB rounds a text to compare it with a whole number: '1.5' = 2 is true, and '1.5' * 2 is 4.
#
# Versions: DuckDB 1.5.5; delta-rs 1.6.6 and SQLite for comparison.
# Expected: 1.5 is no 2: the text is read as the number that it is, as Oracle and SQLite do, or it is an error, as in delta-rs SQL.
# Seen: where a VARCHAR meets an INTEGER, the text is cast to INTEGER, and the cast rounds. WHERE t = 2 finds '1.5' and '2.4'; a join on t = i pairs
#   them; IN and BETWEEN too. No error. With a DECIMAL or DOUBLE on the other side the same texts are compared as they are.
# Matters: columns that hold numbers as text, because no type holds them exactly: Oracle's FLOAT, NUMBER of more than 38 digits, identifiers such as '10.2'.
# Workaround: write the number with a point, t = 2.0, or cast the text: CAST(t AS DECIMAL(38,10)) = 2.
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
import sqlite3
import duckdb, pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

texts = pa.table({"t": ["1.5", "2", "2.4", "7"]})
write_deltalake("x", texts)
found = {
    "t = 2": duckdb.sql("SELECT t FROM texts WHERE t = 2").fetchall(),
    "t IN (2, 9)": duckdb.sql("SELECT t FROM texts WHERE t IN (2, 9)").fetchall(),
    "join on t = i": duckdb.sql("SELECT t FROM texts JOIN (SELECT 2 AS i) o ON o.i = t").fetchall(),
    "'1.5' * 2": duckdb.sql("SELECT '1.5' * 2").fetchall(),
}
workaround = {
    "t = 2.0": duckdb.sql("SELECT t FROM texts WHERE t = 2.0").fetchall(),
    "CAST(t AS DECIMAL(38,10)) = 2": duckdb.sql("SELECT t FROM texts WHERE CAST(t AS DECIMAL(38,10)) = 2").fetchall(),
}
try:
    by_delta_rs = pa.table(QueryBuilder().register("x", DeltaTable("x")).execute("SELECT t FROM x WHERE t = 2").read_all())
except Exception as refused:
    by_delta_rs = str(refused)
lite = sqlite3.connect(":memory:")
lite.execute("CREATE TABLE x (t NUMERIC)")
lite.executemany("INSERT INTO x VALUES (?)", [(t,) for t in texts["t"].to_pylist()])
by_sqlite = lite.execute("SELECT t FROM x WHERE t = 2").fetchall()
print(found, workaround, "delta-rs", by_delta_rs, "SQLite", by_sqlite)
rounded = [("1.5",), ("2",), ("2.4",)]
assert all(sorted(found[asked]) == rounded for asked in ("t = 2", "t IN (2, 9)", "join on t = i"))
assert found["'1.5' * 2"] == [(4,)]
assert all(rows == [("2",)] for rows in workaround.values())
assert "Cannot cast string '1.5'" in by_delta_rs and by_sqlite == [(2,)]
print("SEEN: t = 2 finds '1.5', '2' and '2.4'; '1.5' * 2 is 4; t = 2.0 finds '2' alone")
PYTHON
