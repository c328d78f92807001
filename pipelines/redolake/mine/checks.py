"""Check mined rows before they are landed; a failed check stops the window.

Only faults of the whole stream stop it: holes, corrupt blocks, foreign logs, contradictory ends of transactions. A row that
LogMiner cannot show (UNSUPPORTED, a large object, an unknown operation) or does not guarantee (STATUS 3) is landed as it is:
it may be rolled back or older than the table's contents, and if neither, apply holds its table alone (assemble/transactions.py,
decode/resolve.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.errors import MiningIncomplete, RedolakeError, RedoLost, RedoNotUnderstood
from redolake.mine.copies import EdgeCut
from redolake.mine.rows import OF_ROWS, REPORT, as_integers
from redolake.mine.selection import MinedContainer
from redolake.values.combinations import combinations
from redolake.values.logminer import Mined
from redolake.values.ora_codes import CORRUPT, HOLE
from redolake.values.redo import CONTROL, Operation, Slice
from redolake.values.scn import Scn
from redolake.values.table import TableId

# STATUS: its meaning, and the ORA code of the same fault, which decides whether another copy of the log is tried.
STATUSES = {
    4: ("a block of the log is corrupt", CORRUPT),
    5: ("the row needs assembly from neighbouring logs", None),
    HOLE: ("the redo stream has a hole", HOLE),
    CORRUPT: ("a block of the log is corrupt", CORRUPT),
}
ASSEMBLY_REQUIRED = 5
UNKNOWN_STATUS = ("the row has an unknown STATUS", None)

CONTROL_NAMES = frozenset(code.name for code in CONTROL)
RECOVER = "or run `redolake recover`, which lists the other choices"
RESTORE = f"restore the archived log from a backup or another destination and run again, {RECOVER}"


def is_captured(rows: pa.RecordBatch, tables: Sequence[TableId], object_ids: frozenset[int]) -> pa.Array:
    """Return which rows belong to a captured table, by name or by object id."""
    full_name = pc.binary_join_element_wise(rows["seg_owner"], rows["table_name"], "\0")  # no name can contain NUL
    names = pa.array([f"{t.owner}\0{t.name}" for t in tables], pa.string())
    ids = pa.array(sorted(object_ids), pa.int64())
    return pc.or_(pc.is_in(full_name, value_set=names), pc.is_in(rows["object_id"], value_set=ids))


def check_stream(batch: pa.RecordBatch) -> None:
    """Raise for holes and corruption, before rows are assembled: such rows have no address, name or transaction."""
    what, code = STATUSES[HOLE]
    _stop(batch, pc.equal(as_integers(batch, "operation_code"), Mined.MISSING_SCN), RedoLost, what, RESTORE, code)
    status = as_integers(batch, "status")
    for number in pc.unique(status.filter(pc.invert(pc.is_in(status, value_set=pa.array(OF_ROWS))))).to_pylist():
        what, code = STATUSES.get(number, UNKNOWN_STATUS)
        kind = EdgeCut if number == ASSEMBLY_REQUIRED else MiningIncomplete
        _stop(batch, pc.equal(status, number), kind, what, RESTORE, code)


def check_rows(
    rows: pa.RecordBatch,
    logs: Slice,
    end: Scn,
    tables: Sequence[TableId],
    object_ids: frozenset[int],
    container: MinedContainer | None,
) -> None:
    """Raise for the first row that cannot be trusted. `end` is the end of the window."""
    known = pa.array([g.sequence for g in logs.logs], pa.int64())
    at = pc.index_in(rows["sequence"], value_set=known)
    foreign = pc.or_(pc.not_equal(rows["thread"], logs.thread), pc.is_null(at))
    _stop(rows, foreign, RedoNotUnderstood, "a row from a log that was not added", REPORT)
    first_scns = pa.array([int(g.first_scn) for g in logs.logs], pa.int64()).take(at)
    # Late redo in a log may have SCNs back to the start of that log, never earlier (LOGMINER.md 6.7).
    what = "a row whose SCN is below FIRST_CHANGE# of its log: an earlier window may have ended past it"
    _stop(rows, pc.less(rows["scn"], first_scns), RedoNotUnderstood, what, REPORT)
    next_scns = pa.array([g.next_scn for g in logs.logs], pa.int64()).take(at)
    what = "a row whose SCN is at or above NEXT_CHANGE# of its log: no later window would read that log"
    beyond = pc.and_(pc.greater_equal(rows["scn"], int(end)), pc.greater_equal(rows["scn"], next_scns))
    _stop(rows, beyond, RedoNotUnderstood, what, REPORT)

    if container is not None and (rows["con_name"].null_count or rows["con_id"].null_count):
        without_container = pc.or_(pc.is_null(rows["con_name"]), pc.is_null(rows["con_id"]))
        wrong = _both(is_captured(rows, tables, object_ids), without_container)
        _stop(rows, wrong, RedoNotUnderstood, "a change without a container", REPORT)
    # Transactions and table versions depend on control rows, so code and text must both say that it is one.
    numbers, first = combinations([rows["operation_code"], rows["operation"]])
    operations = rows.select(["operation_code", "operation"]).take(pa.array(first)).to_pylist()
    contradicts = np.array([_contradicts(**values) for values in operations], np.bool_)
    if contradicts.any():
        what = "an operation whose code and text contradict each other"
        _stop(rows, pa.array(contradicts[numbers]), RedoNotUnderstood, what, REPORT)


def _contradicts(operation_code: int, operation: str) -> bool:
    is_control = operation_code in CONTROL or operation in CONTROL_NAMES
    return is_control and (operation_code not in CONTROL or Operation(operation_code).name != operation)


def _both(one: pa.Array, other: pa.Array) -> pa.Array:
    return pc.and_(one, other.fill_null(False))


def _stop(
    rows: pa.RecordBatch, wrong: pa.Array, kind: type[RedolakeError], what: str, cure: str, ora_code: int | None = None
) -> None:
    """Raise for the first row that is `wrong`."""
    if not pc.any(wrong).as_py():
        return
    shown = [name for name in rows.schema.names if name not in ("sql_redo", "username")]  # which need not be valid text here
    row = rows.select(shown).slice(pc.index(wrong.fill_null(False), True).as_py(), 1).to_pylist()[0]
    raise kind(
        what,
        cure=cure,
        ora_code=ora_code,
        thread=row["thread"],
        sequence=row.get("sequence", row.get("sequence_no")),
        rs_id=str(row["rs_id"] or "").strip() or None,
        ssn=row["ssn"],
        scn=row["scn"],
        xid=row.get("xid"),
        table=f"{row['seg_owner']}.{row['table_name']}" if row["table_name"] else None,
        operation=f"{row['operation_code']} {row['operation']}",
        status=row["status"],
        info=row["info"] or None,
    )
