"""The single-row SQL functions, in one table: name, implementation, result type.

A function receives the frame (session, NLS) and its arguments' values. It returns NULL for a NULL argument, unless
`nulls` is set.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache, partial
from html import escape
from struct import pack, unpack
from typing import Any
from uuid import uuid4

from standin.engine.expressions.frame import Frame
from standin.engine.expressions.metadata import get_ddl
from standin.engine.sessions.environment import context
from standin.engine.types import datatypes
from standin.engine.types.comparison import aligned
from standin.engine.types.dates import NO_YEAR, parser_of, zoned_parser_of
from standin.engine.types.formats import formatted_number
from standin.engine.types.masks import date_text
from standin.engine.types.rowids import created_rowid, is_rowid
from standin.engine.types.values import (
    EMPTY_CLOB,
    EXACT,
    Instance,
    coercer_of,
    moment,
    number_text,
    plain,
    to_number,
    to_text,
    with_microsecond,
    zoned_text,
)
from standin.interface import ColumnInfo, OraError
from standin.intervals import DaySecond, YearMonth
from standin.model import SqlType
from standin.moment import Moment, moment_of_fields
from standin.octets import CODECS, Converted, octets_in, octets_of, text_of
from standin.zones import REGIONS, Zoned, session_zone, zone_minutes, zoned

FIRST_ARGUMENT = "first"
Result = ColumnInfo | str


@dataclass(frozen=True, slots=True)
class Function:
    run: Callable[..., Any]
    result: Result
    nulls: bool = False


def _to_char(frame: Frame, value: Any, mask: str | None = None, nls: str | None = None) -> str:
    if isinstance(value, Zoned) and mask:
        return zoned_text(value, frame.nls, mask)
    if isinstance(value, Zoned | DaySecond | YearMonth):
        return to_text(value, frame.nls)
    if isinstance(value, datetime | Moment):
        return date_text(value, mask) if mask else to_text(value, frame.nls)
    if isinstance(value, str):
        if mask is None:
            return value
        value = to_number(value)
    marks = (nls and _marks_of(nls)) or frame.nls["NLS_NUMERIC_CHARACTERS"]
    return formatted_number(value, mask, marks) if mask else number_text(value).replace(".", marks[0])


@lru_cache(maxsize=64)
def _marks_of(nls: str) -> str | None:
    """Return the numeric characters that the third argument of TO_CHAR names."""
    return nls.split("=", 1)[1].strip().strip("'\"") if "NLS_NUMERIC_CHARACTERS" in nls.upper() else None


def _to_date(frame: Frame, value: Any, mask: str | None = None, nls: str | None = None) -> datetime | Moment:
    if isinstance(value, datetime | Moment):
        return with_microsecond(value, 0)
    return with_microsecond(parser_of(mask or frame.nls["NLS_DATE_FORMAT"])(to_text(value, frame.nls)), 0)


def _to_timestamp(frame: Frame, value: Any, mask: str | None = None, nls: str | None = None) -> datetime | Moment:
    return value if isinstance(value, datetime | Moment) else parser_of(mask or frame.nls["NLS_TIMESTAMP_FORMAT"])(value)


def _to_timestamp_tz(frame: Frame, value: Any, mask: str | None = None, nls: str | None = None) -> Zoned:
    session = session_zone(frame.nls["TIME_ZONE"])
    if isinstance(value, datetime | Moment):
        return zoned(value, session)
    return value if isinstance(value, Zoned) else zoned_parser_of(mask or frame.nls["NLS_TIMESTAMP_TZ_FORMAT"])(value, session)


def _from_tz(frame: Frame, value: Any, zone: str) -> Zoned:
    return zoned(moment(value, frame.nls["NLS_TIMESTAMP_FORMAT"]), zone if zone in REGIONS else zone_minutes(zone))


def at_time_zone(frame: Frame, value: Any, zone: str) -> Zoned:
    """Return the same instant in another zone."""
    at = value if isinstance(value, Zoned) else zoned(moment(value, ""), session_zone(frame.nls["TIME_ZONE"]))
    return Zoned(at.utc, zone if zone in REGIONS else zone_minutes(zone))


def _utc(frame: Frame, value: Any) -> datetime | Moment:
    return moment(replace(value, zone=0) if isinstance(value, Zoned) else value, "")


def _absolute(frame: Frame, value: Any) -> Any:
    number = value if isinstance(value, float) else to_number(value)
    return plain(EXACT.abs(number)) if isinstance(number, Decimal) else abs(number)


def _binary(frame: Frame, value: Any, *_: Any, kind: str) -> float:
    number: float = coercer_of(SqlType(kind), "")(value, frame.nls)
    return number


def _unistr(frame: Frame, value: Any) -> str | None:
    units = re.sub(r"\\([0-9A-Fa-f]{4}|\\)", lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 16)), str(value))
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass") or None


def _scn_to_timestamp(frame: Frame, scn: Any) -> datetime:
    clock, wanted = frame.session.database.clock, int(to_number(scn))
    at = clock.time_of(wanted) if wanted <= frame.session.current_scn else None
    if at is None:
        raise OraError(8181, "specified number is not a valid system change number")
    return at


def _timestamp_to_scn(frame: Frame, value: Any) -> int:
    at = moment(value, frame.nls["NLS_TIMESTAMP_FORMAT"])
    scn = frame.session.database.clock.scn_at(at) if isinstance(at, datetime) else None
    if scn is None:
        raise OraError(8180, "no snapshot found based on specified time")
    return scn


# Oracle's numbers of character sets.
CHARACTER_SETS = {
    "US7ASCII": 1, "WE8DEC": 2, "WE8ISO8859P1": 31, "EE8ISO8859P2": 32, "CL8ISO8859P5": 35, "WE8ISO8859P15": 46,
    "EE8MSWIN1250": 170, "CL8MSWIN1251": 171, "WE8MSWIN1252": 178, "JA16EUC": 830, "JA16SJIS": 832, "KO16MSWIN949": 846,
    "ZHS16GBK": 852, "UTF8": 871, "AL32UTF8": 873, "AL16UTF16": 2000,
}  # fmt: skip


def _substr(frame: Frame, value: Any, start: Any, length: Any = None) -> str | None:
    text, first = to_text(value, frame.nls), int(to_number(start))
    at = first - 1 if first > 0 else (len(text) + first if first < 0 else 0)
    size = None if length is None else int(to_number(length))
    if at < 0 or (size is not None and size < 1):
        return None
    return (text[at:] if size is None else text[at : at + size]) or None


def _round(frame: Frame, value: Any, digits: Any = None) -> Any:
    if isinstance(value, datetime):
        if digits is not None and str(digits).upper() not in ("DD", "DDD", "J"):
            raise OraError(3001, f"unimplemented feature: ROUND of a date to {digits}")
        return (value + timedelta(hours=12)).replace(hour=0, minute=0, second=0, microsecond=0)
    return _quantized(value, int(digits or 0), ROUND_HALF_UP)


def _trunc(frame: Frame, value: Any, digits: Any = None) -> Any:
    if isinstance(value, Zoned):
        local = value.local(session_zone(frame.nls["TIME_ZONE"]))  # its own zone, if it has one
        value = moment_of_fields(local.year, local.month, local.day, local.hour, local.minute, local.second)
    if isinstance(value, datetime):
        return _truncated(value, str(digits or "DD").upper())
    return _quantized(value, int(digits or 0), ROUND_DOWN)


def _quantized(value: Any, digits: int, rounding: str) -> Any:
    if isinstance(value, float):
        return float(round(value, digits))
    exact = EXACT.create_decimal(to_number(value))
    exponent = exact.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= digits:
        return plain(exact)
    return plain(exact.quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=EXACT))


def _truncated(at: datetime, unit: str) -> datetime:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in ("DD", "DDD", "J"):
        return day
    if unit in ("MM", "MON", "MONTH"):
        return day.replace(day=1)
    if unit in ("YYYY", "YEAR", "YY"):
        return day.replace(day=1, month=1)
    if unit in ("HH", "HH24"):
        return at.replace(minute=0, second=0, microsecond=0)
    if unit == "MI":
        return at.replace(second=0, microsecond=0)
    if unit == "Q":
        return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
    if unit == "IW":
        return day - timedelta(days=day.weekday())
    if unit in ("D", "DY", "DAY"):  # of America, where the week begins on Sunday
        return day - timedelta(days=day.isoweekday() % 7)
    if unit == "WW":
        return day - timedelta(days=(day.timetuple().tm_yday - 1) % 7)
    if unit == "W":
        return day - timedelta(days=(day.day - 1) % 7)
    if unit in ("CC", "SCC", "SYYYY", "SYEAR", "YYY", "Y", "IYYY", "IY", "I", "RM", "HH12"):
        raise OraError(3001, f"unimplemented feature: TRUNC of a date to {unit}")
    raise OraError(1898, "too many precision specifiers")


def _mod(frame: Frame, value: Any, divisor: Any) -> Any:
    left, right = to_number(value), to_number(divisor)
    if not right:
        return left
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return plain(EXACT.remainder(Decimal(left), Decimal(right)))


def _decode(frame: Frame, value: Any, *rest: Any) -> Any:
    """Compare all in the type of the first choice: as text if it is NULL."""
    is_text = rest[0] is None or isinstance(rest[0], str)
    for i in range(0, len(rest) - 1, 2):
        if value is None or rest[i] is None:
            found = value is rest[i]
        elif is_text:
            found = to_text(value, frame.nls) == to_text(rest[i], frame.nls)
        else:
            left, right = aligned(value, rest[i], frame.nls)
            found = left == right
        if found:
            return rest[i + 1]
    return rest[-1] if len(rest) % 2 else None


def _pad(frame: Frame, value: Any, width: Any, fill: Any = " ", *, left: bool) -> str | None:
    text, size = to_text(value, frame.nls), int(width)
    if size <= len(text):
        return text[:size] or None
    more = (str(fill) * size)[: size - len(text)]
    return more + text if left else text + more


def _trim(frame: Frame, value: Any, characters: str = " ", *, side: str = "both") -> str | None:
    text = to_text(value, frame.nls)
    if side != "right":
        text = text.lstrip(characters)
    return (text if side == "left" else text.rstrip(characters)) or None


def _add_months(frame: Frame, value: Any, months: Any) -> datetime:
    at = moment(value, frame.nls["NLS_DATE_FORMAT"])
    assert isinstance(at, datetime), "ADD_MONTHS of a date before year 1 is not modelled"
    count = at.year * 12 + at.month - 1 + int(months)
    year, month = divmod(count, 12)
    if not MINYEAR <= year <= MAXYEAR:
        raise OraError(1841, NO_YEAR)
    last = calendar.monthrange(year, month + 1)[1]
    is_last = at.day == calendar.monthrange(at.year, at.month)[1]
    return at.replace(year=year, month=month + 1, day=last if is_last else min(at.day, last))


def _instr(frame: Frame, value: Any, part: Any, start: Any = 1, nth: Any = 1) -> int:
    """Return where the part stands for the nth time; a negative `start` looks backwards from there, counted from the end."""
    text, wanted, first = to_text(value, frame.nls), str(part), int(start)
    begins = [at + 1 for at in range(len(text)) if text.startswith(wanted, at)]
    last = len(text) + first + 1
    found = [at for at in begins if at >= first] if first > 0 else [at for at in reversed(begins) if at <= last]
    return found[int(nth) - 1] if first and len(found) >= int(nth) else 0


def _replace(frame: Frame, value: Any, part: Any, by: Any = None) -> str | None:
    text = None if value is None else to_text(value, frame.nls)
    return text.replace(str(part), str(by or "")) or None if text is not None and part is not None else text


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Compare all arguments in the type of the first one."""

    def run(frame: Frame, first: Any, *others: Any) -> Any:
        if isinstance(first, str) and not all(isinstance(other, str) for other in others):
            raise OraError(3001, "unimplemented feature: GREATEST or LEAST of a text and something else")
        return choose([first, *(aligned(first, other, frame.nls)[1] for other in others)])

    return run


def _nullif(frame: Frame, a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a
    if isinstance(a, str) != isinstance(b, str):
        raise OraError(932, "inconsistent datatypes")
    left, right = aligned(a, b, frame.nls)
    return None if left == right else a


def _coalesce(frame: Frame, *values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def _as_rowid(frame: Frame, text: Any) -> Any:
    if not is_rowid(str(text)):
        raise OraError(1410, "invalid ROWID")
    return text


def _ora_hash(frame: Frame, value: Any, buckets: Any = 4294967295, seed: Any = 0) -> int:
    return zlib.crc32(to_text(value, frame.nls).encode(), int(seed)) % (int(buckets) + 1)


HASHES: dict[str, Callable[..., Any]] = {
    "MD5": hashlib.md5, "SHA1": hashlib.sha1, "SHA256": hashlib.sha256, "SHA384": hashlib.sha384, "SHA512": hashlib.sha512
}  # fmt: skip


def _standard_hash(frame: Frame, value: Any, method: Any = "SHA1") -> bytes:
    """Return the hash of the bytes that Oracle stores: of text in its character set; of NULL that of no bytes."""
    hashing = HASHES.get(str(method).upper())
    if hashing is None:
        raise OraError(902, "invalid datatype")
    if isinstance(value, str):
        octets = octets_of(value) if isinstance(value, Converted) else octets_in(value, _characterset(frame))
    elif value is None or isinstance(value, bytes):
        octets = value or b""
    else:
        raise OraError(3001, "unimplemented feature: STANDARD_HASH of anything but text and RAW")
    digest: bytes = hashing(octets, usedforsecurity=False).digest()
    return digest


def _characterset(frame: Frame) -> str:
    return frame.session.database.state.characterset_of(frame.session.container)


LONGEST_CONVERTED = 4000


def _convert(frame: Frame, value: Any, to: Any, source: Any = None) -> str:
    """Return a text whose bytes are those of another character set: here AL32UTF8 alone. A result that is too long is an error,
    because nobody has seen what Oracle makes of it."""
    if str(to).upper() != "AL32UTF8" or source is not None:
        raise OraError(3001, "unimplemented feature: CONVERT to another character set than AL32UTF8")
    codec = CODECS.get(_characterset(frame))
    text = str(value) if codec is None else str(value).encode(codec, "replace").decode(codec)
    if len(octets_of(text)) > LONGEST_CONVERTED:
        raise OraError(910, "specified length too long for its datatype")
    return Converted(text)


def _binary_to_raw(form: str) -> Callable[..., bytes]:
    """Return the function that gives the bytes of a binary number, the first one first: there is one zero, and one NaN."""

    def to_raw(frame: Frame, value: Any) -> bytes:
        number = float(value)
        nan = {"f": "7fc00000", "d": "7ff8000000000000"}[form]
        return bytes.fromhex(nan) if number != number else pack(f">{form}", number + 0.0)

    return to_raw


def _to_number(frame: Frame, value: Any, mask: Any = None, *_: Any) -> Any:
    if mask is None or set(str(mask)) <= set("90"):
        return to_number(value)
    if set(str(mask).upper()) - {"X"}:
        raise OraError(3001, f"unimplemented feature: TO_NUMBER by the format {mask}")
    try:
        if len(str(value)) > len(str(mask)):
            raise ValueError
        return int(str(value), 16)
    except ValueError:
        raise OraError(1722, "invalid number") from None


def _rounded_whole(rounding: str) -> Callable[..., Any]:
    return lambda frame, value: int(Decimal(to_number(value)).to_integral_value(rounding=rounding))


def _interval(frame: Frame, count: Any, unit: str) -> DaySecond:
    names = {"DAY": "days", "HOUR": "hours", "MINUTE": "minutes"}
    return DaySecond.of(timedelta(**{names.get(unit, "seconds"): float(count)}))


def _months(frame: Frame, count: Any, unit: str) -> YearMonth:
    return YearMonth(round(float(count) * (12 if unit.upper() == "YEAR" else 1)))


def _json_object(frame: Frame, *pairs: Any) -> str:
    """Return a JSON object of keys and values, of which instances of a user's type are shown by their attributes."""
    shown = (v if isinstance(v, Instance) else json.dumps(v if v is None else to_text(v, frame.nls)) for v in pairs[1::2])
    return f"{{{','.join(f'{json.dumps(key)}:{value}' for key, value in zip(pairs[::2], shown, strict=True))}}}"


def _json_query(frame: Frame, text: str, path: str) -> str:
    """Return the object or array under `$.name`, as it was written; ORA-40480 for another value."""
    start = f'{{"{path.removeprefix("$.")}":'
    found = text[len(start) : -1] if text.startswith(start) else ""
    if not found.startswith(("{", "[")):
        raise OraError(40480, "result cannot be returned without array wrapper")
    return found


def _raw(value: Any) -> bytes:
    """Return a RAW; a text is converted as Oracle does, from hexadecimal digits."""
    if isinstance(value, bytes):
        return value
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise OraError(6502, "PL/SQL: numeric or value error: hex to raw conversion error") from None


def _raw_substr(frame: Frame, value: Any, start: Any, length: Any = None) -> bytes:
    octets, first = _raw(value), int(to_number(start))
    at = first - 1 if first > 0 else len(octets) + first
    end = len(octets) if length is None else at + int(length)
    if not first or at < 0 or end > len(octets) or end <= at:
        raise OraError(6502, "PL/SQL: numeric or value error")
    return octets[at:end]


def _xml_element(frame: Frame, name: str, *contents: Any) -> str:
    inner = "".join(escape(to_text(v, frame.nls) or "", quote=False) for v in contents if v is not None)
    return f"<{name}>{inner}</{name}>" if inner else f"<{name}></{name}>"


_TEXT, _NUMBER = datatypes.text_info(), datatypes.NUMBER
_CLOB = ColumnInfo("", "CLOB", 4000, 0, 0, 0)
_BINARY_FLOAT = ColumnInfo("", "BINARY_FLOAT", 4, 0, 0, 0)
FUNCTIONS: dict[str, Function] = {
    "TO_CHAR": Function(_to_char, _TEXT),
    "TO_NCHAR": Function(_to_char, _TEXT),
    "TO_CLOB": Function(_to_char, _CLOB),
    "TO_NCLOB": Function(_to_char, ColumnInfo("", "NCLOB", 4000, 0, 0, 0)),
    "TO_BLOB": Function(lambda frame, v: v, ColumnInfo("", "BLOB", 4000, 0, 0, 0)),
    "TO_DATE": Function(_to_date, datatypes.DATE),
    "TO_TIMESTAMP": Function(_to_timestamp, datatypes.TIMESTAMP),
    "TO_TIMESTAMP_TZ": Function(_to_timestamp_tz, datatypes.TIMESTAMP_TZ),
    "FROM_TZ": Function(_from_tz, datatypes.TIMESTAMP_TZ),
    "TO_DSINTERVAL": Function(lambda frame, v: DaySecond.parse(v), datatypes.DAY_INTERVAL),
    "TO_YMINTERVAL": Function(lambda frame, v: YearMonth.parse(v), datatypes.YEAR_INTERVAL),
    "TO_BINARY_FLOAT": Function(partial(_binary, kind="BINARY_FLOAT"), _BINARY_FLOAT),
    "TO_BINARY_DOUBLE": Function(partial(_binary, kind="BINARY_DOUBLE"), datatypes.BINARY_DOUBLE),
    "UNISTR": Function(_unistr, ColumnInfo("", "NVARCHAR2", 4000, 2000, 0, 0)),
    "TO_NUMBER": Function(_to_number, _NUMBER),
    "NVL": Function(_coalesce, FIRST_ARGUMENT, nulls=True),
    "COALESCE": Function(_coalesce, FIRST_ARGUMENT, nulls=True),
    "NVL2": Function(lambda frame, v, yes, no: no if v is None else yes, "second", nulls=True),
    "NULLIF": Function(_nullif, FIRST_ARGUMENT, nulls=True),
    "DECODE": Function(_decode, "third", nulls=True),
    "UPPER": Function(lambda frame, v: to_text(v, frame.nls).upper(), FIRST_ARGUMENT),
    "LOWER": Function(lambda frame, v: to_text(v, frame.nls).lower(), FIRST_ARGUMENT),
    "INITCAP": Function(lambda frame, v: to_text(v, frame.nls).title(), FIRST_ARGUMENT),
    "SUBSTR": Function(_substr, _TEXT),
    "LENGTH": Function(lambda frame, v: len(to_text(v, frame.nls)), _NUMBER),
    "LENGTHB": Function(lambda frame, v: len(octets_of(to_text(v, frame.nls))), _NUMBER),
    "TRIM": Function(_trim, _TEXT),
    "LTRIM": Function(lambda frame, v, c=" ": _trim(frame, v, c, side="left"), _TEXT),
    "RTRIM": Function(lambda frame, v, c=" ": _trim(frame, v, c, side="right"), _TEXT),
    "LPAD": Function(lambda frame, *a: _pad(frame, *a, left=True), _TEXT),
    "RPAD": Function(lambda frame, *a: _pad(frame, *a, left=False), _TEXT),
    "REPLACE": Function(_replace, _TEXT, nulls=True),
    "CONCAT": Function(lambda frame, *a: "".join(to_text(v, frame.nls) for v in a if v is not None) or None, _TEXT, nulls=True),
    "INSTR": Function(_instr, _NUMBER),
    "CHR": Function(lambda frame, v: chr(int(v)), datatypes.text_info(1)),
    "ASCII": Function(lambda frame, v: ord(v[0]), _NUMBER),
    "ROUND": Function(_round, FIRST_ARGUMENT + "?"),
    "TRUNC": Function(_trunc, FIRST_ARGUMENT + "?"),
    "MOD": Function(_mod, _NUMBER),
    "ABS": Function(_absolute, _NUMBER),
    "SIGN": Function(lambda frame, v: (to_number(v) > 0) - (to_number(v) < 0), _NUMBER),
    "FLOOR": Function(_rounded_whole(ROUND_FLOOR), _NUMBER),
    "CEIL": Function(lambda frame, v: -int((-Decimal(to_number(v))).to_integral_value(rounding=ROUND_FLOOR)), _NUMBER),
    "POWER": Function(lambda frame, a, b: plain(EXACT.power(Decimal(to_number(a)), Decimal(to_number(b)))), _NUMBER),
    "SQRT": Function(lambda frame, a: plain(EXACT.sqrt(Decimal(to_number(a)))), _NUMBER),
    "GREATEST": Function(_extreme(max), FIRST_ARGUMENT),
    "LEAST": Function(_extreme(min), FIRST_ARGUMENT),
    "ADD_MONTHS": Function(_add_months, datatypes.DATE),
    "LAST_DAY": Function(lambda frame, v: v.replace(day=calendar.monthrange(v.year, v.month)[1]), datatypes.DATE),
    "SYS_GUID": Function(lambda frame: uuid4().bytes, replace(datatypes.RAW, size=16)),
    "HEXTORAW": Function(lambda frame, v: bytes.fromhex(v), datatypes.RAW),
    "ROWIDTOCHAR": Function(lambda frame, v: v, datatypes.text_info(18)),
    "CHARTOROWID": Function(_as_rowid, datatypes.text_info(18)),
    "DBMS_ROWID.ROWID_CREATE": Function(lambda frame, *numbers: created_rowid(*map(int, numbers)), datatypes.text_info(18)),
    "RAWTOHEX": Function(lambda frame, v: v.hex().upper(), _TEXT),
    "UTL_RAW.COPIES": Function(lambda frame, v, n: _raw(v) * int(n), datatypes.RAW),
    "UTL_RAW.CONCAT": Function(
        lambda frame, *a: b"".join(_raw(v) for v in a if v is not None) or None, datatypes.RAW, nulls=True
    ),
    "UTL_RAW.LENGTH": Function(lambda frame, v: len(_raw(v)), _NUMBER),
    "UTL_RAW.REVERSE": Function(lambda frame, v: _raw(v)[::-1], datatypes.RAW),
    "UTL_RAW.SUBSTR": Function(_raw_substr, datatypes.RAW),
    "UTL_RAW.CAST_TO_BINARY_FLOAT": Function(lambda frame, v: unpack(">f", _raw(v))[0], _BINARY_FLOAT),
    "UTL_RAW.CAST_TO_BINARY_DOUBLE": Function(lambda frame, v: unpack(">d", _raw(v))[0], datatypes.BINARY_DOUBLE),
    "UTL_RAW.CAST_FROM_BINARY_FLOAT": Function(_binary_to_raw("f"), datatypes.RAW),
    "UTL_RAW.CAST_FROM_BINARY_DOUBLE": Function(_binary_to_raw("d"), datatypes.RAW),
    "UTL_RAW.CAST_TO_RAW": Function(lambda frame, v: octets_of(v), datatypes.RAW),
    "UTL_RAW.CAST_TO_VARCHAR2": Function(lambda frame, v: text_of(bytes.fromhex(v) if isinstance(v, str) else v), _TEXT),
    "CONVERT": Function(_convert, _TEXT),
    "STANDARD_HASH": Function(_standard_hash, replace(datatypes.RAW, size=64), nulls=True),
    "ORA_HASH": Function(_ora_hash, _NUMBER, nulls=False),
    "NUMTODSINTERVAL": Function(_interval, datatypes.DAY_INTERVAL),
    "NUMTOYMINTERVAL": Function(_months, datatypes.YEAR_INTERVAL),
    "SYS_EXTRACT_UTC": Function(_utc, datatypes.TIMESTAMP),
    "EMPTY_CLOB": Function(lambda frame: EMPTY_CLOB, _CLOB),
    "EMPTY_BLOB": Function(lambda frame: b"", ColumnInfo("", "BLOB", 4000, 0, 0, 0)),
    "SCN_TO_TIMESTAMP": Function(_scn_to_timestamp, datatypes.TIMESTAMP),
    "TIMESTAMP_TO_SCN": Function(_timestamp_to_scn, _NUMBER),
    "NLS_CHARSET_ID": Function(lambda frame, name: CHARACTER_SETS.get(str(name).upper()), _NUMBER),
    "SYS_CONTEXT": Function(lambda frame, space, key: context(frame.session, space, key), datatypes.text_info(256)),
    "USERENV": Function(lambda frame, key: context(frame.session, "USERENV", key), datatypes.text_info(64)),
    "XMLTYPE": Function(lambda frame, v: v, _TEXT),
    "SYS.XMLTYPE": Function(lambda frame, v: v, _TEXT),
    "XMLELEMENT": Function(_xml_element, ColumnInfo("", "XMLTYPE", 2000, 0, 0, 0), nulls=True),
    "XMLTYPE.CREATEXML": Function(lambda frame, v: v, _TEXT),
    "BFILENAME": Function(lambda frame, directory, name: f"{directory}/{name}", ColumnInfo("", "BFILE", 530, 0, 0, 0)),
    "JSON_OBJECT": Function(_json_object, _CLOB, nulls=True),
    "JSON_QUERY": Function(_json_query, _CLOB),
    "XMLSERIALIZE": Function(lambda frame, v: v, _CLOB),
    "JSON_SERIALIZE": Function(lambda frame, v: v, _CLOB),
    "VECTOR_SERIALIZE": Function(lambda frame, v: v, _CLOB),
    "DBMS_METADATA.GET_DDL": Function(get_ddl, _CLOB),
    "DBMS_LOB.GETLENGTH": Function(lambda frame, v: len(v), _NUMBER),
}


def date_literal(text: str) -> datetime | Moment:
    """Return the value of the literal DATE 'YYYY-MM-DD'; the year may have a minus sign."""
    return parser_of("SYYYY-MM-DD")(text.strip())


def timestamp_literal(text: str) -> datetime | Moment | Zoned:
    """Return the value of the literal TIMESTAMP '..', which has a zone if its text ends in one."""
    if re.search(r"[A-Za-z]$|\d\s*[+-]\d{1,2}:\d{2}$", text.strip()):
        return zoned_parser_of("SYYYY-MM-DD HH24:MI:SS.FF TZR")(text.strip(), 0)
    return parser_of("SYYYY-MM-DD HH24:MI:SS.FF")(text)
