"""Copy a version of a Delta table without its data: the copy's log names the files of the other one."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from redolake.apply.delta.commit import Tag
from redolake.apply.delta.log import VersionToRead
from redolake.apply.delta.owner import Owner
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Terms, commit
from redolake.apply.spark.quoting import table_at


def copy_version(spark: SparkSession, one: VersionToRead, metadata: Mapping[str, object], *, is_whole: bool = False) -> None:
    """Make the copy of a version. Changes that are merged into it do not reach the other table. A whole copy has files of its
    own: those of the other one may go."""
    assert one.copy is not None
    app_id = one.app_id + one.load
    table, terms = DeltaTable(spark, one.copy, app_id), Terms(one.table, Owner.of(app_id))
    clone = f"CREATE TABLE {table_at(one.copy)} SHALLOW CLONE {table_at(one.path)} VERSION AS OF {int(one.version)}"
    with commit(table, terms, Tag("", 0, metadata), "copy") as writer:
        writer.run(clone)
    tag = Tag(app_id, one.complete_to, metadata)  # Delta does not copy the positions of the other one
    with commit(table, terms, tag, "copy's rows" if is_whole else "copy's position") as writer:
        if is_whole:
            writer.replace(spark.read.format("delta").option("versionAsOf", one.version).load(one.path))
        else:
            writer.append(spark.createDataFrame([], table.schema))
