"""Two rows of Oracle that an expression gives one key in the lake, although it was declared to keep keys apart.

Within a batch the net change finds both (net_change.py). A row that enters a key as the first of the batch must find it free
in the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.apply.landed.keys import is_moved
from redolake.apply.landed.mapped_changes import KEY_IN_ORACLE
from redolake.apply.net.net_change import ENTERED, ORDER
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.text import as_text
from redolake.apply.target import TargetColumn
from redolake.values import frames
from redolake.values.redo import Operation

ENTERS = "enters"  # of a change: a row comes to the key that it has after it


def with_entering(decoded: DataFrame, key: Sequence[int]) -> DataFrame:
    code = F.col("operation_code")
    return decoded.withColumn(ENTERS, (code == Operation.INSERT) | ((code == Operation.UPDATE) & is_moved(key)))


def with_collisions(happened: DataFrame, target: DataFrame, key: Sequence[TargetColumn]) -> DataFrame:
    """Return the events with a finding where a row enters a key that another row of the target has."""
    keys = [frames.key(column.id) for column in key]
    is_first = F.row_number().over(Window.partitionBy(*keys).orderBy(*ORDER)) == 1
    is_new = is_first & F.col(ENTERS) & (F.col("event") == ENTERED)
    there = target.select(*(F.col(quote(c.name)).alias(frames.key(c.id)) for c in key), F.lit(True).alias("is_taken"))
    shown = F.concat_ws(", ", *(as_text(F.col(name)) for name in keys))
    what = F.concat(
        F.lit("two keys of Oracle become one: "), F.col(KEY_IN_ORACLE), F.lit(", and that of another row, are both "), shown
    )
    found = F.struct("commit_scn", "scn", F.lit("MappingFailed").alias("code"), what.alias("what"))
    placed = happened.withColumn("is_new", is_new).join(there, keys, "left")
    is_wrong = F.col("is_new") & F.coalesce("is_taken", F.lit(False))
    finding = F.coalesce("finding", F.when(is_wrong, found))
    return placed.withColumn("finding", finding).drop("is_new", "is_taken", ENTERS, KEY_IN_ORACLE)
