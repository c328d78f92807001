"""INTERVAL DAY TO SECOND and YEAR TO MONTH: ISO 8601 text, or a number by the rules `microseconds` and `months`.

Text has one spelling: `P5DT4H3M2.5S` and `-P1Y2M`, without parts that are zero; `PT0S` and `P0M` for none at all. Redo has any
number of digits: as the column declares, or always those of the longest type; a point may stand without a fraction.
"""

from __future__ import annotations

import re

import pyarrow as pa

from redolake.decode.datatypes.family import Cast, DoesNotFit, Family, cast_distinct, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

_DAY = re.compile(r"([+-]?)(\d{1,9}) (\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?", re.ASCII)
_YEAR = re.compile(r"([+-]?)(\d{1,9})-(\d{1,2})", re.ASCII)
_BIAS, _SMALL_BIAS = 0x80000000, 60
_BIGINT = 2**63


def target_of_days(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    return _target(oracle_type, rule, "microseconds")


def target_of_years(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    return _target(oracle_type, rule, "months")


def _target(oracle_type: OracleType, rule: TypeRule, unit: str) -> pa.DataType:
    if rule not in (None, "string", unit):
        raise refuse_rule(oracle_type, rule, f'leave the rule out, or write "string" or "{unit}"')
    return pa.int64() if rule == unit else pa.string()


def cast_days(texts: pa.StringArray, target: pa.DataType, _rule: TypeRule = None) -> Cast:
    return _each_once(texts, target, _iso_days if target == pa.string() else _microseconds)


def cast_years(texts: pa.StringArray, target: pa.DataType, _rule: TypeRule = None) -> Cast:
    return _each_once(texts, target, _iso_years if target == pa.string() else _months)


def _each_once(texts: pa.StringArray, target: pa.DataType, convert: object) -> Cast:
    """Cast each distinct text once."""
    return cast_distinct(texts, str, lambda distinct: cast_each(distinct, convert, target))  # type: ignore[arg-type]


def _fields(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError("is not an interval in Oracle's format")
    return found


def _iso_days(text: str) -> str:
    found = _fields(_DAY, text)
    days, hours, minutes, seconds = (int(found[i]) for i in (2, 3, 4, 5))
    fraction = (found[6] or "").rstrip("0")
    shown = f"{seconds}.{fraction}S" if fraction else f"{seconds}S" if seconds else ""
    time = f"{f'{hours}H' if hours else ''}{f'{minutes}M' if minutes else ''}{shown}"
    body = f"P{f'{days}D' if days else ''}{f'T{time}' if time else ''}"
    return "PT0S" if body == "P" else _with_sign(found[1], body)


def _iso_years(text: str) -> str:
    found = _fields(_YEAR, text)
    years, months = int(found[2]), int(found[3])
    body = f"P{f'{years}Y' if years else ''}{f'{months}M' if months else ''}"
    return "P0M" if body == "P" else _with_sign(found[1], body)


def _with_sign(sign: str, body: str) -> str:
    return f"-{body}" if sign == "-" else body


def _microseconds(text: str) -> int:
    found = _fields(_DAY, text)
    days, hours, minutes, seconds = (int(found[i]) for i in (2, 3, 4, 5))
    fraction = (found[6] or "").ljust(9, "0")
    if not fraction.endswith("000"):
        raise DoesNotFit("has more decimals than microseconds: declare the column as `string`")
    total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + int(fraction[:6])
    if total >= _BIGINT:
        raise DoesNotFit("has more microseconds than a bigint holds: declare the column as `string`")
    return -total if found[1] == "-" else total


def _months(text: str) -> int:
    found = _fields(_YEAR, text)
    total = int(found[2]) * 12 + int(found[3])
    return -total if found[1] == "-" else total


def internal_days(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    return cast_distinct(raw, days_text, lambda texts: cast_days(texts, target))


def internal_years(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    return cast_distinct(raw, years_text, lambda texts: cast_years(texts, target))


def days_text(raw: bytes) -> str:
    """Decode days and nanoseconds of 4 bytes, plus 2**31; hours, minutes and seconds plus 60. All have the same sign."""
    if len(raw) != 11:
        raise ValueError("is not an interval in Oracle's format")
    days, nanoseconds = int.from_bytes(raw[:4], "big") - _BIAS, int.from_bytes(raw[7:], "big") - _BIAS
    hours, minutes, seconds = (byte - _SMALL_BIAS for byte in raw[4:7])
    parts = (days, hours, minutes, seconds, nanoseconds)
    mixed = min(parts) < 0 < max(parts)
    if mixed or abs(days) > 999_999_999 or abs(hours) > 23 or max(abs(minutes), abs(seconds)) > 59 or abs(nanoseconds) >= 10**9:
        raise ValueError("is not an interval in Oracle's format")
    time = f"{abs(hours):02d}:{abs(minutes):02d}:{abs(seconds):02d}.{abs(nanoseconds):09d}"
    return f"{'-' if min(parts) < 0 else '+'}{abs(days)} {time}"


def years_text(raw: bytes) -> str:
    """Decode years of 4 bytes, plus 2**31, and months plus 60. Both have the same sign."""
    if len(raw) != 5:
        raise ValueError("is not an interval in Oracle's format")
    years, months = int.from_bytes(raw[:4], "big") - _BIAS, raw[4] - _SMALL_BIAS
    if min(years, months) < 0 < max(years, months) or abs(years) > 999_999_999 or abs(months) > 11:
        raise ValueError("is not an interval in Oracle's format")
    return f"{'-' if min(years, months) < 0 else '+'}{abs(years)}-{abs(months)}"


FAMILIES = (
    Family(frozenset({"INTERVAL DAY TO SECOND"}), frozenset({Form.DAY_INTERVAL}), target_of_days, cast_days, internal_days),
    Family(frozenset({"INTERVAL YEAR TO MONTH"}), frozenset({Form.YEAR_INTERVAL}), target_of_years, cast_years, internal_years),
)
