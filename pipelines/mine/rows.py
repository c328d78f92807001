"""The landed columns, and how LogMiner's own columns become them: one batch in, one batch out, no row in Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.errors import RedoNotUnderstood
from pipelines.landed_schema import LANDED_SCHEMA
from pipelines.redo import Slice

INT64 = pa.int64()
REQUIRED = ("thread", "sequence", "rs_id", "ssn", "scn", "xid", "operation", "operation_code", "status")


def as_integers(batch: pa.RecordBatch, name: str, kind: pa.DataType = INT64) -> pa.Array:
    """A NUMBER column as the driver gave it (int64, decimal128, or null when all are), exact or not at all."""
    return batch.column(name).cast(kind, safe=True)


def joined(batch: pa.RecordBatch, *names: str) -> pa.Array:
    """`usn.slt.sqn`, null where a part is null."""
    return pc.binary_join_element_wise(*(as_integers(batch, n).cast(pa.string()) for n in names), ".")


def log_of(batch: pa.RecordBatch, logs: Slice) -> pa.Array:
    """The sequence of each row's log. Some rows of a rollback have an all-zero address: their SCN tells the log."""
    told = as_integers(batch, "sequence_no")
    if not pc.any(pc.equal(told, 0)).as_py():
        return told
    firsts = np.array([g.first_scn for g in logs.logs])
    sequences = np.array([g.sequence for g in logs.logs])
    by_scn = sequences[np.searchsorted(firsts, as_integers(batch, "scn").to_numpy(), side="right") - 1]
    return pc.if_else(pc.equal(told, 0), pa.array(by_scn, pa.int64()), told)


def landed_rows(batch: pa.RecordBatch, logs: Slice, first_ordinal: int, container: str | None) -> pa.RecordBatch:
    """Whole redo rows (CSF pieces joined) in the landed form; times and names as LogMiner told them.

    THREAD# is 0 on some empty commits: the logs that were mined belong to one thread, so that is the row's. A database without
    containers is number 0, whether LogMiner tells that or nothing.
    """
    count = batch.num_rows
    told = as_integers(batch, "thread", pa.int32())
    con_id = batch.column("con_id").cast(pa.int32())
    columns = {
        "slice": pa.array(np.full(count, logs.number), pa.int32()),
        "ordinal": pa.array(np.arange(first_ordinal, first_ordinal + count), pa.int64()),
        "thread": pc.if_else(pc.equal(told, 0), pa.scalar(logs.thread, pa.int32()), told),
        "sequence": log_of(batch, logs),
        "rs_id": pc.utf8_trim_whitespace(batch.column("rs_id").cast(pa.string())),
        "at": batch.column("changed_at").cast(pa.timestamp("s")),
        "xid": joined(batch, "xidusn", "xidslt", "xidsqn"),
        "pxid": joined(batch, "pxidusn", "pxidslt", "pxidsqn"),
        "con_id": con_id if container is not None else con_id.fill_null(0),
        "rollback": pc.equal(as_integers(batch, "undone"), 1).fill_null(False),
    }
    for field in LANDED_SCHEMA:
        if field.name not in columns:
            columns[field.name] = batch.column(field.name).cast(field.type)
    rows = pa.RecordBatch.from_arrays([columns[name] for name in LANDED_SCHEMA.names], schema=LANDED_SCHEMA)
    for name in REQUIRED:
        if rows.column(name).null_count:
            row = rows.slice(pc.index(pc.is_null(rows.column(name)), True).as_py(), 1).to_pylist()[0]
            cure = "keep the archived log, and report the row; `redolake recover` tells the other ways on"
            raise RedoNotUnderstood(f"a redo row without {name}", cure=cure, thread=logs.thread, scn=row["scn"])
    return rows
