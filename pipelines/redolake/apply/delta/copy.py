"""Copy a version of a Delta table without its data: the copy's log names the files of the other one."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from redolake.apply.delta.commit import Tag
from redolake.apply.delta.table import DeltaTable
from redolake.apply.spark.quoting import table_at
from redolake.apply.spark.session import run_sql
from redolake.host import crash


def copy_version(
    spark: SparkSession, source: str, version: int, target: str, app_id: str, position: int, metadata: Mapping[str, object]
) -> None:
    """Make a table at `target` with the contents of a version of `source`, which is complete to `position`. Changes that are
    merged into it do not reach the other one."""
    run_sql(spark, f"CREATE TABLE {table_at(target)} SHALLOW CLONE {table_at(source)} VERSION AS OF {int(version)}")
    crash.point("copy")
    table = DeltaTable(spark, target, app_id)
    tag = Tag(app_id, position, metadata)  # Delta does not copy the positions of the other one
    spark.createDataFrame([], table.schema).write.format("delta").mode("append").options(**tag.options()).save(target)
    crash.point("copy's position")


def copy_whole(
    spark: SparkSession, source: str, version: int, target: str, app_id: str, position: int, metadata: Mapping[str, object]
) -> None:
    """Make a table at `target` as `copy_version` does, with files of its own: the other one's may go."""
    run_sql(spark, f"CREATE TABLE {table_at(target)} SHALLOW CLONE {table_at(source)} VERSION AS OF {int(version)}")
    crash.point("copy")
    tag = Tag(app_id, position, metadata)
    rows = spark.read.format("delta").option("versionAsOf", version).load(source)
    writer = rows.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "static")
    writer.options(**tag.options()).save(target)
    crash.point("copy's rows")
