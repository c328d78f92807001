"""Rows older than a column: Oracle does not rewrite them on ADD COLUMN, so their redo shows it as NULL or not at all, while
every SELECT shows its default. What an UPDATE neither sets nor tells is taken from the batch's earlier changes of the same
row, else from the row in the target, found by the key it had before the batch.

Only batches with such updates pay for it: the changes are sorted by ROW_ID and joined with the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.apply.decoded import INSERT
from pipelines.apply.quoting import quoted
from pipelines.apply.target import TargetColumn
from pipelines.batch import CHANGE_ORDER


def open_columns(decoded: DataFrame, columns: Sequence[TargetColumn]) -> list[TargetColumn]:
    """Those of `columns` that some update leaves open."""
    if not columns:
        return []
    row = decoded.agg(*(F.max(f"u{c.id}").alias(f"u{c.id}") for c in columns)).collect()[0]
    return [column for column in columns if row[f"u{column.id}"]]


def complete(changes: DataFrame, target: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn]) -> DataFrame:
    """Resolves a<id> of each of `columns` where u<id> says it is unknown, and drops u<id>."""
    row = Window.partitionBy("row_id").orderBy(*CHANGE_ORDER)
    life = Window.partitionBy("row_id", "life").orderBy(*CHANGE_ORDER)  # a ROWID may be used again
    told = changes.withColumn("life", F.sum(F.when(F.col("operation_code") == INSERT, 1).otherwise(0)).over(row))
    told = told.withColumns({f"first{k.id}": F.first(f"b{k.id}").over(life) for k in key})
    told = told.withColumns(
        {
            f"told{c.id}": F.last(
                F.when(~F.col(f"u{c.id}"), F.struct(F.col(f"a{c.id}").alias("value"))), ignorenulls=True
            ).over(life)
            for c in columns
        }
    )
    untold = F.lit(False)
    for column in columns:
        untold = untold | (F.col(f"u{column.id}") & F.col(f"told{column.id}").isNull())
    before = target.select(
        *(F.col(quoted(k.name)).alias(f"t{k.id}") for k in key),
        *(F.col(quoted(c.name)).alias(f"t{c.id}") for c in columns),
        F.lit(True).alias("there"),
    )
    same_row = untold
    for k in key:
        same_row = same_row & (F.col(f"first{k.id}") == F.col(f"t{k.id}"))
    joined = told.join(before, same_row, "left")
    lost = untold & F.col("there").isNull()
    values = {f"a{c.id}": _value(c) for c in columns}
    finding = F.coalesce("finding", F.when(lost, _not_there(columns)))
    keep = [name for name in changes.columns if not (name.startswith("u") and name[1:].isdigit())]
    return joined.withColumns({**values, "finding": finding}).select(*keep)


def _value(column: TargetColumn) -> Expression:
    told = F.col(f"told{column.id}")
    value = F.when(told.isNotNull(), told["value"]).otherwise(F.col(f"t{column.id}"))
    return F.when(F.col(f"u{column.id}"), value).otherwise(F.col(f"a{column.id}"))


def _not_there(columns: Sequence[TargetColumn]) -> Expression:
    names = ", ".join(column.name for column in columns)
    return F.struct(
        F.col("commit_scn"),
        F.col("scn"),
        F.lit("RedoNotUnderstood").alias("code"),
        F.lit(f"an update leaves open the value of {names}, and the row is not in the target").alias("what"),
    )
