"""Parses each request function into plain values. Every field must be read, since TTC has no message lengths.

Field version 12 (Oracle 19.1), so no fields of 20c and later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from standin.wire.reader import Reader, RequestNotUnderstood
from standin.wire.types import LOBS, SCALED, UTF16, BindType, WireType

REQUEST, PIGGYBACK, ONE_WAY, ROW_DATA = 3, 17, 26, 7
_PL_SQL_ARRAY = 0x40

RawBind = bytes | list[bytes | None] | None
_ESCAPED_NULL = 253


class Function(IntEnum):
    REEXECUTE = 4
    FETCH = 5
    LOGOFF = 9
    COMMIT = 14
    ROLLBACK = 15
    VERSION = 59
    REEXECUTE_AND_FETCH = 78
    EXECUTE = 94
    LOB = 96
    BRANCH_SWITCH = 103
    BRANCH_STATE = 104
    CLOSE_CURSORS = 105
    AUTH_PHASE_TWO = 115
    AUTH_PHASE_ONE = 118
    CANCEL_CURSORS = 120
    END_TO_END = 135
    PING = 147
    CURRENT_SCHEMA = 152
    APPLICATION_CONTEXT = 154


class Option(IntFlag):
    PARSE = 0x01
    BIND = 0x08
    DEFINE = 0x10
    EXECUTE = 0x20
    FETCH = 0x40
    COMMIT = 0x100
    DESCRIBE = 0x20000
    BATCH_ERRORS = 0x80000


class Orientation(IntFlag):
    """Where a scrollable cursor goes. Clients send a position from the first row with all but FIRST and LAST."""

    CURRENT = 0x01
    NEXT = 0x02
    FIRST = 0x04
    LAST = 0x08
    PRIOR = 0x10
    ABSOLUTE = 0x20
    RELATIVE = 0x40


_CLEAR_CONTEXT = 2
_SCROLLABLE = 0x02
_ROW_COUNTS = 0x4000


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences between drivers.

    Oracle's JDBC driver sends texts without a length byte if it has sent the length before. It expects a signed
    variable-length scale and the cursor id in return parameters. It fetches in a separate call, or, when it runs a cursor
    again, as many rows as it names in the place of the iterations.
    """

    is_jdbc: bool = False

    def text(self, reader: Reader, length: int) -> str:
        return ((reader.raw(length) if self.is_jdbc else reader.clr()) or b"").decode()


@dataclass(frozen=True, slots=True)
class ExecuteHead:
    """Execute (94) up to its binds, which can only be read once the cursor is known."""

    options: Option
    cursor: int
    sql: str | None
    prefetch: int
    iterations: int  # rows of binds, for anything but a query
    bind_count: int
    define_count: int
    row_counts: bool
    scrollable: bool
    orientation: Orientation
    position: int  # of the first row that a scrollable cursor returns, from 1


def read_execute(reader: Reader, dialect: Dialect) -> ExecuteHead:
    options, cursor = Option(reader.ub()), reader.ub()
    has_sql, sql_length = reader.u8(), reader.ub()
    reader.skip_fields("bubbu")
    prefetch = reader.ub()
    reader.skip_fields("ub")
    bind_count = reader.ub()
    reader.skip_fields("bbbbb")
    has_defines, define_count = reader.u8(), reader.ub()
    reader.skip_fields("ubbbubuu")  # change notification registration
    wants_counts = reader.u8()
    reader.skip_fields("ub" + "bubub" + "bu")  # the last two since 12.2
    sql = dialect.text(reader, sql_length) if has_sql else None
    al8i4 = [reader.ub() for _ in range(13)]
    if dialect.is_jdbc and not prefetch and Option.FETCH in options:  # the cursor is run again, with larger binds
        prefetch = al8i4[1]
    return ExecuteHead(
        options=options,
        cursor=cursor,
        sql=sql,
        prefetch=prefetch,
        iterations=al8i4[1],
        bind_count=bind_count,
        define_count=define_count if has_defines else 0,
        row_counts=bool(wants_counts and al8i4[9] & _ROW_COUNTS),
        scrollable=bool(al8i4[9] & _SCROLLABLE),
        orientation=Orientation(al8i4[10]),
        position=al8i4[11],
    )


def read_bind_type(reader: Reader, dialect: Dialect) -> BindType:
    """Read the metadata of one bind or define."""
    type_, flags = reader.u8(), reader.u8()
    reader.u8()  # precision
    if dialect.is_jdbc and type_ in SCALED:
        reader.ub()
    else:
        reader.u8()
    size = reader.ub()
    reader.skip_fields("uu")
    oid = reader.dalc() or b""
    reader.skip_fields("uu")
    form = reader.u8()
    reader.skip_fields("uu")
    return BindType(type_, size, form, bool(flags & _PL_SQL_ARRAY), oid)


def read_bind_row(reader: Reader, order: Sequence[int], types: Sequence[BindType]) -> list[RawBind]:
    """Read one row of binds. Binds that are not in `order` are not sent and stay None.

    Values stay encoded: one that cannot be decoded is an error of its statement, not of the stream.
    """
    if (mark := reader.u8()) != ROW_DATA:
        raise RequestNotUnderstood(f"message {mark} instead of a row of binds")
    row: list[RawBind] = [None] * len(types)
    for index in order:
        kind = types[index]
        row[index] = [_read_value(reader, kind) for _ in range(reader.ub())] if kind.is_array else _read_value(reader, kind)
    return row


def _read_value(reader: Reader, kind: BindType) -> bytes | None:
    if kind.type in LOBS:
        return reader.dalc()
    if kind.type == WireType.CURSOR:
        return reader.ub().to_bytes(2, "big") if reader.ub() else None
    if kind.type == WireType.OBJECT:
        return _read_image(reader)
    if kind.type == WireType.BOOLEAN:
        length = reader.u8()
        if length == _ESCAPED_NULL:
            reader.skip(1)
            return None
        return reader.raw(length) if length else None
    return reader.clr()


def _read_image(reader: Reader) -> bytes | None:
    """Read an instance: its type, OID, snapshot and version, the size of the image, flags, and the image unless it is NULL."""
    reader.dalc()
    reader.dalc()
    reader.skip_fields("uu")
    size = reader.ub()
    reader.skip_fields("u")
    return reader.clr() if size else None


@dataclass(frozen=True, slots=True)
class Reexecute:
    cursor: int
    iterations: int
    commit: bool


def read_reexecute(reader: Reader) -> Reexecute:
    cursor, iterations = reader.ub(), reader.ub()
    reader.ub()
    return Reexecute(cursor, iterations, bool(reader.ub() & 1))


def read_cursor_ids(reader: Reader) -> list[int]:
    """Read the body of close cursors and cancel cursors."""
    reader.u8()
    return [reader.ub() for _ in range(reader.ub())]


def read_current_schema(reader: Reader) -> str:
    reader.u8()
    return (reader.dalc() or b"").decode()


_END_TO_END_FIELDS = ("client_id", "module", "action", "", "", "client_info", "", "", "operation")


def read_end_to_end(reader: Reader, dialect: Dialect) -> dict[str, str]:
    """Read module, action and the like. An empty text clears a value, a missing key keeps it."""
    reader.skip(2)
    reader.ub()
    announced = [(name, reader.u8(), reader.ub()) for name in _END_TO_END_FIELDS]
    sent = [(name, length) for name, pointer, length in announced if name and pointer]
    return {name: dialect.text(reader, length) if length else "" for name, length in sent}


def read_application_context(reader: Reader) -> tuple[str, dict[str, str] | None]:
    """Return a namespace with values to set; None clears it."""
    reader.skip_fields("bub")
    count = reader.ub()
    clears = reader.ub() == _CLEAR_CONTEXT
    reader.u8()
    namespace = (reader.clr() or b"").decode()
    values = {}
    for _ in range(count):
        name, value = reader.dalc(), reader.dalc()
        values[(name or b"").decode()] = (value or b"").decode()
        reader.ub()
    return namespace, None if clears else values


class LobOperation(IntEnum):
    LENGTH = 0x01
    READ = 0x02
    TRIM = 0x20
    WRITE = 0x40
    FILE_OPEN = 0x100
    CREATE_TEMPORARY = 0x110
    FILE_CLOSE = 0x200
    FILE_IS_OPEN = 0x400
    FILE_EXISTS = 0x800
    CHUNK_SIZE = 0x4000
    OPEN = 0x8000
    CLOSE = 0x10000
    IS_OPEN = 0x11000


LOCATOR_LENGTH = 40


@dataclass(frozen=True, slots=True)
class LobRequest:
    operation: int
    locator: bytes
    offset: int  # from 1; characters of a CLOB
    destination: int  # of CREATE_TEMPORARY: the type
    amount: int | None
    data: bytes | None
    charset: int = 0

    @property
    def is_national(self) -> bool:
        return self.charset == UTF16


def read_lob_request(reader: Reader) -> LobRequest:
    reader.u8()
    length = reader.ub()
    reader.skip_fields("buuubbb")
    operation = reader.ub()
    reader.skip(2)
    offset, destination, has_amount = reader.ub(), reader.ub(), reader.u8()
    reader.skip(6)
    locator = reader.raw(length)
    charset = reader.ub() if operation == LobOperation.CREATE_TEMPORARY else 0
    data = None
    if operation == LobOperation.WRITE:
        reader.u8()
        data = reader.clr()
    return LobRequest(operation, locator, offset, destination, reader.ub() if has_amount else None, data, charset)


def read_free_temporaries(reader: Reader) -> list[bytes]:
    reader.u8()
    length = reader.ub()
    reader.skip_fields("buuubbb" + "u" + "buuub" + "bububu")
    return [reader.raw(LOCATOR_LENGTH) for _ in range(length // LOCATOR_LENGTH)]


BRANCH_BEGIN, BRANCH_END = 1, 2
_ONE_PHASE = 4
BranchId = tuple[int, bytes, bytes]


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """A request about a branch of a distributed transaction. A client that names none sends the context that it got."""

    operation: int
    branch: BranchId | None
    flags: int = 0
    one_phase: bool = False


def read_branch_switch(reader: Reader) -> BranchRequest:
    operation, context, sizes = _branch_head(reader)
    flags = reader.ub()
    reader.skip_fields("ubbb")
    names = [(reader.u8(), reader.ub())[1] for _ in range(2)]
    branch = _branch(reader, context, sizes)
    reader.ub()
    for length in names:
        reader.skip(length)
    return BranchRequest(operation, branch, flags)


def read_branch_state(reader: Reader) -> BranchRequest:
    operation, context, sizes = _branch_head(reader)
    reader.ub()
    state = reader.ub()
    reader.skip_fields("bu")
    return BranchRequest(operation, _branch(reader, context, sizes), one_phase=state == _ONE_PHASE)


def _branch_head(reader: Reader) -> tuple[int, int, tuple[int, int, int, int]]:
    """Read the operation, the length of the context, and format and lengths of the id."""
    operation = reader.ub()
    reader.u8()
    context = reader.ub()
    kind, name, branch = reader.ub(), reader.ub(), reader.ub()
    reader.u8()
    return operation, context, (kind, name, branch, reader.ub())


def _branch(reader: Reader, context: int, sizes: tuple[int, int, int, int]) -> BranchId | None:
    known = reader.raw(context) if context else b""
    kind, name, branch, whole = sizes
    if whole:
        octets = reader.raw(whole)
        return kind, octets[:name], octets[name : name + branch]
    return (int.from_bytes(known[:4], "big"), known[5 : 5 + known[4]], known[5 + known[4] :]) if known else None


def branch_context(branch: BranchId | None) -> bytes:
    """Return what a client sends in place of the id of the branch in which it works."""
    if branch is None:
        return b""
    kind, name, rest = branch
    return kind.to_bytes(4, "big") + bytes((len(name),)) + name + rest
