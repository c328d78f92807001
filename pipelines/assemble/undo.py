"""Partial rollbacks: which changes of a transaction are undone by its own undo rows (savepoints, failed statements).

Undo rows come newest first, so per row of the table they nest like brackets: a change opens a level, an undo row closes it.
At one level the event after a change is therefore its undo. RS_ID is no key: an undo row has one of its own.
"""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.assemble.landed import DELETE, INSERT, PLACE, UPDATE

ROW = ("subject", "con_id", "xid", "object_id", "row_id")


def match_undo(changes: DataFrame) -> DataFrame:
    """Sets `undone` on both partners, and `problem` on an undo row without a change of the inverse operation to undo."""
    events = Window.partitionBy(*ROW).orderBy(*PLACE)
    running = F.sum(F.when(F.col("rollback"), -1).otherwise(1)).over(
        events.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    level = F.when(F.col("rollback"), running + 1).otherwise(running)
    same_level = Window.partitionBy(*ROW, "undo_level").orderBy(*PLACE)
    partner = F.lag(F.struct("rollback", "operation_code")).over(same_level)
    return (
        changes.withColumn("undo_level", level)
        .withColumn("undo_partner", partner)
        .withColumn("undone", F.col("rollback") | F.coalesce(F.lead("rollback").over(same_level), F.lit(False)))
        .withColumn("problem", F.coalesce("problem", F.when(F.col("rollback"), _problem())))
        .drop("undo_level", "undo_partner")
    )


def _problem() -> Expression:
    partner, code = F.col("undo_partner"), F.col("operation_code")
    inverse = F.when(code == INSERT, DELETE).when(code == DELETE, INSERT).when(code == UPDATE, UPDATE)
    where = F.concat_ws(
        " ", F.lit(", transaction"), "xid", F.lit("ROWID"), F.coalesce("row_id", F.lit("none")), F.lit("SCN"), "scn"
    )
    nothing = partner.isNull() | partner["rollback"] | (F.col("undo_level") <= 0)
    return F.when(nothing, F.concat(F.lit("an undo row finds no change to undo"), where)).when(
        partner["operation_code"] != inverse,
        F.concat(F.lit("an undo row does not fit the change before it"), where),
    )
