"""The net change per key: MERGE gets one change for all of a row's changes in a batch.

Each change leaves the key before it and enters the key after it. Leaving a key removes only the row with that ROW_ID, so a
swap (1 -> 2 and 2 -> 1 in one statement) ends with both rows in any order of their redo. Per (key, ROW_ID) the last event
counts; at one key a row that stayed wins over rows that left.

A migrated or chained row may show one ROW_ID in one of its changes and another in the next. Two ROW_IDs that both had a key
before their first change are of one row, as a key has no two: it is gone if the last of its changes is a DELETE. Otherwise they
contradict each other: the later change may lack values that the earlier one has.

A row that enters a key after which another ROW_ID leaves it is that row too, and gone. Within one transaction there is a second
reading: a statement that moves rows to other partitions, or shifts keys, lets a new row in before the old one leaves. Then the
number of rows at the key decides: those before the batch, and each that came or went. Only the target knows those before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.apply.landed.keys import has_null, is_moved
from redolake.apply.spark.text import as_text
from redolake.apply.target import REMOVE, REPLACE, UPSERT
from redolake.values import frames
from redolake.values.redo import CHANGE_ORDER, COMMIT_ORDER, Operation

LEFT, ENTERED = 0, 1
ORDER = (*CHANGE_ORDER, "event")


def events(changes: DataFrame, key: Sequence[int], objects: bool = False, nulls: bool = False) -> DataFrame:
    """Return one row per event: k<id> is the key that a change leaves or enters; `weight` is 1 for one event of each change."""
    code = F.col("operation_code")
    moved = is_moved(key)
    if nulls:  # a row without a key leaves as it was, and enters as it is
        moved = moved | has_null(key, frames.key_before)
    happened = (
        F.when(code == Operation.DELETE, F.array(F.lit(LEFT)))
        .when((code == Operation.UPDATE) & moved, F.array(F.lit(LEFT), F.lit(ENTERED)))
        .otherwise(F.array(F.lit(ENTERED)))
    )
    entered = F.col("event") == ENTERED
    keys = {frames.key(i): F.when(entered, F.col(frames.after(i))).otherwise(F.col(frames.key_before(i))) for i in key}
    if objects:  # a row with another key is another row of the target, without the large objects of the old one
        changes = changes.withColumn("touched", F.col("touched") | (moved & (code == Operation.UPDATE)))
    exploded = changes.withColumn("event", F.explode(happened)).withColumns(keys)
    came = F.when(~entered, -1).when((code == Operation.UPDATE) & ~moved, 0).otherwise(1)  # rows at the key that are new
    exploded = exploded.withColumn("came", came)
    return exploded.withColumn("weight", F.when(entered | (code == Operation.DELETE), 1).otherwise(0)).drop(
        *(frames.key_before(i) for i in key)
    )


def without_filtered(happened: DataFrame, *, counts_nulls: bool = False) -> DataFrame:
    """Return the events in which a row that enters a key, and that the filter leaves out (`passes`), leaves it instead."""
    is_out = (F.col("event") == ENTERED) & ~F.col("passes")
    nulled = {"nulled": F.when(is_out, 0).otherwise(F.col("nulled"))} if counts_nulls else {}
    return happened.withColumns({"event": F.when(is_out, F.lit(LEFT)).otherwise(F.col("event")), **nulled}).drop("passes")


def by_key(happened: DataFrame, key: Sequence[int]) -> DataFrame:
    """Shuffle the events once, for all windows over a key's events, or over a row's events at a key."""
    return happened.repartition(*(frames.key(column_id) for column_id in key))


def net_change(
    happened: DataFrame,
    key: Sequence[int],
    objects: bool = False,
    *,
    rows_vanish: bool = False,
    counts_nulls: bool = False,
    asks_target: bool = True,
) -> DataFrame:
    """Return one row per key: k<id>, a<id>, `op` (U, D or R), `commit_scn`, `finding`, and the number of `changes` in it. With
    `objects` also `touched`: whether a change of the row may have given its large objects other values. If rows may vanish
    without redo, as with a dropped partition, the last of several rows at a key counts. With `counts_nulls` also `nulled`: how
    many of their values are NULL by rule. Without `asks_target`, the target may lack rows that were there before: what only it
    could decide has a finding."""
    keys = [frames.key(column_id) for column_id in key]
    order = F.struct(*ORDER)
    of_row = Window.partitionBy(*keys, "row_id")
    of_key = Window.partitionBy(*keys)
    last_of_row = (
        happened.withColumn("newest", F.lead("event").over(of_row.orderBy(*ORDER)).isNull())
        .withColumns(
            {
                "was_there": F.first(F.col("came") < 1).over(of_row.orderBy(*ORDER)),
                "came": F.sum("came").over(of_row),
                "first_code": F.first("operation_code").over(of_row.orderBy(*ORDER)),
                "changes": F.sum("weight").over(of_row),
                "finding": F.min("finding").over(of_row),
                **({"touched": F.max("touched").over(of_row)} if objects else {}),
                **({"nulled": F.sum(F.col("nulled") * F.col("weight")).over(of_row)} if counts_nulls else {}),
            }
        )
        .filter("newest")
    )
    transaction, entered = F.struct(*COMMIT_ORDER), F.col("event") == ENTERED
    left = F.struct(*ORDER, "operation_code")
    last_of_row = last_of_row.withColumns(
        {
            "last_there": F.max(F.when(F.col("was_there"), order)).over(of_key),
            "last_left": F.max(F.when(~entered, left)).over(of_key),
            "last_entered": F.max(F.when(entered, left)).over(of_key),
            "has_two": F.sum(F.col("was_there").cast("int")).over(of_key) > 1,
            "came": F.sum("came").over(of_key),
        }
    )
    leave = F.struct(*(F.col("last_left")[name] for name in COMMIT_ORDER))
    follows = ~F.col("was_there") & F.coalesce(F.col("last_left") > left, F.lit(False))  # another ROW_ID left later
    is_gone = follows & ((leave > transaction) | (F.col("came") < 0) | (F.col("last_entered") > F.col("last_left")))
    ends_row = F.col("operation_code").isin(Operation.DELETE, Operation.INSERT)
    last_of_row = last_of_row.withColumns(
        {
            "is_earlier": (F.col("was_there") & (order < F.col("last_there"))) | is_gone,
            "replaces": entered & follows & ~is_gone & (F.col("came") == 0),
        }
    )
    stays = entered & ~F.col("is_earlier")
    disagrees = F.col("has_two") & F.col("was_there") & ~F.col("is_earlier") & ~ends_row
    if not asks_target:
        is_shift = (F.col("first_code") == Operation.UPDATE) & (F.col("last_left")["operation_code"] == Operation.UPDATE)
        disagrees = disagrees | (F.col("replaces") & ~is_shift)
    summed = last_of_row.withColumns(
        {
            "changes": F.sum("changes").over(of_key),
            "finding": F.min("finding").over(of_key),
            **({"nulled": F.sum("nulled").over(of_key)} if counts_nulls else {}),
            "rows_there": F.sum(stays.cast("int")).over(of_key),
            "disagrees": F.max(disagrees).over(of_key),
            "last_entry": F.max(F.when(stays, transaction)).over(of_key),
            "last_leave": F.max(F.when(~stays, transaction)).over(of_key),
            "last_order": F.max(order).over(of_key),
        }
    )
    if rows_vanish:
        summed = summed.withColumn("last_there", F.max(F.when(stays, order)).over(of_key))
        stays_last = stays & (order == F.col("last_there"))
    else:
        stays_last = stays
    chosen = F.when(F.col("rows_there") > 0, stays_last).otherwise(order == F.col("last_order"))
    # Where two rows are at one key, all are kept so that one carries the finding; no MERGE happens then.
    return (
        summed.filter(chosen)
        .withColumn("finding", F.col("finding") if rows_vanish else F.coalesce("finding", _contradiction(keys)))
        .withColumn("op", F.when(stays & F.col("replaces") & F.lit(asks_target), REPLACE).when(stays, UPSERT).otherwise(REMOVE))
        .drop("newest", "event", "weight", "rows_there", "last_entry", "last_leave", "last_order", "last_there")
        .drop("was_there", "came", "first_code", "last_left", "last_entered", "is_earlier", "replaces", "has_two", "disagrees")
    )


def _contradiction(keys: Sequence[str]) -> Expression:
    """Return the finding for what a primary key forbids: two rows at once, or a row that leaves after another has entered."""
    two = F.col("rows_there") > 1
    later = (F.col("rows_there") == 1) & (F.col("last_leave") > F.col("last_entry"))
    shown = F.concat_ws(", ", *(as_text(F.col(key)) for key in keys))
    shows_two = F.concat(F.lit("changes of one row, which has the key "), shown, F.lit(", show two ROW_IDs"))
    two_rows = F.concat(F.lit("two rows have the key "), shown)
    what = (
        F.when(F.col("disagrees"), shows_two)
        .when(two, two_rows)
        .when(later, F.concat(F.lit("another row left, in a later transaction, the key "), shown))
    )
    found = F.struct(
        F.col("commit_scn"), F.col("commit_scn").alias("scn"), F.lit("RedoNotUnderstood").alias("code"), what.alias("what")
    )
    return F.when(what.isNotNull(), found)
