"""A LogMiner session in memory: it returns the batches that a test provides, and records its calls."""

from __future__ import annotations

from collections import namedtuple
from datetime import datetime

import pyarrow as pa

from redolake.errors import Terminal
from redolake.values.redo import LogCopy, LogFile, Slice, Window
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId

ORDERS = TableId("SHOP", "ORDERS")
ORDERS_ID = 4711
NUMBERS = (
    "thread", "sequence_no", "ssn", "csf", "scn", "start_scn", "xidusn", "xidslt", "xidsqn", "pxidusn", "pxidslt", "pxidsqn",
    "con_id", "operation_code", "object_id", "data_object_id", "object_version", "undone", "status",
)  # fmt: skip
TEXTS = ("RS_ID", "CON_NAME", "OPERATION", "SEG_OWNER", "TABLE_NAME", "ROW_ID", "INFO", "USERNAME", "SQL_REDO")
ANSWER = pa.schema(
    [
        *((name.upper(), pa.int64()) for name in NUMBERS),
        ("CHANGED_AT", pa.timestamp("s")),
        *((name, pa.string()) for name in TEXTS),
    ]
)
NAMES = {
    1: "INSERT", 2: "DELETE", 3: "UPDATE", 5: "DDL", 6: "START", 7: "COMMIT", 34: "MISSING_SCN", 36: "ROLLBACK",
    255: "UNSUPPORTED",
}  # fmt: skip


def redo(scn, code=1, sql="insert", *, ssn=0, sequence=1, **other):
    """Return one row of V$LOGMNR_CONTENTS."""
    row = dict.fromkeys(ANSWER.names)
    row |= {
        "THREAD": 1, "SEQUENCE_NO": sequence, "SSN": ssn, "CSF": 0, "SCN": scn, "XIDUSN": 5, "XIDSLT": 1, "XIDSQN": 99,
        "CON_ID": 3, "OPERATION_CODE": code, "OBJECT_ID": ORDERS_ID, "UNDONE": 0, "STATUS": 0,
        "CHANGED_AT": datetime(2026, 1, 1), "RS_ID": f" 0x{sequence:06x}.{scn:08x}.0010 ", "CON_NAME": "FREEPDB1",
        "OPERATION": NAMES.get(code, "ODD"),
        "SEG_OWNER": "SHOP", "TABLE_NAME": "ORDERS", "SQL_REDO": sql,
    }  # fmt: skip
    return row | {name.upper(): value for name, value in other.items()}


def control(scn, code, **other):
    """Return a START, COMMIT or ROLLBACK, which belongs to no table."""
    return redo(scn, code, None, seg_owner=None, table_name=None, object_id=0, **other)


def batch(*rows):
    return pa.Table.from_pylist(list(rows), ANSWER)


def log(sequence, first, end, *copies):
    return LogFile(1, sequence, 11, Scn(first), Scn(end), copies or (LogCopy(1, f"/arch/{sequence}", "A"),), 10)


LOGS = Slice(0, 1, (log(1, 100, 200), log(2, 200, 300)))


def window(start=100, end=300, logs=LOGS):
    return Window(7, 11, ScnRange(Scn(start), Scn(end)), (logs,))


class FakeSession:
    pdb_only = False
    session_status, is_local = 0, "TRUE"

    def __init__(self, *answers, unreadable=(), listed=None, error=None):
        self.answers, self.unreadable, self.error = answers, set(unreadable), error
        self.calls, self.listed, self.asked = [], listed, None
        self.files = []

    def use_container(self, name):
        self.calls.append(("use_container", name))

    def pin_session(self):
        self.calls.append(("pin_session", None))
        return {"TIME_ZONE": "+00:00"}

    def call(self, name, /, **binds):
        self.calls.append((name, binds))
        if binds.get("file_name") in self.unreadable:
            raise Terminal("ORA-01284: file cannot be opened", ora_code=1284)
        if name in ("new_logfile", "add_logfile"):
            self.files.append(binds["file_name"])

    def query(self, name, /, **binds):
        if name == "local_undo":
            return [namedtuple("row", "is_local")(self.is_local)]
        if name == "container_number":
            return [namedtuple("row", "con_id")(3)]
        if name == "current_scn":
            return [namedtuple("row", "current_scn")(900)]
        if name == "incarnations":
            return [namedtuple("row", "resetlogs_id resetlogs_scn")(11, 90)]
        if name == "mining_parameters":
            return [namedtuple("row", "status")(self.session_status)]
        row = namedtuple("row", "thread_id thread_sqn status filename info low_scn next_scn db_id reset_scn")
        headers = {1: (100, 200), 2: (200, 300), 3: (300, 400)}
        listed = self.listed or [(1, int(f[-1]), int(n == 0), f, None) for n, f in enumerate(self.files)]
        return [row(*values, *headers.get(values[1], (0, 1)), 7, 90) if len(values) == 5 else row(*values) for values in listed]

    def arrow(self, sql, binds, rows, *, name, decimals=True):
        self.asked = (sql, binds)
        yield from self.answers
        if self.error:
            raise self.error

    @property
    def ended(self):
        return self.calls[-1][0] == "end_logmnr"
