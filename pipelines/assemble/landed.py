"""Read landed and carried-over redo rows into one DataFrame, each with the window it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.landed_schema import CARRIED_SCHEMA, LANDED_SCHEMA
from pipelines.records.batch_spec import LandedWindow

# Identifies a row, and orders the rows of a transaction.
ROW_KEY = ("window_start", "slice", "ordinal")


def read_rows(spark: SparkSession, windows: Sequence[LandedWindow], carry_in: Sequence[str]) -> DataFrame:
    """Return every row of the windows and of the carry-over, with `window_start` and `carried`."""
    files = [file for window in windows for file in window.files]
    landed = (
        _parquet(spark, LANDED_SCHEMA, files)
        .withColumn("window_start", _window_start(sorted(windows, key=attrgetter("start"))))
        .withColumn("carried", F.lit(False))
    )
    carried = _parquet(spark, CARRIED_SCHEMA, carry_in).withColumn("carried", F.lit(True))
    return landed if not carry_in else landed.unionByName(carried)


def _parquet(spark: SparkSession, arrow_schema: pa.Schema, files: Sequence[str]) -> DataFrame:
    """Read all of the files. A cluster may be configured to skip unreadable files, whose rows would then be in no count."""
    schema = from_arrow_schema(arrow_schema, prefer_timestamp_ntz=True)
    read_all = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
    return spark.read.schema(schema).options(**read_all).parquet(*files) if files else spark.createDataFrame([], schema)


def _window_start(windows: Sequence[LandedWindow]) -> Expression:
    """Return an expression for the start of the window that contains the row's SCN, NULL where there is none.

    It is a binary search: a batch may have thousands of windows, and Spark Connect rejects expressions deeper than a
    hundred levels.
    """
    scn, middle = F.col("scn"), len(windows) // 2
    if not windows:
        return F.lit(None).cast("bigint")
    if middle == 0:
        (window,) = windows
        return F.when((scn >= window.start) & (scn < window.end), F.lit(window.start).cast("bigint"))
    before, after = _window_start(windows[:middle]), _window_start(windows[middle:])
    return F.when(scn < windows[middle].start, before).otherwise(after)
