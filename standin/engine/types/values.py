"""Values of columns: conversion to a column's type, and the internal bytes that DUMP shows.

In memory NUMBER is an int or, with a fraction, a Decimal. Text is str, with the empty string as NULL. DATE and TIMESTAMP
are datetime, or Moment where Python has no such point of time. RAW and BLOB are bytes, BINARY_FLOAT and BINARY_DOUBLE float.
Timestamps with a zone are Zoned, intervals DaySecond and YearMonth. Decoding is in `logminer`.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from standin.engine.types.dates import parser_of, zoned_parser_of
from standin.engine.types.masks import date_text
from standin.engine.types.rowids import encode_rowid, encode_urowid, is_rowid
from standin.interface import OraError
from standin.intervals import DaySecond, YearMonth
from standin.model import SqlType, is_extended
from standin.moment import Moment, moment_of_fields, nanosecond_of, with_nanosecond
from standin.octets import octets_of
from standin.zones import Zoned, session_zone, zone_bytes, zoned

Encoder = Callable[[Any], bytes]
Coercer = Callable[[Any, Mapping[str, str]], Any]  # (value, NLS settings) -> stored value; never called for NULL

EXACT = Context(prec=40, rounding=ROUND_HALF_UP)
_LOB = frozenset({"CLOB", "NCLOB", "BLOB"})
_UNLIMITED = _LOB | {"LONG", "LONG RAW", "XMLTYPE", "BFILE"}
_UNLOGGED = _UNLIMITED | {"JSON", "VECTOR"}
_MANTISSA_BYTES = 20


class Instance(str):
    """An instance of a user's type: the text of its JSON."""

    kind: SqlType

    @classmethod
    def of(cls, kind: SqlType, text: str) -> Instance:
        made = cls(text)
        made.kind = kind
        return made


class EmptyText(str):
    """The value of EMPTY_CLOB(): a large object of length 0, which is not NULL."""


EMPTY_CLOB = EmptyText()


def is_lob(type_: SqlType) -> bool:
    return type_.name in _LOB


def is_unlogged(type_: SqlType) -> bool:
    """Return whether no supplemental log group contains a column of the type."""
    return type_.name in _UNLOGGED or bool(type_.kind) or is_extended(type_)


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
    if isinstance(number, float) and not math.isfinite(number):
        return "Nan" if math.isnan(number) else "Inf" if number > 0 else "-Inf"
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
    nano = nanosecond_of(moment)
    return encode_date(moment) + (nano.to_bytes(4, "big") if nano else b"")


def encode_zoned(value: Zoned | datetime) -> bytes:
    """Encode UTC in 11 bytes, and the zone in two."""
    at = value if isinstance(value, Zoned) else zoned(value, 0)
    return encode_date(at.utc) + at.utc.nanosecond.to_bytes(4, "big") + zone_bytes(at)


def _ordered(packed: bytes) -> bytes:
    """Return IEEE bits that sort as bytes: the sign bit set for positive numbers, all bits inverted for negative ones."""
    return bytes(b ^ 0xFF for b in packed) if packed[0] & 0x80 else bytes([packed[0] | 0x80]) + packed[1:]


def encoder_of(type_: SqlType, database_zone: int | str = 0) -> Encoder:
    """Return what writes the internal bytes of a value. Local times are stored in the database's time zone."""
    name = type_.name
    if name == "TIMESTAMP WITH LOCAL TIME ZONE":
        return lambda value: encode_timestamp(Zoned(value.utc).local(database_zone))
    if name in ("NUMBER", "FLOAT"):
        return encode_number
    if name == "DATE":
        return encode_date
    if name == "TIMESTAMP":
        return encode_timestamp
    if name in ("NVARCHAR2", "NCHAR", "NCLOB"):
        return lambda text: text.encode("utf-16-be", "surrogatepass")
    if name == "BINARY_DOUBLE":
        return lambda number: _ordered(struct.pack(">d", number + 0.0))
    if name == "BINARY_FLOAT":
        return lambda number: _ordered(struct.pack(">f", number + 0.0))
    if name in ("RAW", "BLOB", "LONG RAW"):
        return bytes
    other = _OTHER_ENCODERS.get(name)
    return other if other is not None else octets_of


_OTHER_ENCODERS: dict[str, Encoder] = {
    "TIMESTAMP WITH TIME ZONE": encode_zoned,
    "INTERVAL DAY TO SECOND": DaySecond.encode,
    "INTERVAL YEAR TO MONTH": YearMonth.encode,
    "ROWID": encode_rowid,
    "UROWID": encode_urowid,
    "BOOLEAN": lambda value: bytes([value]),
}


def moment(value: Any, mask: str) -> datetime | Moment:
    if isinstance(value, Zoned):
        local = value.local()
        return moment_of_fields(local.year, local.month, local.day, local.hour, local.minute, local.second, local.nanosecond)
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
    if isinstance(value, Zoned):
        return zoned_text(value, nls, nls["NLS_TIMESTAMP_FORMAT" if value.zone is None else "NLS_TIMESTAMP_TZ_FORMAT"])
    if isinstance(value, DaySecond | YearMonth):
        return str(value)
    raise OraError(932, f"inconsistent datatypes: expected CHAR got {type(value).__name__.upper()}")


def zoned_text(value: Zoned, nls: Mapping[str, str], mask: str) -> str:
    return date_text(value.local(session_zone(nls["TIME_ZONE"])), mask)


def coercer_of(type_: SqlType, where: str) -> Coercer:
    """Return the check and conversion for one column. `where` is the quoted name that ORA-12899 shows."""
    name = type_.name
    if type_.kind:
        return _instance_coercer(type_)
    if name in ("NUMBER", "FLOAT"):
        return _number_coercer(type_)
    if name == "DATE":
        return lambda value, nls: with_microsecond(moment(value, nls["NLS_DATE_FORMAT"]), 0)
    if name == "TIMESTAMP":
        return _timestamp_coercer(6 if type_.scale is None else type_.scale)
    if name in ("BINARY_DOUBLE", "BINARY_FLOAT"):
        return _float_coercer(single=name == "BINARY_FLOAT")
    if name in ("RAW", "BLOB", "LONG RAW"):
        return _raw_coercer(type_, where)
    if name.startswith("TIMESTAMP WITH"):
        return _zoned_coercer(6 if type_.scale is None else type_.scale, is_local="LOCAL" in name)
    if name == "INTERVAL DAY TO SECOND":
        return _day_interval_coercer(type_)
    if name == "INTERVAL YEAR TO MONTH":
        return _year_interval_coercer(type_)
    if name == "ROWID":
        return _rowid
    if name == "UROWID":  # which begins with an asterisk in an index-organized table
        return lambda value, nls: value if isinstance(value, str) and is_rowid(value.removeprefix("*")) else _rowid(value, nls)
    plain = {"BOOLEAN": _boolean, "JSON": _json, "VECTOR": _vector}.get(name)
    return _text_coercer(type_, where) if plain is None else plain


def _boolean(value: Any, _: Mapping[str, str]) -> bool:
    return value if isinstance(value, bool) else str(value).upper() in ("TRUE", "1", "YES", "ON", "T", "Y")


def _instance_coercer(type_: SqlType) -> Coercer:
    def coerce(value: Any, _: Mapping[str, str]) -> Instance:
        if not isinstance(value, Instance) or (value.kind.owner, value.kind.name) != (type_.owner, type_.name):
            raise OraError(932, f"inconsistent datatypes: expected {type_.owner}.{type_.name}")
        return value

    return coerce


def _json(value: Any, nls: Mapping[str, str]) -> str:
    """Return the text that JSON_SERIALIZE shows."""
    try:
        return json.dumps(json.loads(to_text(value, nls)), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        raise OraError(40441, "JSON syntax error") from None


def _vector(value: Any, nls: Mapping[str, str]) -> str:
    """Return the text that VECTOR_SERIALIZE shows."""
    try:
        numbers = [float(number) for number in json.loads(to_text(value, nls))]
    except (ValueError, TypeError):
        raise OraError(51805, "vector is not properly formatted") from None
    return f"[{','.join(map(_vector_number, numbers))}]"


def _vector_number(number: float) -> str:
    mantissa, _, exponent = f"{number:.7E}".partition("E")
    digits = mantissa.rstrip("0")
    return f"{digits}0E{int(exponent):+04d}" if digits.endswith(".") else f"{digits}E{int(exponent):+04d}"


def _number_coercer(type_: SqlType) -> Coercer:
    if type_.name == "FLOAT":
        kept = Context(prec=-(-(type_.precision or 126) * 30103 // 100_000), rounding=ROUND_HALF_UP)
        return lambda value, _: plain(kept.create_decimal(to_number(value)))
    if type_.precision is None and type_.scale is None:
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
    unit = 10 ** (9 - digits)

    def coerce(value: Any, nls: Mapping[str, str]) -> datetime | Moment:
        at = moment(value, nls["NLS_TIMESTAMP_FORMAT"])
        return with_nanosecond(at, nanosecond_of(at) // unit * unit)

    return coerce


def _zoned_coercer(digits: int, *, is_local: bool) -> Coercer:
    unit = 10 ** (9 - digits)

    def coerce(value: Any, nls: Mapping[str, str]) -> Zoned:
        session = session_zone(nls["TIME_ZONE"])
        if isinstance(value, str):
            value = zoned_parser_of(nls["NLS_TIMESTAMP_TZ_FORMAT"])(value, session)
        at = value if isinstance(value, Zoned) else zoned(moment_or_zoned(value), session)
        utc = replace(at.utc, nanosecond=at.utc.nanosecond // unit * unit, offset=0)
        return Zoned(utc, None if is_local else at.offset(session) if at.zone is None else at.zone)

    return coerce


def moment_or_zoned(value: Any) -> datetime | Moment:
    if isinstance(value, datetime | Moment):
        return value
    raise OraError(932, f"inconsistent datatypes: expected TIMESTAMP got {type(value).__name__.upper()}")


def _day_interval_coercer(type_: SqlType) -> Coercer:
    digits = 2 if type_.precision is None else type_.precision, 6 if type_.scale is None else type_.scale
    days, unit = 10 ** digits[0], 10 ** (9 - digits[1])

    def coerce(value: Any, _: Mapping[str, str]) -> DaySecond:
        if isinstance(value, str):
            value = DaySecond.parse(value)
        elif isinstance(value, timedelta):
            value = DaySecond.of(value)
        if not isinstance(value, DaySecond):
            raise OraError(932, "inconsistent datatypes: expected INTERVAL DAY TO SECOND")
        kept = abs(value.nanoseconds) // unit * unit
        if kept >= days * 86_400 * 10**9:
            raise OraError(1873, "the leading precision of the interval is too small")
        return DaySecond(-kept if value.nanoseconds < 0 else kept, digits)

    return coerce


def _year_interval_coercer(type_: SqlType) -> Coercer:
    digits = 2 if type_.precision is None else type_.precision
    most = 12 * 10**digits

    def coerce(value: Any, _: Mapping[str, str]) -> YearMonth:
        if isinstance(value, str):
            value = YearMonth.parse(value)
        if not isinstance(value, YearMonth):
            raise OraError(932, "inconsistent datatypes: expected INTERVAL YEAR TO MONTH")
        if abs(value.months) >= most:
            raise OraError(1873, "the leading precision of the interval is too small")
        return YearMonth(value.months, digits)

    return coerce


def _rowid(value: Any, _: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise OraError(932, f"inconsistent datatypes: expected ROWID got {type(value).__name__.upper()}")
    if not is_rowid(value):
        raise OraError(1410, "invalid ROWID")
    return value


def _float_coercer(*, single: bool) -> Coercer:
    def coerce(value: Any, _: Mapping[str, str]) -> float:
        if isinstance(value, str):
            special = _SPECIAL.fullmatch(value.strip())
            value = float(special[1] + special[2]) if special else to_number(value)
        if not isinstance(value, float | int | Decimal):
            raise OraError(932, f"inconsistent datatypes: expected BINARY_DOUBLE got {type(value).__name__.upper()}")
        number = float(value) + 0.0  # Oracle has no -0
        return as_single(number) if single else number

    return coerce


_SPECIAL = re.compile(r"([+-]?)(nan|inf|infinity)", re.IGNORECASE)


def as_single(number: float) -> float:
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0]) + 0.0
    except OverflowError:
        return math.copysign(math.inf, number)


def _raw_coercer(type_: SqlType, where: str) -> Coercer:
    limit = None if type_.name in _UNLIMITED else type_.length

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
    unlimited, padded = type_.name in _UNLIMITED, type_.name in ("CHAR", "NCHAR")
    bytes_limit, chars = type_.length, type_.chars
    national = type_.name.startswith("N")
    by_chars = national or (chars and chars != bytes_limit)

    def coerce(value: Any, nls: Mapping[str, str]) -> str:
        text = value if value.__class__ is str else to_text(value, nls)
        if unlimited:
            return text
        if by_chars:
            units = len(text.encode("utf-16-be", "surrogatepass")) // 2 if national and not text.isascii() else len(text)
            if units > chars:
                raise _too_long(where, units, chars)
        elif len(text) * 4 > bytes_limit and len(octets_of(text)) > bytes_limit:
            raise _too_long(where, len(octets_of(text)), bytes_limit)
        if padded:
            text = text + " " * (chars - units) if by_chars else text + " " * (bytes_limit - len(octets_of(text)))
        return text

    return coerce


def _too_long(where: str, actual: int, maximum: int) -> OraError:
    return OraError(12899, f"value too large for column {where} (actual: {actual}, maximum: {maximum})")
