#!/usr/bin/env bash
# pyarrow and Spark disagree about dates before 1582 in ORC files, in both directions, by up to ten days.
#
# Versions: pyarrow 26.0.1 (its ORC library in C++), pyspark 4.2.0. Needs Java 17.
# Expected: a DATE in ORC is a count of days since 1970-01-01, and the file's footer has a field for the calendar of its writer, so that one day stays
#   one day. Both engines themselves count in the proleptic Gregorian calendar, and agree about the same dates in Parquet.
# Seen: 1500-01-01 by pyarrow is 1499-12-23 in Spark; 1500-01-01 by Spark is 1500-01-10 in pyarrow. 0001-01-01, the usual sentinel, becomes
#   0001-01-03, or 0000-12-30, which Python's datetime cannot hold. No warning on either side.
# Matters: exports of Oracle tables with a "no date" sentinel, moved as ORC between a Spark and an Arrow job.
# Workaround: move such tables as Parquet, or as text in ORC. A round trip through one engine is right, so a test there shows nothing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(pyspark==4.2.0 pyarrow==26.0.1)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import datetime as dt, glob, os
import pyarrow as pa, pyarrow.orc as orc, pyarrow.parquet as pq

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
dates = pa.table({"d": pa.array([dt.date(1500, 1, 1), dt.date(1, 1, 1), dt.date(1970, 1, 1)])})
orc.write_table(dates, "arrow.orc")
pq.write_table(dates, "arrow.parquet")
spark.sql("SELECT explode(array(DATE'1500-01-01', DATE'0001-01-01', DATE'1970-01-01')) AS d").coalesce(1).write.orc("spark.orc")

def by_spark(frame):
    return [row.d for row in frame.selectExpr("CAST(d AS STRING) AS d").collect()]

def by_arrow(table):
    return table["d"].cast(pa.string()).to_pylist()

seen = {
    "pyarrow to Spark": by_spark(spark.read.orc("arrow.orc")),
    "Spark to pyarrow": by_arrow(orc.read_table(glob.glob("spark.orc/*.orc")[0])),
    "pyarrow to pyarrow": by_arrow(orc.read_table("arrow.orc")),
    "Spark to Spark": by_spark(spark.read.orc("spark.orc")),
    "Parquet, pyarrow to Spark": by_spark(spark.read.parquet("arrow.parquet")),
}
spark.stop()
RIGHT = ["1500-01-01", "0001-01-01", "1970-01-01"]
print(seen)
assert seen == {
    "pyarrow to Spark": ["1499-12-23", "0001-01-03", "1970-01-01"],
    "Spark to pyarrow": ["1500-01-10", "0000-12-30", "1970-01-01"],
    "pyarrow to pyarrow": RIGHT, "Spark to Spark": RIGHT, "Parquet, pyarrow to Spark": RIGHT,
}
print("SEEN: ORC 1500-01-01 by pyarrow is 1499-12-23 in Spark; by Spark it is 1500-01-10 in pyarrow")
PYTHON
