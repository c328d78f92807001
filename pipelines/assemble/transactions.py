"""Changes joined with the commit or rollback of their transaction, and what becomes of each of them in this batch.

A transaction is named by (container, xid). Order (batch.CHANGE_ORDER) is commit SCN, thread and RS_ID of the commit, then
LogMiner's own order: window, slice, ordinal. Never SCN alone (several transactions share one), never time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.assemble.landed import CHANGES, COMMIT, ROLLBACK
from pipelines.assemble.subjects import Subject
from pipelines.assemble.undo import match_undo
from pipelines.assemble.unknown_xid import has_unknown_sequence

TRANSACTION = ("con_id", "xid")
NO_XID = "0.0.0"

# Beyond this many, commits and rollbacks are joined by a shuffle instead of being sent to every worker.
MOST_ENDS_TO_BROADCAST = 500_000

APPLIED, UNDONE, ROLLED_BACK, CARRIED_OUT, BEFORE_POSITION, HELD = (
    "applied", "undone", "rolled_back", "carried_out", "before_position", "held",
)  # fmt: skip


def join_ends(rows: DataFrame, ends: int) -> DataFrame:
    """The change rows of captured tables with `commit_scn`, `commit_thread`, `commit_rs_id`, `rolled_back` and `problem`.

    `ends` is how many commits and rollbacks there are. A transaction that ends twice multiplies its rows here, which the
    invariant finds.
    """
    is_end = F.col("operation_code").isin(COMMIT, ROLLBACK) & (F.col("xid") != NO_XID)
    is_commit = F.col("operation_code") == COMMIT
    ended = rows.filter(is_end).select(
        *TRANSACTION,
        F.when(is_commit, F.col("scn")).alias("commit_scn"),
        F.when(is_commit, F.col("thread")).alias("commit_thread"),
        F.when(is_commit, F.col("rs_id")).alias("commit_rs_id"),
        (~is_commit).alias("rolled_back"),
    )
    if ends <= MOST_ENDS_TO_BROADCAST:
        ended = F.broadcast(ended)
    changes = rows.filter(F.col("subject").isNotNull())
    return (
        changes.join(ended, list(TRANSACTION), "left")
        .withColumn("problem", _problem())
        # A row that cannot be tied to a transaction stands where it was written, so that it stops its table there.
        .withColumn(
            "commit_scn",
            F.when(F.col("rolled_back").isNull() & F.col("problem").isNotNull(), F.col("scn")).otherwise(F.col("commit_scn")),
        )
        .withColumn("undone", F.lit(False))
    )


def _problem() -> Expression:
    where = F.concat_ws(" ", F.lit(", transaction"), F.coalesce("xid", F.lit("none")), F.lit("SCN"), "scn")
    xid, pxid = F.col("xid"), F.col("pxid")
    operation = F.concat(F.lit("operation "), F.coalesce("operation", F.lit("?")), F.lit(" is not understood"))
    parallel = pxid.isNotNull() & (pxid != NO_XID) & (pxid != xid)
    what = (
        F.when(~F.col("operation_code").isin(*CHANGES), operation)
        .when(has_unknown_sequence(xid), F.lit("an undo row belongs to no known transaction"))
        .when(xid.isNull() | (xid == NO_XID), F.lit("a change belongs to no transaction"))
        .when(parallel, F.concat(F.lit("parallel DML: the change commits with transaction "), pxid))
    )
    return F.concat(what, where)


def cancel_undone(changes: DataFrame) -> DataFrame:
    """Match undo rows, in those committed transactions only that have some: the others need no sort."""
    committed = F.col("commit_scn").isNotNull() & F.col("problem").isNull()
    undoing = changes.filter(F.col("rollback") & committed).select(*TRANSACTION).distinct()
    clean = changes.join(F.broadcast(undoing), list(TRANSACTION), "left_anti")
    touched = changes.join(F.broadcast(undoing), list(TRANSACTION), "left_semi")
    return clean.unionByName(match_undo(touched))


def dispose(changes: DataFrame, subjects: Sequence[Subject]) -> DataFrame:
    """Adds `piece` (how many of the table's cuts lie at or below the commit) and `disposition`, one term of the invariant."""
    commit = F.col("commit_scn")
    position = number_of(subjects, lambda subject: subject.position)
    until = number_of(subjects, lambda subject: subject.until)
    piece = F.lit(0)
    for subject in subjects:
        for cut in subject.cuts:
            piece = piece + F.when((F.col("subject") == subject.number) & (commit >= cut), 1).otherwise(0)
    disposition = (
        F.when(F.col("rolled_back"), ROLLED_BACK)
        .when(commit.isNull(), CARRIED_OUT)
        .when(commit <= position, BEFORE_POSITION)
        .when(commit >= until, HELD)
        .when(F.col("undone"), UNDONE)
        .otherwise(APPLIED)
    )
    return changes.withColumn("piece", piece).withColumn("disposition", disposition)


def number_of(subjects: Sequence[Subject], value: Callable[[Subject], int]) -> Expression:
    """A number of each subject, looked up in a literal map: a chain of WHENs would be compiled anew for every table."""
    entries = [literal for s in subjects for literal in (F.lit(s.number), F.lit(value(s)).cast("bigint"))]
    return F.try_element_at(F.create_map(*entries), F.col("subject")) if entries else F.lit(None).cast("bigint")
