"""Codecs for single values: received binds, and sent OUT and RETURNING values. `cells` encodes the columns of results."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from standin.interface import OraError
from standin.intervals import DaySecond, YearMonth
from standin.moment import Moment, moment_of_fields
from standin.wire.numbers import NumberOutOfRange, decode_number, encode_number
from standin.wire.primitives import clr
from standin.wire.types import FLOATS, MOMENTS, NUMBERS, TEXTS, BindType, WireType

_HALF = 2**31
_HOUR_BIAS = 60  # of intervals and of time zones' minutes
_ZONE_HOUR_BIAS = 20
_MICROSECONDS_PER_DAY = 86_400_000_000


def encode_moment(value: date, type_: int) -> bytes:
    """Encode DATE in 7 bytes, TIMESTAMP in 11 (7 without a fraction), TIMESTAMP WITH TIME ZONE in 13, its fields in UTC."""
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    offset = moment.utcoffset() if type_ == WireType.TIMESTAMP_TZ else None
    if offset is not None:
        moment = moment.astimezone(UTC)
    century, year = divmod(moment.year, 100)
    data = bytes((century + 100, year + 100, moment.month, moment.day, moment.hour + 1, moment.minute + 1, moment.second + 1))
    if type_ == WireType.DATE:
        return data
    fraction = struct.pack(">I", moment.microsecond * 1000)
    if type_ != WireType.TIMESTAMP_TZ:
        return data + fraction if moment.microsecond else data
    minutes = int((offset or timedelta()).total_seconds()) // 60
    hours = int(minutes / 60)
    return data + fraction + bytes((hours + _ZONE_HOUR_BIAS, minutes - 60 * hours + _HOUR_BIAS))


def decode_moment(data: bytes) -> datetime | Moment:
    """Decode a bind. Oracle does not check a client's DATE, so it may be any bytes."""
    nanoseconds = int.from_bytes(data[7:11], "big")
    year = (data[0] - 100) * 100 + data[1] - 100
    moment = moment_of_fields(year, data[2], data[3], data[4] - 1, data[5] - 1, data[6] - 1, nanoseconds)
    if len(data) < 13 or isinstance(moment, Moment):
        return moment
    offset = timedelta(hours=data[11] - _ZONE_HOUR_BIAS, minutes=data[12] - _HOUR_BIAS)
    zoned = moment.replace(tzinfo=UTC)
    return zoned if not offset else zoned.astimezone(timezone(offset))


def encode_float(value: float, type_: int) -> bytes:
    """Encode IEEE big endian, changed so that the bytes sort like the numbers."""
    data = struct.pack(">d" if type_ == WireType.BINARY_DOUBLE else ">f", value)
    if data[0] & 0x80:
        return bytes(byte ^ 0xFF for byte in data)
    return bytes((data[0] | 0x80,)) + data[1:]


def decode_float(data: bytes) -> float:
    plain = bytes((data[0] & 0x7F,)) + data[1:] if data[0] & 0x80 else bytes(byte ^ 0xFF for byte in data)
    value: float = struct.unpack(">d" if len(data) == 8 else ">f", plain)[0]
    return value


def encode_interval(value: timedelta) -> bytes:
    """Encode INTERVAL DAY TO SECOND. All fields of a negative interval are negative."""
    microseconds = value // timedelta(microseconds=1)
    sign = -1 if microseconds < 0 else 1
    days, rest = divmod(abs(microseconds), _MICROSECONDS_PER_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    parts = (
        sign * (seconds // 3600) + _HOUR_BIAS,
        sign * (seconds // 60 % 60) + _HOUR_BIAS,
        sign * (seconds % 60) + _HOUR_BIAS,
    )
    return struct.pack(">IBBBI", sign * days + _HALF, *parts, sign * fraction * 1000 + _HALF)


def decode_interval(data: bytes) -> timedelta:
    days, hours, minutes, seconds, nanoseconds = struct.unpack(">IBBBI", data)
    return timedelta(
        days=days - _HALF,
        hours=hours - _HOUR_BIAS,
        minutes=minutes - _HOUR_BIAS,
        seconds=seconds - _HOUR_BIAS,
        microseconds=(nanoseconds - _HALF) // 1000,
    )


def encode_months(months: int) -> bytes:
    """Encode INTERVAL YEAR TO MONTH."""
    years = int(months / 12)
    return struct.pack(">IB", years + _HALF, months - 12 * years + _HOUR_BIAS)


def encode_boolean(value: bool) -> bytes:
    return b"\x01\x01" if value else b"\0"


def decode_bind(data: bytes, bind: BindType) -> Any:
    """Decode a bind that is not NULL."""
    if bind.type in TEXTS:
        return data.decode(bind.encoding)
    decode = _DECODERS.get(bind.type)
    if decode is None:
        raise OraError(3115, f"unsupported network datatype or representation: bind type {bind.type}")
    return decode(data)


def encode_out(value: Any, bind: BindType) -> bytes:
    """Encode an OUT or RETURNING value for the type of the client's variable."""
    return b"\0" if value is None else clr(out_bytes(value, bind))


def out_bytes(value: Any, bind: BindType) -> bytes:
    try:
        return _encode_as(value, bind)
    except (NumberOutOfRange, ArithmeticError, AttributeError, TypeError, ValueError, struct.error) as error:
        raise OraError(6502, f"PL/SQL: numeric or value error: {value!r} as type {bind.type}: {error}") from error


def _encode_as(value: Any, bind: BindType) -> bytes:
    if bind.type in NUMBERS:
        return encode_number(value)
    if bind.type in MOMENTS:
        return encode_moment(value, bind.type)
    if bind.type in FLOATS:
        return encode_float(float(value), bind.type)
    if bind.type == WireType.BOOLEAN:
        return encode_boolean(value)
    if isinstance(value, DaySecond | YearMonth):
        return value.encode()
    if bind.type == WireType.INTERVAL_DS:
        return encode_interval(value)
    if isinstance(value, bytes):
        return value
    if bind.type == WireType.RAW:
        return _raw_of(str(value))
    return _as_text(value).encode(bind.encoding)


def _raw_of(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise OraError(1465, "invalid hex number") from None


def _as_text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)


_DECODERS: dict[int, Callable[[bytes], Any]] = {
    **dict.fromkeys(NUMBERS, decode_number),
    **dict.fromkeys(MOMENTS, decode_moment),
    **dict.fromkeys(FLOATS, decode_float),
    WireType.BOOLEAN: lambda data: data[-1:] == b"\x01",
    WireType.RAW: bytes,
    WireType.LONG_RAW: bytes,
    WireType.INTERVAL_DS: decode_interval,
    WireType.INTERVAL_YM: YearMonth.decode,
}
