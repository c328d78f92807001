"""Writes Oracle's internal bytes as literals of SQL_REDO, by type and by the NLS settings of the mining session.

One function per family; `literal_of` chooses it. Only LOBs stored in the row are supported.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from standin.engine.types.masks import compile_mask
from standin.engine.types.rowids import stored_text
from standin.intervals import DaySecond, YearMonth
from standin.model import SqlType
from standin.moment import Moment, shifted
from standin.octets import text_of
from standin.zones import Zoned, session_zone, zone_minutes, zone_of, zoned

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


@dataclass(frozen=True, slots=True)
class Forms:
    """How values are written where releases differ or where it is not known: options of the database of the same names."""

    quotes: str = "doubled"
    whole_seconds: str = "zeros"
    local_zone_call: str = "TO_TIMESTAMP_TZ"
    national_text: str = "unistr"
    urowids: str = "text"
    database_zone: str = "+00:00"
    as_literals: bool = False  # the option STRING_LITERALS_IN_STMT: numbers, dates and timestamps as literals of the standard


AS_MOST = Forms()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def single_quoted(text: str) -> str:
    """Leave the quotes inside the text as they are, as some releases do."""
    return f"'{text}'"


def mixed_quoted(text: str) -> str:
    """Leave the quotes between two letters or digits as they are, and double the others."""
    return "'" + re.sub(r"(?<!\w)'|'(?!\w)", "''", text) + "'"


QUOTING: Mapping[str, Callable[[str], str]] = {"doubled": quoted, "single": single_quoted, "mixed": mixed_quoted}


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


def _national(value: bytes, forms: Forms) -> str:
    text = value.decode("utf-16-be", "surrogatepass")
    return QUOTING[forms.quotes](text) if forms.national_text == "plain" and text.isascii() else unistr(value)


def _date(nls: Nls) -> Literal:
    show, mask = compile_mask(nls.date_format), nls.date_format
    return lambda value: f"TO_DATE('{show(moment_of(value))}', '{mask}')"


# What the mask of a timestamp without a fraction loses. Where FF has no number of digits, there are none, and X prints no mark.
_LOST = {
    "zeros": re.compile(r"X?FF(?![1-9])", re.IGNORECASE),
    "point": re.compile(r"XFF[1-9]?|FF[1-9]?", re.IGNORECASE),
    "none": re.compile(r"[.X]?FF[1-9]?", re.IGNORECASE),
}


def _shown(mask: str, nls: Nls, precision: int, forms: Forms) -> Callable[[Moment], str]:
    """Return the formatter of a mask: a timestamp that is stored without a fraction is shown with precision 0."""
    show = compile_mask(mask, nls.decimal_mark, precision)
    show_whole = compile_mask(_LOST[forms.whole_seconds].sub("", mask), nls.decimal_mark, 0)
    return lambda moment: (show if moment.nanosecond else show_whole)(moment)


def _timestamp(nls: Nls, precision: int, forms: Forms) -> Literal:
    show = _shown(nls.timestamp_format, nls, precision, forms)
    return lambda value: f"TO_TIMESTAMP('{show(moment_of(value))}')"


def _timestamp_tz(nls: Nls, precision: int, forms: Forms) -> Literal:
    show = _shown(nls.timestamp_tz_format, nls, precision, forms)

    def literal(value: bytes) -> str:
        return f"TO_TIMESTAMP_TZ('{show(Zoned(moment_of(value), zone_of(value[11:])).local())}')"

    return literal


def _timestamp_ltz(nls: Nls, precision: int, forms: Forms) -> Literal:
    show, minutes = _shown(nls.timestamp_format, nls, precision, forms), zone_minutes(nls.time_zone)
    stored = session_zone(forms.database_zone)
    return lambda value: f"{forms.local_zone_call}('{show(shifted(zoned(moment_of(value), None, stored).utc, minutes))}')"


def _interval_day(value: bytes, kind: SqlType, forms: Forms) -> str:
    days = 2 if kind.precision is None else kind.precision
    text = DaySecond.decode(value).text(days, 6 if kind.scale is None else kind.scale)
    whole, point, fraction = text.partition(".")
    if point and not fraction.strip("0") and forms.whole_seconds != "zeros":
        text = whole + (point if forms.whole_seconds == "point" else "")
    return f"TO_DSINTERVAL('{text}')"


def _interval_year(value: bytes, kind: SqlType) -> str:
    years = 2 if kind.precision is None else kind.precision
    return f"TO_YMINTERVAL('{YearMonth.decode(value).text(years)}')"


def _rowid(value: bytes) -> str:
    return quoted(stored_text(value))


def _standard(kind: SqlType, forms: Forms) -> Literal:
    """Return what writes a date as TIMESTAMP ' .. ': its form does not follow the session."""
    mask = "SYYYY-MM-DD HH24:MI:SS" + ("" if kind.name == "DATE" else ".FF")
    show = _shown(mask, Nls(), 6 if kind.scale is None else kind.scale, forms)
    return lambda value: f"TIMESTAMP '{show(moment_of(value))}'"


def literal_of(kind: SqlType, nls: Nls, forms: Forms = AS_MOST) -> Literal:
    """Return the function that writes non-NULL values of a type. It caches the last thousands, since values repeat."""
    name, precision = kind.name, 6 if kind.scale is None else kind.scale
    mark = nls.decimal_mark
    if name in ("NUMBER", "FLOAT", "INTEGER"):
        if forms.as_literals:
            return lru_cache(maxsize=8192)(number_text)
        return lru_cache(maxsize=8192)(lambda value: f"'{number_text(value, mark)}'")
    if name in ("VARCHAR2", "CHAR", "VARCHAR", "LONG"):
        in_quotes = QUOTING[forms.quotes]
        return lambda value: in_quotes(text_of(value))
    if name in ("DATE", "TIMESTAMP") and forms.as_literals:
        return lru_cache(maxsize=8192)(_standard(kind, forms))
    if name in ("DATE", "TIMESTAMP"):
        return lru_cache(maxsize=8192)(_date(nls) if name == "DATE" else _timestamp(nls, precision, forms))
    families: dict[str, Callable[[], Literal]] = {
        "NVARCHAR2": lambda: lambda value: _national(value, forms),
        "NCHAR": lambda: lambda value: _national(value, forms),
        "RAW": lambda: hexraw,
        "LONG RAW": lambda: hexraw,
        "BINARY_FLOAT": lambda: lambda value: f"'{binary_text(value, mark)}'",
        "BINARY_DOUBLE": lambda: lambda value: f"'{binary_text(value, mark)}'",
        "TIMESTAMP WITH TIME ZONE": lambda: _timestamp_tz(nls, precision, forms),
        "TIMESTAMP WITH LOCAL TIME ZONE": lambda: _timestamp_ltz(nls, precision, forms),
        "INTERVAL DAY TO SECOND": lambda: lambda value: _interval_day(value, kind, forms),
        "INTERVAL YEAR TO MONTH": lambda: lambda value: _interval_year(value, kind),
        "ROWID": lambda: _rowid,
        "UROWID": lambda: _rowid if forms.urowids == "text" else lambda _: UNSUPPORTED_TYPE,
        "XMLTYPE": lambda: lambda _: "XMLType(:1)",
        "CLOB": lambda: lambda value: quoted(text_of(value)) if value else "EMPTY_CLOB()",
        "NCLOB": lambda: lambda value: _national(value, forms) if value else "EMPTY_CLOB()",
        "BLOB": lambda: lambda value: hexraw(value) if value else "EMPTY_BLOB()",
    }
    return families[name]() if name in families else lambda _: UNSUPPORTED_TYPE
