"""Values of columns: conversion to a column's type, and the internal bytes that DUMP shows.

In memory NUMBER is an int or, with a fraction, a Decimal. Text is str, with the empty string as NULL. DATE and TIMESTAMP
are datetime, or Moment where Python has no such date. RAW and BLOB are bytes, BINARY_FLOAT and BINARY_DOUBLE float. Decoding
is in `logminer`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from standin.engine.dates import parser_of
from standin.engine.masks import date_text
from standin.interface import OraError
from standin.model import SqlType
from standin.moment import Moment

Encoder = Callable[[Any], bytes]
Coercer = Callable[[Any, Mapping[str, str]], Any]  # (value, NLS settings) -> stored value; never called for NULL

EXACT = Context(prec=40, rounding=ROUND_HALF_UP)
_LOB = frozenset({"CLOB", "NCLOB", "BLOB"})
_MANTISSA_BYTES = 20


def is_lob(type_: SqlType) -> bool:
    return type_.name in _LOB


def plain(number: Decimal) -> int | Decimal:
    """Return an int for a whole number, else a Decimal without trailing zeros; Oracle keeps at most 40 digits."""
    try:
        whole = number.to_integral_value(context=EXACT)
    except InvalidOperation:
        raise OraError(1426, "numeric overflow") from None
    if whole == number:
        if number.adjusted() > 125:
            raise OraError(1426, "numeric overflow")
        return int(number)
    return number.normalize(EXACT)


def to_number(value: Any) -> int | Decimal:
    """Convert a bind or expression value to NUMBER. Raise ORA-01722 for text that is not a number."""
    if isinstance(value, int):
        return int(value) if abs(value) < 10**40 else plain(EXACT.create_decimal(value))
    if isinstance(value, Decimal):
        return plain(EXACT.plus(value))
    if isinstance(value, float):
        return plain(EXACT.create_decimal(repr(value)))
    if isinstance(value, str):
        try:
            return plain(EXACT.create_decimal(value.strip()))
        except InvalidOperation:
            raise OraError(1722, "invalid number") from None
    raise OraError(932, f"inconsistent datatypes: expected NUMBER got {type(value).__name__.upper()}")


def number_text(number: float | Decimal) -> str:
    """Return TO_CHAR(number): no zero before the point and none at the end."""
    if isinstance(number, int):
        return str(number)
    if isinstance(number, float):
        number = EXACT.create_decimal(repr(number))
    text = format(number.normalize(EXACT), "f")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


@lru_cache(maxsize=65536)
def encode_number(number: int | Decimal) -> bytes:
    """Encode in base 100: exponent byte from 0xC1 up, digits plus one; negative numbers complemented and ended by 0x66."""
    if not number:
        return b"\x80"
    negative, exponent = number < 0, 0
    if isinstance(number, int):
        digits = str(abs(number))
    else:
        parts = number.as_tuple()
        exponent = int(parts.exponent)
        digits = "".join(map(str, parts.digits))
        if exponent % 2:
            digits, exponent = digits + "0", exponent - 1
    if len(digits) % 2:
        digits = "0" + digits
    pairs = [int(digits[i : i + 2]) for i in range(0, len(digits), 2)]
    power = len(pairs) - 1 + exponent // 2
    while not pairs[-1]:
        pairs.pop()
    pairs = pairs[:_MANTISSA_BYTES]
    if not negative:
        return bytes([0xC1 + power, *(d + 1 for d in pairs)])
    return bytes([0x3E - power, *(101 - d for d in pairs)]) + (b"\x66" if len(pairs) < _MANTISSA_BYTES else b"")


def encode_date(moment: datetime | Moment) -> bytes:
    """Encode in 7 bytes: century and year plus 100, both negative before Christ, and the time fields plus 1."""
    century, year = divmod(abs(moment.year), 100)
    if moment.year < 0:
        century, year = -century, -year
    return bytes((century + 100, year + 100, moment.month, moment.day, moment.hour + 1, moment.minute + 1, moment.second + 1))


def encode_timestamp(moment: datetime | Moment) -> bytes:
    micro = moment.microsecond
    return encode_date(moment) + ((micro * 1000).to_bytes(4, "big") if micro else b"")


def _ordered(packed: bytes) -> bytes:
    """Return IEEE bits that sort as bytes: the sign bit set for positive numbers, all bits inverted for negative ones."""
    return bytes(b ^ 0xFF for b in packed) if packed[0] & 0x80 else bytes([packed[0] | 0x80]) + packed[1:]


def encoder_of(type_: SqlType) -> Encoder:
    name = type_.name
    if name in ("NUMBER", "FLOAT"):
        return encode_number
    if name == "DATE":
        return encode_date
    if name == "TIMESTAMP":
        return encode_timestamp
    if name in ("NVARCHAR2", "NCHAR", "NCLOB"):
        return lambda text: text.encode("utf-16-be")
    if name == "BINARY_DOUBLE":
        return lambda number: _ordered(struct.pack(">d", number + 0.0))
    if name == "BINARY_FLOAT":
        return lambda number: _ordered(struct.pack(">f", number + 0.0))
    if name in ("RAW", "BLOB"):
        return bytes
    return lambda text: text.encode()


def moment(value: Any, mask: str) -> datetime | Moment:
    if isinstance(value, Moment):
        return value
    if isinstance(value, datetime):
        return value.replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, str):
        return parser_of(mask)(value)
    raise OraError(932, f"inconsistent datatypes: expected DATE got {type(value).__name__.upper()}")


def with_microsecond(at: datetime | Moment, microsecond: int) -> datetime | Moment:
    return at.with_microsecond(microsecond) if isinstance(at, Moment) else at.replace(microsecond=microsecond)


def to_text(value: Any, nls: Mapping[str, str]) -> str:
    """Convert a value implicitly to VARCHAR2."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | Decimal | float):
        return number_text(value)
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, datetime | Moment):
        return date_text(value, nls["NLS_TIMESTAMP_FORMAT" if value.microsecond else "NLS_DATE_FORMAT"])
    raise OraError(932, f"inconsistent datatypes: expected CHAR got {type(value).__name__.upper()}")


def coercer_of(type_: SqlType, where: str) -> Coercer:
    """Return the check and conversion for one column. `where` is the quoted name that ORA-12899 shows."""
    name = type_.name
    if name in ("NUMBER", "FLOAT"):
        return _number_coercer(type_)
    if name == "DATE":
        return lambda value, nls: with_microsecond(moment(value, nls["NLS_DATE_FORMAT"]), 0)
    if name == "TIMESTAMP":
        return _timestamp_coercer(6 if type_.scale is None else type_.scale)
    if name in ("BINARY_DOUBLE", "BINARY_FLOAT"):
        return _float_coercer(single=name == "BINARY_FLOAT")
    if name in ("RAW", "BLOB"):
        return _raw_coercer(type_, where)
    return _text_coercer(type_, where)


def _number_coercer(type_: SqlType) -> Coercer:
    if type_.name == "FLOAT" or (type_.precision is None and type_.scale is None):
        return lambda value, _: to_number(value)
    scale = type_.scale or 0
    precision = 38 if type_.precision is None else type_.precision
    limit = Decimal(10) ** (precision - scale)
    whole_limit = int(limit) if precision >= scale else 0
    unit = Decimal(1).scaleb(-scale)

    def coerce(value: Any, _: Mapping[str, str]) -> int | Decimal:
        number = value if value.__class__ is int else to_number(value)
        if scale >= 0 and number.__class__ is int:
            if -whole_limit < number < whole_limit or not number:
                return number  # type: ignore[no-any-return]
            raise OraError(1438, "value larger than specified precision allowed for this column")
        exact = EXACT.create_decimal(number)
        if exact.adjusted() < 39 - scale:
            exact = exact.quantize(unit, context=EXACT)
        if not -limit < exact < limit:
            raise OraError(1438, "value larger than specified precision allowed for this column")
        return plain(exact)

    return coerce


def _timestamp_coercer(digits: int) -> Coercer:
    unit = 10 ** max(0, 6 - digits)

    def coerce(value: Any, nls: Mapping[str, str]) -> datetime | Moment:
        at = moment(value, nls["NLS_TIMESTAMP_FORMAT"])
        return with_microsecond(at, at.microsecond // unit * unit)

    return coerce


def _float_coercer(*, single: bool) -> Coercer:
    def coerce(value: Any, _: Mapping[str, str]) -> float:
        number = float(value) if isinstance(value, float | int | Decimal) else float(to_number(value))
        return float(struct.unpack(">f", struct.pack(">f", number))[0]) if single else number

    return coerce


def _raw_coercer(type_: SqlType, where: str) -> Coercer:
    limit = None if is_lob(type_) else type_.length

    def coerce(value: Any, _: Mapping[str, str]) -> bytes:
        if isinstance(value, str):
            try:
                value = bytes.fromhex(value)
            except ValueError:
                raise OraError(1465, "invalid hex number") from None
        if not isinstance(value, bytes | bytearray):
            raise OraError(932, f"inconsistent datatypes: expected {type_.name} got {type(value).__name__.upper()}")
        if limit is not None and len(value) > limit:
            raise _too_long(where, len(value), limit)
        return bytes(value)

    return coerce


def _text_coercer(type_: SqlType, where: str) -> Coercer:
    unlimited, padded = is_lob(type_), type_.name in ("CHAR", "NCHAR")
    bytes_limit, chars = type_.length, type_.chars
    by_chars = type_.name.startswith("N") or (chars and chars != bytes_limit)

    def coerce(value: Any, nls: Mapping[str, str]) -> str:
        text = value if value.__class__ is str else to_text(value, nls)
        if unlimited:
            return text
        if by_chars:
            if len(text) > chars:
                raise _too_long(where, len(text), chars)
        elif len(text) * 4 > bytes_limit and len(text.encode()) > bytes_limit:
            raise _too_long(where, len(text.encode()), bytes_limit)
        if padded:
            text = text.ljust(chars) if by_chars else text + " " * (bytes_limit - len(text.encode()))
        return text

    return coerce


def _too_long(where: str, actual: int, maximum: int) -> OraError:
    return OraError(12899, f"value too large for column {where} (actual: {actual}, maximum: {maximum})")
