"""TIMESTAMP WITH TIME ZONE and WITH LOCAL TIME ZONE: instants, in microseconds of UTC, from year 1 to 9999.

With the rule `string` a column is text with its offset: `YYYY-MM-DD HH:MM:SS[.f] +HH:MM`. A region's name is lost: redo
text has its offset at that time, and the snapshot reads the same. A local time zone's text is that of UTC.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.datatypes import datetime as plain
from redolake.decode.datatypes.family import Cast, DoesNotFit, Family, Unfit, cast_distinct, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

TYPE = pa.timestamp("us", "UTC")
UTC_OFFSET = "+00:00"
_OFFSET = re.compile(r"[+-](?:0\d|1[0-5]):[0-5]\d")
_ZONED = rf" {_OFFSET.pattern}$"
_OFFSET_LENGTH = len("+00:00")
_GREGORIAN = datetime(1582, 10, 16)
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
_BIASED_HOUR, _BIASED_MINUTE, _REGION = 20, 60, 0x80
_OTHER_DAY = Unfit("is on another day in UTC, near a day that only one of Oracle's and the target's calendars has")


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule == "string":
        return pa.string()
    if rule in (None, "truncate"):
        return TYPE
    raise refuse_rule(oracle_type, rule, 'leave the rule out, or write "string" or "truncate"')


def cast_with_zone(texts: pa.StringArray, target: pa.DataType, rule: TypeRule = None) -> Cast:
    """Cast texts that end in an offset."""
    unknown = pc.invert(pc.match_substring_regex(texts, _ZONED)).fill_null(False)
    known = pc.if_else(unknown, None, texts) if pc.any(unknown).as_py() else texts
    local = pc.utf8_slice_codeunits(known, 0, -_OFFSET_LENGTH - 1)
    offset = pc.utf8_slice_codeunits(known, -_OFFSET_LENGTH)
    cast = plain.cast(local, pa.string() if target == pa.string() else plain.TYPE, rule)
    refused = {**cast.refused, **dict.fromkeys(_where(unknown), "has no offset from UTC")}
    if target == pa.string():
        is_date = pc.not_equal(cast.values, plain.IMPOSSIBLE)
        shown = pc.binary_join_element_wise(cast.values, offset, " ")
        return Cast(pc.if_else(is_date, shown, cast.values), refused)
    minutes = _minutes(offset)
    ticks = cast.values.cast(pa.int64()).fill_null(0).to_numpy() - minutes * 60_000_000
    values = pa.array(ticks, pa.int64(), mask=cast.values.is_null().to_numpy(zero_copy_only=False)).cast(plain.TYPE)
    for i in _where(pc.or_(pc.less(values, _FIRST), pc.greater(values, _LAST))):
        refused[i] = Unfit("is not from year 1 to 9999 in UTC")
    early = pc.and_(pc.less(cast.values, _GREGORIAN + timedelta(days=2)), pa.array(minutes != 0))
    for i in _where(early):
        if i not in refused and _crosses_calendars(cast.values[i].as_py(), int(minutes[i])):
            refused[i] = _OTHER_DAY
    if refused:
        values = pc.if_else(pa.array([i not in refused for i in range(len(values))]), values, None)
    return Cast(values.cast(pa.int64()).cast(TYPE), refused)


def _where(flags: pa.BooleanArray) -> list[int]:
    found: list[int] = np.flatnonzero(flags.fill_null(False).to_numpy(zero_copy_only=False)).tolist()
    return found


def _minutes(offsets: pa.StringArray) -> npt.NDArray[np.int64]:
    coded = offsets.dictionary_encode()
    known = [
        0 if o is None else (int(o[1:3]) * 60 + int(o[4:])) * (-1 if o[0] == "-" else 1) for o in coded.dictionary.to_pylist()
    ]
    minutes = np.array([*known, 0], np.int64)
    found: npt.NDArray[np.int64] = minutes[coded.indices.fill_null(len(known)).to_numpy()]
    return found


def _crosses_calendars(local: datetime, minutes: int) -> bool:
    """Return whether the shift to UTC passes a day that the Julian calendar has and the Gregorian one has not, or the
    other way round."""
    days = {local.date(), (local - timedelta(minutes=minutes)).date()}
    if len(days) == 1:
        return False
    leap = {(day.month, day.day) for day in days if day.year % 100 == 0 and day.year % 400 != 0 and day < _GREGORIAN.date()}
    switch = any(day.year == 1582 and day.month == 10 and 4 <= day.day <= 15 for day in days)
    return switch or bool(leap & {(2, 28), (3, 1)})


def cast_local(texts: pa.StringArray, target: pa.DataType, rule: TypeRule = None) -> Cast:
    """Cast texts in the session's zone, which mining and snapshots set to UTC. An offset counts, if a release writes one."""
    bare = pc.invert(pc.match_substring_regex(texts, _ZONED))
    return cast_with_zone(pc.if_else(bare, pc.binary_join_element_wise(texts, UTC_OFFSET, " "), texts), target, rule)


def internal_with_zone(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, rule: TypeRule = None) -> Cast:
    """Decode a date in UTC with nanoseconds, then hours plus 20 and minutes plus 60, or the number of a region."""
    if target == pa.string():
        return cast_distinct(raw, _local_text, lambda texts: cast_with_zone(texts, target, rule))
    return cast_distinct(
        raw, lambda value: f"{_utc_text(value)} {UTC_OFFSET}", lambda texts: cast_with_zone(texts, target, rule)
    )


def _utc_text(raw: bytes) -> str:
    if len(raw) != 13:
        raise ValueError("is not a timestamp with a time zone in Oracle's format")
    return plain.datetime_text(raw[:11])


def _local_text(raw: bytes) -> str:
    utc = _utc_text(raw)
    if raw[11] & _REGION:
        raise ValueError("has a region as its time zone, whose offset only Oracle knows")
    minutes = (raw[11] - _BIASED_HOUR) * 60 + raw[12] - _BIASED_MINUTE
    hours, rest = divmod(abs(minutes), 60)
    return f"{_move(utc, minutes)} {'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"


def _move(text: str, minutes: int) -> str:
    """Return the text of a date some minutes later."""
    if not minutes or text == plain.IMPOSSIBLE:
        return text
    whole, point, fraction = text.partition(".")
    try:
        at = datetime.fromisoformat(whole)
        moved = at + timedelta(minutes=minutes)
    except (ValueError, OverflowError) as error:
        raise DoesNotFit("is not from year 1 to 9999 in UTC") from error
    if at < _GREGORIAN + timedelta(days=2) and _crosses_calendars(at, -minutes):
        raise DoesNotFit(_OTHER_DAY)
    return f"{moved.isoformat(' ')}{point}{fraction}"


def internal_local(raw: pa.BinaryArray, target: pa.DataType, encoding: Encoding, rule: TypeRule = None) -> Cast:
    """Decode a date in DBTIMEZONE."""
    zone = UTC_OFFSET if encoding.time_zone.upper() in ("UTC", "GMT", "ETC/UTC") else encoding.time_zone
    minutes = int(_minutes(pa.array([zone]))[0]) if _OFFSET.fullmatch(zone) else None

    def utc_text(value: bytes) -> str:
        if minutes is None:
            raise ValueError(f"is stored in the database's time zone {zone}, which has no fixed offset")
        return _move(plain.datetime_text(value), -minutes)

    return cast_distinct(raw, utc_text, lambda texts: cast_local(texts, target, rule))


_ZONED_FORMS = frozenset({Form.TIMESTAMP_TZ, Form.MOMENT})
_LOCAL_FORMS = _ZONED_FORMS | {Form.TIMESTAMP, Form.TIMESTAMP_LTZ}  # without an offset it is the session's zone in each
FAMILIES = (
    Family(frozenset({"TIMESTAMP WITH TIME ZONE"}), _ZONED_FORMS, target, cast_with_zone, internal_with_zone),
    Family(frozenset({"TIMESTAMP WITH LOCAL TIME ZONE"}), _LOCAL_FORMS, target, cast_local, internal_local),
)
