"""Oracle's internal bytes as JSON values, by the formats of the configuration."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from standin.engine.types.rowids import stored_text
from standin.intervals import DaySecond, YearMonth
from standin.logminer.literals import moment_of
from standin.model import SqlType
from standin.moment import Moment
from standin.octets import text_of
from standin.olr.options import Format
from standin.zones import zone_of
from standin.zones import zoned as to_utc

UNKNOWN = '"?"'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = (10**9, 10**6, 10**3, 1)
_DIGITS = (9, 6, 3, 0)
_SUPPORTED = frozenset(
    {
        "NUMBER", "FLOAT", "INTEGER", "VARCHAR2", "NVARCHAR2", "CHAR", "NCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMP WITH LOCAL TIME ZONE", "INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH", "RAW", "BINARY_FLOAT",
        "BINARY_DOUBLE", "UROWID", "CLOB", "NCLOB", "BLOB", "BOOLEAN",
    }
)  # fmt: skip

Writer = Callable[[bytes], str]


def writer_of(kind: SqlType, form: Format, database_zone: int | str = 0) -> Writer | None:
    """Return what writes a value of the type as JSON; None for a type that it does not support."""
    if kind.name not in _SUPPORTED:
        return None
    if kind.name in ("NUMBER", "FLOAT", "INTEGER"):
        return number
    if kind.name in ("VARCHAR2", "CHAR", "NVARCHAR2", "NCHAR", "CLOB", "NCLOB"):
        national = kind.name in ("NVARCHAR2", "NCHAR", "NCLOB")
        return lambda value: text(value, national=national, char=form.char)
    families: dict[str, Writer] = {
        "DATE": lambda value: moment(moment_of(value), form.timestamp),
        "TIMESTAMP": lambda value: moment(moment_of(value), form.timestamp),
        "TIMESTAMP WITH LOCAL TIME ZONE": lambda value: moment(
            to_utc(moment_of(value), None, database_zone).utc, form.timestamp
        ),
        "TIMESTAMP WITH TIME ZONE": lambda value: zoned(value, form.timestamp_tz),
        "INTERVAL DAY TO SECOND": lambda value: days(DaySecond.decode(value), form.interval_dts),
        "INTERVAL YEAR TO MONTH": lambda value: years(YearMonth.decode(value).months, form.interval_ytm),
        "RAW": lambda value: f'"{value.hex()}"',
        "BLOB": lambda value: f'"{value.hex()}"',
        "UROWID": lambda value: f'"{stored_text(value)}"',
        "BOOLEAN": lambda value: str(value[0]) if value in (b"\x00", b"\x01") else UNKNOWN,
        "BINARY_FLOAT": binary,
        "BINARY_DOUBLE": binary,
    }
    return families[kind.name]


def number(value: bytes) -> str:
    """Return a NUMBER with all its digits, as JSON wants it: with a digit before the point, and no exponent."""
    if value[0] == 0x80:
        return "0"
    if value[0] & 0x80:
        sign, exponent, digits = "", value[0] - 0xC0, [byte - 1 for byte in value[1:]]
    else:
        body = value[1:-1] if value[-1] == 0x66 else value[1:]
        sign, exponent, digits = "-", 0x3F - value[0], [101 - byte for byte in body]
    shown = "".join(f"{digit:02d}" for digit in digits)
    whole, rest = (shown[: 2 * exponent].ljust(2 * exponent, "0"), shown[2 * exponent :]) if exponent > 0 else ("0", shown)
    rest = ("00" * max(-exponent, 0) + rest).rstrip("0")
    return sign + (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def text(value: bytes, *, national: bool, char: int) -> str:
    if char == 2:
        return f'"{value.hex()}"'
    return json.dumps(value.decode("utf-16-be", "replace") if national else text_of(value), ensure_ascii=False)


def binary(value: bytes) -> str:
    """Return a float with 6 significant digits, as C++ prints one."""
    bits = bytes([value[0] & 0x7F]) + value[1:] if value[0] & 0x80 else bytes(byte ^ 0xFF for byte in value)
    return f"{struct.unpack('>f' if len(value) == 4 else '>d', bits)[0]:g}"


def moment(at: Moment, form: int) -> str:
    """Return a time by the numbers 0 to 15: units since 1970 as a number, the same as text, ISO with Z, ISO without."""
    way, unit = divmod(form, 4)
    if way < 2:
        shown = str(_rounded(_nanoseconds(at), unit))
        return shown if way == 0 else f'"{shown}"'
    return f'"{_iso(at, unit, zulu=way == 2)}"'


def zoned(value: bytes, form: int) -> str:
    """Return a time with its zone by the numbers 0 to 11. The time is that of UTC, as it is stored."""
    way, unit = divmod(form, 4)
    at, zone = moment_of(value), _zone_name(value[11:])
    if way == 0:
        return f'"{_rounded(_nanoseconds(at), unit)},{zone}"'
    return f'"{_iso(at, unit, zulu=way == 1)} {zone}"'


def _zone_name(raw: bytes) -> str:
    zone = zone_of(raw)
    if isinstance(zone, str):
        return zone
    minutes = zone or 0
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _nanoseconds(at: Moment) -> int:
    """Return the nanoseconds since 1970 by the Gregorian calendar, also where Oracle has the Julian one."""
    year = at.year if at.year > 0 else at.year + 1  # there is no year 0
    shift = 0
    while not 1 <= year <= 9999:
        year, shift = year + 400, shift - 146_097
    days = (datetime(year, at.month, 1, tzinfo=UTC) - _EPOCH).days + at.day - 1 + shift
    seconds = days * 86_400 + at.hour * 3600 + at.minute * 60 + at.second
    return seconds * 10**9 + at.nanosecond


def _rounded(nanoseconds: int, unit: int) -> int:
    step = 10**9 // _UNITS[unit]
    return (nanoseconds + step // 2) // step


def _iso(at: Moment, unit: int, *, zulu: bool) -> str:
    step, total = 10**9 // _UNITS[unit], _nanoseconds(at)
    whole, part = divmod(_rounded(total, unit) * step, 10**9)
    shift = 0
    while whole < -62_135_596_800:  # before year 1
        whole, shift = whole + 146_097 * 86_400, shift + 400
    found = _EPOCH + timedelta(seconds=whole)
    year = found.year - shift
    shown = f"{year:04d}" if year > 0 else f"-{1 - year:04d}"
    digits = f".{part // step:0{_DIGITS[unit]}d}" if _DIGITS[unit] else ""
    return f"{shown}-{found:%m-%d}{'T' if zulu else ' '}{found:%H:%M:%S}{digits}{'Z' if zulu else ''}"


def days(span: DaySecond, form: int) -> str:
    if form < 8:
        step = 10**9 // _UNITS[form % 4]
        total = abs(span.nanoseconds) // step * (-1 if span.nanoseconds < 0 else 1)
        return str(total) if form < 4 else f'"{total}"'
    count, time = span.text(1, 9).lstrip("+").split(" ")
    return f'"{count}{" ,-"[form - 8]}{time}"'


def years(months: int, form: int) -> str:
    if form < 2:
        return str(months) if form == 0 else f'"{months}"'
    whole, rest = divmod(abs(months), 12)
    return f'"{"-" if months < 0 else ""}{whole}{" ,-"[form - 2]}{rest}"'
