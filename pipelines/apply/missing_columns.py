"""Fill in the columns that an UPDATE's redo does not contain: from earlier changes in the batch, else from the target row.

With supplemental logging of the key alone the redo contains only the key and the columns that SET names. Rows older than a
column miss it too: Oracle does not rewrite them on ADD COLUMN, so their redo shows NULL or nothing where SELECT shows the
default. Changes of one row share their ROW_ID; the target row is found by the key it had before the batch.
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

# Up to this many changes the keys are broadcast to every worker, so that the target is read once and not shuffled.
MOST_KEYS_TO_BROADCAST = 500_000


def columns_with_missing(decoded: DataFrame, columns: Sequence[TargetColumn]) -> list[TargetColumn]:
    """Return those of `columns` that the redo of some UPDATE does not contain."""
    if not columns:
        return []
    row = decoded.agg(*(F.max(f"u{c.id}").alias(f"u{c.id}") for c in columns)).collect()[0]
    return [column for column in columns if row[f"u{column.id}"]]


def fill_missing(
    changes: DataFrame, target: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn], count: int
) -> DataFrame:
    """Resolve a<id> of each of `columns` where u<id> is true, and drop u<id>. `count` is the number of changes."""
    known = _known(changes, columns, key)
    known = known.withColumn("unresolved", any_of(F.col(f"u{c.id}") & F.col(f"known{c.id}").isNull() for c in columns))
    joined = known.join(_before(known, target, columns, key, count), ["unresolved", *(f"first{k.id}" for k in key)], "left")
    not_found = F.col("unresolved") & F.col("there").isNull()
    values = {f"a{c.id}": _value(c) for c in columns}
    finding = F.coalesce("finding", F.when(not_found, _no_target_row(columns)))
    keep = [name for name in changes.columns if not (name.startswith("u") and name[1:].isdigit())]
    return joined.withColumns({**values, "finding": finding}).select(*keep)


def _known(changes: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn]) -> DataFrame:
    """Add first<id>, the key before the row's first change, and known<id>, the last value in its changes so far.

    Oracle reuses ROWIDs: an INSERT begins another row, and a DELETE leaves no value that an UPDATE could keep. `use`
    numbers the rows that had the same ROWID.
    """
    row = Window.partitionBy("row_id").orderBy(*CHANGE_ORDER)
    use = Window.partitionBy("row_id", "use").orderBy(*CHANGE_ORDER)
    code = F.col("operation_code")
    known = changes.withColumn("use", F.sum(F.when(code.isin(Operation.INSERT, Operation.DELETE), 1).otherwise(0)).over(row))
    first = {f"first{k.id}": F.first(F.when(code == Operation.UPDATE, F.col(f"b{k.id}"))).over(use) for k in key}
    values = {
        c.id: F.when(~F.col(f"u{c.id}") & (code != Operation.DELETE), F.struct(F.col(f"a{c.id}").alias("value")))
        for c in columns
    }
    return known.withColumns({**first, **{f"known{i}": F.last(v, ignorenulls=True).over(use) for i, v in values.items()}})


def _before(
    known: DataFrame, target: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn], count: int
) -> DataFrame:
    """Return the target rows that are needed: t<id> of each of `columns`, by first<id>."""
    firsts = [f"first{k.id}" for k in key]
    wanted = known.filter("unresolved").select("unresolved", *firsts).distinct()
    if count <= MOST_KEYS_TO_BROADCAST:
        wanted = F.broadcast(wanted)
    named = target.select(
        *(F.col(quoted(k.name)).alias(f"first{k.id}") for k in key),
        *(F.col(quoted(c.name)).alias(f"t{c.id}") for c in columns),
        F.lit(True).alias("there"),
    )
    return named.join(wanted, firsts)


def _value(column: TargetColumn) -> Expression:
    known = F.col(f"known{column.id}")
    value = F.when(known.isNotNull(), known["value"]).otherwise(F.col(f"t{column.id}"))
    return F.when(F.col(f"u{column.id}"), value).otherwise(F.col(f"a{column.id}"))


def _no_target_row(columns: Sequence[TargetColumn]) -> Expression:
    names = ", ".join(column.name for column in columns)
    return F.struct(
        F.col("commit_scn"),
        F.col("scn"),
        F.lit("RedoNotUnderstood").alias("code"),
        F.lit(f"the redo of an UPDATE does not contain {names}, and the row is not in the target").alias("what"),
    )
