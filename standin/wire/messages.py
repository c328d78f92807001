"""Builds the server's messages: status, end of call, describe, return parameters, I/O vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from standin.composites import oid_of
from standin.interface import ColumnInfo, OraError
from standin.model import SqlType
from standin.wire.primitives import clr, dalc, sb, ub
from standin.wire.types import INTERVALS, LONGS, SCALED, UNLIMITED_SCALE, WireType, column_type

IN, OUT, IN_OUT = 32, 16, 48
DIRECTIONS = {"IN": IN, "OUT": OUT, "IN OUT": IN_OUT}
_CURRENT_SCHEMA = 168  # the number of a fact about the session
_ROWID_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_IS_JSON = 0x100
_COMPILED_WITH_ERRORS = 0x20
_IN_TRANSACTION = 0x02  # a bit of the call status; the client reports it and relies on it to roll back


@dataclass(frozen=True, slots=True)
class CallContext:
    """The end of every reply: whether a transaction is open, and the request's sequence number, which Oracle's JDBC checks."""

    in_transaction: bool = False
    sequence: int = 0

    @property
    def status(self) -> bytes:
        return ub(_IN_TRANSACTION if self.in_transaction else 0)


def status(context: CallContext) -> bytes:
    return b"\x09" + context.status + ub(context.sequence)


def end_of_call(
    context: CallContext,
    *,
    error: OraError | None = None,
    cursor: int = 0,
    count: int = 0,
    failures: Sequence[tuple[int, OraError]] = (),
    rowid: str | None = None,
    has_warning: bool = False,
) -> bytes:
    """Build message 4, which ends execute and fetch, successful or not. `count` is the rows affected, or fetched so far.
    `rowid` is that of the last row that a statement wrote."""
    number = error.code if error else 0
    head = (
        b"\x04",
        context.status,
        ub(context.sequence),
        ub(count & 0xFFFFFFFF),
        ub(number),
        ub(0) * 2,
        ub(cursor),
        sb(error.position if error else 0),
        bytes((0, 0, 0, 0, 0, _COMPILED_WITH_ERRORS if has_warning else 0)),  # flags, options, UPI parameter, warnings
        _rowid(rowid),
        ub(0),
        bytes((0, context.sequence)),  # statement and call number
        ub(0) * 3,
    )
    return b"".join(head) + _batch_errors(failures) + ub(number) + ub(count) + (clr(f"{error}\n".encode()) if error else b"")


def _rowid(text: str | None) -> bytes:
    """Return the parts of a ROWID: data object, file, a zero, block, row; all of them 0 without one."""
    if text is None or len(text) != 18:
        return bytes(5)
    data_object, file, block, row = (_number(text[start:end]) for start, end in ((0, 6), (6, 9), (9, 15), (15, 18)))
    return ub(data_object) + ub(file) + b"\0" + ub(block) + ub(row)


def _number(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * 64 + _ROWID_DIGITS.index(digit)
    return number


def _batch_errors(failures: Sequence[tuple[int, OraError]]) -> bytes:
    if not failures:
        return ub(0) * 3
    number, mark = ub(len(failures)), b"\x01"
    codes = b"".join(ub(error.code) for _, error in failures)
    rows = b"".join(ub(row) for row, _ in failures)
    texts = b"".join(ub(1) + clr(str(error).encode()) + b"\0\0" for _, error in failures)
    return number + mark + codes + number + mark + rows + number + mark + texts


def row_header(vector: bytes = b"") -> bytes:
    """Build message 6. `vector` has a 1 for each column of the first row that is sent (standin/wire/repeats.py)."""
    repeats = ub(len(vector)) + bytes((len(vector),)) + vector if vector else ub(0)
    return b"\x06" + bytes(5) + repeats + ub(0)


def describe(columns: tuple[ColumnInfo, ...], *, wide_scale: bool) -> bytes:
    return b"\x10" + clr(b"\x01") + described(columns, wide_scale=wide_scale)


@lru_cache(1000)
def described(columns: tuple[ColumnInfo, ...], *, wide_scale: bool) -> bytes:
    """Return the description without its head: that of a cursor that is an OUT value has none."""
    parts = [ub(1000), ub(len(columns)), b"\x01" if columns else b""]
    for position, column in enumerate(columns, 1):
        kind = column_type(column)
        is_object = kind.type == WireType.OBJECT
        shape = column.shape or SqlType(column.type, owner="SYS")
        precision, scale = _precision_and_scale(column)
        parts += [
            bytes((kind.type, 0, precision & 0xFF)),
            sb(scale) if wide_scale and kind.type in SCALED else bytes((scale & 0xFF,)),
            ub(0 if kind.type in LONGS else kind.buffer or max(column.size, 1)),  # 0 of others: a column that is always NULL
            ub(0) * 2,
            dalc(oid_of(shape) if is_object else b""),
            ub(1 if is_object else 0),
            ub(kind.charset),
            bytes((kind.form,)),
            ub(0 if kind.is_unsized else column.chars or (column.size if kind.form else 0)),
            ub(0),
            bytes((column.nullable, min(len(column.name.encode()), 255))),
            dalc(column.name),
            *((dalc(shape.owner), dalc(shape.name)) if is_object else (dalc(b""), dalc(b""))),
            ub(position),
            ub(_IS_JSON if column.is_json else 0),
        ]
    return b"".join(parts) + dalc(b"") + ub(0) * 4 + dalc(b"")


def _precision_and_scale(column: ColumnInfo) -> tuple[int, int]:
    """Return both, 0 for types without them. The default scale of ColumnInfo means NUMBER without precision."""
    kind = column_type(column)
    if kind.scale is not None:
        return 0, kind.scale
    if kind.type == WireType.NUMBER:
        return column.precision, column.scale
    if kind.type in INTERVALS:
        return column.precision, max(column.scale, 0)
    return 0, 6 if column.scale == UNLIMITED_SCALE else column.scale


def return_parameters(pairs: Mapping[str, str], flags: Mapping[str, int] | None = None) -> bytes:
    """Build message 8 of a logon: keys and values."""
    items = (dalc(key) + dalc(value) + ub((flags or {}).get(key, 0)) for key, value in pairs.items())
    return b"\x08" + ub(len(pairs)) + b"".join(items)


def executed(cursor: int, counts: Sequence[int] | None, *, with_cursor: bool, schema: str | None = None) -> bytes:
    """Build message 8 of an execute: the cursor id for clients that read it here, a new current schema, and requested
    row counts."""
    if counts is None and not with_cursor and schema is None:
        return b""
    parameters = ub(6) + bytes(2) + ub(cursor) + bytes(3) if with_cursor else ub(0)
    facts = ub(0) if schema is None else ub(1) + dalc(schema) + ub(0) + ub(_CURRENT_SCHEMA)
    rows = b"" if counts is None else ub(len(counts)) + b"".join(map(ub, counts))
    return b"\x08" + parameters + ub(0) + facts + ub(0) + rows


def version(banner: str, number: int) -> bytes:
    """Build message 8, the answer to function 59."""
    text = banner.encode()
    return b"\x08" + ub(len(text)) + text + ub(number)


def io_vector(directions: Sequence[str]) -> bytes:
    """Build message 11: which binds of a PL/SQL block are IN, OUT or both."""
    count = len(directions)
    return b"\x0b\0" + ub(count % 256) + ub(count // 256) + ub(1) + ub(0) * 3 + bytes(DIRECTIONS[d] for d in directions)


def implicit_results(cursors: Sequence[bytes]) -> bytes:
    """Build message 27: cursors that a block returns beside its binds, each as its description and number."""
    return b"\x1b" + ub(len(cursors)) + b"".join(b"\0" + cursor for cursor in cursors)


def branch_switched(context: bytes) -> bytes:
    """Build message 8 of a switch to a branch: an application value, and a context, which the client sends back."""
    return b"\x08" + ub(0) + ub(len(context)) + context


def branch_state(state: int) -> bytes:
    return b"\x08" + ub(state)
