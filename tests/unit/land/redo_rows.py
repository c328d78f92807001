"""Short builders of a window of two redo threads and of its rows."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import LogFile, Slice, Window
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId

ORDERS = TableId("SHOP", "ORDERS")
TABLES = {4711: ORDERS}
NAMES = {1: "INSERT", 2: "DELETE", 3: "UPDATE", 5: "DDL", 6: "START", 7: "COMMIT", 36: "ROLLBACK"}


def log(thread, sequence, first, end):
    return LogFile(thread, sequence, 11, Scn(first), Scn(end), (), 10)


ONE, TWO, THREE = log(1, 1, 100, 200), log(1, 2, 200, 300), log(2, 7, 50, 400)


def window(start=100, end=300, slices=((ONE, TWO), (THREE,)), resetlogs_id=11):
    cut = tuple(Slice(n, logs[0].thread, tuple(logs)) for n, logs in enumerate(slices))
    return Window(7, resetlogs_id, ScnRange(Scn(start), Scn(end)), cut)


def row(scn, code=1, *, thread=1, sequence=1, owner="SHOP", table="ORDERS", object_id=4711, **other):
    values = dict.fromkeys(LANDED_SCHEMA.names)
    values |= {
        "slice": 0, "ordinal": scn, "thread": thread, "sequence": sequence, "rs_id": f"0x{scn:08x}", "ssn": 0, "scn": scn,
        "at": datetime(2026, 1, 1), "xid": "1.2.3", "operation": NAMES[code], "operation_code": code, "seg_owner": owner,
        "table_name": table, "object_id": object_id, "rollback": False, "status": 0, "sql_redo": f"text {scn}",
    }  # fmt: skip
    return values | other


def frame(scn, code, **other):
    return row(scn, code, owner=None, table=None, object_id=0, **other)


def batch(*rows):
    return pa.RecordBatch.from_pylist(list(rows), LANDED_SCHEMA)


FIRST = (frame(110, 6), row(120), row(130, 3), frame(190, 7), row(210, 2, sequence=2))
SECOND = (row(150, thread=2, sequence=7), frame(160, 36, thread=2, sequence=7))


def write(landing, of, rows=(FIRST, SECOND), token="t1", tables=TABLES):
    """Write all slices of a window, each from one batch."""
    return [
        landing.windows.write_slice(of, n, [batch(*part)] if part else [], token, tables=tables) for n, part in enumerate(rows)
    ]
