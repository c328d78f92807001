"""Parked rows: a large open transaction is carried over once, and read again only by a batch in which it may end.

Without this each batch would read and write all of it again, for as long as it stays open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from redolake.assemble.assembled import AssembledBatch
from redolake.assemble.attribution import CapturedTable
from redolake.assemble.landed import read_rows
from redolake.assemble.parallel_dml import is_parallel
from redolake.assemble.transactions import CARRIED_OUT, TRANSACTION
from redolake.assemble.unknown_xid import has_unknown_sequence, slot_of
from redolake.records.batches.carry import ParkedRows
from redolake.records.batches.spec import LandedWindow
from redolake.values.redo import TRANSACTION_ENDS

PARK_FROM_ROWS = 100_000  # below that the rows are read in less time than the look for their end takes


def find_resting(
    spark: SparkSession, windows: Sequence[LandedWindow], parked: Sequence[ParkedRows], captured: Sequence[CapturedTable]
) -> list[ParkedRows]:
    """Return those that this batch need not read: the transaction does not end in it, and the same tables are captured.

    An end counts whatever its container, and so does that of another transaction in the same undo slot: it shows that the one
    before has ended. Parallel DML, and rows whose transaction LogMiner does not know, may concern any of them: then all are
    read.
    """
    tables = {str(table.id) for table in captured}
    known = [one for one in parked if set(one.tables) <= tables]
    if not known:
        return []
    xid = F.col("xid")
    is_end = F.col("operation_code").isin(*TRANSACTION_ENDS) & slot_of(xid).isin(*{one.part.slot for one in known})
    is_unclear = has_unknown_sequence(xid) | is_parallel()
    concerned = read_rows(spark, windows, ()).filter(is_end | is_unclear)
    found = concerned.select(F.when(is_unclear, None).otherwise(slot_of(xid)).alias("slot")).distinct().collect()
    ended = {row["slot"] for row in found}
    return [] if None in ended else [one for one in known if one.part.slot not in ended]


def with_resting(batch: AssembledBatch, rests: Sequence[ParkedRows], captured: Sequence[CapturedTable]) -> AssembledBatch:
    """Count the rows that were not read as carried in and carried out."""
    numbers = {str(table.id): table.number for table in captured}
    rows: Counter[int] = Counter()
    for one in rests:
        rows.update({numbers[table]: count for table, count in one.tables.items()})
    carried = Counter(batch.input_counts.carried) + rows
    accounted = Counter(batch.accounting.rows) + Counter({(table, 0, CARRIED_OUT, None): n for table, n in rows.items()})
    return replace(
        batch,
        input_counts=replace(batch.input_counts, carried=dict(carried)),
        accounting=replace(batch.accounting, rows=dict(accounted)),
    )


def to_park(changes: DataFrame, captured: Sequence[CapturedTable], carried: int) -> Mapping[tuple[int, str], Mapping[str, int]]:
    """Return the rows by table of each transaction that is large enough, by container and xid. `carried` rows are open."""
    if carried < PARK_FROM_ROWS:
        return {}
    names = {table.number: str(table.id) for table in captured}
    named = F.col("con_id").isNotNull() & F.col("xid").isNotNull() & ~has_unknown_sequence(F.col("xid"))
    counted = (
        changes.filter((F.col("disposition") == CARRIED_OUT) & named).groupBy(*TRANSACTION, "table_number").count().collect()
    )
    found: dict[tuple[int, str], dict[str, int]] = {}
    for row in counted:
        found.setdefault((row["con_id"], row["xid"]), {})[names[row["table_number"]]] = row["count"]
    return {key: tables for key, tables in found.items() if sum(tables.values()) >= PARK_FROM_ROWS}


def is_one_of(keys: Collection[tuple[int, str]]) -> Expression:
    """Return whether a row belongs to one of these transactions, by container and xid. Never NULL."""
    return F.concat_ws(" ", *TRANSACTION).isin([f"{con_id} {xid}" for con_id, xid in keys])
