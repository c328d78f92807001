"""Partial rollbacks: the changes that a transaction's own undo rows cancel (savepoints, failed statements).

Undo rows come newest first, so per row of the table they nest like brackets: a change opens a level, an undo row closes it.
At one level, the event after a change is therefore its undo. RS_ID is not a key, as an undo row has one of its own. But where
both rows share one address (thread, RS_ID, SSN), they are a pair in either order: 19.13 returns some undo rows first.

LogMiner may show an INSERT with large objects under a placeholder, while its undo row has the ROWID. A transaction undoes its
INSERTs in reverse order, so those of one table nest like brackets too, and the undo row that closes an INSERT names its row.
"""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.assemble.landed import ROW_KEY
from pipelines.redo import NO_ROWID, Operation

ROW = ("table_number", "con_id", "xid", "object_id", "row_id")
ADDRESS = ("thread", "rs_id", "ssn")


def match_undo(changes: DataFrame) -> DataFrame:
    """Set `undone` on both rows of a pair, and `problem` on an undo row without a change of the inverse operation."""
    inverted, rollback = F.col("undo_inverted"), F.col("rollback")
    events = Window.partitionBy(*ROW).orderBy(*ROW_KEY)
    step = F.when(inverted, 0).when(rollback, -1).otherwise(1)
    running = F.sum(step).over(events.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    level = F.when(~inverted, F.when(rollback, running + 1).otherwise(running))
    same_level = Window.partitionBy(*ROW, "undo_level").orderBy(*ROW_KEY)
    partner = F.lag(F.struct("rollback", "operation_code")).over(same_level)
    followed = F.coalesce(F.lead("rollback").over(same_level), F.lit(False))
    return (
        changes.withColumn("undo_inverted", _is_inverted())
        .withColumn("undo_level", level)
        .withColumn("undo_partner", partner)
        .withColumn("undone", inverted | rollback | followed)
        .withColumn("problem", F.coalesce("problem", F.when(rollback & ~inverted, _problem())))
        .drop("undo_inverted", "undo_level", "undo_partner")
    )


def name_placeholders(changes: DataFrame) -> DataFrame:
    """Give each INSERT with the placeholder that was undone the ROWID of its undo row."""
    code, rollback = F.col("operation_code"), F.col("rollback")
    of_insert = ((code == Operation.INSERT) & ~rollback) | ((code == Operation.DELETE) & rollback)
    table = ("table_number", "con_id", "xid", "object_id", "of_insert")
    running = F.sum(F.when(F.col("undo_inverted"), 0).when(rollback, -1).otherwise(1)).over(
        Window.partitionBy(*table).orderBy(*ROW_KEY).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    following = F.lead(F.struct("rollback", "row_id")).over(Window.partitionBy(*table, "undo_level").orderBy(*ROW_KEY))
    at_address = F.min(F.struct(*ROW_KEY, "row_id")).over(Window.partitionBy(*table, *ADDRESS))
    named = F.when(F.col("undo_inverted"), at_address["row_id"]).when(following["rollback"], following["row_id"])
    is_placeholder = F.col("of_insert") & ~rollback & (F.col("row_id") == NO_ROWID)
    return (
        changes.withColumn("of_insert", of_insert)
        .withColumn("undo_inverted", F.col("of_insert") & _is_inverted(table))
        .withColumn("undo_level", F.when(~F.col("undo_inverted"), F.when(rollback, running + 1).otherwise(running)))
        .withColumn("row_id", F.when(is_placeholder, F.coalesce(named, "row_id")).otherwise(F.col("row_id")))
        .drop("of_insert", "undo_inverted", "undo_level")
    )


def undo_with_row(matched: DataFrame, apart: Expression) -> DataFrame:
    """Set `undone` on the rows `apart`, which name their row by ROWID, if its INSERT was undone."""
    before = Window.partitionBy(*ROW).orderBy(*ROW_KEY).rowsBetween(Window.unboundedPreceding, -1)
    code, rollback = F.col("operation_code"), F.col("rollback")
    born = F.when(~apart & (code == Operation.INSERT) & ~rollback, F.col("undone")).when(
        ~apart & (code == Operation.DELETE) & rollback, F.lit(False)
    )
    is_gone = F.coalesce(F.last(born, ignorenulls=True).over(before), F.lit(False))
    return matched.withColumn("undone", F.when(apart, is_gone).otherwise(F.col("undone")))


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
    partner = F.col("undo_partner")
    where = F.concat_ws(
        " ", F.lit(", transaction"), "xid", F.lit("ROWID"), F.coalesce("row_id", F.lit("none")), F.lit("SCN"), "scn"
    )
    nothing = partner.isNull() | partner["rollback"] | (F.col("undo_level") <= 0)
    return F.when(nothing, F.concat(F.lit("an undo row finds no change to undo"), where)).when(
        partner["operation_code"] != _inverse(F.col("operation_code")),
        F.concat(F.lit("an undo row does not match the change before it"), where),
    )
