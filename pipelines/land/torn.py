"""Transactions of which the windows behind a break hold changes but not their beginning. Pure.

They were under way across the break's end: what they did before is not there, and nobody would see it. Their first change, and
their commit, may come any number of windows later, so what is known is kept per window and goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipelines.redo import CHANGES, TRANSACTION_ENDS, Operation

COLUMNS = ("con_id", "xid", "operation_code")
FORMAT = 2  # 2: goes on from window to window

Name = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class Torn:
    """As of a window's end: `begun` are the open transactions whose beginning was landed behind the break, `rows` the change
    rows of those without."""

    begun: frozenset[Name] = frozenset()
    rows: Mapping[Name, int] = field(default_factory=dict)

    @property
    def transactions(self) -> list[dict[str, Any]]:
        return [{"con_id": con_id, "xid": xid, "rows": n} for (con_id, xid), n in in_order(self.rows)]

    def to_json(self) -> dict[str, Any]:
        begun = [list(name) for name, _ in in_order(dict.fromkeys(self.begun, 0))]
        return {"format": FORMAT, "begun": begun, "transactions": self.transactions}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Torn:
        begun = frozenset((con_id, xid) for con_id, xid in body["begun"])
        return cls(begun, {(t["con_id"], t["xid"]): t["rows"] for t in body["transactions"]})


def in_order(rows: Mapping[Name, int]) -> list[tuple[Name, int]]:
    return sorted(rows.items(), key=lambda entry: (entry[0][0] or 0, entry[0][1]))


def behind_next_window(before: Torn, batches: Iterable[pa.RecordBatch]) -> Torn:
    """A window holds a START wherever it holds later rows of the transaction, in whatever order; what was rolled back lacks
    nothing."""
    seen: Counter[tuple[int | None, str, int]] = Counter()
    for batch in batches:
        counted = pa.Table.from_batches([batch]).group_by(list(COLUMNS)).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            seen[row["con_id"], row["xid"], row["operation_code"]] += row["count_all"]
    begun = before.begun | {(con_id, xid) for con_id, xid, code in seen if code == Operation.START}
    rows = Counter(before.rows)
    for (con_id, xid, code), count in seen.items():
        if code in CHANGES and (con_id, xid) not in begun:
            rows[con_id, xid] += count
    undone = {(con_id, xid) for con_id, xid, code in seen if code == Operation.ROLLBACK}
    ended = {(con_id, xid) for con_id, xid, code in seen if code in TRANSACTION_ENDS}
    return Torn(begun - ended, {name: n for name, n in rows.items() if name not in undone})
