#!/usr/bin/env bash
# A JSON number read into a column that was declared DECIMAL goes through a double in DuckDB, and gets invented digits.
#
# Versions: DuckDB 1.5.5; for comparison pyarrow 26.0.1, orjson 3.13.0, ijson 3.6.0, Python's json.
# Expected: RFC 8259 leaves precision to the reader; a reader that is given DECIMAL(38,10) for a field has room for every digit of the text. pyarrow's
#   JSON reader with the same type keeps them.
# Seen: read_json with columns={n: 'DECIMAL(38,10)'} turns 12345678901234567.1234567891 into ..567.8152597504. Declared VARCHAR and cast later it is
#   ..568, so the text is gone as well. Whole numbers of 38 digits are exact under a declared type. Without one, DuckDB, pyarrow and orjson make
#   a double of them.
# Matters: OpenLogReplicator and other change streams write NUMBER as a bare JSON number, so the digits are in the file and are lost in the load.
# Workaround: pyarrow.json with the schema given, json.loads(parse_float=Decimal), or ijson; or let the stream write numbers as JSON strings.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(duckdb==1.5.5 pyarrow==26.0.1 orjson==3.13.0 ijson==3.6.0)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import io, json, pathlib
from decimal import Decimal
import duckdb, ijson, orjson, pyarrow as pa, pyarrow.json

WHOLE, PART = "12345678901234567890123456789012345678", "12345678901234567.1234567891"
text = f'{{"w":{WHOLE},"p":{PART}}}'
pathlib.Path("x.json").write_text(text + "\n")

def read(columns, query="SELECT w, p"):
    return [str(value) for value in duckdb.sql(f"{query} FROM read_json('x.json'{columns})").fetchone()]

decimals = pa.schema([("w", pa.decimal128(38, 0)), ("p", pa.decimal128(38, 10))])
options = pyarrow.json.ParseOptions(explicit_schema=decimals)
declared = read(", columns={w: 'DECIMAL(38,0)', p: 'DECIMAL(38,10)'}")
as_text = read(", columns={w: 'VARCHAR', p: 'VARCHAR'}", "SELECT w::DECIMAL(38,0), p::DECIMAL(38,10)")
arrow = [str(row) for row in pyarrow.json.read_json(io.BytesIO(text.encode()), parse_options=options).to_pylist()[0].values()]
untyped = {
    "duckdb": duckdb.sql("SELECT typeof(w) FROM read_json('x.json')").fetchone()[0],
    "pyarrow": str(pyarrow.json.read_json(io.BytesIO(text.encode())).schema.field("w").type),
    "orjson": type(orjson.loads(text)["w"]).__name__,
    "json": type(json.loads(text)["w"]).__name__,
}
exact = json.loads(text, parse_float=Decimal)["p"], next(ijson.items(io.BytesIO(text.encode()), "p"))
print(f"declared DECIMAL: {declared}; VARCHAR, then cast: {as_text}; pyarrow: {arrow}; the whole number untyped: {untyped}")
assert declared == [WHOLE, "12345678901234567.8152597504"]
assert as_text == [WHOLE, "12345678901234568.0000000000"]
assert arrow == [WHOLE, PART]
assert exact == (Decimal(PART), Decimal(PART))
assert untyped == {"duckdb": "DOUBLE", "pyarrow": "double", "orjson": "float", "json": "int"}
print(f"SEEN: JSON {PART} in a DECIMAL(38,10) column of DuckDB is {declared[1]}")
PYTHON
