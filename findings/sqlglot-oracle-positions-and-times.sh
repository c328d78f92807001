#!/usr/bin/env bash
# sqlglot's translation of Oracle to DuckDB changes INSTR from the end, the time of a DATE, and digits of a NUMBER, without a word.
#
# Versions: sqlglot 30.30.0, run in DuckDB 1.5.5.
# Expected: Oracle's SQL reference: a negative position of INSTR searches backwards; DATE has hours, minutes and seconds; NUMBER without precision
#   keeps every digit. unsupported_level=RAISE is there to refuse what the other dialect lacks.
# Seen: INSTR(s, 'or', -3) becomes arithmetic that yields -2, a position that no text has. TO_DATE with a time becomes CAST(.. AS DATE): midnight.
#   CAST(0.12345 AS NUMBER) becomes DECIMAL, which is DECIMAL(18,3) there: 0.123. For Spark it is DECIMAL(10,0). RAISE raises for none of them.
#   Only the fourth argument of INSTR is called unsupported, and its loss gives 5 for 14 when the level is the default.
# Matters: tools that move views, checks or filters of an Oracle database to a lake by sqlglot, and tests that use DuckDB in Oracle's place.
# Workaround: walk the tree first, and refuse StrPosition with a position, StrToTime and CAST to NUMBER without precision; name the types.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(sqlglot==30.30.0 duckdb==1.5.5)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import duckdb, sqlglot
from sqlglot import ErrorLevel

def translated(expression, level=ErrorLevel.RAISE):
    query = sqlglot.transpile(f"SELECT {expression}", read="oracle", write="duckdb", unsupported_level=level)[0]
    return query, str(duckdb.sql(query).fetchone()[0])

CASES = {
    "INSTR('corporate floor', 'or', -3)": "-2",
    "TO_DATE('2024-01-31 23:59:58', 'YYYY-MM-DD HH24:MI:SS')": "2024-01-31",
    "CAST(0.12345 AS NUMBER)": "0.123",
}
for expression, wrong in CASES.items():
    query, value = translated(expression)
    print(f"{expression} -> {query} = {value}")
    assert value == wrong, (expression, value)
try:
    refused = translated("INSTR('corporate floor', 'or', 3, 2)")
except sqlglot.errors.UnsupportedError as error:
    refused = str(error)
second = translated("INSTR('corporate floor', 'or', 3, 2)", ErrorLevel.IGNORE)[1]
spark = sqlglot.transpile("SELECT CAST(1.5 AS NUMBER)", read="oracle", write="spark", unsupported_level=ErrorLevel.RAISE)[0]
print(f"fourth argument: {refused}; ignored: {second}; for Spark: {spark}")
assert "occurrence" in refused and second == "5" and spark == "SELECT CAST(1.5 AS DECIMAL)"
print("SEEN: INSTR('corporate floor', 'or', -3) is -2, TO_DATE loses 23:59:58, CAST(0.12345 AS NUMBER) is 0.123, nothing is raised")
PYTHON
