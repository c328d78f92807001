"""Copy a version of a Delta table without its data: the copy's log names the files of the other one."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from redolake.apply.delta.commit import Tag
from redolake.apply.delta.owner import Owner
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Terms, commit
from redolake.apply.spark.quoting import table_at
from redolake.values.table import TableId


def copy_version(
    spark: SparkSession,
    table_id: TableId,
    source: str,
    version: int,
    target: str,
    app_id: str,
    position: int,
    metadata: Mapping[str, object],
    *,
    is_whole: bool = False,
) -> None:
    """Make a table at `target` with the contents of a version of `source`, which is complete to `position`. Changes that are
    merged into it do not reach the other one. A whole copy has files of its own: those of the other one may go."""
    table, terms = DeltaTable(spark, target, app_id), Terms(table_id, Owner.of(app_id))
    clone = f"CREATE TABLE {table_at(target)} SHALLOW CLONE {table_at(source)} VERSION AS OF {int(version)}"
    with commit(table, terms, Tag("", 0, metadata), "copy") as writer:
        writer.run(clone)
    tag = Tag(app_id, position, metadata)  # Delta does not copy the positions of the other one
    with commit(table, terms, tag, "copy's rows" if is_whole else "copy's position") as writer:
        if is_whole:
            writer.replace(spark.read.format("delta").option("versionAsOf", version).load(source))
        else:
            writer.append(spark.createDataFrame([], table.schema))
