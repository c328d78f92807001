"""MERGE of net changes into the target, and its text; for a table of INSERTs only an append of the changes as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.apply.delta.commit import Tag
from pipelines.apply.delta.log import table_bytes
from pipelines.apply.delta.quoting import quoted, table_at
from pipelines.apply.delta.schema import COMMIT_SCN, TargetColumn
from pipelines.apply.net import REMOVE, UPSERT

VIEW = "redolake_net_change"
DELETION_VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"
# To mark rows as deleted costs MERGE more than to write so small a table anew, which leaves it in few files besides. What was
# replaced stays until VACUUM: hence no more.
REWRITTEN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Merged:
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __add__(self, other: Merged) -> Merged:
        return Merged(self.inserted + other.inserted, self.updated + other.updated, self.deleted + other.deleted)


def merge(spark: SparkSession, path: str, net: DataFrame, columns: Sequence[TargetColumn], key: Sequence[int]) -> Merged:
    net.select("op", "commit_scn", *(f"k{i}" for i in key), *(f"a{c.id}" for c in columns)).createOrReplaceTempView(VIEW)
    size = table_bytes(path)
    try:
        spark.conf.set(DELETION_VECTORS, "true" if size is None or size > REWRITTEN_BYTES else "false")
        answer = spark.sql(merge_sql(path, VIEW, columns, key)).collect()
    finally:
        spark.catalog.dropTempView(VIEW)
    if not answer:  # Delta skipped it: the txn version is there already
        return Merged()
    row = answer[0]
    return Merged(row["num_inserted_rows"], row["num_updated_rows"], row["num_deleted_rows"])


def merge_sql(path: str, source: str, columns: Sequence[TargetColumn], key: Sequence[int]) -> str:
    names = {column.id: quoted(column.name) for column in columns}
    same_key = " AND ".join(f"t.{names[i]} = s.k{i}" for i in key)
    sets = ", ".join([*(f"t.{names[c.id]} = s.a{c.id}" for c in columns), f"t.{COMMIT_SCN} = s.commit_scn"])
    inserted = ", ".join([*(names[c.id] for c in columns), COMMIT_SCN])
    values = ", ".join([*(f"s.a{c.id}" for c in columns), "s.commit_scn"])
    return (
        f"MERGE INTO {table_at(path)} AS t USING {source} AS s ON {same_key}\n"
        f"WHEN MATCHED AND s.op = '{REMOVE}' THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {sets}\n"
        f"WHEN NOT MATCHED AND s.op = '{UPSERT}' THEN INSERT ({inserted}) VALUES ({values})"
    )


def append(path: str, changes: DataFrame, columns: Sequence[TargetColumn], tag: Tag, count: int) -> Merged:
    rows = changes.select(
        *(F.col(f"a{c.id}").cast(c.type).alias(c.name) for c in columns), F.col("commit_scn").alias(COMMIT_SCN)
    )
    rows.write.format("delta").mode("append").options(**tag.options()).save(path)
    return Merged(inserted=count)


def count_all(changes: DataFrame) -> tuple[int, Any]:
    """How many changes there are, and the first finding."""
    row = changes.agg(F.count("*").alias("changes"), F.min("finding").alias("finding")).collect()[0]
    return int(row["changes"]), row["finding"]


def total(net: DataFrame) -> tuple[int, Any]:
    """How many changes the net change stands for, and the first finding."""
    row = net.agg(F.coalesce(F.sum("changes"), F.lit(0)).alias("changes"), F.min("finding").alias("finding")).collect()[0]
    return int(row["changes"]), row["finding"]
