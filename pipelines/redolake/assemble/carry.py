"""The carry-over: the redo rows of transactions that are still open at the end of a batch, and a list of these transactions."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.assemble.parallel_dml import deciding_xid
from redolake.assemble.transactions import CARRIED_OUT, TRANSACTION
from redolake.records.batches.carry import OpenTransaction, join_transactions
from redolake.values.landed_schema import CARRIED_SCHEMA
from redolake.values.redo import CONTROL, Operation


def rows_to_carry(changes: DataFrame, rows: DataFrame, parallel: bool = False) -> DataFrame:
    """Return the undecoded rows of open transactions, and the START of each, which contains its time and user.

    With parallel DML, also return the commits of servers whose coordinator is open, to compare them with its end later.
    """
    open_rows = changes.filter(F.col("disposition") == CARRIED_OUT)
    # Each transaction once: otherwise the join would send a row per change of a large transaction to one task.
    listed = open_rows.select(*TRANSACTION).distinct()
    begun = rows.filter(F.col("operation_code") == Operation.START).join(listed, list(TRANSACTION), "left_semi")
    carried = open_rows.select(*CARRIED_SCHEMA.names).unionByName(begun.select(*CARRIED_SCHEMA.names))
    if not parallel:
        return carried
    early = open_rows.filter(F.col("own_scn").isNotNull()).select(*TRANSACTION).distinct()
    commits = rows.filter(F.col("operation_code") == Operation.COMMIT).join(early, list(TRANSACTION), "left_semi")
    return carried.unionByName(commits.select(*CARRIED_SCHEMA.names))


def list_open(carried: DataFrame) -> tuple[OpenTransaction, ...]:
    """Return the open transactions, oldest first. Rows of parallel servers belong to their coordinator."""
    is_change = ~F.col("operation_code").isin(*CONTROL)
    listed = (
        carried.filter(is_change | (F.col("operation_code") == Operation.START))
        .withColumn("xid", deciding_xid())
        .groupBy(*TRANSACTION)
        .agg(
            F.min("thread").alias("thread"),
            F.min(F.coalesce("start_scn", "scn")).alias("start_scn"),
            F.date_format(F.min("at"), "yyyy-MM-dd HH:mm:ss").alias("first_at"),
            F.count_if(is_change).alias("rows"),
            F.coalesce(F.sum(F.when(is_change, F.octet_length("sql_redo"))), F.lit(0)).alias("bytes"),
            # LogMiner reports UNKNOWN where the START is outside the logs that it has read.
            F.max(F.nullif("username", F.lit("UNKNOWN"))).alias("username"),
        )
    )
    return join_transactions(OpenTransaction(**row.asDict()) for row in listed.collect())
