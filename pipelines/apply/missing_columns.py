"""What an UPDATE neither sets nor tells, and what it therefore leaves as it was: with supplemental logging of the key alone
every column but those it sets; and rows older than a column, which Oracle does not rewrite on ADD COLUMN: their redo shows
it as NULL or not at all, while every SELECT shows its default.

Taken from the batch's earlier changes of the same row (told by ROW_ID), else from the row in the target, found by the key it
had before the batch. Only batches with such updates pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.apply.delta.quoting import quoted
from pipelines.apply.delta.schema import TargetColumn
from pipelines.apply.shallow import any_of
from pipelines.redo import CHANGE_ORDER, Operation

# Up to this many changes their keys are sent to every worker, so that the target is read once and not shuffled.
MOST_KEYS_TO_BROADCAST = 500_000


def open_columns(decoded: DataFrame, columns: Sequence[TargetColumn]) -> list[TargetColumn]:
    """Those of `columns` that some update leaves open."""
    if not columns:
        return []
    row = decoded.agg(*(F.max(f"u{c.id}").alias(f"u{c.id}") for c in columns)).collect()[0]
    return [column for column in columns if row[f"u{column.id}"]]


def complete(
    changes: DataFrame, target: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn], count: int
) -> DataFrame:
    """Resolves a<id> of each of `columns` where u<id> says it is unknown, and drops u<id>. `count` is how many changes."""
    told = _told(changes, columns, key)
    told = told.withColumn("untold", any_of(F.col(f"u{c.id}") & F.col(f"told{c.id}").isNull() for c in columns))
    joined = told.join(_before(told, target, columns, key, count), ["untold", *(f"first{k.id}" for k in key)], "left")
    lost = F.col("untold") & F.col("there").isNull()
    values = {f"a{c.id}": _value(c) for c in columns}
    finding = F.coalesce("finding", F.when(lost, _not_there(columns)))
    keep = [name for name in changes.columns if not (name.startswith("u") and name[1:].isdigit())]
    return joined.withColumns({**values, "finding": finding}).select(*keep)


def _told(changes: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn]) -> DataFrame:
    """first<id> is the key before the row's first change, told<id> the last value that its changes so far have told.

    A ROWID may be used again: an INSERT begins another row, and a DELETE leaves nothing that an update could keep.
    """
    row = Window.partitionBy("row_id").orderBy(*CHANGE_ORDER)
    life = Window.partitionBy("row_id", "life").orderBy(*CHANGE_ORDER)
    code = F.col("operation_code")
    told = changes.withColumn("life", F.sum(F.when(code.isin(Operation.INSERT, Operation.DELETE), 1).otherwise(0)).over(row))
    first = {f"first{k.id}": F.first(F.when(code == Operation.UPDATE, F.col(f"b{k.id}"))).over(life) for k in key}
    values = {
        c.id: F.when(~F.col(f"u{c.id}") & (code != Operation.DELETE), F.struct(F.col(f"a{c.id}").alias("value")))
        for c in columns
    }
    return told.withColumns({**first, **{f"told{i}": F.last(v, ignorenulls=True).over(life) for i, v in values.items()}})


def _before(
    told: DataFrame, target: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn], count: int
) -> DataFrame:
    """The rows of the target that are asked for: t<id> of each of `columns`, by first<id>."""
    firsts = [f"first{k.id}" for k in key]
    wanted = told.filter("untold").select("untold", *firsts).distinct()
    if count <= MOST_KEYS_TO_BROADCAST:
        wanted = F.broadcast(wanted)
    named = target.select(
        *(F.col(quoted(k.name)).alias(f"first{k.id}") for k in key),
        *(F.col(quoted(c.name)).alias(f"t{c.id}") for c in columns),
        F.lit(True).alias("there"),
    )
    return named.join(wanted, firsts)


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
