"""Changes joined with the commit or rollback of their transaction, and what becomes of each of them in this batch.

A transaction is named by (container, xid); a parallel server's rows are decided by its coordinator's. Order
(batch.CHANGE_ORDER) is commit SCN, thread and RS_ID of the commit, then LogMiner's own order: window, slice, ordinal. Never
SCN alone (several transactions share one), never time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.assemble.captured_tables import CapturedTable
from pipelines.assemble.cases import first_case
from pipelines.assemble.parallel_dml import NO_XID, deciding_xid, join_own_ends
from pipelines.assemble.undo import match_undo
from pipelines.assemble.unknown_xid import has_unknown_sequence
from pipelines.redo import CHANGES, LARGE_OBJECT_CHANGES, TRANSACTION_ENDS, Operation

TRANSACTION = ("con_id", "xid")

# Beyond this many, commits and rollbacks are joined by a shuffle instead of being sent to every worker.
MOST_ENDS_TO_BROADCAST = 500_000

APPLIED, UNDONE, ROLLED_BACK, CARRIED_OUT, BEFORE_POSITION, HELD, DROPPED = (
    "applied", "undone", "rolled_back", "carried_out", "before_position", "held", "dropped",
)  # fmt: skip


def join_ends(rows: DataFrame, ends: int, parallel: bool = False) -> DataFrame:
    """The change rows of captured tables with `commit_scn`, `commit_thread`, `commit_rs_id`, `rolled_back` and `problem`;
    `own_scn` and `settled_scn` where there is parallel DML (see parallel_dml), else the former NULL.

    `ends` is how many commits and rollbacks there are. A transaction that ends twice multiplies its rows here, which the
    invariant finds.
    """
    is_end = F.col("operation_code").isin(*TRANSACTION_ENDS) & (F.col("xid") != NO_XID)
    is_commit = F.col("operation_code") == Operation.COMMIT
    ended = rows.filter(is_end).select(
        *TRANSACTION,
        F.when(is_commit, F.col("scn")).alias("commit_scn"),
        F.when(is_commit, F.col("thread")).alias("commit_thread"),
        F.when(is_commit, F.col("rs_id")).alias("commit_rs_id"),
        (~is_commit).alias("rolled_back"),
        F.col("scn").alias("end_scn"),
    )
    if ends <= MOST_ENDS_TO_BROADCAST:
        ended = F.broadcast(ended)
    changes = rows.filter(F.col("table_number").isNotNull()).withColumn("problem", _problem())
    if not parallel:
        joined = changes.join(ended, list(TRANSACTION), "left").withColumn("own_scn", F.lit(None).cast("bigint"))
    else:
        deciding = ended.withColumnRenamed("xid", "deciding_xid")
        decided = changes.withColumn("deciding_xid", deciding_xid()).join(deciding, ["con_id", "deciding_xid"], "left")
        joined = join_own_ends(decided.drop("deciding_xid"), ended)
    # A row that cannot be tied to a transaction stands where it was written, so that it stops its table there.
    is_late = F.coalesce(F.col("scn") > F.col("end_scn"), F.lit(False))
    is_astray = (F.col("rolled_back").isNull() & _is_lost()) | is_late
    stands = F.when(is_astray, F.col("scn")).otherwise(F.col("commit_scn"))
    settled = F.greatest("settled_scn", stands) if parallel else stands
    told = {
        "problem": F.coalesce("problem", F.when(is_late, _late())),
        "rolled_back": F.when(is_late, False).otherwise(F.col("rolled_back")),
        "commit_scn": stands,
        "settled_scn": settled,
        "undone": F.lit(False),
    }
    return joined.withColumns(told).drop("end_scn")


# Such a row may belong to a transaction that is open still, whose commit a snapshot would lack.
_WAIT = " (snapshot the table once all transactions of that time have ended)"


def _is_lost() -> Expression:
    xid = deciding_xid()
    return xid.isNull() | (xid == NO_XID) | has_unknown_sequence(xid)


def _late() -> Expression:
    """An xid comes again once its slot has wrapped: the change may be of the next transaction, which has another end."""
    what = (F.lit("a change at SCN "), "scn", F.lit(" stands behind the end of its transaction "), deciding_xid())
    return F.concat(*what, F.lit(" at SCN "), "end_scn", F.lit(_WAIT))


def _problem() -> Expression:
    where = F.concat_ws(" ", F.lit(", transaction"), F.coalesce("xid", F.lit("none")), F.lit("SCN"), "scn", _info())
    code = F.col("operation_code")
    operation = F.concat(F.lit("operation "), code, F.lit(" "), F.coalesce("operation", F.lit("?")))
    is_change = F.concat_ws(" ", code, "operation").isin(*(f"{change} {change.name}" for change in CHANGES))
    unknown_object = F.concat(
        F.lit("a change under the table's name is of object "), "object_id", F.lit(", which the table never was")
    )
    what = (
        F.when(F.col("unknown_object"), unknown_object)
        .when(code == Operation.UNSUPPORTED, F.lit("LogMiner cannot show a change of the table (UNSUPPORTED)"))
        .when(code.isin(*LARGE_OBJECT_CHANGES), F.concat(F.lit("a change of a large object is not captured: "), operation))
        .when(~is_change, F.concat(operation, F.lit(" is not understood")))
        .when(has_unknown_sequence(F.col("xid")), F.lit(f"an undo row belongs to no known transaction{_WAIT}"))
        .when(_is_lost(), F.lit(f"a change belongs to no transaction{_WAIT}"))
    )
    return F.concat(what, where)


def _info() -> Expression:
    """LogMiner's own words about a row; NULL, which concat_ws leaves out, where it says nothing."""
    return F.when(F.trim("info") != "", F.concat(F.lit("("), F.trim("info"), F.lit(")")))


def stop_ends_without_container(changes: DataFrame, rows: DataFrame) -> DataFrame:
    """An end that LogMiner ties to no container may be another one's: a change of that xid whose own end is not there cannot be
    decided, and stands at that SCN, so that it stops its table."""
    is_unplaced = F.col("operation_code").isin(*TRANSACTION_ENDS) & F.col("con_id").isNull()
    ends = rows.filter(is_unplaced).groupBy(F.col("xid").alias("unplaced_xid")).agg(F.min("scn").alias("unplaced_scn"))
    told = changes.join(F.broadcast(ends), deciding_xid() == F.col("unplaced_xid"), "left")
    concerned = F.col("unplaced_scn").isNotNull() & F.col("rolled_back").isNull() & F.col("commit_scn").isNull()
    what = F.concat(
        F.lit("the end of transaction "),
        "unplaced_xid",
        F.lit(" at SCN "),
        "unplaced_scn",
        F.lit(" does not tell its container"),
    )
    return told.withColumns(
        {
            "problem": F.coalesce("problem", F.when(concerned, what)),
            "settled_scn": F.when(concerned, F.col("unplaced_scn")).otherwise(F.col("settled_scn")),
            "commit_scn": F.when(concerned, F.col("unplaced_scn")).otherwise(F.col("commit_scn")),
        }
    ).drop("unplaced_xid", "unplaced_scn")


def cancel_undone(changes: DataFrame) -> DataFrame:
    """Match undo rows, in those committed transactions only that have some: the others need no sort."""
    committed = F.col("commit_scn").isNotNull() & F.col("problem").isNull()
    undoing = changes.filter(F.col("rollback") & committed).select(*TRANSACTION).distinct()
    clean = changes.join(F.broadcast(undoing), list(TRANSACTION), "left_anti")
    touched = changes.join(F.broadcast(undoing), list(TRANSACTION), "left_semi")
    return clean.unionByName(match_undo(touched))


def dispose(changes: DataFrame, captured: Sequence[CapturedTable]) -> DataFrame:
    """Adds `piece` (how many of the table's cuts lie at or below the commit) and `disposition`, one term of the invariant.

    A problem concerns its table from the commit on, so that of an open transaction waits; but for a parallel server's that
    committed before its coordinator, which stops the table there, while its rows are carried over all the same.
    """
    position = number_of(captured, lambda table: table.position)
    until = number_of(captured, lambda table: table.until)
    is_open = F.col("rolled_back").isNull() & F.col("commit_scn").isNull()
    disposition = (
        # First, so that its count is a function of the windows alone: how far a table is already does not change it.
        F.when(F.col("dropped").isNotNull(), DROPPED)
        .when(F.col("rolled_back"), ROLLED_BACK)
        .when(is_open, CARRIED_OUT)
        .when(F.col("settled_scn") <= position, BEFORE_POSITION)
        .when(F.col("commit_scn") >= until, HELD)
        .when(F.col("undone"), UNDONE)
        .otherwise(APPLIED)
    )
    # What is settled above the position stops the table, even where its commit may lie below.
    stands = F.when(is_open, F.col("own_scn")).otherwise(F.greatest("commit_scn", position + 1))
    concerns = ~is_open | (F.col("own_scn") > position) & (F.col("own_scn") < until)
    piece = first_case(
        (
            ((F.col("table_number") == table.number) & (stands >= cut), number)
            for table in captured
            for number, cut in reversed([*enumerate(sorted(table.cuts), 1)])
        ),
        F.lit(0),
    )
    return changes.withColumns(
        {"piece": piece, "disposition": disposition, "problem": F.when(concerns, F.col("problem")), "stop_scn": stands}
    )


def number_of(captured: Sequence[CapturedTable], value: Callable[[CapturedTable], int]) -> Expression:
    """A number of each table, looked up in a literal map: a chain of WHENs would be compiled anew for every table."""
    entries = [literal for s in captured for literal in (F.lit(s.number), F.lit(value(s)).cast("bigint"))]
    return F.try_element_at(F.create_map(*entries), F.col("table_number")) if entries else F.lit(None).cast("bigint")
