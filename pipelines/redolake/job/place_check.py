"""Read and write a small text through Spark, to see whether it reaches the same folder or bucket as this process."""

from __future__ import annotations

from typing import Any


def read_text(spark: Any, url: str) -> str:
    """Return the text of a file as Spark reads it."""
    return "\n".join(row.value for row in spark.read.text(url).collect())


def write_text(spark: Any, url: str, text: str) -> None:
    """Write the text into a new folder of Spark's, as one file."""
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.text(url)
