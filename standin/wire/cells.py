"""Encodes results column by column, without a Python object per row.

Each column becomes Arrow arrays of wire cells. One element-wise join of them yields the row messages in one buffer, whose
offsets are the row boundaries. NUMBERs that do not fit 64 bits are encoded once per distinct value.
A few rows are encoded value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from standin.composites import from_json
from standin.interface import Composite
from standin.model import SqlType
from standin.octets import units_of
from standin.wire.lobs import file_cell
from standin.wire.numbers import encode_number
from standin.wire.objects import NULL, xml_cell
from standin.wire.primitives import CHUNK, SHORT, clr, ub
from standin.wire.repeats import RepeatedValues
from standin.wire.types import FLOATS, INTERVALS, LOBS, LONGS, MOMENTS, NATIONAL, NUMBERS, TEXTS, WireType
from standin.wire.values import encode_interval, encode_moment, encode_months

ROW = b"\x07"
FEW_ROWS = 50
_BLOCK_ROWS, _BLOCK_BYTES = 65_536, 64 * 1024 * 1024  # Arrow's 32-bit offsets end at 2 GB
_PREFIXES = pa.array([bytes((n,)) if n <= SHORT else b"\xfe" + ub(n) for n in range(CHUNK + 1)], pa.binary())
_SUFFIXES = pa.array([b"", b"\0"], pa.binary())
_BOOLEANS = pa.array([b"\x01\0", b"\x02\x01\x01"], pa.binary())
_NULL = pa.scalar(b"\0", pa.binary())
_LONG_END = pa.scalar(b"\0\0", pa.binary())  # null indicator and return code
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

Locate = Callable[[str | bytes | Composite, bool], bytes]
T = TypeVar("T")
Part = Any  # a pyarrow array or scalar of type binary
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """The wire format of one column."""

    type: int
    form: int = 0
    shape: SqlType | None = None


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Rows in wire format; `offsets` are the row boundaries in `data`. `rows` are the same rows as they were."""

    data: memoryview
    offsets: npt.NDArray[np.int32]
    rows: pa.RecordBatch

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def first(self, count: int) -> memoryview:
        return self.data[self.offsets[0] : self.offsets[count]]

    def without(self, count: int) -> EncodedRows:
        return EncodedRows(self.data, self.offsets[count:], self.rows.slice(count))


def encode_rows(
    batches: Iterable[pa.RecordBatch], cells: tuple[Cell, ...], locator: Locate, *, whole: bool = False
) -> Iterator[EncodedRows]:
    """Yield blocks of encoded rows. `locator` converts a LOB value, national or not, the number of a nested cursor, or an
    instance to its cell. Rows that are `whole` have all of their values, also those that repeat the row before."""
    repeats = RepeatedValues([cell.type for cell in cells])
    for batch in batches:
        for block in _blocks(batch):
            if block.num_rows <= FEW_ROWS:
                yield _few_rows(block, cells, locator, None if whole else repeats)
                continue
            columns = encode_columns(block, cells, locator)
            yield _rows(*((columns, None) if whole else repeats.leave_out(columns)), block)


def _few_rows(block: pa.RecordBatch, cells: tuple[Cell, ...], locator: Locate, repeats: RepeatedValues | None) -> EncodedRows:
    """Encode value by value: Arrow's and numpy's fixed costs per column are those of a hundred rows."""
    rows = list(zip(*_by_column(block, cells, lambda column, cell: _column_cells(column, cell, locator)), strict=True))
    pieces = (
        [ROW + b"".join(row) for row in rows]
        if repeats is None
        else [vector + ROW + b"".join(sent) for vector, sent in map(repeats.leave_out_of, rows)]
    )
    return EncodedRows(memoryview(b"".join(pieces)), np.cumsum([0, *map(len, pieces)], dtype=np.int32), block)


def _blocks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = batch.num_rows
    if rows > _BLOCK_ROWS or (rows > 1 and batch.nbytes > _BLOCK_BYTES):
        yield from _blocks(batch.slice(0, rows // 2))
        yield from _blocks(batch.slice(rows // 2))
    elif rows:
        yield batch


def _rows(columns: Sequence[pa.Array], vectors: list[bytes] | None, rows: pa.RecordBatch) -> EncodedRows:
    marks = pa.array([ROW] * rows.num_rows if vectors is None else [vector + ROW for vector in vectors], pa.binary())
    joined = _joined([marks, *columns])
    _, offsets, data = joined.buffers()
    ends = np.frombuffer(offsets, np.int32)[joined.offset : joined.offset + len(joined) + 1]
    return EncodedRows(memoryview(data), ends, rows)


def encode_columns(batch: pa.RecordBatch, cells: tuple[Cell, ...], locator: Locate) -> list[pa.Array]:
    """Return the wire cells of each column."""
    return _by_column(batch, cells, lambda column, cell: _one(_column_parts(column, cell, locator), batch.num_rows))


def _by_column(batch: pa.RecordBatch, cells: tuple[Cell, ...], encode: Callable[[pa.Array, Cell], T]) -> list[T]:
    columns = []
    for name, column, cell in zip(batch.schema.names, batch.columns, cells, strict=True):
        try:
            columns.append(encode(column, cell))
        except _UNSENDABLE as error:
            raise _unsendable(name, column, cell, error) from error
    return columns


def _one(parts: list[Part], rows: int) -> pa.Array:
    if all(isinstance(part, pa.Scalar) for part in parts):
        parts = [pa.array([b""] * rows, pa.binary()), *parts]
    return parts[0] if len(parts) == 1 else _joined(parts)


def _column_cells(column: pa.Array, cell: Cell, locator: Locate) -> list[bytes]:
    encode = _value_encoder(column.type, cell)
    if encode is not None:
        values = column.cast(pa.binary()) if encode is clr else column
        return [b"\0" if value is None else encode(value) for value in values.to_pylist()]
    cells: list[bytes] = _joined([pa.nulls(len(column), pa.binary()), *_column_parts(column, cell, locator)]).to_pylist()
    return cells


def _value_encoder(kind: pa.DataType, cell: Cell) -> Callable[[Any], bytes] | None:
    """Return the encoder of single values, for the types that most results have."""
    if cell.type in NUMBERS and (pa.types.is_string(kind) or pa.types.is_int64(kind) or pa.types.is_decimal128(kind)):
        return _number_cell
    if cell.type in TEXTS and cell.type not in LONGS and cell.form != NATIONAL and pa.types.is_string(kind):
        return clr
    if cell.type in MOMENTS and kind in (pa.timestamp("s"), pa.timestamp("us")):
        return lambda value: clr(encode_moment(value, cell.type))
    return None


def _joined(parts: Sequence[Part]) -> pa.Array:
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()), null_handling="replace", null_replacement=b"")


_UNSENDABLE = (TypeError, ValueError, ArithmeticError, pa.ArrowException)


def _unsendable(name: str, column: pa.Array, cell: Cell, error: Exception) -> ValueError:
    return ValueError(f"column {name} ({column.type}) cannot be sent as type {cell.type}: {error}")


def _column_parts(column: pa.Array, cell: Cell, locator: Locate) -> list[Part]:
    """Return arrays that form the cells of one column when joined element-wise."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if cell.type == WireType.OBJECT:
        return [_objects(column, cell.shape, locator)]
    if pa.types.is_null(column.type):
        return [_NULL, _LONG_END] if cell.type in LONGS else [_NULL]
    if cell.type == WireType.BFILE:
        return [_each(column, file_cell)]
    if cell.type in LOBS or cell.type == WireType.CURSOR:
        return [_each(column, lambda value: locator(value, cell.form == NATIONAL))]
    if cell.type in NUMBERS:
        return [_number_cells(column)]
    if cell.type in MOMENTS:
        return _byte_parts(column, cell) if pa.types.is_binary(column.type) else [_moment_cells(column, cell.type)]
    if cell.type in FLOATS:
        return [_float_cells(column, cell.type)]
    if cell.type == WireType.BOOLEAN:
        return [pc.fill_null(_BOOLEANS.take(column.cast(pa.int8())), _NULL)]
    if cell.type in INTERVALS and not pa.types.is_binary(column.type):
        encode = encode_interval if cell.type == WireType.INTERVAL_DS else encode_months
        return [_each(column, lambda value: clr(encode(value)))]
    parts = _byte_parts(column, cell)
    return [*parts, _LONG_END] if cell.type in LONGS else parts


def _objects(column: pa.Array, shape: SqlType | None, locator: Locate) -> pa.Array:
    """Encode instances. XMLTYPE has no shape."""
    if shape is None:
        return pa.array([xml_cell(document) for document in column.to_pylist()], pa.binary())
    texts = column.to_pylist()
    return pa.array([NULL if text is None else locator(from_json(shape, text), False) for text in texts], pa.binary())


def _each(column: pa.Array, encode: Callable[[Any], bytes]) -> pa.Array:
    return pa.array([b"\0" if value is None else encode(value) for value in column.to_pylist()], pa.binary())


def _byte_parts(column: pa.Array, cell: Cell) -> list[Part]:
    """Encode text and RAW: a length prefix, the bytes, and an end mark for chunked values."""
    kind = column.type
    if not any(is_(kind) for is_ in _BYTES_LIKE):
        raise TypeError("neither text nor bytes")
    if cell.form == NATIONAL:
        return [_each(column.cast(pa.binary()), lambda octets: clr(units_of(octets)))]
    values = column if kind == pa.binary() else column.cast(pa.binary())
    lengths = pc.fill_null(pc.binary_length(values), 0)
    longest = pc.max(lengths).as_py() or 0
    if longest > CHUNK:
        return [_each(values, clr)]
    prefixes = _PREFIXES.take(lengths)
    if longest <= SHORT:
        return [prefixes, values]
    return [prefixes, values, _SUFFIXES.take(pc.greater(lengths, SHORT).cast(pa.int8()))]


_BYTES_LIKE = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)


def _number_cells(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:  # not all are 64-bit integers
            return _distinct_number_cells(column)
    elif pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and not pa.types.is_uint64(kind)):
        column = column.cast(pa.int64())
    elif pa.types.is_decimal128(kind):
        return _decimal_cells(column)
    if column.type != pa.int64():
        return _distinct_number_cells(column)
    return _integer_cells(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), _nulls(column), 0)


def _distinct_number_cells(column: pa.Array) -> pa.Array:
    coded = column.dictionary_encode()
    cells = pa.array([_number_cell(value) for value in coded.dictionary.to_pylist()], pa.binary())
    return pc.fill_null(cells.take(coded.indices), _NULL)


@lru_cache(maxsize=65_536)
def _number_cell(value: Any) -> bytes:
    return clr(encode_number(value))


def _decimal_cells(column: pa.Array) -> pa.Array:
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high, nulls = words[0::2], words[1::2], _nulls(column)
    if nulls is not None:
        low, high = np.where(nulls, 0, low), np.where(nulls, 0, high)
    # An odd scale needs one more decimal digit, which must fit in 64 bits too.
    limit = 2**63 - 1 if column.type.scale % 2 == 0 else 10**18
    if np.array_equal(high, low >> 63) and len(low) and int(low.min()) >= -limit and int(low.max()) <= limit:
        return _integer_cells(low, nulls, column.type.scale)
    return _distinct_number_cells(column)


def _integer_cells(values: Ints, nulls: npt.NDArray[np.bool_] | None, scale: int) -> pa.Array:
    """Encode values * 10**-scale: base-100 digits by repeated division, without the zeros at both ends."""
    negative, magnitude = values < 0, np.abs(values).astype(np.uint64)
    if scale % 2:
        magnitude, scale = magnitude * np.uint64(10), scale + 1
    rows, hundred = len(values), np.uint64(100)
    pairs = (len(str(int(magnitude.max()))) + 1) // 2 if rows else 1
    cells = np.zeros((rows, pairs + 3), np.uint8)  # length, exponent, digits, end of a negative number
    first, last = np.full(rows, pairs, np.int16), np.full(rows, -1, np.int16)
    for i in range(pairs - 1, -1, -1):
        quotient = magnitude // hundred
        digit = (magnitude - quotient * hundred).astype(np.uint8)
        magnitude, some = quotient, digit != 0
        first[some] = i
        np.copyto(last, i, where=some & (last < 0))
        cells[:, 2 + i] = np.where(negative, 101 - digit, digit + 1)
    zero = last < 0
    exponent = pairs - first - scale // 2 + 192
    cells[:, 1] = np.where(zero, 128, np.where(negative, ~exponent, exponent) & 0xFF)
    cells[:, 2 + pairs] = 102
    sent = np.zeros(cells.shape, np.bool_)
    sent[:, :2] = True
    for i in range(pairs):
        sent[:, 2 + i] = (first <= i) & (last >= i)
    sent[:, 2 + pairs] = negative
    return _packed(cells, sent, np.where(zero, 1, last - first + 2) + negative, nulls)


def _moment_cells(column: pa.Array, type_: int) -> pa.Array:
    """Encode DATE, TIMESTAMP and TIMESTAMP WITH TIME ZONE (sent as UTC) by calendar arithmetic on whole columns."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s"))
    elif not pa.types.is_timestamp(kind):
        raise TypeError("not a timestamp")
    per_second = _UNITS[column.type.unit]
    ticks = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    seconds, fraction = np.divmod(ticks, per_second)
    days, of_day = np.divmod(seconds, 86_400)
    year, month, day = _civil(days)
    rows = len(ticks)
    cells = np.zeros((rows, 14), np.uint8)  # length, 7 bytes of DATE, 4 of fraction, 2 of zone
    fields = (year // 100 + 100, year % 100 + 100, month, day, of_day // 3600 + 1, of_day // 60 % 60 + 1, of_day % 60 + 1)
    for i, values in enumerate(fields, 1):
        cells[:, i] = values
    sent = np.zeros((rows, 14), np.bool_)
    sent[:, :8] = True
    lengths = np.full(rows, 7, np.int64)
    if type_ != WireType.DATE:
        zoned = type_ == WireType.TIMESTAMP_TZ
        with_fraction = (fraction != 0) | zoned
        cells[:, 8:12] = (fraction * (1_000_000_000 // per_second)).astype(">u4")[:, None].view(np.uint8)
        cells[:, 12], cells[:, 13] = 20, 60  # +00:00
        sent[:, 8:12], sent[:, 12:] = with_fraction[:, None], zoned
        lengths = np.where(with_fraction, 13 if zoned else 11, 7)
    return _packed(cells, sent, lengths, _nulls(column))


def _civil(days: Ints) -> tuple[Ints, Ints, Ints]:
    """Return Gregorian year, month and day from days since 1970, by years from March in eras of 400 years."""
    shifted = days + 719_468
    era, day_of_era = np.divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    month = np.where(from_march < 10, from_march + 3, from_march - 9)
    year = year_of_era + era * 400 + (month <= 2)
    return year, month, day_of_year - (153 * from_march + 2) // 5 + 1


def _float_cells(column: pa.Array, type_: int) -> pa.Array:
    """Encode IEEE big endian with the sign bit set, or with all bits inverted if negative, so that the bytes sort."""
    bits, sign = (np.uint64, np.uint64(1 << 63)) if type_ == WireType.BINARY_DOUBLE else (np.uint32, np.uint32(1 << 31))
    kind = pa.float64() if type_ == WireType.BINARY_DOUBLE else pa.float32()
    raw = pc.fill_null(column.cast(kind, safe=False), 0.0).to_numpy(zero_copy_only=False).view(bits)
    width = raw.dtype.itemsize
    cells = np.empty((len(raw), width + 1), np.uint8)
    ordered = np.where(raw & sign, ~raw, raw | sign)
    cells[:, 1:] = ordered.astype(ordered.dtype.newbyteorder(">"))[:, None].view(np.uint8)
    return _packed(cells, np.ones(cells.shape, np.bool_), np.full(len(raw), width, np.int64), _nulls(column))


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_] | None:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None


def _packed(
    cells: npt.NDArray[np.uint8],
    sent: npt.NDArray[np.bool_],
    lengths: npt.NDArray[np.integer[Any]],
    nulls: npt.NDArray[np.bool_] | None,
) -> pa.Array:
    """Return the bytes of `cells` marked in `sent`, as one binary value per row. Byte 0 of a row is its length."""
    if nulls is not None:
        sent[nulls, 1:] = False
        lengths = np.where(nulls, 0, lengths)
    cells[:, 0] = lengths
    offsets = np.zeros(len(cells) + 1, np.int32)
    np.cumsum(lengths + 1, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(cells[sent])]
    return pa.Array.from_buffers(pa.binary(), len(cells), buffers)
