"""The rows that a commit range adds to a table's history: each change with the row before and after it.

Events (net_change) have every change of a row, with rolled-back parts gone, and with values that the redo lacks filled in from
earlier changes. Values that are still unknown, and the row before the first change, come from the target's row: the range is
not merged yet.

A migrated or chained row may show another ROW_ID in its next change (net_change.py). So a ROW_ID that changes a key, or leaves
it, and has not entered it since it left it, is of the target's row, or else of the row that has entered the key last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.apply.net.missing_columns import MOST_KEYS_TO_BROADCAST
from redolake.apply.net.net_change import ENTERED, LEFT, ORDER
from redolake.apply.spark.quoting import quote
from redolake.apply.target import TargetColumn
from redolake.values import frames
from redolake.values.redo import COMMIT_ORDER, Operation

UNKNOWN_USER = "UNKNOWN"
HEALS = "changes of the row before this one are in quarantine, or were"
MOVED = "moved"  # of an event: the change gives its row another key
OF_CHANGE: Mapping[str, str] = {
    "_commit_scn": "commit_scn",
    "_commit_time": "commit_at",
    "_scn": "scn",
    "_xid": "xid",
    "_user": "username",
    "_redo_thread": "commit_thread",
}


def said_of_change() -> list[Expression]:
    """Return our columns of a change. LogMiner calls a user that it does not know UNKNOWN; that is NULL, as in the ledger."""
    users = {"_user": F.nullif(F.col("username"), F.lit(UNKNOWN_USER))}
    return [users.get(own, F.col(name)).alias(own) for own, name in OF_CHANGE.items()]


def changed_rows(
    happened: DataFrame,
    target: DataFrame,
    columns: Mapping[int, TargetColumn],
    key: Sequence[int],
    missing: Iterable[int],
    count: int,
    heals: Expression | None = None,
    *,
    asks_target: bool = True,
) -> DataFrame:
    """Return a<id> and our columns of a history, one row for each image. `count` is the number of changes. Without
    `asks_target`, the target may lack rows that were there before.

    `heals` says of an event whether its key was in quarantine, and is right from this range on. The first change of such a key
    has a note: what the target and the history have of it is older than the row before the change, or they have different rows
    or none."""
    keys = [frames.key(i) for i in key]
    of_row = Window.partitionBy(*keys, "row_id").orderBy(*ORDER)
    known = {
        frames.after(i): F.when(F.col(frames.unknown(i)), F.col(frames.in_target(i))).otherwise(F.col(frames.after(i)))
        for i in missing
    }
    joined = happened.join(target_rows(happened, target, columns, key, count), keys, "left")
    joined = joined.withColumns(known) if known else joined
    # A row that moves to a key is not the one that the target has there.
    arrives = F.col(MOVED) & (F.col("operation_code") == Operation.UPDATE) & (F.col("weight") == 1)
    joined = with_one_row_id(joined.withColumn("arrives", arrives), keys, asks_target)
    is_there = F.col("there").isNotNull() & (F.col("operation_code") != Operation.INSERT) & ~F.col("arrives")
    is_first = F.col("follows").isNull() & is_there
    follows = F.lag("event").over(of_row)
    placed = joined.withColumns(
        {"follows": follows, **{was(i): F.lag(frames.after(i)).over(of_row) for i in columns}}
    ).withColumn("is_first", is_first)
    before = {i: F.when(F.col("follows") == ENTERED, F.col(was(i))).otherwise(F.col(frames.in_target(i))) for i in columns}
    had = F.coalesce(F.col("follows") == ENTERED, F.lit(False)) | F.col("is_first")
    note = {}
    if heals is not None:
        is_first_of_key = F.row_number().over(Window.partitionBy(*keys).orderBy(*ORDER)) == 1
        placed = placed.withColumn("heals", heals & is_first_of_key)
        had = had | (F.col("heals") & (F.col("there").isNotNull() | (F.col("event") == LEFT)))
        before |= {i: F.coalesce(before[i], F.col(frames.key(i))) for i in key}
        note = {"_note": F.when(F.col("heals"), F.lit(HEALS))}
    images = placed.withColumns({"had": had, "stays": stays(keys)}).withColumn(
        "_image", F.explode(image_names(F.col("event") == ENTERED))
    )
    is_before = F.col("_image") == "before"
    values = {frames.after(i): F.when(is_before, before[i]).otherwise(F.col(frames.after(i))) for i in columns}
    order = (
        "commit_thread",
        "commit_rs_id",
        "stays",
        "window_start",
        "slice",
        "ordinal",
        "event",
        F.when(is_before, 0).otherwise(1),
    )
    of_key = Window.partitionBy(*keys, "commit_scn").orderBy(*order)
    return images.withColumns({"_op": operation(), "_seq": F.row_number().over(of_key).cast("bigint")}).select(
        "_op",
        "_image",
        "_seq",
        *said_of_change(),
        *(value.alias(name) for name, value in {**note, **values}.items()),
    )


def inserted_rows(inserts: DataFrame, columns: Iterable[int]) -> DataFrame:
    """Return the rows of a table without a key, which only gets INSERTs."""
    return inserts.select(
        F.lit("insert").alias("_op"),
        F.lit("after").alias("_image"),
        F.lit(1).cast("bigint").alias("_seq"),
        *said_of_change(),
        *(frames.after(i) for i in columns),
    )


def with_one_row_id(placed: DataFrame, keys: Sequence[str], asks_target: bool) -> DataFrame:
    """Return the events, each with the ROW_ID under which its row entered the key, or was first changed there. Of two rows at a
    key, one of which gives way to the other, the older one leaves."""
    of_id = Window.partitionBy(*keys, "row_id").orderBy(*ORDER)
    of_stay = Window.partitionBy(*keys, "row_id", "stay").orderBy(*ORDER)
    of_key = Window.partitionBy(*keys).orderBy(*ORDER)
    so_far = of_key.rowsBetween(Window.unboundedPreceding, -1)
    was_there = F.col("number").eqNullSafe(1) & (F.col("operation_code") != Operation.INSERT) & ~F.col("arrives")
    rows_there = F.col("there").isNotNull().cast("int") + F.coalesce(F.sum("came").over(so_far), F.lit(0))
    is_targets = F.col("there").isNotNull() & ~F.coalesce(F.max("was_there").over(so_far), F.lit(False))
    is_taken = (F.lag("event").over(of_key) == ENTERED) | (F.col("rows_there") > 0)
    continues = F.col("was_there") & ~is_targets & is_taken
    if not asks_target:  # then one row gives way to the other in its transaction, as where keys are shifted
        transaction = F.struct(*COMMIT_ORDER)
        leaves = (F.col("operation_code") == Operation.UPDATE) & (F.col("event") == LEFT)
        gives_way = leaves & F.lag("arrives").over(of_key) & (F.lag(transaction).over(of_key) == transaction)
        continues = continues & ~(gives_way & (F.col("rows_there") < 2))
    entered = F.when((F.col("event") == ENTERED) & ~F.col("continues"), F.col("row_id"))
    beside = F.when((F.col("event") == ENTERED) & (F.col("came") == 1), F.col("entered"))
    row = F.when(F.col("rows_there") > 1, F.last(beside, ignorenulls=True).over(so_far)).otherwise(F.col("entered"))
    has_left = F.when(F.lag("event").over(of_id) == LEFT, 1).otherwise(0)
    return (
        placed.withColumn("has_left", has_left)
        .withColumn("stay", F.sum("has_left").over(of_id))
        .withColumn("number", F.row_number().over(of_stay))
        .withColumns({"was_there": was_there, "rows_there": rows_there})
        .withColumn("continues", F.coalesce(continues, F.lit(False)))
        .withColumn("continues", F.first("continues").over(of_stay))
        .withColumn("entered", F.last(entered, ignorenulls=True).over(so_far))
        .withColumn("row", row)
        .withColumn("row_id", F.when(F.col("continues"), F.first("row").over(of_stay)).otherwise(F.col("row_id")))
        .drop("has_left", "stay", "number", "was_there", "rows_there", "continues", "entered", "row")
    )


def was(column_id: int) -> str:
    """Return the name of the value after the event before, of the same row at the same key."""
    return f"was{column_id}"


def target_rows(
    happened: DataFrame, target: DataFrame, columns: Mapping[int, TargetColumn], key: Sequence[int], count: int
) -> DataFrame:
    """Return k<id>, t<id> and `there` of the target's rows at the keys of the events."""
    wanted = happened.select(*(frames.key(i) for i in key)).distinct()
    if count <= MOST_KEYS_TO_BROADCAST:
        wanted = F.broadcast(wanted)
    named = target.select(
        *(F.col(quote(columns[i].name)).alias(frames.key(i)) for i in key),
        *(F.col(quote(column.name)).alias(frames.in_target(i)) for i, column in columns.items()),
        F.lit(True).alias("there"),
    )
    return named.join(wanted, [frames.key(i) for i in key])


def stays(keys: Sequence[str]) -> Expression:
    """Return whether the event's row is at the key when its transaction ends. Where rows exchange keys in one statement, the
    row that leaves a key comes before the one that stays there."""
    of_row = Window.partitionBy(*keys, "row_id", *COMMIT_ORDER)
    return F.max_by("event", F.struct("window_start", "slice", "ordinal", "event")).over(of_row)


def image_names(enters: Expression) -> Expression:
    return F.array_compact(F.array(F.when(F.col("had"), F.lit("before")), F.when(enters, F.lit("after"))))


def operation() -> Expression:
    """Return the operation as the lake sees it: the filter deletes rows that it leaves out, and inserts those it lets in."""
    leaves_key = (F.col("event") == LEFT) & (F.col("weight") == 0)
    enters = F.col("event") == ENTERED
    return (
        F.when(leaves_key | (enters & (F.col("had") | F.col("arrives"))), F.lit("update"))
        .when(enters, F.lit("insert"))
        .otherwise(F.lit("delete"))
    )
