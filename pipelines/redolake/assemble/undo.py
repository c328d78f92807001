"""Partial rollbacks: the changes that a transaction's own undo rows cancel (savepoints, failed statements).

Undo rows come newest first, so per row of the table they nest like brackets: a change opens a level, an undo row closes it.
At one level, the event after a change is therefore its undo. RS_ID is not a key, as an undo row has one of its own. But where
both rows share one address (thread, RS_ID, SSN), they are a pair in either order: 19.13 returns some undo rows first.

LogMiner may show only the last row of a statement that writes large objects with a ROWID, and one undo row for all of them. A
transaction undoes its changes in reverse order, so the INSERTs of one table nest like brackets too: the undo row that closes an
INSERT names its row, and all between them is undone. The last row of an UPDATE is another UPDATE, or an INTERNAL row, which
counts as the statement's change. Where an undone UPDATE may have been such a statement, and nothing says where it begins, the
table stops.
"""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.assemble.landed import ROW_KEY
from redolake.values.logminer import NO_ROWID, Mined
from redolake.values.redo import CHANGES, Operation

TABLE = ("table_number", "con_id", "xid")
ROW = (*TABLE, "object_id", "row_id")
ADDRESS = ("thread", "rs_id", "ssn")
# An UPDATE that only empties large objects, as a statement begins that writes them.
EMPTIES = r'^update "[^"]+"\."[^"]+"(?: a)? set (?:(?:a\.)?"[^"]+" = EMPTY_[CB]LOB\(\)(?:, ?)?)+ where '
OF_PARTNER = ("position", "sets_plain", "closes", "begins_in_doubt")


def match_undo(changes: DataFrame, *, numbers: bool = False) -> DataFrame:
    """Set `undone` on both rows of a pair, and `problem` on an undo row without a change of the inverse operation. With
    `numbers`, keep an undo row's change as `partner`, with OF_PARTNER."""
    inverted, rollback = F.col("undo_inverted"), F.col("rollback")
    events = Window.partitionBy(*ROW).orderBy(*ROW_KEY)
    step = F.when(inverted, 0).when(rollback, -1).otherwise(1)
    running = F.sum(step).over(events.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    level = F.when(~inverted, F.when(rollback, running + 1).otherwise(running))
    same_level = Window.partitionBy(*ROW, "undo_level").orderBy(*ROW_KEY)
    event = F.struct("operation_code", *(OF_PARTNER if numbers else []))
    partner = F.lag(event).over(same_level)
    followed = F.coalesce(F.lead("rollback").over(same_level), F.lit(False))
    matched = (
        changes.withColumn("undo_inverted", _is_inverted())
        .withColumn("undo_level", level)
        .withColumn("undo_partner", partner)
        .withColumn("undone", inverted | rollback | followed)
        .withColumn("problem", F.coalesce("problem", F.when(rollback & ~inverted, _problem())))
    )
    if numbers:
        matched = matched.withColumn("partner", F.when(rollback, F.col("undo_partner")))
    return matched.drop("undo_inverted", "undo_level", "undo_partner")


def match_statements(changes: DataFrame, apart: Expression, assembled: Expression) -> DataFrame:
    """Set `undone` and `problem` like match_undo where rows of a statement may lack a ROWID. Rows `apart` are about large
    objects: no undo row is theirs alone. `sets_plain` tells which UPDATEs are no last row of a statement that writes them. In
    tables that are `assembled`, an emptied large object is a value."""
    closed = undone_inserts(close_statements(changes.withColumn("is_apart", apart), assembled))
    code, is_event = F.col("operation_code"), ~F.col("is_closed") & (~F.col("is_apart") | F.col("closes"))
    as_update = F.when(F.col("closes"), int(Operation.UPDATE)).otherwise(code)
    events = match_undo(closed.filter(is_event).withColumn("operation_code", as_update), numbers=True)
    matched = events.withColumn("operation_code", F.when(F.col("closes"), int(Mined.INTERNAL)).otherwise(code))
    others = closed.filter(~is_event).withColumn("undone", F.col("undone") | F.col("is_closed"))
    checked = stop_doubtful(undo_with_end(matched.unionByName(others, allowMissingColumns=True)))
    whole = undo_with_row(checked, F.col("is_apart"))
    return whole.drop("is_apart", "is_closed", "statement", "undone_by_end", "partner", *OF_PARTNER)


def close_statements(changes: DataFrame, assembled: Expression) -> DataFrame:
    """Number the statements of each table in a transaction: rows without a ROWID, and the change with which they end.

    Adds `closes`, true for the INTERNAL row at the end of an UPDATE. Only one right after a row without a ROWID is taken for
    that, because LogMiner has INTERNAL rows of other kinds. Adds `begins_in_doubt`: the statement may begin with an UPDATE that
    is a statement of its own, which has an effect.
    """
    code, rollback = F.col("operation_code"), F.col("rollback")
    in_order = Window.partitionBy(*TABLE).orderBy(*ROW_KEY)
    of_statement = Window.partitionBy(*TABLE, "statement")
    has_none = _has_no_rowid()
    is_end = (code == Mined.INTERNAL) & ~rollback & F.lag(has_none, 1, False).over(in_order)
    ends = is_end | rollback | (code.isin(*CHANGES) & ~has_none)
    begins = F.max(has_none & (code == Operation.INSERT)).over(of_statement)
    has_effect = has_none & (code == Operation.UPDATE) & ~F.coalesce(F.col("sql_redo").rlike(EMPTIES), F.lit(False))
    return (
        changes.withColumn("closes", is_end)
        .withColumn("ends", ends.cast("int"))
        .withColumn("statement", F.coalesce(F.sum("ends").over(in_order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0)))
        .withColumn("closes", F.col("closes") & ~begins)
        .withColumn("begins_in_doubt", assembled | F.max(has_effect).over(of_statement))
        .drop("ends")
    )


def undo_with_end(matched: DataFrame) -> DataFrame:
    """Set `undone`, and `undone_by_end`, on the rows without a ROWID of a statement whose INTERNAL row is undone."""
    of_statement = Window.partitionBy(*TABLE, "statement")
    by_end = _has_no_rowid() & F.max(F.col("closes") & F.col("undone")).over(of_statement)
    return matched.withColumn("undone_by_end", by_end).withColumn("undone", F.col("undone") | F.col("undone_by_end"))


def _has_no_rowid() -> Expression:
    return F.col("row_id").eqNullSafe(NO_ROWID) & ~F.col("rollback")


def undone_inserts(changes: DataFrame) -> DataFrame:
    """Give each INSERT with the placeholder that was undone the ROWID of its undo row, and set `is_closed` on both and on what
    is undone with them: the row's own changes, and rows without a ROWID in between. Adds `position` in the transaction."""
    code, rollback = F.col("operation_code"), F.col("rollback")
    of_insert = ((code == Operation.INSERT) & ~rollback) | ((code == Operation.DELETE) & rollback)
    inserts = (*TABLE, "object_id", "of_insert")
    running = F.sum(F.when(F.col("undo_inverted"), 0).when(rollback, -1).otherwise(1)).over(
        Window.partitionBy(*inserts).orderBy(*ROW_KEY).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    same_level = Window.partitionBy(*inserts, "undo_level").orderBy(*ROW_KEY)
    event = F.struct("rollback", "row_id")
    following, previous = F.lead(event).over(same_level), F.lag(event).over(same_level)
    at_address = F.min(F.struct(*ROW_KEY, "row_id")).over(Window.partitionBy(*inserts, *ADDRESS))
    is_placeholder = F.col("row_id") == NO_ROWID
    opens = F.col("of_insert") & ~rollback & following["rollback"] & (is_placeholder | (F.col("row_id") == following["row_id"]))
    closes = F.col("of_insert") & rollback & ~previous["rollback"]
    closes = closes & ((previous["row_id"] == NO_ROWID) | (previous["row_id"] == F.col("row_id")))
    named = F.when(F.col("undo_inverted"), at_address["row_id"]).when(opens, following["row_id"])
    is_nested = F.col("undo_level").isNotNull()
    step = F.when(opens & is_nested, 1).when(closes & is_nested, -1).otherwise(0)
    of_table = Window.partitionBy(*TABLE).orderBy(*ROW_KEY)
    so_far = of_table.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_row = Window.partitionBy(*ROW).orderBy(*ROW_KEY).rowsBetween(Window.unboundedPreceding, -1)
    inside = F.sum("step").over(so_far) > 0
    of_undone = F.coalesce(F.last(F.when(F.col("of_insert"), F.col("step") == 1), ignorenulls=True).over(of_row), F.lit(False))
    has_none = (F.col("row_id") == NO_ROWID) & (F.col("step") == 0)
    return (
        changes.withColumn("of_insert", of_insert)
        .withColumn("undo_inverted", F.col("of_insert") & _is_inverted(inserts))
        .withColumn("undo_level", F.when(~F.col("undo_inverted"), F.when(rollback, running + 1).otherwise(running)))
        .withColumns({"step": step, "name": F.when(is_placeholder, named)})
        .withColumn("row_id", F.coalesce("name", "row_id"))
        .withColumn("is_closed", (F.col("step") != 0) | (has_none & inside) | of_undone)
        .withColumn("position", F.row_number().over(of_table))
        .drop("of_insert", "undo_inverted", "undo_level", "step", "name")
    )


def stop_doubtful(matched: DataFrame) -> DataFrame:
    """Add a `problem` to the undo row of an UPDATE, if it may undo a statement that wrote large objects: rows of one come after
    the UPDATE that it was matched with, or right before it without a ROWID. Those of a statement that ends with an INTERNAL row
    are in no doubt, and those right before do no harm where they have no effect of their own."""
    code, rollback = F.col("operation_code"), F.col("rollback")
    of_object = F.col("is_apart") | ((code == Operation.UPDATE) & (F.col("row_id") == NO_ROWID))
    left = of_object & ~rollback & ~F.col("is_closed") & ~F.col("undone_by_end") & (code != Mined.INTERNAL)
    before = Window.partitionBy(*TABLE).orderBy(*ROW_KEY).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    newest = F.last(F.when(left, F.struct("position", "row_id")), ignorenulls=True).over(before)
    partner = F.col("partner.position")
    is_between = newest["position"] > partner
    is_before = (newest["position"] == partner - 1) & (newest["row_id"] == NO_ROWID) & ~F.col("partner.sets_plain")
    is_before = is_before & ~F.col("partner.closes") & F.col("partner.begins_in_doubt")
    of_update = rollback & (code == Operation.UPDATE) & ~F.col("is_closed") & ~F.col("is_apart")
    is_doubtful = of_update & (partner.isNull() & newest.isNotNull() | is_between | is_before)
    what = F.lit("an undo row may undo an UPDATE of large objects, of which LogMiner does not show which rows belong to it")
    return matched.withColumn("problem", F.coalesce("problem", F.when(is_doubtful, F.concat(what, _where()))))


def stop_taken_back(matched: DataFrame, is_piece: Expression) -> DataFrame:
    """Add a `problem` to a change of a large object that an undo row of its transaction follows: where LogMiner has no undo row
    for such a change, the savepoint may have been before it."""
    after = Window.partitionBy("con_id", "xid").orderBy(*(F.col(name).desc() for name in ROW_KEY))
    is_followed = F.max(F.col("rollback")).over(after.rowsBetween(Window.unboundedPreceding, -1))
    what = (
        "a part of the transaction is rolled back after a change of a large object, and LogMiner may not show whether that "
        "change is undone (`large_objects: reread` does not need to know)"
    )
    doubtful = F.concat(F.lit(what), _where())
    is_doubtful = is_piece & ~F.col("undone") & is_followed
    return matched.withColumn("problem", F.coalesce("problem", F.when(is_doubtful, doubtful)))


def undo_with_row(matched: DataFrame, apart: Expression) -> DataFrame:
    """Set `undone` on the rows `apart`, which name their row by ROWID, if its INSERT was undone."""
    before = Window.partitionBy(*ROW).orderBy(*ROW_KEY).rowsBetween(Window.unboundedPreceding, -1)
    code, rollback = F.col("operation_code"), F.col("rollback")
    born = F.when(~apart & (code == Operation.INSERT) & ~rollback, F.col("undone")).when(
        ~apart & (code == Operation.DELETE) & rollback, F.lit(False)
    )
    is_gone = F.coalesce(F.last(born, ignorenulls=True).over(before), F.lit(False))
    return matched.withColumn("undone", F.col("undone") | (apart & is_gone))


def _is_inverted(row: tuple[str, ...] = ROW) -> Expression:
    """Return whether a row is one of a pair with one address: an undo row, then its change."""
    record = Window.partitionBy(*row, *ADDRESS)
    event = F.struct(*ROW_KEY, "rollback", "operation_code")
    first, last = F.min(event).over(record), F.max(event).over(record)
    pair = (F.count("*").over(record) == 2) & first["rollback"] & ~last["rollback"]
    return pair & first["operation_code"].eqNullSafe(_inverse(last["operation_code"]))


def _inverse(code: Expression) -> Expression:
    return (
        F.when(code == Operation.INSERT, Operation.DELETE)
        .when(code == Operation.DELETE, Operation.INSERT)
        .when(code == Operation.UPDATE, Operation.UPDATE)
    )


def _problem() -> Expression:
    where = _where()
    # From level 1 on, changes and undo rows take turns; below, a change may come after the undo row that lacks one.
    nothing = F.col("undo_level") <= 0
    return F.when(nothing, F.concat(F.lit("an undo row finds no change to undo"), where)).when(
        F.col("undo_partner.operation_code") != _inverse(F.col("operation_code")),
        F.concat(F.lit("an undo row does not match the change before it"), where),
    )


def _where() -> Expression:
    return F.concat_ws(
        " ", F.lit(", transaction"), "xid", F.lit("ROWID"), F.coalesce("row_id", F.lit("none")), F.lit("SCN"), "scn"
    )
