"""Which transactions have no START in the windows since the chain's begin, or since a declared gap. Pure.

Such a transaction's first change, and its commit, may come any number of windows later. So the state is kept for each window
and continued from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from redolake.records.split import SplitTransaction, SplitTransactions, TransactionName
from redolake.values.redo import CHANGES, NO_XID, Operation
from redolake.values.scn import ChainPosition, Scn

COLUMNS = ("con_id", "xid", "operation_code", "scn")

Name = tuple[int | None, str]


def after_next_window(before: SplitTransactions, batches: Iterable[pa.RecordBatch], resetlogs_id: int) -> SplitTransactions:
    """Return the state at the end of the next window. A window that contains later rows of a transaction contains its START
    too, in any order. A transaction that was rolled back lacks nothing, and an undo slot has one open transaction at a time.

    A COMMIT without a container has its START under any, as that of another container it counts as without one."""
    seen, scns = Counter[tuple[int | None, str, int]](), dict[tuple[int | None, str, int], int]()
    for batch in batches:
        counted = pa.Table.from_batches([batch]).group_by(list(COLUMNS[:3])).aggregate([([], "count_all"), ("scn", "max")])
        for row in counted.to_pylist():
            key = row["con_id"], row["xid"] or "", row["operation_code"]
            seen[key] += row["count_all"]
            scns[key] = max(scns.get(key, 0), row["scn_max"])
    started = {(con_id, xid): scns[con_id, xid, code] for con_id, xid, code in seen if code == Operation.START}
    begun = {**{(t.con_id, t.xid): t.scn for t in before.begun}, **started}
    unplaced = {xid for _, xid in begun}

    def lacks_start(con_id: int | None, xid: str) -> bool:
        return xid not in unplaced if con_id is None else (con_id, xid) not in begun and (None, xid) not in begun

    rows = Counter({(t.con_id, t.xid): t.rows for t in before.transactions})
    committed = {(t.con_id, t.xid): t.committed for t in before.transactions}
    for (con_id, xid, code), count in seen.items():
        if xid == NO_XID or not lacks_start(con_id, xid):
            continue
        if code in CHANGES:
            rows[con_id, xid] += count
        if code == Operation.COMMIT:
            rows[con_id, xid] += 0
            committed[con_id, xid] = ChainPosition(resetlogs_id, Scn(scns[con_id, xid, code])).name
    undone = {(con_id, xid) for con_id, xid, code in seen if code == Operation.ROLLBACK}
    ended = undone | {(con_id, xid) for con_id, xid, code in seen if code == Operation.COMMIT}
    ended |= find_replaced(started, begun)
    return SplitTransactions(
        begun=tuple(TransactionName(*name, begun[name]) for name in sorted(begun.keys() - ended, key=_order)),
        transactions=tuple(
            SplitTransaction(*name, rows[name], committed.get(name)) for name in sorted(rows.keys() - undone, key=_order)
        ),
    )


def find_replaced(started: Iterable[Name], begun: Iterable[Name]) -> set[Name]:
    """Return the transactions whose undo slot a later one has got: each has ended, also where no end was shown."""
    newest = dict[Name, int]()
    for con_id, xid in started:
        slot, _, sequence = xid.rpartition(".")
        newest[con_id, slot] = max(newest.get((con_id, slot), 0), int(sequence or 0))
    parts = ((name, (name[0], name[1].rpartition(".")[0]), name[1].rpartition(".")[2]) for name in begun)
    return {name for name, slot, sequence in parts if int(sequence or 0) < newest.get(slot, 0)}


def _order(name: Name) -> tuple[int, str]:
    return name[0] or 0, name[1]
