#!/usr/bin/env bash
# Classic PySpark asks Java again for the classes behind F.col, F.lit and lists of columns, at each use: a third of all requests.
#
# Versions: pyspark 4.2.0 with its py4j 0.10.9.9; needs Java 17.
# Expected: `SparkContext._jvm.functions` is looked up once in a session, as a class does not change.
# Seen: py4j's view of Java (JVMView) keeps no class that it has found. Each column by name, literal and list of columns sends one request more, and
#   Java answers one for a name without a package (`functions`, `PythonUtils`) by trying packages that pyspark has imported, each a failed
#   class lookup. Of the requests for 1,000 negated columns 2,000 of 6,000 are such questions, of those for one coalesce 4 of 15.
# Matters: a program that makes plans for many small tables. One that asked 13,000 times a batch had 12 % of Java's CPU time in failed lookups, by Java's
#   flight recorder. Spark Connect has no such view.
# Workaround: `view = spark._jvm; view.functions = view.functions`, also for PythonUtils and, by setattr, "org.apache.spark.sql.functions".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(pyspark==4.2.0)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - 2>/dev/null <<'PYTHON'
from collections import Counter
from py4j.java_gateway import GatewayClient, JVMView
from pyspark.sql import SparkSession, functions as F

DEBUGGING = "spark.python.sql.dataFrameDebugging.enabled"  # on, it sends more requests of its own
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(DEBUGGING, "false").getOrCreate()
view, seen = spark._jvm, Counter()

def counting(kind, method):
    call = getattr(kind, method)
    def counted(self, *given, **named):
        seen[method] += not (given and given[0].startswith("m\n"))  # that lets go of an object
        return call(self, *given, **named)
    setattr(kind, method, counted)

counting(JVMView, "__getattr__")
counting(GatewayClient, "send_command")

def asked(work):
    seen.clear()
    work()
    return seen["__getattr__"], seen["send_command"]

def counts():
    return {"col": asked(lambda: F.col("a")), "coalesce": asked(lambda: F.coalesce("a", "b")), "1,000 columns": asked(lambda: [~F.col(n) for n in names])}

names = [f"c{n}" for n in range(1000)]
counts()  # what is asked once, is asked now
before = counts()
for name in ("functions", "PythonUtils", "org.apache.spark.sql.functions"):
    setattr(view, name, getattr(view, name))
after = counts()
print(f"(questions for classes, requests in all): {before}; with the classes kept: {after}")
assert before == {"col": (1, 3), "coalesce": (4, 15), "1,000 columns": (2000, 6000)}
assert after == {"col": (0, 2), "coalesce": (0, 11), "1,000 columns": (0, 4000)}
print("SEEN: 2,000 of the 6,000 requests for 1,000 negated columns ask for classes that Java has named before")
PYTHON
