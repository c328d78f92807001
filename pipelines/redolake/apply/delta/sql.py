"""The name of a Delta table in Spark SQL."""

from __future__ import annotations

from redolake.apply.spark.quoting import quote


def table_at(path: str) -> str:
    return f"delta.{quote(path)}"
