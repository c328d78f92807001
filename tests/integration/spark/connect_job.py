"""Run specs through Spark Connect in a process of its own: a process is either classic or Connect."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from pipelines.apply.session import spark_conf
from pipelines.job.job import read_spec, run
from pipelines.runtime import delta_jars
from tests.fix_spark import QUIET

if __name__ == "__main__":
    builder = SparkSession.builder.remote("local[2]")
    for key, value in spark_conf({**QUIET, "spark.jars": ",".join(delta_jars())}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    for path in sys.argv[1:]:
        run(session, read_spec(path))
    session.stop()
