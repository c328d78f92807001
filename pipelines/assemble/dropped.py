"""Transactions that a person has dropped: which rows of a batch are theirs, and whether their end has come.

A transaction is named by container and xid, and an xid comes again once its slot has wrapped. Between the ends of an xid lie
its xid_uses; the one that is meant holds the start SCN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.assemble.captured_tables import CapturedTable
from pipelines.assemble.cases import first_case
from pipelines.assemble.parallel_dml import deciding_xid
from pipelines.batch import Dropped, DroppedRows
from pipelines.redo import TRANSACTION_ENDS, Operation


@dataclass(frozen=True, slots=True)
class End:
    con_id: int
    xid: str
    scn: int
    committed: bool


@dataclass(frozen=True, slots=True)
class XidUse:
    """The rows of `of` have SCNs above `after` and up to its end; None where the batch has no such edge."""

    of: Dropped
    after: int | None
    end: End | None

    def holds(self) -> Expression:
        xid = deciding_xid()
        mine = (F.col("con_id") == self.of.con_id) & ((xid == self.of.xid) | F.col("xid").isin(*self.of.servers))
        mine = mine if self.after is None else mine & (F.col("scn") > self.after)
        return mine if self.end is None else mine & (F.col("scn") <= self.end.scn)


def read_xid_uses(rows: DataFrame, dropped: Sequence[Dropped]) -> tuple[XidUse, ...]:
    if not dropped:
        return ()
    ended = rows.filter(F.col("operation_code").isin(*TRANSACTION_ENDS) & F.col("xid").isin(*{d.xid for d in dropped}))
    found = (
        ended.select("con_id", "xid", "scn", (F.col("operation_code") == Operation.COMMIT).alias("committed"))
        .distinct()
        .collect()
    )
    return xid_uses(dropped, [End(**row.asDict()) for row in found])


def xid_uses(dropped: Sequence[Dropped], ends: Iterable[End]) -> tuple[XidUse, ...]:
    found: list[XidUse] = []
    for one in dropped:
        own = sorted((e for e in ends if (e.con_id, e.xid) == (one.con_id, one.xid)), key=lambda e: e.scn)
        after = max((e.scn for e in own if e.scn < one.start_scn), default=None)
        found.append(XidUse(one, after, next((e for e in own if e.scn >= one.start_scn), None)))
    return tuple(found)


def mark_dropped(changes: DataFrame, found: Sequence[XidUse]) -> DataFrame:
    """Adds `dropped`: the number of the use a row belongs to, NULL for the others."""
    xid_uses = reversed([(use.holds(), number) for number, use in enumerate(found)])
    return changes.withColumn("dropped", first_case(xid_uses, F.lit(None).cast("int")))


def count_dropped(changes: DataFrame, found: Sequence[XidUse], captured: Sequence[CapturedTable]) -> tuple[DroppedRows, ...]:
    if not found:
        return ()
    tables = {table.number: str(table.id) for table in captured}
    rows: dict[int, dict[str, int]] = defaultdict(dict)
    for row in changes.filter(F.col("dropped").isNotNull()).groupBy("dropped", "table_number").count().collect():
        rows[row["dropped"]][tables[row["table_number"]]] = row["count"]
    return tuple(
        DroppedRows(
            con_id=use.of.con_id,
            xid=use.of.xid,
            start_scn=use.of.start_scn,
            rows=dict(sorted(rows[number].items())),
            end_scn=None if use.end is None else use.end.scn,
            committed=None if use.end is None else use.end.committed,
        )
        for number, use in enumerate(found)
    )
