"""V$LOGMNR_CONTENTS: its columns and its rows.

Every SELECT reads the files from their first record; a narrow SCN range only reduces the rows returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from standin.interface import OraError
from standin.logminer.committed import COMMIT_AT, COMMIT_SCN, NUMBER, START_AT, committed
from standin.logminer.dictionary import MISMATCH
from standin.logminer.logs import read_log
from standin.logminer.merge import merged
from standin.logminer.mining import MiningRange, MissingLogs, by_thread, missing_logs
from standin.logminer.options import StartOption
from standin.logminer.rows import MISSING_SCN, USER_DDL, RedoRows, Rendering
from standin.logminer.statements import TableText
from standin.model import ROOT
from standin.redo_file import Op, RedoRecord, to_batch
from standin.views.columns import columns_of

COLUMNS = columns_of(
    """
    SCN NUMBER, START_SCN NUMBER, COMMIT_SCN NUMBER, TIMESTAMP DATE, START_TIMESTAMP DATE, COMMIT_TIMESTAMP DATE,
    XIDUSN NUMBER, XIDSLT NUMBER, XIDSQN NUMBER, XID RAW(8), PXIDUSN NUMBER, PXIDSLT NUMBER, PXIDSQN NUMBER, PXID RAW(8),
    TX_NAME VARCHAR2(256), OPERATION VARCHAR2(32), OPERATION_CODE NUMBER, ROLLBACK NUMBER, SEG_OWNER VARCHAR2(386),
    SEG_NAME VARCHAR2(256), TABLE_NAME VARCHAR2(386), SEG_TYPE NUMBER, SEG_TYPE_NAME VARCHAR2(32), TABLE_SPACE VARCHAR2(32),
    ROW_ID VARCHAR2(18), USERNAME VARCHAR2(384), OS_USERNAME VARCHAR2(4000), MACHINE_NAME VARCHAR2(4000),
    AUDIT_SESSIONID NUMBER, SESSION# NUMBER, SERIAL# NUMBER, SESSION_INFO VARCHAR2(4000), THREAD# NUMBER, SEQUENCE# NUMBER,
    RBASQN NUMBER, RBABLK NUMBER, RBABYTE NUMBER, UBAFIL NUMBER, UBABLK NUMBER, UBAREC NUMBER, UBASQN NUMBER,
    ABS_FILE# NUMBER, REL_FILE# NUMBER, DATA_BLK# NUMBER, DATA_OBJ# NUMBER, DATA_OBJV# NUMBER, DATA_OBJD# NUMBER,
    SQL_REDO VARCHAR2(4000), SQL_UNDO VARCHAR2(4000), RS_ID VARCHAR2(32), SSN NUMBER, CSF NUMBER, INFO VARCHAR2(64),
    STATUS NUMBER, REDO_VALUE NUMBER, UNDO_VALUE NUMBER, SAFE_RESUME_SCN NUMBER, CSCN NUMBER, OBJECT_ID RAW(16),
    EDITION_NAME VARCHAR2(386), CLIENT_ID VARCHAR2(64), SRC_CON_NAME VARCHAR2(386), SRC_CON_ID NUMBER, SRC_CON_UID NUMBER,
    SRC_CON_DBID NUMBER, SRC_CON_GUID RAW(16), CON_ID NUMBER
    """
)
OPERATIONS = {
    Op.INTERNAL: "INTERNAL",
    Op.INSERT: "INSERT",
    Op.DELETE: "DELETE",
    Op.UPDATE: "UPDATE",
    Op.DDL: "DDL",
    Op.START: "START",
    Op.COMMIT: "COMMIT",
    9: "SELECT_LOB_LOCATOR",
    10: "LOB_WRITE",
    11: "LOB_TRIM",
    Op.SELECT_FOR_UPDATE: "SELECT_FOR_UPDATE",
    27: "REPLICATION_MARKER",
    Op.LOB_ERASE: "LOB_ERASE",
    MISSING_SCN: "MISSING_SCN",
    Op.ROLLBACK: "ROLLBACK",
    Op.XML_BEGIN: "XML DOC BEGIN",
    Op.XML_WRITE: "XML DOC WRITE",
    Op.XML_END: "XML DOC END",
    Op.LONG_BEGIN: "32K_BEGIN",
    Op.LONG_WRITE: "32K_WRITE",
    Op.LONG_END: "32K_END",
    Op.UNSUPPORTED: "UNSUPPORTED",
}
UNKNOWN_SQN = 2**32 - 1
UNKNOWN_SCN = 2**64 - 1
_INT = pa.int64()
_NO_ROW_ID = "AAAAAAAAAAAAAAAAAA"
_XID = np.dtype([("usn", "<u2"), ("slt", "<u2"), ("sqn", "<u4")])  # packed as on a little-endian host


@dataclass(frozen=True, slots=True)
class SessionContainer:
    """The container of the mining session. Where `container_names` has no entries, SRC_CON_NAME is NULL."""

    con_id: int
    only_container: int | None  # inside a PDB: the PDB, as only its rows are shown
    container_names: dict[int, str]
    closed: frozenset[int] = frozenset()  # containers whose redo cannot be shown: their dictionary is not open
    shared_undo: bool = False  # STARTs and ends of transactions belong to the root, which has the undo


def read_contents(
    mined: MiningRange, rendering: Rendering, container: SessionContainer, wanted: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the range in redo order, with the wanted columns (all columns if `wanted` is empty)."""
    names = [c.name for c in COLUMNS if not wanted or c.name in wanted]
    streams = (batch.filter(_in_range(batch, mined, container.only_container)) for batch in merged(_thread_streams(mined)))
    learn = rendering.learn if rendering.follows_ddl else None
    for kept in committed(streams, learn) if StartOption.COMMITTED_DATA_ONLY in mined.options else streams:
        if kept.num_rows == 0:
            continue
        _require_open(kept, container)
        rows = RedoRows(kept, rendering, redo="SQL_REDO" in names, undo="SQL_UNDO" in names)
        if rendering.follows_ddl:
            _ = rows.tables  # what it learns from this batch counts for the next one
        if wanted & _FROM_START or not wanted or rendering.forgets_sequences:
            _ = rows.start_was_read
        yield pa.RecordBatch.from_arrays([_column(name, rows, container) for name in names], names)


def _require_open(batch: pa.RecordBatch, container: SessionContainer) -> None:
    for con_id in container.closed.intersection(pc.unique(batch.column("con_id")).to_pylist()) if container.closed else ():
        raise OraError(16331, f'container "{container.container_names.get(con_id, con_id)}" is not open')


def _thread_streams(mined: MiningRange) -> list[Iterator[pa.RecordBatch]]:
    gaps = {(gap.thread, gap.last_sequence + 1): gap for gap in missing_logs(mined.logs)}

    def stream(thread: int, logs: list[Any]) -> Iterator[pa.RecordBatch]:
        for log in logs:
            if gap := gaps.get((thread, log.header.sequence)):
                yield to_batch([_missing(gap)])
            if log.header.next_scn > mined.start_scn and (mined.end_scn is None or log.header.first_scn <= mined.end_scn):
                yield from read_log(log)

    return [stream(thread, logs) for thread, logs in by_thread(mined.logs).items()]


def _missing(gap: MissingLogs) -> RedoRecord:
    return RedoRecord(
        scn=gap.first_scn,
        op=MISSING_SCN,
        xid=(0, 0, 0),
        thread=gap.thread,
        sequence=gap.first_sequence,
        info=f"Missing SCN {gap.first_scn} - {gap.next_scn}",
        at=datetime(1988, 1, 1),
    )


def _in_range(batch: pa.RecordBatch, mined: MiningRange, only_container: int | None) -> pa.Array:
    scn = batch.column("scn")
    mask = pc.greater_equal(scn, mined.start_scn)
    if mined.end_scn is not None:
        mask = pc.and_(mask, pc.less_equal(scn, mined.end_scn))
    # Missing logs that reach into the range are reported even if they begin before it.
    mask = pc.or_(mask, pc.equal(batch.column("op"), MISSING_SCN))
    if only_container is not None:
        mask = pc.and_(mask, pc.is_in(batch.column("con_id"), pa.array([only_container, 0], pa.int32())))
    return mask


def _sqn(rows: RedoRows, part: str) -> pa.Array:
    column = rows.batch.column(part)
    return (
        pc.if_else(rows.sequence_unknown, pa.scalar(UNKNOWN_SQN, column.type), column)
        if rows.rendering.forgets_sequences
        else column
    )


def _packed_xid(rows: RedoRows, usn: str, slt: str, sqn: str) -> pa.Array:
    packed = np.empty(rows.batch.num_rows, _XID)
    packed["usn"], packed["slt"] = rows.batch.column(usn).to_numpy(), rows.batch.column(slt).to_numpy()
    packed["sqn"] = _sqn(rows, sqn).to_numpy()
    raw = pa.Array.from_buffers(pa.binary(8), len(packed), [None, pa.py_buffer(packed.tobytes())])
    return rows.take(raw.cast(pa.binary()))


def _seg_name(rows: RedoRows) -> pa.Array:
    return rows.of_table(lambda t: t.table.name, pa.string(), [name or None for name in rows.values("object_name")])


def _status(rows: RedoRows) -> pa.Array:
    values = [
        1291 if op == MISSING_SCN else 2 if op in _STATUS_2 or beyond else table.table.status if table is not None else 0
        for op, table, beyond in zip(rows.ops, rows.tables, rows.beyond_definition, strict=True)
    ]
    return rows.mapped(pa.int64(), values)


def _info(rows: RedoRows) -> pa.Array:
    def info(op: int, table: TableText | None, recorded: str, beyond: bool, how: str) -> str | None:
        if recorded:
            return recorded
        if op in _LOB_WRITES:
            return _NOT_EXECUTABLE
        if op in _XML_WRITES:
            return _XML_AS_TEXT if how == "text" else _XML_NOT_EXECUTABLE
        if beyond:
            return MISMATCH
        return table.table.info if table is not None else USER_DDL if op == Op.DDL else None

    each = zip(rows.ops, rows.tables, rows.values("info"), rows.beyond_definition, rows.values("sql"), strict=True)
    return rows.mapped(pa.string(), [info(*one) for one in each])


def _operation(op: int, rows: RedoRows) -> str:
    is_internal = op == Op.LOB_LOCATOR and not rows.rendering.locators_have_text  # as measured on 23ai
    return OPERATIONS[Op.INTERNAL if is_internal else op]


def _rs_id(rows: RedoRows) -> pa.Array:
    parts = zip(rows.values("sequence"), rows.values("block"), rows.values("offset"), strict=True)
    return rows.mapped(pa.string(), [f" 0x{s:06x}.{b:08x}.{o:04x} " for s, b, o in parts])


def _start_scn(rows: RedoRows) -> pa.Array:
    values = zip(rows.values("op"), rows.values("start_scn"), rows.start_was_read, strict=True)
    unknown, kind = (UNKNOWN_SCN, pa.decimal128(20)) if rows.rendering.max_start_scns else (None, pa.int64())
    return rows.mapped(kind, [scn if known and scn and op in _TRANSACTION_OPS else unknown for op, scn, known in values])


def _username(rows: RedoRows) -> pa.Array:
    values = zip(rows.values("user"), rows.start_was_read, strict=True)
    return rows.mapped(pa.string(), [user if known and user else "UNKNOWN" for user, known in values])


def _row_id(rows: RedoRows) -> pa.Array:
    return rows.mapped(pa.string(), [row_id or _NO_ROW_ID for row_id in rows.values("row_id")])


def _in_table(value: Any, kind: pa.DataType, other: Any) -> Callable[[RedoRows], pa.Array]:
    return lambda rows: rows.of_table(lambda _: value, kind, [other] * rows.batch.num_rows)


def _recorded(name: str, kind: pa.DataType | None = None) -> Callable[[RedoRows], pa.Array]:
    return lambda rows: rows.column(name) if kind is None else rows.column(name).cast(kind)


def _sequence(rows: RedoRows) -> pa.Array:
    """Return the record's number in its transaction where only committed ones are mined, else 1, but for INTERNAL rows."""
    if NUMBER in rows.batch.schema.names:
        return rows.column(NUMBER)
    ends = zip(rows.ops, rows.values("row_id"), rows.values("sql"), strict=True)
    return rows.mapped(_INT, [int(sql) if op == Op.INTERNAL and row_id else 1 for op, row_id, sql in ends])


def _of_commit(name: str) -> Callable[[RedoRows], pa.Array]:
    """Return the producer of a column that is NULL unless only committed transactions are mined."""
    kind = pa.int64() if name == COMMIT_SCN else pa.timestamp("s")
    return lambda rows: rows.column(name) if name in rows.batch.schema.names else pa.nulls(rows.num_rows, kind)


_LOB_WRITES = frozenset({Op.LOB_WRITE, Op.LOB_TRIM, Op.LOB_ERASE})
_XML_WRITES = frozenset({Op.XML_BEGIN, Op.XML_WRITE})
_STATUS_2 = frozenset({Op.UNSUPPORTED, *_LOB_WRITES, *_XML_WRITES, Op.LONG_BEGIN, Op.LONG_WRITE})
_NOT_EXECUTABLE = "LOB sql_redo not re-executable"
_XML_NOT_EXECUTABLE = "XML sql_redo not re-executable"
_XML_AS_TEXT = "XML sql_redo needs assembly"
_TRANSACTION_OPS = frozenset({Op.START, Op.COMMIT, Op.ROLLBACK})
_FROM_START = frozenset({"START_SCN", "USERNAME"})
_PRODUCERS: dict[str, Callable[[RedoRows], pa.Array]] = {
    "SCN": _recorded("scn"),
    "START_SCN": _start_scn,
    "COMMIT_SCN": _of_commit(COMMIT_SCN),
    "COMMIT_TIMESTAMP": _of_commit(COMMIT_AT),
    "START_TIMESTAMP": _of_commit(START_AT),
    "TIMESTAMP": _recorded("at"),
    "XIDUSN": _recorded("usn", _INT),
    "XIDSLT": _recorded("slt", _INT),
    "XIDSQN": lambda rows: rows.take(_sqn(rows, "sqn")),
    "XID": lambda rows: _packed_xid(rows, "usn", "slt", "sqn"),
    "PXIDUSN": _recorded("pusn", _INT),
    "PXIDSLT": _recorded("pslt", _INT),
    "PXIDSQN": lambda rows: rows.take(_sqn(rows, "psqn")),
    "PXID": lambda rows: _packed_xid(rows, "pusn", "pslt", "psqn"),
    "OPERATION": lambda rows: rows.mapped(pa.string(), [_operation(op, rows) for op in rows.ops]),
    "OPERATION_CODE": lambda rows: rows.mapped(_INT, rows.ops),
    "ROLLBACK": _recorded("rollback", _INT),
    "SEG_OWNER": lambda rows: rows.of_table(lambda t: t.table.owner, pa.string(), [o or None for o in rows.values("owner")]),
    "SEG_NAME": _seg_name,
    "TABLE_NAME": _seg_name,
    "SEG_TYPE": _in_table(2, _INT, 0),
    "SEG_TYPE_NAME": _in_table("TABLE", pa.string(), None),
    "TABLE_SPACE": _in_table("USERS", pa.string(), None),
    "ROW_ID": _row_id,
    "USERNAME": _username,
    "THREAD#": _recorded("thread", _INT),
    "SEQUENCE#": _sequence,
    "RBASQN": _recorded("sequence"),
    "RBABLK": _recorded("block"),
    "RBABYTE": _recorded("offset", _INT),
    "DATA_OBJ#": _recorded("object_id"),
    "DATA_OBJV#": _recorded("object_version"),
    "DATA_OBJD#": _recorded("data_object_id"),
    "SQL_REDO": lambda rows: rows.redo,
    "SQL_UNDO": lambda rows: rows.undo,
    "RS_ID": _rs_id,
    "SSN": _recorded("ssn"),
    "CSF": lambda rows: rows.csf,
    "INFO": _info,
    "STATUS": _status,
}


def _source_containers(rows: RedoRows, container: SessionContainer) -> list[int]:
    found = rows.values("con_id")
    if not container.shared_undo:
        return found
    return [ROOT if op in _TRANSACTION_OPS else con for op, con in zip(rows.ops, found, strict=True)]


_ABSENT = {"NUMBER": pa.int64(), "DATE": pa.timestamp("s"), "RAW": pa.binary()}


def _column(name: str, rows: RedoRows, container: SessionContainer) -> pa.Array:
    if name == "CON_ID":
        return rows.mapped(_INT, [container.con_id] * rows.batch.num_rows)
    if name == "SRC_CON_ID":
        return rows.mapped(_INT, _source_containers(rows, container))
    if name == "SRC_CON_NAME":
        return rows.mapped(pa.string(), [container.container_names.get(con) for con in _source_containers(rows, container)])
    if name in _PRODUCERS:
        return _PRODUCERS[name](rows)
    kind = next(c.type for c in COLUMNS if c.name == name)
    return pa.nulls(rows.num_rows, _ABSENT.get(kind, pa.string()))
