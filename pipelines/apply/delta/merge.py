"""MERGE the net changes into the Delta table; append the changes of an append-only table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines import crash
from pipelines.apply.delta.commit import Tag, described, tagged
from pipelines.apply.delta.features import enabling, has_feature
from pipelines.apply.delta.quoting import quoted, table_at
from pipelines.apply.delta.schema import COMMIT_SCN, TargetColumn
from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.net import OBJECTS, REMOVE, UPSERT
from pipelines.target_options import Readers

VIEW = "redolake_net_change"
DELETION_VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"
# For a table this small MERGE is cheaper when it rewrites the files than when it marks rows as deleted, and the table keeps
# few files. The replaced files stay until VACUUM, which is why larger tables get deletion vectors.
REWRITTEN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows that one or more commits changed."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __add__(self, other: Merged) -> Merged:
        return Merged(self.inserted + other.inserted, self.updated + other.updated, self.deleted + other.deleted)


def marks_deleted(table: DeltaTable, readers: Readers) -> bool:
    """Return whether MERGE marks replaced rows in deletion vectors, as opposed to writing the files again."""
    size = None if table.log is None else table.log.table_bytes()
    return readers == "spark" and (size is None or size > REWRITTEN_BYTES)


def merge(
    table: DeltaTable,
    net: DataFrame,
    key: Sequence[int],
    tag: Tag,
    readers: Readers = "spark",
    objects: Collection[int] = (),
) -> Merged:
    """`objects` are the columns with large objects: they are set where `is_read`."""
    columns, spark = tuple(table.columns.values()), table.spark
    is_read = ["is_read"] if objects else []
    names = ("op", "commit_scn", *(f"k{i}" for i in key), *(f"a{c.id}" for c in columns), *is_read)
    net.select(*names).createOrReplaceTempView(VIEW)
    marks = marks_deleted(table, readers)
    if marks and table.log is not None and not has_feature(table.log, "deletionVectors"):
        with described(spark, tag.metadata):
            spark.sql(f"ALTER TABLE {table_at(table.path)} {enabling('deletionVectors')}").collect()
        crash.point("feature")
    try:
        with tagged(spark, tag):
            spark.conf.set(DELETION_VECTORS, "true" if marks else "false")
            answer = spark.sql(merge_sql(table.path, VIEW, columns, key, objects)).collect()
    finally:
        spark.catalog.dropTempView(VIEW)
    if not answer:  # Delta has this txn version already and skipped the commit
        return Merged()
    row = answer[0]
    return Merged(row["num_inserted_rows"], row["num_updated_rows"], row["num_deleted_rows"])


def merge_sql(
    path: str, source: str, columns: Sequence[TargetColumn], key: Sequence[int], objects: Collection[int] = ()
) -> str:
    names = {column.id: quoted(column.name) for column in columns}
    same_key = " AND ".join(f"t.{names[i]} = s.k{i}" for i in key)

    def value(column: TargetColumn) -> str:
        name = names[column.id]
        return f"CASE WHEN s.is_read THEN s.a{column.id} ELSE t.{name} END" if column.id in objects else f"s.a{column.id}"

    scn = f"t.{COMMIT_SCN} = s.commit_scn"
    sets = ", ".join([*(f"t.{names[c.id]} = {value(c)}" for c in columns), scn])
    alone = ", ".join([*(f"t.{names[c.id]} = {value(c)}" for c in columns if c.id in objects), scn])
    objects_alone = f"WHEN MATCHED AND s.op = '{OBJECTS}' THEN UPDATE SET {alone}\n" if objects else ""
    inserted = ", ".join([*(names[c.id] for c in columns), COMMIT_SCN])
    values = ", ".join([*(f"s.a{c.id}" for c in columns), "s.commit_scn"])
    return (
        f"MERGE INTO {table_at(path)} AS t USING {source} AS s ON {same_key}\n"
        f"WHEN MATCHED AND s.op = '{REMOVE}' THEN DELETE\n"
        f"{objects_alone}"
        f"WHEN MATCHED THEN UPDATE SET {sets}\n"
        f"WHEN NOT MATCHED AND s.op = '{UPSERT}' THEN INSERT ({inserted}) VALUES ({values})"
    )


def append(table: DeltaTable, changes: DataFrame, tag: Tag, count: int) -> Merged:
    columns = table.columns.values()
    rows = changes.select(
        *(F.col(f"a{c.id}").cast(c.type).alias(c.name) for c in columns), F.col("commit_scn").alias(COMMIT_SCN)
    )
    rows.write.format("delta").mode("append").options(**tag.options()).save(table.path)
    return Merged(inserted=count)
