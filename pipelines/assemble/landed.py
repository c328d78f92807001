"""Landed and carried redo rows as one DataFrame, each with the window it belongs to. Reads, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.batch import LandedWindow

LANDED = (
    "slice INT, ordinal BIGINT, thread INT, sequence BIGINT, rs_id STRING, ssn BIGINT, scn BIGINT, start_scn BIGINT, "
    "at TIMESTAMP_NTZ, xid STRING, pxid STRING, con_id INT, con_name STRING, operation STRING, operation_code INT, "
    "seg_owner STRING, table_name STRING, object_id BIGINT, data_object_id BIGINT, object_version BIGINT, row_id STRING, "
    "rollback BOOLEAN, status INT, info STRING, username STRING, sql_redo STRING"
)
CARRIED = f"{LANDED}, window_start BIGINT"
CARRIED_COLUMNS = tuple(column.split()[0] for column in CARRIED.split(", "))

# A row's name and, within a transaction, its place.
ROW_KEY = ("window_start", "slice", "ordinal")


def read_rows(spark: SparkSession, windows: Sequence[LandedWindow], carry_in: Sequence[str]) -> DataFrame:
    """Every row of the windows and of the carry-over, with `window_start` and `carried`."""
    files = [file for window in windows for file in window.files]
    landed = (
        _parquet(spark, LANDED, files)
        .withColumn("window_start", _window_start(sorted(windows, key=attrgetter("start"))))
        .withColumn("carried", F.lit(False))
    )
    carried = _parquet(spark, CARRIED, carry_in).withColumn("carried", F.lit(True))
    return landed if not carry_in else landed.unionByName(carried)


def _parquet(spark: SparkSession, schema: str, files: Sequence[str]) -> DataFrame:
    """Every file or none: a cluster may be set to leave out what it cannot read, and nothing here would count those rows."""
    every = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
    return spark.read.schema(schema).options(**every).parquet(*files) if files else spark.createDataFrame([], schema)


def _window_start(windows: Sequence[LandedWindow]) -> Expression:
    """Windows are cut by SCN, so a row's SCN tells its window; NULL for a row that lies in none. Found by halving, for a batch
    may have thousands of them, and Spark Connect reads no expression of more than a hundred levels."""
    scn, middle = F.col("scn"), len(windows) // 2
    if not windows:
        return F.lit(None).cast("bigint")
    if middle == 0:
        (window,) = windows
        return F.when((scn >= window.start) & (scn < window.end), F.lit(window.start).cast("bigint"))
    before, behind = _window_start(windows[:middle]), _window_start(windows[middle:])
    return F.when(scn < windows[middle].start, before).otherwise(behind)
