"""Join changes with the commit or rollback of their transaction, and give each its disposition in this batch.

A disposition is a term of the row accounting, such as "applied" or "held". A transaction is identified by (container, xid).
Rows of a parallel server end with the coordinator's transaction. Changes are ordered (redo.CHANGE_ORDER) by SCN, thread and
RS_ID of the commit, then in LogMiner's order: window, slice, ordinal. Neither SCN nor time alone is an order, because several
transactions may share one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.assemble.attribution import CapturedTable
from redolake.assemble.cases import first_case
from redolake.assemble.parallel_dml import deciding_xid, join_own_ends
from redolake.assemble.undo import match_statements, match_undo, stop_taken_back
from redolake.assemble.unknown_xid import has_unknown_sequence, slot_of
from redolake.values.logminer import LARGE_OBJECT_CHANGES, Mined
from redolake.values.redo import CHANGES, NO_XID, TRANSACTION_ENDS, Operation

TRANSACTION = ("con_id", "xid")

# With more commits and rollbacks than this, the join shuffles them instead of sending all of them to every worker.
MOST_ENDS_TO_BROADCAST = 500_000

APPLIED, UNDONE, ROLLED_BACK, CARRIED_OUT, BEFORE_POSITION, HELD, DROPPED, LEFT_OUT = (
    "applied", "undone", "rolled_back", "carried_out", "before_position", "held", "dropped", "left_out",
)  # fmt: skip


def join_ends(rows: DataFrame, ends: int, parallel: bool = False) -> DataFrame:
    """Return the change rows of captured tables with the end of their transaction, and a `problem` where there is one.

    Adds `commit_scn`, `commit_thread`, `commit_rs_id`, `commit_at` and `rolled_back`, which are NULL in an open transaction.
    `undone` and `partly_undone` are false until `cancel_undone`. `unattributed` marks a row without a transaction, or after
    its end: it has its own SCN as commit SCN, so that its problem stops the table there.
    Also adds `own_scn`, the SCN at which a parallel server itself committed, and `settled_scn`: a table complete to that SCN no
    longer needs the row. Without parallel DML, `own_scn` is NULL and `settled_scn` is the commit SCN.

    `ends` is the number of commits and rollbacks. A transaction that ends twice multiplies its rows; row accounting finds it.
    """
    is_end = F.col("operation_code").isin(*TRANSACTION_ENDS) & (F.col("xid") != NO_XID)
    is_commit = F.col("operation_code") == Operation.COMMIT
    ended = rows.filter(is_end).select(
        *TRANSACTION,
        F.when(is_commit, F.col("scn")).alias("commit_scn"),
        F.when(is_commit, F.col("thread")).alias("commit_thread"),
        F.when(is_commit, F.col("rs_id")).alias("commit_rs_id"),
        F.when(is_commit, F.col("at")).alias("commit_at"),
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
    is_late = F.coalesce(F.col("scn") > F.col("end_scn"), F.lit(False))
    is_unattributed = (F.col("rolled_back").isNull() & _has_no_transaction()) | is_late
    commit_scn = F.when(is_unattributed, F.col("scn")).otherwise(F.col("commit_scn"))
    ends_of_rows = {
        "problem": F.coalesce("problem", F.when(is_late, _late())),
        "rolled_back": F.when(is_late, False).otherwise(F.col("rolled_back")),
        "commit_scn": commit_scn,
        "settled_scn": F.greatest("settled_scn", commit_scn) if parallel else commit_scn,
        "undone": F.lit(False),
        "partly_undone": F.lit(False),
        "unattributed": is_unattributed & (F.col("operation_code") != Mined.INTERNAL),
    }
    return joined.withColumns(ends_of_rows).drop("end_scn")


# The row may belong to a transaction that is still open, and a snapshot taken now would not contain its changes.
_WAIT = " (snapshot the table once all transactions of that time have ended)"


def _has_no_transaction() -> Expression:
    xid = deciding_xid()
    return xid.isNull() | (xid == NO_XID) | has_unknown_sequence(xid)


def _late() -> Expression:
    """Return the problem of a change after the end of its transaction.

    Oracle reuses xids: the change may belong to the next transaction of that xid, which has another end.
    """
    what = (F.lit("a change at SCN "), "scn", F.lit(" comes after the end of its transaction "), deciding_xid())
    return F.concat(*what, F.lit(" at SCN "), "end_scn", F.lit(_WAIT))


def _problem() -> Expression:
    """Return why a row cannot be applied, or NULL."""
    where = F.concat_ws(" ", F.lit(", transaction"), F.coalesce("xid", F.lit("none")), F.lit("SCN"), "scn", _info())
    code = F.col("operation_code")
    operation = F.concat(F.lit("operation "), code, F.lit(" "), F.coalesce("operation", F.lit("?")))
    is_harmless = F.col("left_out") | F.col("is_reread")
    is_large_object = code.isin(*LARGE_OBJECT_CHANGES)
    is_change = F.concat_ws(" ", code, "operation").isin(*(f"{change} {change.name}" for change in CHANGES))
    unknown_object = F.concat(
        F.lit("a change under the table's name belongs to object "), "object_id", F.lit(", an OBJECT_ID the table never had")
    )
    what = (
        F.when(F.col("unknown_object"), unknown_object)
        .when(
            (code == Mined.UNSUPPORTED) & ~F.col("is_reread"),
            F.lit("LogMiner cannot show a change of the table (UNSUPPORTED)"),
        )
        .when(
            is_large_object & ~F.col("left_out") & ~F.col("is_reread"),
            F.concat(F.lit("a change of a large object is not captured: "), operation),
        )
        .when(~is_change & ~is_harmless, F.concat(operation, F.lit(" is not understood")))
        .when(has_unknown_sequence(F.col("xid")), F.lit(f"an undo row belongs to no known transaction{_WAIT}"))
        # A coordinator's commit does not decide such a row: its server may have been rolled back.
        .when((F.col("xid") == NO_XID) | _has_no_transaction(), F.lit(f"a change belongs to no transaction{_WAIT}"))
    )
    return F.concat(what, where)


def _info() -> Expression:
    """Return LogMiner's INFO about a row, or NULL, which concat_ws leaves out."""
    return F.when(F.trim("info") != "", F.concat(F.lit("("), F.trim("info"), F.lit(")")))


def stop_ends_without_container(changes: DataFrame, rows: DataFrame) -> DataFrame:
    """Stop the tables that have open changes of an xid, if a commit or rollback of that xid names no container.

    Such an end may belong to another container's transaction. An open change gets the SCN of that end as its commit SCN, with
    a problem, so that it stops its table there. It is `unattributed` then: a snapshot at or after that end may lack it.
    """
    has_no_container = F.col("operation_code").isin(*TRANSACTION_ENDS) & F.col("con_id").isNull()
    ends = rows.filter(has_no_container).groupBy(F.col("xid").alias("ending_xid")).agg(F.min("scn").alias("ending_scn"))
    joined = changes.join(F.broadcast(ends), deciding_xid() == F.col("ending_xid"), "left")
    concerned = F.col("ending_scn").isNotNull() & F.col("rolled_back").isNull() & F.col("commit_scn").isNull()
    what = F.concat(
        F.lit("the end of transaction "),
        "ending_xid",
        F.lit(" at SCN "),
        "ending_scn",
        F.lit(" has no container"),
    )
    return joined.withColumns(
        {
            "problem": F.coalesce("problem", F.when(concerned, what)),
            "settled_scn": F.when(concerned, F.col("ending_scn")).otherwise(F.col("settled_scn")),
            "commit_scn": F.when(concerned, F.col("ending_scn")).otherwise(F.col("commit_scn")),
            "unattributed": F.col("unattributed") | (concerned & (F.col("operation_code") != Mined.INTERNAL)),
        }
    ).drop("ending_xid", "ending_scn")


def stop_without_end(changes: DataFrame, rows: DataFrame, slots: Collection[str]) -> DataFrame:
    """Stop the tables with open changes of a transaction whose undo slot, one of the `slots`, a later one has had and left.

    Oracle gives a slot to the next transaction once the one before has ended. That end has not been shown, or not after the
    change: nothing says whether the change was committed, nor when. It gets its own SCN as commit SCN, so that no SCN after it
    counts as complete; a snapshot at or after the first later end does not need it.
    """
    slot, sequence = slot_of(F.col("xid")), F.substring_index("xid", ".", -1).cast("bigint")
    is_end = F.col("operation_code").isin(*TRANSACTION_ENDS) & F.col("con_id").isNotNull() & slot.isin(*slots)
    found = F.sort_array(F.collect_list(F.struct("scn", sequence.alias("sequence"), "xid"))).alias("ends")
    ends = rows.filter(is_end & ~has_unknown_sequence(F.col("xid"))).groupBy("con_id", slot.alias("slot")).agg(found)
    own = changes.withColumns({"slot": slot_of(deciding_xid()), "sequence": F.substring_index(deciding_xid(), ".", -1)})
    joined = own.join(F.broadcast(ends), ["con_id", "slot"], "left")
    is_later = "x -> x.sequence > CAST(sequence AS BIGINT) AND x.scn > scn"
    is_open = F.col("rolled_back").isNull() & F.col("commit_scn").isNull()  # of others no end is looked for
    joined = joined.withColumn("later", F.when(is_open, F.expr(f"try_element_at(filter(ends, {is_later}), 1)")))
    concerned = F.col("later").isNotNull()
    what = (F.lit("no end of transaction "), deciding_xid(), F.lit(" was shown after its change at SCN "), "scn")
    why = (F.lit(", and its undo slot was given to "), "later.xid", F.lit(", which ended at SCN "), "later.scn")
    stopped = {
        "problem": F.coalesce("problem", F.when(concerned, F.concat(*what, *why))),
        "settled_scn": F.coalesce(F.when(concerned, F.col("later.scn")), "settled_scn"),
        "commit_scn": F.coalesce(F.when(concerned, F.col("scn")), "commit_scn"),
    }
    return joined.withColumns(stopped).drop("slot", "sequence", "ends", "later")


def stop_doubtful_commits(changes: DataFrame, scn: int) -> DataFrame:
    """Stop the tables that a transaction changed which commits at the SCN before a RESETLOGS, where the log goes on after it.

    By one reading of RESETLOGS_CHANGE# the commit still counts, by another the RESETLOGS undid it.
    """
    what = f"a transaction commits at SCN {scn}, the last before a RESETLOGS; whether the commit still counts is not certain"
    doubtful = (F.col("commit_scn") == scn) & ~F.coalesce("rolled_back", F.lit(False))
    return changes.withColumn("problem", F.coalesce("problem", F.when(doubtful, F.lit(what))))


def cancel_undone(changes: DataFrame, objects: Sequence[CapturedTable] = (), *, in_indexes: bool = False) -> DataFrame:
    """Mark undo rows and the changes they undo as `undone`. Only committed transactions with undo rows are sorted for that.

    Statements on the tables `objects` may write large objects, so that their rows may lack a ROWID. With tables `in_indexes`,
    mark each change of a transaction that has undo rows of its table as `partly_undone`.
    """
    committed = F.col("commit_scn").isNotNull() & F.col("problem").isNull()
    undoing = changes.filter(F.col("rollback") & committed).select(*TRANSACTION).distinct()
    clean = changes.join(F.broadcast(undoing), list(TRANSACTION), "left_anti")
    touched = changes.join(F.broadcast(undoing), list(TRANSACTION), "left_semi")
    if in_indexes:
        of_table = Window.partitionBy("table_number", *TRANSACTION)
        touched = touched.withColumn("partly_undone", F.max("rollback").over(of_table))
    if not objects:
        return clean.unionByName(match_undo(touched))
    apart = F.col("left_out") | F.col("is_reread")
    assembling = [table.number for table in objects if table.delivery.pieces]
    is_assembled = F.col("table_number").isin(assembling) if assembling else F.lit(False)
    matched = match_statements(touched.withColumn("sets_plain", sets_plain(objects)), apart, is_assembled)
    if assembling:
        is_piece = F.col("operation_code").isin(*LARGE_OBJECT_CHANGES)
        matched = stop_taken_back(matched, F.coalesce(is_piece & is_assembled, F.lit(False)))
    return clean.unionByName(matched)


def sets_plain(tables: Sequence[CapturedTable]) -> Expression:
    """Return whether an UPDATE sets a column without large objects. The last row of a statement that writes them does not."""
    known = {table.number: table.plain_columns for table in tables if table.plain_columns}
    if not known:
        return F.lit(False)
    entries = [item for number, names in known.items() for item in (F.lit(number), F.array(*map(F.lit, names)))]
    first = F.regexp_extract("sql_redo", r'^update "[^"]+"\."[^"]+"(?: a)? set (?:a\.)?"([^"]+)" = ', 1)
    return F.coalesce(F.array_contains(F.try_element_at(F.create_map(*entries), F.col("table_number")), first), F.lit(False))


def dispose(changes: DataFrame, captured: Sequence[CapturedTable]) -> DataFrame:
    """Add `disposition`, `problem_scn`, and `range_number`: how many followed DDLs of the table precede the commit.

    A problem stops its table at the commit of its transaction, so it has no effect while the transaction is open. A parallel
    server that committed before its coordinator is the exception: it stops the table at its own commit, and its rows are
    carried over.

    An unattributed row may be of a transaction that was open at the table's snapshot, unless it is older than all of these. The
    snapshot may lack it, so it stops the table.
    """
    open_since = number_of(captured, lambda table: table.open_since)
    may_be_open = F.coalesce(F.col("unattributed") & (F.col("scn") >= open_since), F.lit(False))
    position = number_of(captured, lambda table: table.position)
    stop_scn = number_of(captured, lambda table: table.stop_scn)
    is_open = F.col("rolled_back").isNull() & F.col("commit_scn").isNull()
    disposition = (
        # Dropped rows come first, so that their count does not depend on the table's position.
        F.when(F.col("dropped").isNotNull(), DROPPED)
        .when(F.col("rolled_back"), ROLLED_BACK)
        .when(is_open, CARRIED_OUT)
        .when((F.col("settled_scn") <= position) & ~may_be_open, BEFORE_POSITION)
        .when(F.col("commit_scn") >= stop_scn, HELD)
        .when(F.col("undone"), UNDONE)
        .when(F.col("left_out"), LEFT_OUT)
        .otherwise(APPLIED)
    )
    # A problem with settled_scn above the position stops the table, even where the commit is at or below the position.
    at_scn = F.when(is_open, F.col("own_scn")).otherwise(F.greatest("commit_scn", position + 1))
    applies = ~is_open | (F.col("own_scn") > position) & (F.col("own_scn") < stop_scn)
    range_number = first_case(
        (
            ((F.col("table_number") == table.number) & (at_scn >= scn), number)
            for table in captured
            for number, scn in reversed([*enumerate(sorted(table.ddl_scns), 1)])
        ),
        F.lit(0),
    )
    return changes.withColumns(
        {
            "range_number": range_number,
            "disposition": disposition,
            # An INTERNAL row is no change: it only says where a statement ends.
            "problem": F.when(applies & (F.col("operation_code") != Mined.INTERNAL), F.col("problem")),
            "problem_scn": at_scn,
        }
    )


def number_of(captured: Sequence[CapturedTable], value: Callable[[CapturedTable], int | None]) -> Expression:
    """Return an expression that looks up a number of the row's table in a literal map.

    A chain of WHENs would grow with the number of tables, and Spark would compile all of it.
    """
    entries = [literal for table in captured for literal in (F.lit(table.number), F.lit(value(table)).cast("bigint"))]
    return F.try_element_at(F.create_map(*entries), F.col("table_number")) if entries else F.lit(None).cast("bigint")
