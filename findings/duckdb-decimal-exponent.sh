#!/usr/bin/env bash
# DuckDB takes a Python Decimal with a positive exponent for its digits alone: 1E+2 arrives as 1.
#
# Versions: DuckDB 1.5.5 (Python package); for comparison pyarrow 26.0.1, Polars 2.1.0.
# Expected: Decimal('1E+2') == Decimal('100') in Python, and such values are ordinary: normalize(), quantize(), and multiplication make them.
# Seen: as a bound parameter it becomes 1.00, 1.5E+10 becomes 15, no error. Decimal('100') is right, and so are exponents below zero.
#   INSERT of the parameter stores the wrong number, and a WHERE finds another row. pyarrow and Polars keep 100.
# Matters: whoever normalizes Oracle's NUMBERs, so that 100 and 100.00 compare equal by text, and then binds them for a check or a load.
# Workaround: bind format(value, 'f') and cast it, or undo the exponent: value.quantize(Decimal(1)) when the exponent is positive.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(duckdb==1.5.5 pyarrow==26.0.1 polars==2.1.0)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
from decimal import Decimal
import duckdb, polars as pl, pyarrow as pa

duck = duckdb.connect()

def bound(value):
    return duck.execute("SELECT ?", [value]).fetchone()[0]

duck.execute("CREATE TABLE orders (id DECIMAL(38,0))")
duck.execute("INSERT INTO orders VALUES (?)", [Decimal("100.00").normalize()])
stored = duck.sql("SELECT id FROM orders").fetchone()[0]
seen = {text: bound(Decimal(text)) for text in ("1E+2", "1.5E+10", "100", "1E-2")}
others = pa.array([Decimal("1E+2")]).to_pylist() + pl.Series([Decimal("1E+2")]).to_list()
cast = duck.execute("SELECT CAST(? AS DECIMAL(38,0))", [format(Decimal("1E+2"), "f")]).fetchone()[0]
print(f"parameters: {seen}; stored for 100.00 normalized: {stored}; pyarrow, Polars: {others}; through text: {cast}")
assert seen == {"1E+2": 1, "1.5E+10": 15, "100": 100, "1E-2": Decimal("0.01")}
assert (stored, others, cast) == (1, [100, 100], 100)
print(f"SEEN: DuckDB stores {stored} for Decimal('100.00').normalize()")
PYTHON
