"""Write redo rows as landed Parquet, and name them as windows of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.land.parquet import LANDED_OPTIONS
from redolake.records.batches.spec import LandedWindow
from redolake.values.landed_schema import LANDED_SCHEMA

AT = datetime(2026, 1, 2, 3, 4, 5)
OPERATIONS = {
    1: "INSERT", 2: "DELETE", 3: "UPDATE", 5: "DDL", 6: "START", 7: "COMMIT", 10: "LOB_WRITE", 36: "ROLLBACK",
    255: "UNSUPPORTED",
}  # fmt: skip
COORDINATOR = "9.9.9"  # the transaction of the session whose statement parallel servers run


def a_row(ordinal: int, scn: int, code: int, **more: Any) -> dict[str, Any]:
    """Return one redo row of SHOP.T, or the begin or end of a transaction."""
    fixed = {"slice": 0, "ordinal": ordinal, "thread": 1, "rs_id": f"{ordinal:04d}", "ssn": 0, "scn": scn, "xid": "1.2.3"}
    fixed |= {"con_id": 3, "con_name": "FREEPDB1", "operation_code": code, "rollback": False}
    if code in (1, 2, 3):
        fixed |= {"seg_owner": "SHOP", "table_name": "T", "object_id": 7, "row_id": "AAA", "sql_redo": "x"}
    return {**fixed, **more}


def server_row(ordinal: int, scn: int, code: int, xid: str, **more: Any) -> dict[str, Any]:
    """Return one redo row of a parallel server of COORDINATOR, or the end of its transaction."""
    return a_row(ordinal, scn, code, **{"xid": xid, "pxid": COORDINATOR, "row_id": xid, **more})


def land(folder: Path, start: int, end: int, rows: Iterable[Mapping[str, Any]]) -> LandedWindow:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "redo-x-0000.parquet"
    landed = [{"at": AT, "operation": OPERATIONS.get(row["operation_code"]), **row} for row in rows]
    pq.write_table(pa.Table.from_pylist(landed, LANDED_SCHEMA), file, **LANDED_OPTIONS)
    return LandedWindow(f"{1:010d}-{start:020d}-{end:020d}", start, end, (str(file),))
