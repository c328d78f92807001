#!/usr/bin/env bash
# Apache Avro's own Python library writes a decimal with fewer fraction digits than the schema's scale as a smaller number: 1.5 becomes 0.15.
#
# Versions: avro 1.12.2; for comparison fastavro 1.13.1.
# Expected: the specification stores the unscaled integer and takes the scale from the schema, so 1.5 under scale 2 is the integer 150.
# Seen: the integer 15 is written, which every reader takes for 0.15; 100 becomes 1.00, and 1E+2 becomes 0.01. Too many digits do raise
#   (AvroOutOfScaleException), so the check looks complete. fastavro writes 150.
# Matters: Oracle's NUMBER stores no trailing zeros, so a driver's Decimal for 1.50 is 1.5. Each amount with a zero at its end arrives as a tenth or
#   a hundredth of itself in a topic or a file of Avro.
# Workaround: value.quantize(Decimal(1).scaleb(-scale)) before writing, or fastavro.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(avro==1.12.2 fastavro==1.13.1)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import io, json
from decimal import Decimal
import avro.io, avro.schema, fastavro

KIND = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
SCHEMA = avro.schema.parse(json.dumps(KIND))

def by_avro(value):
    data = io.BytesIO()
    avro.io.DatumWriter(SCHEMA).write(value, avro.io.BinaryEncoder(data))
    return data.getvalue()

def by_fastavro(value):
    data = io.BytesIO()
    fastavro.schemaless_writer(data, KIND, value)
    return data.getvalue()

def read(data):
    both = avro.io.DatumReader(SCHEMA).read(avro.io.BinaryDecoder(io.BytesIO(data))), fastavro.schemaless_reader(io.BytesIO(data), KIND)
    assert both[0] == both[1]
    return str(both[0])

TEXTS = ("1.50", "1.5", "-1.5", "100", "1E+2")
wrong = {text: read(by_avro(Decimal(text))) for text in TEXTS}
right = {text: read(by_fastavro(Decimal(text))) for text in TEXTS}
mended = read(by_avro(Decimal("1.5").quantize(Decimal(1).scaleb(-2))))
try:
    too_many = by_avro(Decimal("0.001"))
except Exception as error:
    too_many = type(error).__name__
print(f"avro: {wrong}; fastavro: {right}; 0.001: {too_many}")
assert wrong == {"1.50": "1.50", "1.5": "0.15", "-1.5": "-0.15", "100": "1.00", "1E+2": "0.01"}
assert right == {"1.50": "1.50", "1.5": "1.50", "-1.5": "-1.50", "100": "100.00", "1E+2": "100.00"}
assert (mended, too_many) == ("1.50", "AvroOutOfScaleException")
print("SEEN: avro writes Decimal('1.5') under scale 2 as 0.15, and 100 as 1.00")
PYTHON
