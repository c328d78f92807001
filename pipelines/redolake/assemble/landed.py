"""Read landed and carried-over redo rows into one DataFrame, each with the window it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from redolake.host.parquet_frames import read_parquet
from redolake.records.batches.spec import LandedWindow
from redolake.values.landed_schema import CARRIED_SCHEMA, LANDED_SCHEMA

# Identifies a row, and orders the rows of a transaction.
ROW_KEY = ("window_start", "slice", "ordinal")
# Each bound of the search has the list of all bounds in it. More windows are a backlog, whose code is worth to be compiled.
MOST_LISTED_WINDOWS = 8


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
    """Read all of the files. A cluster may be configured to skip unreadable files, whose rows would then be in no count. A bit
    that changes after the files were checked shows in the checksum of its page."""
    schema = from_arrow_schema(arrow_schema, prefer_timestamp_ntz=True)
    read_all = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false", "parquet.page.verify-checksum.enabled": "true"}
    return read_parquet(spark, files, schema, read_all) if files else spark.createDataFrame([], schema)


def _window_start(windows: Sequence[LandedWindow]) -> Expression:
    """Return an expression for the start of the window that contains the row's SCN, NULL where there is none.

    It is a binary search: a batch may have thousands of windows, and Spark Connect rejects expressions deeper than a
    hundred levels.
    """
    scn, bounds = F.col("scn"), _bounds(windows)

    def search(first: int, last: int) -> Expression:
        if last - first == 1:
            start, end = bounds[2 * first : 2 * last]
            return F.when((scn >= start) & (scn < end), start)
        middle = (first + last) // 2
        return F.when(scn < bounds[2 * middle], search(first, middle)).otherwise(search(middle, last))

    return search(0, len(windows)) if windows else F.lit(None).cast("bigint")


def _bounds(windows: Sequence[LandedWindow]) -> list[Expression]:
    """Return the start and the end of each window.

    Those of few windows are looked up in a list, so that Spark's code for a batch has no SCN in it, and is compiled for the
    first batch alone. The index depends on a column, as a constant one would be folded to the SCN again.
    """
    scns = [scn for window in windows for scn in (window.start, window.end)]
    if len(windows) > MOST_LISTED_WINDOWS:
        return [F.lit(scn).cast("bigint") for scn in scns]
    listed = F.expr(f"array({', '.join(f'{scn}L' for scn in scns)})")
    return [F.get(listed, F.when(F.col("scn").isNotNull(), F.lit(number))) for number in range(len(scns))]
