"""Rows whose transaction number LogMiner does not know: XIDSQN 4294967295 on undo rows and rollbacks.

Such a row belongs to the transaction that held the undo slot (container, segment, slot) at its SCN: the last one that
began there, unless it had already ended. A row without such a transaction is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.assemble.landed import ROW_KEY
from redolake.records.batches.spec import DroppedXid
from redolake.values.redo import TRANSACTION_ENDS, UNKNOWN_SEQUENCE


def has_unknown_sequence(xid: Expression) -> Expression:
    return xid.endswith(UNKNOWN_SEQUENCE)


def resolve_unknown_xids(rows: DataFrame, dropped: Sequence[DroppedXid] = ()) -> DataFrame:
    """Set the xid of rows with an unknown sequence. Dropped transactions hold their slots too."""
    unknown = rows.filter(has_unknown_sequence(F.col("xid"))).select(
        "con_id", slot_of(F.col("xid")).alias("slot"), "scn", *ROW_KEY
    )
    # A coordinator of parallel DML may be known from its servers' rows only: its own START is not carried over.
    coordinators = rows.filter(F.col("pxid").isNotNull()).withColumns({"xid": F.col("pxid"), "operation_code": F.lit(None)})
    known = rows.unionByName(coordinators)
    if dropped:
        slots = [(d.con_id, xid, d.start_scn) for d in dropped for xid in (d.xid, *d.servers)]
        dropped_rows = rows.sparkSession.createDataFrame(slots, "con_id INT, xid STRING, scn BIGINT")
        known = known.unionByName(dropped_rows, allowMissingColumns=True)
    holders = (
        known.filter(~has_unknown_sequence(F.col("xid")))
        .groupBy("con_id", "xid")
        .agg(
            F.min("scn").alias("first_scn"),
            F.max(F.when(F.col("operation_code").isin(*TRANSACTION_ENDS), F.col("scn"))).alias("end_scn"),
        )
        .withColumn("sqn", F.substring_index("xid", ".", -1).cast("bigint"))
        .select(
            F.col("con_id").alias("holder_con_id"),
            slot_of(F.col("xid")).alias("holder_slot"),
            "first_scn",
            "sqn",
            "end_scn",
            "xid",
        )
    )
    began = (
        (F.col("con_id") == F.col("holder_con_id"))
        & (F.col("slot") == F.col("holder_slot"))
        & (F.col("first_scn") <= F.col("scn"))
    )
    last = F.max_by(F.struct("xid", "end_scn"), F.struct("first_scn", "sqn"))
    found = unknown.join(holders, began).groupBy(*ROW_KEY, "scn").agg(last.alias("holder"))
    still_there = F.col("holder.end_scn").isNull() | (F.col("holder.end_scn") >= F.col("scn"))
    resolved = found.filter(still_there).select(*ROW_KEY, F.col("holder.xid").alias("holder_xid"))
    return (
        rows.join(F.broadcast(resolved), list(ROW_KEY), "left")
        .withColumn("xid", F.coalesce("holder_xid", "xid"))
        .drop("holder_xid")
    )


def slot_of(xid: Expression) -> Expression:
    """Return the undo slot of a transaction: segment and slot, without the sequence."""
    return F.substring_index(xid, ".", 2)
