"""Convert LogMiner's columns to the landed columns, batch by batch, without Python objects per row."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.errors import RedoNotUnderstood, report_with
from redolake.mine.selection import ROOT, MinedContainer
from redolake.values.combinations import combinations
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.logminer import Mined
from redolake.values.redo import TRANSACTION_BOUNDS, Slice
from redolake.values.valid_text import with_marks

INT64 = pa.int64()
REPORT = f"keep the archived log, and {report_with('the row shown')}; or run `redolake recover`, which lists the other choices"
DRIVER = f"install the driver that constraints.txt names, and run again; if it comes again, {report_with('this message')}"
# The statement redo_rows returns these for all larger numbers too.
TOO_LARGE, SMALL_TOO_LARGE = 10**18 - 1, 10**9 - 1
# The values that a number may not reach. Object ids may: such an id is one of no known object.
LIMITS = {
    **dict.fromkeys(("csf", "undone"), 2),
    **dict.fromkeys(("thread", "operation_code", "status"), SMALL_TOO_LARGE),
    **dict.fromkeys(("sequence_no", "ssn", "scn", "xidusn", "xidslt", "xidsqn", "pxidusn", "pxidslt", "pxidsqn"), TOO_LARGE),
}
UNKNOWN_AT = {"start_scn": TOO_LARGE, "con_id": SMALL_TOO_LARGE}  # the values that mean "not known", as NULL does
# STATUS: 0 valid; 2 the statement cannot be run, as with a large object or an altered table; 3 not guaranteed: the row was
# written before minimal supplemental logging, and LogMiner assumes the table's present definition. These are facts about a row.
OF_ROWS = (0, 2, 3)
XID, PXID = ("xidusn", "xidslt", "xidsqn"), ("pxidusn", "pxidslt", "pxidsqn")
REQUIRED = ("thread", "sequence", "rs_id", "ssn", "scn", "xid", "operation", "operation_code", "status")


def as_integers(batch: pa.RecordBatch, name: str, kind: pa.DataType = INT64) -> pa.Array:
    """Cast a NUMBER column, fetched as int64, decimal128 or null, to integers; raises if a value is not exact."""
    column = batch.column(name)
    if pa.types.is_floating(column.type):  # a double may already have lost digits of an SCN
        raise RedoNotUnderstood(f"the driver returned {name} as a floating-point number", cure=DRIVER)
    return column if column.type == kind else column.cast(kind, safe=True)


def fit_numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the fetched rows with NULL where a number too large to be real means "not known".

    Raises RedoNotUnderstood for such a number in a column that must be known.
    """
    for name, limit in LIMITS.items():
        values = as_integers(batch, name)
        if (pc.max(values).as_py() or 0) >= limit:
            too_large = pc.greater_equal(values, limit)
            at = pc.index(too_large.fill_null(False), True).as_py()
            row = batch.select(["thread", "sequence_no", "rs_id", "scn"]).slice(at, 1).to_pylist()[0]
            raise RedoNotUnderstood(
                f"a redo row whose {name} is {limit} or more",
                cure=REPORT,
                thread=row["thread"],
                sequence=row["sequence_no"],
                rs_id=str(row["rs_id"] or "").strip() or None,
                scn=row["scn"],
            )
    for name, unknown in UNKNOWN_AT.items():
        values = as_integers(batch, name)
        if (pc.max(values).as_py() or 0) >= unknown:
            known = pc.if_else(pc.greater_equal(values, unknown), pa.scalar(None, INT64), values)
            batch = batch.set_column(batch.schema.get_field_index(name), name, known)
    return batch


def transaction_id(batch: pa.RecordBatch, *names: str) -> pa.Array:
    """Return `usn.slt.sqn`, null where a part is null."""
    parts = [as_integers(batch, n) for n in names]
    numbers, first = combinations(parts)  # many rows have one transaction
    rows = pa.array(first)
    return pc.binary_join_element_wise(*(part.take(rows).cast(pa.string()) for part in parts), ".").take(pa.array(numbers))


def log_of(batch: pa.RecordBatch, logs: Slice) -> pa.Array:
    """Return the sequence of each row's log. Some rollback rows have an all-zero address; their SCN determines the log."""
    sequence = as_integers(batch, "sequence_no")
    if not pc.any(pc.equal(sequence, 0)).as_py():
        return sequence
    firsts = np.array([g.first_scn for g in logs.logs])
    sequences = np.array([g.sequence for g in logs.logs])
    by_scn = sequences[np.searchsorted(firsts, as_integers(batch, "scn").to_numpy(), side="right") - 1]
    return pc.if_else(pc.equal(sequence, 0), pa.array(by_scn, pa.int64()), sequence)


def own_thread(batch: pa.RecordBatch, thread: int, read: Collection[int]) -> pa.RecordBatch:
    """Keep the rows of one redo thread, where LogMiner reads the logs of several. THREAD# is 0 on some empty commits: among
    several threads such a row cannot be attributed."""
    of_row = as_integers(batch, "thread")
    is_unknown = pc.equal(of_row, 0)
    if len(read) > 1 and pc.any(is_unknown).as_py():
        raise RedoNotUnderstood(
            "a redo row without a redo thread, and LogMiner reads several: inside a PDB, or for a dictionary in the redo",
            cure="connect to the root, without pdb_only, set `dictionary: online` under `source`, and run again",
            thread=thread,
        )
    return batch.filter(pc.or_(pc.equal(of_row, thread), is_unknown))


def in_container(batch: pa.RecordBatch, container: str | None) -> pa.RecordBatch:
    """Name the container of rows that do not: mined from inside, a PDB shows only its own redo."""
    at = batch.schema.get_field_index("con_name")
    names = batch.column(at).cast(pa.string()).fill_null(container)
    return batch.set_column(at, "con_name", names)


def usable_ends(batch: pa.RecordBatch, *, has_containers: bool) -> pa.RecordBatch:
    """Drop INTERNAL rows that lack what a change must have. They are no changes, so none of them is missed as one."""
    needed = [*XID, "scn", "rs_id", "ssn", *(["con_name", "con_id"] if has_containers else [])]
    lacks = [pc.is_null(batch.column(name)) for name in needed]
    is_internal = pc.equal(as_integers(batch, "operation_code"), Mined.INTERNAL)
    is_row = pc.is_in(as_integers(batch, "status"), value_set=pa.array(OF_ROWS, INT64))  # and no fault of the redo
    is_useless = reduce(pc.and_, [is_internal, is_row, reduce(pc.or_, lacks)])
    return batch.filter(pc.invert(is_useless.fill_null(False)))


def with_own_bounds(batch: pa.RecordBatch, container: MinedContainer | None) -> pa.RecordBatch:
    """Return the rows with the starts and ends of the root's transactions as the container's, if they share the undo."""
    if container is None or container.shared_undo_id is None:
        return batch
    is_bound = pc.is_in(as_integers(batch, "operation_code"), value_set=pa.array(TRANSACTION_BOUNDS, INT64))
    of_root = pc.and_(is_bound, pc.equal(batch.column("con_name"), ROOT)).fill_null(False)
    con_id = pc.if_else(of_root, pa.scalar(container.shared_undo_id, INT64), as_integers(batch, "con_id"))
    con_name = pc.if_else(of_root, pa.scalar(container.name), batch.column("con_name").cast(pa.string()))
    batch = batch.set_column(batch.schema.get_field_index("con_id"), "con_id", con_id)
    return batch.set_column(batch.schema.get_field_index("con_name"), "con_name", con_name)


def landed_rows(batch: pa.RecordBatch, logs: Slice, first_ordinal: int, container: MinedContainer | None) -> pa.RecordBatch:
    """Return complete redo rows (CSF pieces joined) in the landed form; times and names stay as LogMiner reports them.

    THREAD# is 0 on some empty commits; all mined logs belong to one thread, so the row belongs to it. Without containers
    CON_ID is 0, whether LogMiner reports 0 or NULL.
    """
    batch = with_own_bounds(batch, container)
    count = batch.num_rows
    thread = as_integers(batch, "thread", pa.int32())
    con_id = as_integers(batch, "con_id", pa.int32())
    xid = transaction_id(batch, *XID)
    is_own = all(batch.column(own).equals(batch.column(parallel)) for own, parallel in zip(XID, PXID, strict=True))
    columns = {
        "slice": pa.array(np.full(count, logs.number), pa.int32()),
        "ordinal": pa.array(np.arange(first_ordinal, first_ordinal + count), pa.int64()),
        "thread": pc.if_else(pc.equal(thread, 0), pa.scalar(logs.thread, pa.int32()), thread),
        "sequence": log_of(batch, logs),
        "rs_id": pc.ascii_trim_whitespace(batch.column("rs_id").cast(pa.string())),
        "at": batch.column("changed_at").cast(pa.timestamp("s")),
        "xid": xid,
        "pxid": xid if is_own else transaction_id(batch, *PXID),
        "con_id": con_id if container is not None else con_id.fill_null(0),
        "rollback": pc.equal(as_integers(batch, "undone"), 1).fill_null(False),
    }
    for field in LANDED_SCHEMA:
        if field.name not in columns:
            is_integer = pa.types.is_integer(field.type)
            column = as_integers(batch, field.name, field.type) if is_integer else batch.column(field.name).cast(field.type)
            columns[field.name] = column
    for field in LANDED_SCHEMA:
        if pa.types.is_string(field.type):
            columns[field.name] = with_marks(columns[field.name])
    rows = pa.RecordBatch.from_arrays([columns[name] for name in LANDED_SCHEMA.names], schema=LANDED_SCHEMA)
    for name in REQUIRED:
        if rows.column(name).null_count:
            row = rows.slice(pc.index(pc.is_null(rows.column(name)), True).as_py(), 1).to_pylist()[0]
            raise RedoNotUnderstood(f"a redo row without {name}", cure=REPORT, thread=logs.thread, scn=row["scn"])
    return rows
