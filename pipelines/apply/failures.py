"""Decide whether a failure concerns one table, or the session, the lake or another writer."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from pipelines.arrow_check import CURE, FAULT
from pipelines.errors import ConfigurationError, Finding, LakeFull, SparkLost, Transient, VersionRemoved
from pipelines.table import TableId

NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large")  # ENOSPC, EDQUOT, EFBIG in the JVM's words

NO_FILE = (
    "FILE_NOT_EXIST",
    "FileNotFoundException",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
)


def check_session(spark: SparkSession, surprise: Exception) -> None:
    """Raise when the failure does not concern one table: no space is left, the workers' pyarrow is faulty, another writer
    committed, or the session failed."""
    check_space(surprise)
    if FAULT in str(surprise):
        raise ConfigurationError([Finding("pyarrow of Spark's Python workers", FAULT, CURE)]) from surprise
    if "DELTA_CONCURRENT" in str(surprise) or "Concurrent" in type(surprise).__name__:
        raise Transient("another writer changed the table meanwhile", cure="none: the batch is tried again") from surprise
    check_answers(spark, surprise)


def check_answers(spark: SparkSession, surprise: Exception) -> None:
    """Raise SparkLost when the failure has ended the session."""
    try:
        spark.sql("SELECT 1").collect()
    except Exception as failed:
        first_line = str(surprise).strip().partition("\n")[0][:300]
        cure = "none: the batch is tried again in a new session; see the log and the memory of Spark's driver if it comes again"
        raise SparkLost(f"Spark does not answer any more: {first_line or type(surprise).__name__}", cure=cure) from failed


def check_version(surprise: Exception, table: TableId, delta_version: int) -> None:
    """Raise VersionRemoved when the failure says that files of the version are gone."""
    if any(words in str(surprise) for words in NO_FILE):
        raise VersionRemoved(
            f"files of version {delta_version} of the Delta table are gone",
            cure="VACUUM or log retention has removed them. If newer versions exist, verify again when the next batch is "
            "recorded; if that is the newest version, run `redolake snapshot "
            f"{table} --replace`",
            table=table,
            delta_version=delta_version,
        ) from surprise


def check_space(surprise: Exception) -> None:
    """Raise LakeFull when Spark found no space to write."""
    full = next((words for words in NO_SPACE if words in str(surprise)), None)
    if full is not None:
        cure = "free space for the lake and for Spark's own files, and run again: no commit is incomplete, no table is held"
        raise LakeFull(f"Spark cannot write: {full}", cure=cure) from surprise


def unexpected(table: TableId, surprise: Exception) -> dict[str, Any]:
    """Return the error with which an unforeseen failure holds the table."""
    return {
        "code": type(surprise).__name__,
        "what": str(surprise).strip()[:2000],
        "where": {"table": str(table)},
        "cure": f"report it; `redolake resume {table}` tries again, `redolake snapshot {table} --replace` rebuilds the table",
    }
