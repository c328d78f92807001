#!/usr/bin/env bash
# delta-rs commits a negative decimal as a partition value with two signs; nobody can open the table afterwards.
#
# Versions: deltalake (delta-rs) 1.6.6; read by itself and DuckDB 1.5.5.
# Expected: the Delta protocol writes a decimal partition value as plain decimal text: -1.50. An append that raises leaves the table as it was.
# Seen: the text is "-1.-50". The version is in the log, the call then raises, and every later open of the newest version raises too:
#   by delta-rs and by DuckDB. -12.00 and all positive values are right, so the first refund or correction ends a table that ran for months.
# Matters: a table partitioned by a rate, an amount or a sign-carrying code of Oracle (NUMBER(p,s) with s > 0).
# Workaround: do not partition by decimals with a scale when delta-rs writes. To recover: the versions before it stay readable
#   (DeltaTable(path, version=n)); remove the last JSON file of the log if no other writer has followed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(deltalake==1.6.6 pyarrow==26.0.1 duckdb==1.5.5 duckdb-extension-delta==1.5.5)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import json, os, pathlib
from decimal import Decimal
import duckdb, duckdb_extension_delta, pyarrow as pa
from deltalake import DeltaTable, write_deltalake

path = f"{os.path.dirname(duckdb_extension_delta.__file__)}/extensions/v{duckdb.__version__}/delta.duckdb_extension"
duck = duckdb.connect()
duck.load_extension(path)

def append(value):
    rows = pa.table({"p": pa.array([Decimal(value)], pa.decimal128(10, 2)), "id": [1]})
    write_deltalake("t", rows, partition_by=["p"], mode="append")

def error(call):
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {str(raised).splitlines()[0]}"

for value in ("1.05", "-12.00"):
    append(value)
assert duck.sql("SELECT p FROM delta_scan('t') ORDER BY p").fetchall() == [(Decimal("-12.00"),), (Decimal("1.05"),)]

on_append = error(lambda: append("-1.50"))
log = pathlib.Path("t/_delta_log", f"{2:020}.json").read_text().splitlines()
text = next(a["add"]["partitionValues"]["p"] for a in map(json.loads, log) if "add" in a)
seen = {
    "delta-rs": error(lambda: DeltaTable("t").to_pyarrow_table()),
    "duckdb": error(lambda: duck.sql("SELECT * FROM delta_scan('t')").fetchall()),
    "version 1": error(lambda: DeltaTable("t", version=1).to_pyarrow_table()),
}
pathlib.Path("t/_delta_log", f"{2:020}.json").unlink()
recovered = len(DeltaTable("t").to_pyarrow_table())
print("append:", on_append)
print("open:", seen)
assert recovered == 2
assert text == "-1.-50"
assert on_append and seen["delta-rs"] and seen["duckdb"] and not seen["version 1"]
print(f"SEEN: -1.50 is committed as partition value {text!r}; delta-rs and DuckDB no longer read the table", flush=True)
os._exit(0)  # no wait for what the refused scans have left behind
PYTHON
