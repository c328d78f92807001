#!/usr/bin/env bash
# Delta Lake on Spark computes a table's whole state once more after each commit where Java's time zone is not UTC, also in a session in UTC.
#
# Versions: Delta's delta-spark 4.4.0 with pyspark 4.2.0; needs Java 17 and Maven.
# Expected: a commit writes its checksum from the one before it, with no Spark job, whatever the zone of the machine: the session's is UTC, and the table has one BIGINT.
# Seen: in Java of another zone each commit has two jobs more, which read the log and put the table's state together: an append of one row takes 3 jobs in place
#   of 1. For tables of up to 50 files; spark.sql.session.timeZone does not matter. The file list of the checksum is compared with the state there, as
#   statistics of old timestamps may be written otherwise (internal setting `allFilesInCrc.verificationMode.forceOnNonUTC.enabled`, on by default).
# Matters: whoever commits often to small tables on machines that are not in UTC, and measures on some that are: most servers of tests and images of containers.
# Workaround: `-Duser.timezone=UTC` for the driver, or that setting on false.
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
for artifact in delta-spark_4.2_2.13 delta-storage; do
    mvn --quiet --batch-mode -Dmaven.repo.local="$work/repository" dependency:get -Dtransitive=false -Dartifact="io.delta:$artifact:4.4.0"
done
cat >appends.py <<'PYTHON'
import sys
from pathlib import Path
from pyspark.sql import SparkSession

settings = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.jars": ",".join(map(str, Path("repository/io/delta").resolve().rglob("*.jar"))),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    **dict(setting.split("=", 1) for setting in sys.argv[1:]),
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()

def append(number):
    before = spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()
    spark.range(number, number + 1, 1, 1).write.format("delta").mode("append").save("table")
    return spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs() - before

append(0)
print([append(number) for number in range(1, 5)])
PYTHON
jobs() { # of four appends in a Java of this zone, with these settings
    rm -rf table
    TZ=$1 venv/bin/python appends.py "${@:2}" 2>/dev/null
}
never=spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled=false
utc=$(jobs UTC) tokyo=$(jobs Asia/Tokyo) without=$(jobs Asia/Tokyo "$never")
echo "jobs of four appends: UTC $utc, Asia/Tokyo $tokyo, there without the comparison $without"
[ "$utc" = "[1, 1, 1, 1]" ] && [ "$tokyo" = "[3, 3, 3, 3]" ] && [ "$without" = "[1, 1, 1, 1]" ]
echo "SEEN: an append of one row takes 3 Spark jobs in a Java of Asia/Tokyo and 1 in UTC, in a session that is in UTC"
