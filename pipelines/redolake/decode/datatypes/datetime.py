"""DATE and TIMESTAMP: points of time without a zone, in microseconds, from year 1 to 9999.

Oracle's range is 4712 BC to 9999 AD, with leap days of the Julian calendar up to 1582, and a client may store bytes that are
no date at all. With the rule `string` a column is text: `YYYY-MM-DD HH:MM:SS[.f]`, with a minus sign before Christ, and
IMPOSSIBLE for what is no date. TO_CHAR, redo text and internal bytes yield the same text. A TIMESTAMP(7) to (9) with a
fraction below the microsecond is refused unless the rule is `truncate` or `string`.

The texts have the NLS formats that mining sets. Any other text is refused, as it may lack its time of day. A TIMESTAMP that is
stored without a fraction may come as one of precision 0: with zeros, with the point alone, or with neither.
"""

from __future__ import annotations

import re
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.datatypes.family import Cast, DoesNotFit, Family, cast_distinct, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

TYPE = pa.timestamp("us")
_SECONDS, _NANOSECONDS = len("2026-03-29 01:30:00"), len("2026-03-29 01:30:00.123456000")
_MICROSECONDS = _NANOSECONDS - 3
# SYYYY writes a blank for the sign; landings made before mining set it have none.
_PINNED = re.compile(r"[ -]?(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?", re.ASCII)
_PARTS = r"^ ?(?P<whole>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.(?P<fraction>[0-9]{0,9}))?$"
_FIRST = pa.scalar(datetime(1, 1, 1), TYPE)
IMPOSSIBLE = "0000-00-00 00:00:00"  # as TO_CHAR shows it
_EARLIEST, _LATEST, _GREGORIAN_SINCE = -4712, 9999, 1582


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule == "string":
        return pa.string()
    if rule is None or (rule == "truncate" and oracle_type.name == "TIMESTAMP"):
        return TYPE
    raise refuse_rule(oracle_type, rule, 'leave the rule out, or write "string", or "truncate" for a TIMESTAMP(7) to (9)')


def cast(texts: pa.StringArray, target: pa.DataType, rule: TypeRule = None) -> Cast:
    if target == pa.string():
        return cast_each(texts, spell, target)
    if rule == "truncate":
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]{1,3}$", r"\1")
    try:
        values = _cast_all(texts)
    except pa.ArrowInvalid:
        values = None
    if values is None or pc.any(pc.less(values, _FIRST)).as_py():
        return cast_each(texts, parse_datetime, TYPE)
    return Cast(values)


def _cast_all(texts: pa.StringArray) -> pa.Array | None:
    """Cast all texts at once if each has the format that mining sets, else return None.

    Arrow reads up to six decimals. It would also accept a date without a time, so lengths are checked first.
    """
    lengths = np.unique(pc.drop_null(pc.binary_length(texts)).to_numpy())
    if len(lengths) == 0:
        return texts.cast(TYPE)
    blank = int(pc.all(pc.starts_with(texts, " ")).as_py())
    if len(lengths) > 1 or lengths[0] - blank not in (_SECONDS, _MICROSECONDS, _NANOSECONDS):
        padded = _pad(texts)
        return None if padded is None else _cast_all(padded)
    end = int(lengths[0]) - blank
    if lengths[0] - blank == _NANOSECONDS:
        if not pc.all(pc.ends_with(texts, "000")).as_py():
            return None
        end = _MICROSECONDS
    if lengths[0] == end:
        return texts.cast(TYPE)
    return pc.binary_slice(texts.cast(pa.binary()), blank, blank + end).cast(pa.string()).cast(TYPE)


def _pad(texts: pa.StringArray) -> pa.StringArray | None:
    """Return the texts without a blank in front and with nine decimals each, or None where one is not such a text."""
    parts = pc.extract_regex(texts, _PARTS)
    if parts.null_count > texts.null_count:
        return None
    fraction = pc.ascii_rpad(pc.struct_field(parts, "fraction"), 9, "0")
    return pc.binary_join_element_wise(pc.struct_field(parts, "whole"), fraction, ".")


def parse_datetime(text: str) -> datetime:
    m = _fields(text)
    if text.startswith("-"):
        raise DoesNotFit("is before year 1")
    fraction = (m[7] or "").ljust(9, "0")
    if not fraction.endswith("000"):
        raise DoesNotFit("has more decimals than microseconds: declare the column as `truncate` or `string`")
    try:
        year, month, day, hour, minute, second = (int(m[i]) for i in range(1, 7))
        return datetime(year, month, day, hour, minute, second, int(fraction[:6]))
    except ValueError as error:
        raise DoesNotFit("is not a point of time from year 1 to 9999") from error


def _fields(text: str) -> re.Match[str]:
    found = _PINNED.fullmatch(text)
    if found is None:
        raise ValueError("is not in the format that mining sets")
    return found


def spell(text: str) -> str:
    """Return a date's one text under the rule `string`: no blank in front, no zeros at the end of a fraction."""
    m = _fields(text)
    sign, fraction = "-" if text.startswith("-") else "", (m[7] or "").rstrip("0")
    year, month, day, hour, minute, second = (int(m[i]) for i in range(1, 7))
    if not _is_possible(-year if sign else year, month, day) or hour > 23 or minute > 59 or second > 59:
        return IMPOSSIBLE
    whole = f"{sign}{year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"
    return f"{whole}.{fraction}" if fraction else whole


def _is_possible(year: int, month: int, day: int) -> bool:
    """Return whether Oracle's calendar has the day: Julian leap years up to 1582, and no year 0."""
    if not (_EARLIEST <= year <= _LATEST and year and 1 <= month <= 12):
        return False
    is_leap = year % 4 == 0 and (year <= _GREGORIAN_SINCE or year % 100 != 0 or year % 400 == 0)
    days = 29 if month == 2 and is_leap else 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    return 1 <= day <= days


def internal(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, rule: TypeRule = None) -> Cast:
    return cast_distinct(raw, datetime_text, lambda texts: cast(texts, target, rule))


def datetime_text(raw: bytes) -> str:
    """Decode Oracle's DATE or TIMESTAMP: century and year plus 100, month, day, then hour, minute and second plus 1.

    Four more bytes are nanoseconds. Before Christ both are at most 100. Return IMPOSSIBLE for bytes that are no date.
    """
    if len(raw) not in (7, 11):
        raise ValueError("is not a date in Oracle's format")
    year, (month, day) = (raw[0] - 100) * 100 + raw[1] - 100, raw[2:4]
    hour, minute, second = (byte - 1 for byte in raw[4:7])
    nanoseconds = int.from_bytes(raw[7:], "big")
    is_mixed = raw[0] > 100 > raw[1] or raw[0] < 100 < raw[1]
    is_time = 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59 and nanoseconds < 10**9
    if is_mixed or not is_time or not _is_possible(year, month, day):
        return IMPOSSIBLE
    sign = "-" if year < 0 else ""
    whole = f"{sign}{abs(year):04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"
    return whole if len(raw) == 7 else f"{whole}.{nanoseconds:09d}"


FAMILIES = (
    Family(frozenset({"DATE"}), frozenset({Form.DATE, Form.MOMENT}), target, cast, internal),
    Family(frozenset({"TIMESTAMP"}), frozenset({Form.TIMESTAMP, Form.MOMENT}), target, cast, internal),
)
