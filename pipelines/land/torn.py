"""Transactions of which a window holds changes but not their beginning. Pure.

Behind a break they are those that were under way across its end: what they did before is not there, and nobody would see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

COLUMNS = ("con_id", "xid", "operation_code")
START = 6
CHANGES = frozenset({1, 2, 3})


def torn_transactions(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """By container and xid, with how many change rows are there."""
    begun: set[tuple[int, str]] = set()
    rows: Counter[tuple[int, str]] = Counter()
    for batch in batches:
        keys = zip(batch["con_id"].to_pylist(), batch["xid"].to_pylist(), strict=True)
        for key, code in zip(keys, batch["operation_code"].to_pylist(), strict=True):
            if code == START:
                begun.add(key)
            elif code in CHANGES:
                rows[key] += 1
    return [
        {"con_id": con_id, "xid": xid, "rows": n} for (con_id, xid), n in sorted(rows.items()) if (con_id, xid) not in begun
    ]
