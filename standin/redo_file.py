"""The redo format of the stand-in: records, and log files on disk.

A file is a 512-byte header (magic, JSON) and an Arrow IPC stream of records. Values are Oracle's internal bytes, as in
real redo: the dictionary and the NLS settings of the mining session decide how LogMiner shows them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import IntEnum
from errno import EACCES
from pathlib import Path
from struct import Struct
from typing import Any

import pyarrow as pa

MAGIC = b"RLREDO1\n"
HEADER_BYTES = 512
BATCH_RECORDS = 5000
DICTIONARY = "DICTIONARY"  # INFO of a record that contains the definition of a table
_VALUE_HEAD, _NULL = Struct(">HI"), 0xFFFFFFFF


class Op(IntEnum):
    """OPERATION_CODE of V$LOGMNR_CONTENTS."""

    INTERNAL = 0
    INSERT = 1
    DELETE = 2
    UPDATE = 3
    DDL = 5
    START = 6
    COMMIT = 7
    LOB_LOCATOR = 9
    LOB_WRITE = 10
    LOB_TRIM = 11
    SELECT_FOR_UPDATE = 25
    LOB_ERASE = 29
    ROLLBACK = 36
    XML_BEGIN = 68
    XML_WRITE = 70
    XML_END = 71
    LONG_BEGIN = 91
    LONG_WRITE = 92
    LONG_END = 93
    UNSUPPORTED = 255


NOT_SHOWN = "/* No SQL_REDO for temporary tables */"  # in place of a statement
BARE = "bare "  # before the arguments of a write of a large object whose text has no SELECT


@dataclass(frozen=True, slots=True)
class LogHeader:
    """The first block of a log, which ADD_LOGFILE reads."""

    dbid: int
    db_name: str
    resetlogs_id: int
    resetlogs_scn: int
    thread: int
    sequence: int
    first_scn: int
    first_time: str  # ISO
    next_scn: int  # 2^64-1 while the log is current
    next_time: str | None
    records: int
    dictionary_begin: bool = False
    dictionary_end: bool = False


@dataclass(slots=True)
class RedoRecord:
    """One logical change. `before` and `after` map segment column numbers to internal bytes, None for NULL.

    INSERT: `after` holds every column. DELETE: `before` holds every column. UPDATE: `after` holds the changed columns,
    `before` the changed and the supplementally logged ones. A record of a (partial) rollback has `rollback` set and
    the content of Oracle's undo rows: an undone INSERT is a DELETE with only a ROWID, an undone UPDATE is an UPDATE
    without `before`, an undone DELETE a full INSERT. `block` and `offset` are the RBA in the log and the source of RS_ID.
    """

    scn: int
    op: int
    xid: tuple[int, int, int]  # XIDUSN, XIDSLT, XIDSQN
    thread: int = 1
    sequence: int = 0
    block: int = 0
    offset: int = 0
    ssn: int = 0
    rollback: bool = False
    con_id: int = 0
    object_id: int = 0
    data_object_id: int = 0
    object_version: int = 0
    row_id: str = ""
    before: dict[int, bytes | None] = field(default_factory=dict)
    after: dict[int, bytes | None] = field(default_factory=dict)
    sql: str = ""  # DDL text as the user typed it; of a dictionary record, the definition of a table
    owner: str = ""  # of the object a DDL names
    object_name: str = ""
    user: str = ""
    start_scn: int = 0
    at: datetime = datetime(1970, 1, 1)
    info: str = ""
    pxid: tuple[int, int, int] | None = None  # the coordinator's transaction, for a parallel server's record
    supplemental: bool = True  # has supplemental log data; False for a change made while minimal logging was off

    @property
    def rs_id(self) -> str:
        return f" 0x{self.sequence:06x}.{self.block:08x}.{self.offset:04x} "


SCHEMA = pa.schema(
    [
        ("scn", pa.int64()),
        ("op", pa.int16()),
        ("usn", pa.int32()),
        ("slt", pa.int32()),
        ("sqn", pa.int64()),
        ("thread", pa.int32()),
        ("sequence", pa.int64()),
        ("block", pa.int64()),
        ("offset", pa.int32()),
        ("ssn", pa.int64()),
        ("rollback", pa.bool_()),
        ("con_id", pa.int32()),
        ("object_id", pa.int64()),
        ("data_object_id", pa.int64()),
        ("object_version", pa.int64()),
        ("row_id", pa.string()),
        ("before", pa.binary()),
        ("after", pa.binary()),
        ("sql", pa.string()),
        ("owner", pa.string()),
        ("object_name", pa.string()),
        ("user", pa.string()),
        ("start_scn", pa.int64()),
        ("at", pa.timestamp("s")),
        ("info", pa.string()),
        ("pusn", pa.int32()),  # a transaction without parallel servers is its own parent
        ("pslt", pa.int32()),
        ("psqn", pa.int64()),
        ("supplemental", pa.bool_()),
    ]
)


def pack(values: dict[int, bytes | None]) -> bytes:
    """Pack values by segment column number: u16 number, u32 length (0xffffffff for NULL), bytes."""
    out = []
    for number, value in values.items():
        if value is None:
            out.append(_VALUE_HEAD.pack(number, _NULL))
        else:
            out.append(_VALUE_HEAD.pack(number, len(value)) + value)
    return b"".join(out)


def unpack(packed: bytes) -> dict[int, bytes | None]:
    values: dict[int, bytes | None] = {}
    at, end = 0, len(packed)
    while at < end:
        number, length = _VALUE_HEAD.unpack_from(packed, at)
        at += _VALUE_HEAD.size
        if length == _NULL:
            values[number] = None
        else:
            values[number] = packed[at : at + length]
            at += length
    return values


def to_batch(records: list[RedoRecord]) -> pa.RecordBatch:
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for r in records:
        row = (
            r.scn, int(r.op), *r.xid, r.thread, r.sequence, r.block, r.offset, r.ssn, r.rollback, r.con_id, r.object_id,
            r.data_object_id, r.object_version, r.row_id, pack(r.before), pack(r.after), r.sql, r.owner, r.object_name,
            r.user, r.start_scn, r.at, r.info, *(r.pxid or r.xid), r.supplemental,
        )  # fmt: skip
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> Iterator[RedoRecord]:
    for v in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield RedoRecord(
            scn=v[0], op=v[1], xid=(v[2], v[3], v[4]), thread=v[5], sequence=v[6], block=v[7], offset=v[8], ssn=v[9],
            rollback=v[10], con_id=v[11], object_id=v[12], data_object_id=v[13], object_version=v[14], row_id=v[15],
            before=unpack(v[16]), after=unpack(v[17]), sql=v[18], owner=v[19], object_name=v[20], user=v[21],
            start_scn=v[22], at=v[23], info=v[24], pxid=None if v[25:28] == v[2:5] else (v[25], v[26], v[27]),
            supplemental=v[28],
        )  # fmt: skip


def write_log(path: Path, header: LogHeader, records: Iterable[RedoRecord]) -> None:
    """Write a log file, which gets its name only when it is complete. Raises OSError."""
    _check_permission(path.parent, 0o300)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as out:
        out.write((MAGIC + json.dumps(asdict(header)).encode()).ljust(HEADER_BYTES, b"\0"))
        with pa.ipc.new_stream(out, SCHEMA) as stream:
            chunk: list[RedoRecord] = []
            for record in records:
                chunk.append(record)
                if len(chunk) == BATCH_RECORDS:
                    stream.write_batch(to_batch(chunk))
                    chunk = []
            if chunk:
                stream.write_batch(to_batch(chunk))
    part.rename(path)


def _check_permission(path: Path, wanted: int) -> None:
    """Check the mode bits alone: Oracle's software owner is not root, even if root runs the stand-in."""
    if path.stat().st_mode & wanted != wanted:
        raise PermissionError(EACCES, "Permission denied", str(path))


def read_header(path: Path) -> LogHeader:
    """Read the header. Raises FileNotFoundError, OSError, or ValueError if the file is not a redo log."""
    _check_permission(path.parent, 0o100)
    _check_permission(path, 0o400)
    with path.open("rb") as file:
        block = file.read(HEADER_BYTES)
    if len(block) < HEADER_BYTES or not block.startswith(MAGIC):
        raise ValueError(f"{path} is not a redo log")
    return LogHeader(**json.loads(block[len(MAGIC) :].rstrip(b"\0")))


def read_records(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the records in redo order, batch by batch. Raises pa.ArrowInvalid or OSError for a truncated file."""
    header = read_header(path)
    seen = 0
    with path.open("rb") as file:
        file.seek(HEADER_BYTES)
        for batch in pa.ipc.open_stream(file):
            seen += batch.num_rows
            yield batch
    if seen != header.records:
        raise pa.ArrowInvalid(f"{path}: {seen} records, but its header announces {header.records}")
