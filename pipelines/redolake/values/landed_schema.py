"""The columns of a landed redo row, in their order. Mining produces them, landing writes them, and Spark reads them.

`OF_EVERY_SOURCE` is what a transaction and its changes need whichever source they come from; the others are LogMiner's.
"""

from __future__ import annotations

import pyarrow as pa

from redolake.values import logminer

LANDED_SCHEMA = pa.schema(
    [
        ("slice", pa.int32()),
        ("ordinal", pa.int64()),
        ("thread", pa.int32()),
        ("sequence", pa.int64()),
        ("rs_id", pa.string()),
        ("ssn", pa.int64()),
        ("scn", pa.int64()),
        ("start_scn", pa.int64()),
        ("at", pa.timestamp("s")),
        ("xid", pa.string()),
        ("pxid", pa.string()),
        ("con_id", pa.int32()),
        ("con_name", pa.string()),
        ("operation", pa.string()),
        ("operation_code", pa.int32()),
        ("seg_owner", pa.string()),
        ("table_name", pa.string()),
        ("object_id", pa.int64()),
        ("data_object_id", pa.int64()),
        ("object_version", pa.int64()),
        ("row_id", pa.string()),
        ("rollback", pa.bool_()),
        ("status", pa.int32()),
        ("info", pa.string()),
        ("username", pa.string()),
        ("sql_redo", pa.string()),
    ]
)
OF_EVERY_SOURCE = tuple(name for name in LANDED_SCHEMA.names if name not in logminer.COLUMNS)
# A carried-over row keeps the start SCN of the window in which it was landed.
CARRIED_SCHEMA = LANDED_SCHEMA.append(pa.field("window_start", pa.int64()))
