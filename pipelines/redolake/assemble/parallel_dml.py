"""Parallel DML: each parallel server writes under a transaction of its own (XID); the coordinator's (PXID) decides.

A server's rows commit with the coordinator's commit. A server's own rollback undoes its rows whatever the coordinator does;
its own commit must have the coordinator's SCN. Otherwise, or where the coordinator rolls back or stays open after it, the SCN
at which the rows became visible is unknown: the table stops until a snapshot is above every end in the redo.
"""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.assemble.unknown_xid import has_unknown_sequence
from redolake.values.redo import NO_XID

OWN = ("con_id", "own_xid")


def is_parallel() -> Expression:
    """Return whether a row was written by a parallel server."""
    pxid = F.col("pxid")
    return pxid.isNotNull() & (pxid != NO_XID) & (pxid != F.col("xid")) & ~has_unknown_sequence(pxid)


def deciding_xid() -> Expression:
    """Return the xid whose end decides the row: the coordinator's, or the row's own."""
    return F.when(is_parallel(), F.col("pxid")).otherwise(F.col("xid"))


def fill_coordinators(rows: DataFrame) -> DataFrame:
    """Set PXID on all rows of a parallel server if one of them has it. Without it an undo row would find no change to undo."""
    servers = rows.filter(is_parallel()).groupBy("con_id", "xid").agg(F.max("pxid").alias("server_pxid"))
    filled = rows.join(F.broadcast(servers), ["con_id", "xid"], "left")
    return filled.withColumn("pxid", F.coalesce("server_pxid", "pxid")).drop("server_pxid")


def join_own_ends(changes: DataFrame, ended: DataFrame) -> DataFrame:
    """Compare the deciding end in `changes` with the server's own, and add a `problem` where they contradict each other.

    Adds `own_scn`, the server's own commit SCN, and `settled_scn`: a table complete to that SCN no longer needs the row.
    """
    own = ended.select(
        F.col("con_id"),
        F.col("xid").alias("own_xid"),
        F.col("commit_scn").alias("own_scn"),
        F.col("rolled_back").alias("own_rolled_back"),
    )
    joined = changes.withColumn("own_xid", F.when(is_parallel(), F.col("xid"))).join(own, list(OWN), "left")
    own_scn, commit_scn, rolled_back = F.col("own_scn"), F.col("commit_scn"), F.col("rolled_back")
    undone = F.coalesce("own_rolled_back", F.lit(False))
    contradicted = own_scn.isNotNull() & ~commit_scn.eqNullSafe(own_scn)
    decided = contradicted & rolled_back.isNotNull()
    return joined.withColumns(
        {
            "problem": F.coalesce("problem", F.when(contradicted, _contradiction())),
            "settled_scn": F.greatest(commit_scn, own_scn),
            "commit_scn": F.when(~undone, F.when(decided, F.least(commit_scn, own_scn)).otherwise(commit_scn)),
            "rolled_back": F.when(undone, True).when(decided, False).otherwise(rolled_back),
        }
    ).drop("own_xid", "own_rolled_back")


def _contradiction() -> Expression:
    coordinator = (
        F.when(F.col("rolled_back").isNull(), F.lit("is still open"))
        .when(F.col("rolled_back"), F.lit("rolled back"))
        .otherwise(F.concat(F.lit("at SCN "), F.col("commit_scn")))
    )
    return F.concat(
        F.lit("parallel DML: transaction "), "xid", F.lit(" commits at SCN "), "own_scn",
        F.lit(", its coordinator "), "pxid", F.lit(" "), coordinator,
    )  # fmt: skip


def stop_unordered(changes: DataFrame) -> DataFrame:
    """Set `problem` on changes of one row that come from two redo threads.

    Within a transaction their only order is the SCN, which two of them may share. Undone changes need no order.
    """
    same_row = Window.partitionBy("table_number", "con_id", deciding_xid(), "object_id", "row_id")
    lasts = ~F.col("undone") & F.coalesce(~F.col("rolled_back"), F.lit(False))
    thread = F.when(lasts, F.col("thread"))
    several = lasts & (F.min(thread).over(same_row) != F.max(thread).over(same_row))
    row = F.concat(F.coalesce("row_id", F.lit("none")), F.lit(", transaction "), deciding_xid())
    what = F.concat(F.lit("parallel DML: servers on two redo threads change the row with ROWID "), row)
    return changes.withColumn("problem", F.coalesce("problem", F.when(several, what)))
