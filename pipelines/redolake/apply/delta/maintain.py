"""OPTIMIZE and VACUUM of one Delta table, and how long its history stays.

The commits have no metadata of ours: they change no row, so a comparison goes on to the version that they leave.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import SparkSession

from redolake.apply.delta.log import DeltaLog
from redolake.apply.spark.quoting import table_at, text_literal
from redolake.apply.spark.session import run_sql
from redolake.host import crash

# Files of older versions, and their commits: VACUUM takes the first as its horizon, the second goes with a checkpoint.
RETENTION = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")


def size_of(spark: SparkSession, path: str) -> tuple[int, int]:
    """Return the number of a table's files, and their bytes."""
    detail = run_sql(spark, f"DESCRIBE DETAIL {table_at(path)}")[0]
    return int(detail["numFiles"]), int(detail["sizeInBytes"])


def has_small_files(files: int, size: int, fewest: int, file_bytes: int) -> bool:
    """Return whether a table is worth rewriting: it has many files, and they are small."""
    return files >= fewest and size < files * file_bytes


def rewrite_small_files(spark: SparkSession, path: str) -> None:
    """Rewrite small files into larger ones, in the order of the table's clustering if it has one."""
    run_sql(spark, f"OPTIMIZE {table_at(path)}")
    crash.point("optimize")


def set_retention(spark: SparkSession, path: str, log: DeltaLog, hours: int, others: Collection[str]) -> None:
    """Set how long older versions stay, but what `others` names, which pipelines.yml sets."""
    wanted, have = f"interval {hours} hours", log.properties()
    differing = (name for name in RETENTION if name not in others and have.get(name) != wanted)
    pairs = [f"{text_literal(name)} = {text_literal(wanted)}" for name in differing]
    if pairs:
        run_sql(spark, f"ALTER TABLE {table_at(path)} SET TBLPROPERTIES ({', '.join(pairs)})")
        crash.point("retention")


def vacuum(spark: SparkSession, path: str) -> None:
    """Remove files that no version within the table's retention needs."""
    run_sql(spark, f"VACUUM {table_at(path)}")
    crash.point("vacuum")
