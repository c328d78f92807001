"""Make a Delta table for a table version: column mapping by name, type widening, deletion vectors, our column ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from pipelines import crash
from pipelines.apply.delta.commit import Tag
from pipelines.apply.delta.log import latest_version
from pipelines.apply.delta.schema import PROPERTIES, target_schema
from pipelines.apply.translation import Translation
from pipelines.records.batch_spec import TableTask
from pipelines.table import Rules, TableVersion


def overwrite(frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    """Schema, properties and contents in one commit, whether or not a table is there."""
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    for key, value in {**PROPERTIES, **options}.items():
        writer = writer.option(key, value)
    writer.save(path)


def create_table(
    spark: SparkSession, path: str, version: TableVersion, rules: Rules, translation: Translation, tag: Tag | None = None
) -> None:
    """An empty table, with the tag's position or with none."""
    options = {} if tag is None else tag.options()
    overwrite(spark.createDataFrame([], target_schema(version, rules, translation)), path, options)


def create_shadow(spark: SparkSession, task: TableTask, metadata: Mapping[str, object], translation: Translation) -> None:
    """For a task that asks for one: an empty table under the version of its first SCN, where there is none."""
    if task.shadow_from is None or latest_version(task.target) is not None:
        return
    version = valid_from(task.versions, task.shadow_from)
    create_table(spark, task.target, version, task.rules, translation, Tag(task.app_id, task.shadow_from - 1, metadata))
    crash.point("shadow")


def valid_from(versions: Sequence[TableVersion], scn: int) -> TableVersion:
    return ([version for version in versions if version.from_scn <= scn] or list(versions[:1]))[-1]
