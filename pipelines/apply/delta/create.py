"""Create a Delta table for a table version, with our column ids and no feature that it does not need yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from pipelines import crash
from pipelines.apply.context import ApplyContext
from pipelines.apply.delta.commit import Tag
from pipelines.apply.delta.schema import target_schema
from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.translation import Translation
from pipelines.records.batch_spec import TableTask
from pipelines.table import Rules, TableVersion


def overwrite(frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    """Commit schema, properties and contents at once, whether or not there is a table."""
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    for key, value in options.items():
        writer = writer.option(key, value)
    writer.save(path)


def create_table(
    spark: SparkSession, path: str, version: TableVersion, rules: Rules, translation: Translation, tag: Tag | None = None
) -> None:
    """Create an empty table, at the tag's position or without one."""
    options = {} if tag is None else tag.options()
    overwrite(spark.createDataFrame([], target_schema(version, rules, translation)), path, options)


def create_shadow(context: ApplyContext, table: DeltaTable, task: TableTask) -> None:
    """Create the empty shadow table that the task asks for, unless it is there, under the version of its first SCN."""
    if task.shadow_from is None or table.log is not None:
        return
    version = valid_from(task.versions, task.shadow_from)
    tag = Tag(task.app_id, task.shadow_from - 1, context.metadata)
    create_table(context.spark, task.target, version, task.rules, context.translation, tag)
    table.refresh()
    crash.point("shadow")


def valid_from(versions: Sequence[TableVersion], scn: int) -> TableVersion:
    return ([version for version in versions if version.from_scn <= scn] or list(versions[:1]))[-1]
