"""Create a Delta table for a table version, with our column ids and no feature that it does not need yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from redolake.apply.context import ApplyContext
from redolake.apply.delta.commit import Tag
from redolake.apply.delta.features import NAMES_FEATURES, PROPERTY, feature_of_name
from redolake.apply.delta.schema import target_schema
from redolake.apply.delta.table import DeltaTable
from redolake.apply.translation import Translation
from redolake.host import crash
from redolake.records.batches.spec import TableTask
from redolake.values.lake_columns import with_lake_names
from redolake.values.table import Rules, TableVersion
from redolake.values.target_options import DEFAULT, TargetOptions


def overwrite(frame: DataFrame, path: str, tag: Mapping[str, str], options: TargetOptions = DEFAULT) -> None:
    """Commit schema and contents at once, whether or not there is a table; for a new one the properties of Delta too."""
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    properties = {key: value for key, value in options.properties if key.startswith("delta.")}
    if any(map(feature_of_name, frame.columns)):
        properties.update(PROPERTY[feature] for feature in ("columnMapping", NAMES_FEATURES))
    for key, value in {**properties, **tag}.items():
        writer = writer.option(key, value)
    if options.partition_by:
        writer = writer.partitionBy(*map(options.name, options.partition_by))
    writer.save(path)


def create_table(
    spark: SparkSession,
    path: str,
    version: TableVersion,
    rules: Rules,
    translation: Translation,
    tag: Tag | None = None,
    options: TargetOptions = DEFAULT,
) -> None:
    """Create an empty table, at the tag's position or without one."""
    schema = target_schema(with_lake_names(version, options), rules, translation, options)
    overwrite(spark.createDataFrame([], schema), path, {} if tag is None else tag.options(), options)


def create_shadow(context: ApplyContext, table: DeltaTable, task: TableTask) -> None:
    """Create the empty shadow table that the task asks for, unless it is there, under the version of its first SCN."""
    if task.shadow_from is None or table.log is not None:
        return
    version = valid_from(task.versions, task.shadow_from)
    tag = Tag(task.app_id, task.shadow_from - 1, context.metadata)
    create_table(context.spark, task.target, version, task.rules, context.translation, tag, task.options)
    table.refresh()
    crash.point("shadow")


def valid_from(versions: Sequence[TableVersion], scn: int) -> TableVersion:
    return ([version for version in versions if version.from_scn <= scn] or list(versions[:1]))[-1]
