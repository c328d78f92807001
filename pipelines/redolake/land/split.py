"""Which transactions a declared gap has split: the windows after it contain their changes, but not their start. Pure.

A split transaction's first change after the gap, and its commit, may come any number of windows later. So the state is kept
for each window and continued from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from redolake.records.split import SplitTransaction, SplitTransactions, TransactionName
from redolake.values.redo import CHANGES, Operation

COLUMNS = ("con_id", "xid", "operation_code")

Name = tuple[int | None, str]


def after_next_window(before: SplitTransactions, batches: Iterable[pa.RecordBatch]) -> SplitTransactions:
    """Return the state at the end of the next window. A window that contains later rows of a transaction contains its START
    too, in any order. A transaction that was rolled back lacks nothing."""
    seen: Counter[tuple[int | None, str, int]] = Counter()
    for batch in batches:
        counted = pa.Table.from_batches([batch]).group_by(list(COLUMNS)).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            seen[row["con_id"], row["xid"], row["operation_code"]] += row["count_all"]
    begun = {(t.con_id, t.xid) for t in before.begun} | {(con_id, xid) for con_id, xid, code in seen if code == Operation.START}
    rows = Counter({(t.con_id, t.xid): t.rows for t in before.transactions})
    for (con_id, xid, code), count in seen.items():
        if code in CHANGES and (con_id, xid) not in begun:
            rows[con_id, xid] += count
    undone = {(con_id, xid) for con_id, xid, code in seen if code == Operation.ROLLBACK}
    ended = undone | {(con_id, xid) for con_id, xid, code in seen if code == Operation.COMMIT}
    return SplitTransactions(
        begun=tuple(TransactionName(*name) for name in sorted(begun - ended, key=_order)),
        transactions=tuple(SplitTransaction(*name, rows[name]) for name in sorted(rows.keys() - undone, key=_order)),
    )


def _order(name: Name) -> tuple[int, str]:
    return name[0] or 0, name[1]
