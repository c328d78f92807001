"""Make a Delta table for a table version: column mapping by name, type widening, deletion vectors, our column ids."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from pipelines.apply.target import PROPERTIES, target_schema
from pipelines.apply.translation import Translation
from pipelines.batch import Rules
from pipelines.table import TableVersion


def overwrite(frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    """Schema, properties and contents in one commit, whether or not a table is there."""
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    for key, value in {**PROPERTIES, **options}.items():
        writer = writer.option(key, value)
    writer.save(path)


def create_table(spark: SparkSession, path: str, version: TableVersion, rules: Rules, translation: Translation) -> None:
    """An empty table without a position."""
    overwrite(spark.createDataFrame([], target_schema(version, rules, translation)), path, {})
