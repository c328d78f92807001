"""Writes Oracle's internal bytes as literals of SQL_REDO, by type and by the NLS settings of the mining session.

One function per family; `literal_of` chooses it. Only LOBs stored in the row are supported.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from standin.engine.masks import compile_mask
from standin.model import SqlType
from standin.moment import Moment

Literal = Callable[[bytes], str]

UNSUPPORTED_TYPE = "Unsupported Type"
# Types whose presence makes the whole row UNSUPPORTED (23ai, measured by peers).
WHOLE_ROW_UNSUPPORTED = frozenset({"BOOLEAN", "JSON", "VECTOR"})
DEFAULT_NLS = {
    "NLS_DATE_FORMAT": "DD-MON-RR",
    "NLS_TIMESTAMP_FORMAT": "DD-MON-RR HH.MI.SSXFF AM",
    "NLS_TIMESTAMP_TZ_FORMAT": "DD-MON-RR HH.MI.SSXFF AM TZR",
    "NLS_NUMERIC_CHARACTERS": ".,",
    "TIME_ZONE": "+00:00",
}
_PAIRS = tuple(f"{n:02d}" for n in range(100))
_PLAIN_DIGITS = 40
_UNISTR_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Nls:
    """The session settings that affect redo SQL."""

    date_format: str = DEFAULT_NLS["NLS_DATE_FORMAT"]
    timestamp_format: str = DEFAULT_NLS["NLS_TIMESTAMP_FORMAT"]
    timestamp_tz_format: str = DEFAULT_NLS["NLS_TIMESTAMP_TZ_FORMAT"]
    decimal_mark: str = "."
    time_zone: str = "+00:00"

    @classmethod
    def of(cls, settings: dict[str, str]) -> Nls:
        known = {**DEFAULT_NLS, **settings}
        return cls(
            known["NLS_DATE_FORMAT"],
            known["NLS_TIMESTAMP_FORMAT"],
            known["NLS_TIMESTAMP_TZ_FORMAT"],
            known["NLS_NUMERIC_CHARACTERS"][:1],
            known["TIME_ZONE"],
        )


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def hexraw(value: bytes) -> str:
    return f"HEXTORAW('{value.hex()}')"


def number_text(value: bytes, decimal_mark: str = ".") -> str:
    """Return a NUMBER without a zero before the decimal mark and without trailing zeros, as TO_CHAR(n) does."""
    head = value[0]
    if head == 0x80 and len(value) == 1:
        return "0"
    if head & 0x80:
        if value == b"\xff\x65":
            return "~"
        sign, exponent = "", head - 0xC1
        digits = "".join([_PAIRS[b - 1] for b in value[1:]])
    else:
        if len(value) == 1:
            return "-~"
        sign, exponent = "-", 0x3E - head
        body = value[1:-1] if value[-1] == 0x66 else value[1:]
        digits = "".join([_PAIRS[101 - b] for b in body])
    whole = 2 * (exponent + 1)
    if whole > _PLAIN_DIGITS or whole < -_PLAIN_DIGITS:
        return sign + _scientific(digits, whole, decimal_mark)
    if whole >= len(digits):
        return sign + digits.ljust(whole, "0").lstrip("0")
    if whole <= 0:
        return sign + decimal_mark + "0" * -whole + digits.rstrip("0")
    fraction = digits[whole:].rstrip("0")
    return sign + digits[:whole].lstrip("0") + (decimal_mark + fraction if fraction else "")


def _scientific(digits: str, whole: int, decimal_mark: str) -> str:
    significant = digits.lstrip("0")
    power = whole - (len(digits) - len(significant)) - 1
    significant = significant.rstrip("0")
    return f"{significant[0]}{decimal_mark}{significant[1:] or '0'}E{'-' if power < 0 else '+'}{abs(power):02d}"


def binary_text(value: bytes, decimal_mark: str = ".") -> str:
    """Return BINARY_FLOAT with 9 or BINARY_DOUBLE with 17 significant digits, and a three-digit exponent."""
    bits = bytes([value[0] & 0x7F]) + value[1:] if value[0] & 0x80 else bytes(b ^ 0xFF for b in value)
    number = struct.unpack(">f" if len(value) == 4 else ">d", bits)[0]
    if number != number:
        return "Nan"
    if number in (float("inf"), float("-inf")):
        return "Inf" if number > 0 else "-Inf"
    if number == 0:
        return "0"
    mantissa, exponent = f"{number:.{8 if len(value) == 4 else 16}E}".split("E")
    mantissa = mantissa.rstrip("0")
    mantissa = (mantissa + "0") if mantissa.endswith(".") else mantissa
    return f"{mantissa.replace('.', decimal_mark)}E{exponent[0]}{int(exponent[1:]):03d}"


def moment_of(value: bytes) -> Moment:
    """Decode DATE (7 bytes) and TIMESTAMP (7 or 11): century and year are stored plus 100, time fields plus 1."""
    year = (value[0] - 100) * 100 + (value[1] - 100)
    nanosecond = int.from_bytes(value[7:11], "big") if len(value) >= 11 else 0
    return Moment(year, value[2], value[3], value[4] - 1, value[5] - 1, value[6] - 1, nanosecond)


def shifted(moment: Moment, minutes: int) -> Moment:
    """Return the moment plus `minutes`, computed by day numbers, so that BC years work too."""
    total = moment.hour * 60 + moment.minute + minutes
    days, rest = divmod(total, 1440)
    year, month, day = moment.year, moment.month, moment.day + days
    if day < 1:
        month -= 1
        if month < 1:
            year, month = year - 1, 12
        day += _month_days(year, month)
    elif day > _month_days(year, month):
        day -= _month_days(year, month)
        month += 1
        if month > 12:
            year, month = year + 1, 1
    return Moment(year, month, day, rest // 60, rest % 60, moment.second, moment.nanosecond, minutes)


def _month_days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0 or year < 1582) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def zone_minutes(zone: str) -> int:
    """Return a TIME_ZONE setting in minutes. Region names count as UTC."""
    sign = -1 if zone.startswith("-") else 1
    hours, colon, minutes = zone.lstrip("+-").partition(":")
    return sign * (int(hours) * 60 + int(minutes)) if colon and hours.isdigit() and minutes.isdigit() else 0


def unistr(value: bytes) -> str:
    """Return national text as UNISTR calls: UTF-16 code units, ASCII as it is, backslashes doubled."""
    units = [int.from_bytes(value[i : i + 2], "big") for i in range(0, len(value), 2)]
    shown = [_unistr_unit(u) for u in units]
    pieces = [shown[i : i + _UNISTR_CHARACTERS] for i in range(0, len(shown), _UNISTR_CHARACTERS)] or [[]]
    return " || ".join(f"UNISTR('{''.join(piece)}')" for piece in pieces)


def _unistr_unit(unit: int) -> str:
    if unit == 0x5C:
        return "\\\\"
    if unit == 0x27:
        return "''"
    return chr(unit) if 0x20 <= unit < 0x7F else f"\\{unit:04X}"


def _date(nls: Nls) -> Literal:
    show, mask = compile_mask(nls.date_format), nls.date_format
    return lambda value: f"TO_DATE('{show(moment_of(value))}', '{mask}')"


def _timestamp(nls: Nls, precision: int) -> Literal:
    show = compile_mask(nls.timestamp_format, nls.decimal_mark, precision)
    return lambda value: f"TO_TIMESTAMP('{show(moment_of(value))}')"


def _timestamp_tz(nls: Nls, precision: int) -> Literal:
    show = compile_mask(nls.timestamp_tz_format, nls.decimal_mark, precision)

    def literal(value: bytes) -> str:
        # The fields are UTC; the last two bytes are the offset, hours plus 20 and minutes plus 60.
        minutes = (value[11] - 20) * 60 + value[12] - 60
        return f"TO_TIMESTAMP_TZ('{show(shifted(moment_of(value), minutes))}')"

    return literal


def _timestamp_ltz(nls: Nls, precision: int) -> Literal:
    show, minutes = compile_mask(nls.timestamp_format, nls.decimal_mark, precision), zone_minutes(nls.time_zone)
    return lambda value: f"TO_TIMESTAMP_TZ('{show(shifted(moment_of(value), minutes))}')"


def _interval_day(value: bytes) -> str:
    days = int.from_bytes(value[:4], "big") - 0x80000000
    hours, minutes, seconds = (b - 60 for b in value[4:7])
    nanoseconds = int.from_bytes(value[7:11], "big") - 0x80000000
    negative = min(days, hours, minutes, seconds, nanoseconds) < 0
    fields = f"{abs(days):05d} {abs(hours):02d}:{abs(minutes):02d}:{abs(seconds):02d}.{abs(nanoseconds) // 1000:06d}"
    return f"TO_DSINTERVAL('{'-' if negative else '+'}{fields}')"


def _interval_year(value: bytes) -> str:
    years, months = int.from_bytes(value[:4], "big") - 0x80000000, value[4] - 60
    return f"TO_YMINTERVAL('{'-' if min(years, months) < 0 else '+'}{abs(years):04d}-{abs(months):02d}')"


def literal_of(kind: SqlType, nls: Nls) -> Literal:
    """Return the function that writes non-NULL values of a type. It caches the last thousands, since values repeat."""
    name, precision = kind.name, 6 if kind.scale is None else kind.scale
    mark = nls.decimal_mark
    if name in ("NUMBER", "FLOAT", "INTEGER"):
        return lru_cache(maxsize=8192)(lambda value: f"'{number_text(value, mark)}'")
    if name in ("VARCHAR2", "CHAR", "VARCHAR", "LONG"):
        return lambda value: quoted(value.decode("utf-8", "replace"))
    if name in ("DATE", "TIMESTAMP"):
        return lru_cache(maxsize=8192)(_date(nls) if name == "DATE" else _timestamp(nls, precision))
    families: dict[str, Callable[[], Literal]] = {
        "NVARCHAR2": lambda: unistr,
        "NCHAR": lambda: unistr,
        "RAW": lambda: hexraw,
        "LONG RAW": lambda: hexraw,
        "BINARY_FLOAT": lambda: lambda value: f"'{binary_text(value, mark)}'",
        "BINARY_DOUBLE": lambda: lambda value: f"'{binary_text(value, mark)}'",
        "TIMESTAMP WITH TIME ZONE": lambda: _timestamp_tz(nls, precision),
        "TIMESTAMP WITH LOCAL TIME ZONE": lambda: _timestamp_ltz(nls, precision),
        "INTERVAL DAY TO SECOND": lambda: _interval_day,
        "INTERVAL YEAR TO MONTH": lambda: _interval_year,
        "ROWID": lambda: lambda value: quoted(value.decode("ascii")),
        "CLOB": lambda: lambda value: quoted(value.decode("utf-8", "replace")) if value else "EMPTY_CLOB()",
        "NCLOB": lambda: lambda value: unistr(value) if value else "EMPTY_CLOB()",
        "BLOB": lambda: lambda value: hexraw(value) if value else "EMPTY_BLOB()",
    }
    return families[name]() if name in families else lambda _: UNSUPPORTED_TYPE
