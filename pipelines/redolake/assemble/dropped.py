"""Transactions that a person has dropped: mark and count their rows in a batch, and find their ends.

A transaction is named by container and xid. Oracle reuses xids once an undo slot wraps. Commits and rollbacks delimit each
use; the one that contains `start_scn` is meant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.assemble.attribution import CapturedTable
from redolake.assemble.cases import first_case
from redolake.assemble.parallel_dml import deciding_xid
from redolake.records.batches.manifest import DroppedRows
from redolake.records.batches.spec import DroppedXid
from redolake.values.redo import TRANSACTION_ENDS, Operation


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    con_id: int
    xid: str
    scn: int
    committed: bool


@dataclass(frozen=True, slots=True)
class XidUse:
    """The use of an xid by a dropped transaction: SCNs above `after`, up to its end. None: the batch contains no such limit."""

    dropped: DroppedXid
    after: int | None
    end: TransactionEnd | None

    def contains_row(self) -> Expression:
        xid, dropped = deciding_xid(), self.dropped
        mine = (F.col("con_id") == dropped.con_id) & ((xid == dropped.xid) | F.col("xid").isin(*dropped.servers))
        mine = mine if self.after is None else mine & (F.col("scn") > self.after)
        return mine if self.end is None else mine & (F.col("scn") <= self.end.scn)


def read_xid_uses(rows: DataFrame, dropped: Sequence[DroppedXid]) -> tuple[XidUse, ...]:
    """Return the xid use of each dropped transaction, by the ends in `rows`."""
    if not dropped:
        return ()
    ended = rows.filter(F.col("operation_code").isin(*TRANSACTION_ENDS) & F.col("xid").isin(*{d.xid for d in dropped}))
    found = (
        ended.select("con_id", "xid", "scn", (F.col("operation_code") == Operation.COMMIT).alias("committed"))
        .distinct()
        .collect()
    )
    return xid_uses(dropped, [TransactionEnd(**row.asDict()) for row in found])


def xid_uses(dropped: Sequence[DroppedXid], ends: Iterable[TransactionEnd]) -> tuple[XidUse, ...]:
    found: list[XidUse] = []
    for one in dropped:
        own = sorted((e for e in ends if (e.con_id, e.xid) == (one.con_id, one.xid)), key=lambda e: e.scn)
        after = max((e.scn for e in own if e.scn < one.start_scn), default=None)
        found.append(XidUse(one, after, next((e for e in own if e.scn >= one.start_scn), None)))
    return tuple(found)


def mark_dropped(changes: DataFrame, uses: Sequence[XidUse]) -> DataFrame:
    """Add `dropped`: the number of the xid use that contains the row, else NULL."""
    cases = reversed([(use.contains_row(), number) for number, use in enumerate(uses)])
    return changes.withColumn("dropped", first_case(cases, F.lit(None).cast("int")))


def count_dropped(changes: DataFrame, uses: Sequence[XidUse], captured: Sequence[CapturedTable]) -> tuple[DroppedRows, ...]:
    """Count the dropped rows by transaction and table."""
    if not uses:
        return ()
    tables = {table.number: str(table.id) for table in captured}
    rows: dict[int, dict[str, int]] = defaultdict(dict)
    for row in changes.filter(F.col("dropped").isNotNull()).groupBy("dropped", "table_number").count().collect():
        rows[row["dropped"]][tables[row["table_number"]]] = row["count"]
    return tuple(
        DroppedRows(
            con_id=use.dropped.con_id,
            xid=use.dropped.xid,
            start_scn=use.dropped.start_scn,
            rows=dict(sorted(rows[number].items())),
            end_scn=None if use.end is None else use.end.scn,
            committed=None if use.end is None else use.end.committed,
        )
        for number, use in enumerate(uses)
    )
