"""TO_DATE and TO_TIMESTAMP: text parsed under an Oracle format mask.

Years before Christ have a minus sign; BC and AD are not modelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from standin.interface import OraError
from standin.moment import Moment, with_nanosecond
from standin.zones import REGIONS, Zoned, zone_minutes, zoned

NO_YEAR = "(full) year must be between -4713 and +9999, and not be 0"

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_PATTERNS = {
    "SYYYY": r"(?P<year>[ -]?\d{1,4})",
    "YYYY": r"(?P<year>\d{1,4})",
    "RRRR": r"(?P<year>\d{1,4})",
    "RR": r"(?P<rr>\d{1,4})",
    "YY": r"(?P<yy>\d{1,2})",
    "MONTH": r"(?P<month_name>[A-Za-z]+) *",
    "MON": r"(?P<month_name>[A-Za-z]+)",
    "MM": r"(?P<month>\d{1,2}|[A-Za-z]+)",
    "DD": r"(?P<day>\d{1,2})",
    "HH24": r"(?P<hour>\d{1,2})",
    "HH12": r"(?P<hour12>\d{1,2})",
    "HH": r"(?P<hour12>\d{1,2})",
    "MI": r"(?P<minute>\d{1,2})",
    "SS": r"(?P<second>\d{1,2})",
    "SSSSS": r"(?P<seconds>\d{1,5})",
    "AM": r"(?P<half>[AaPp]\.?[Mm]\.?)",
    "PM": r"(?P<half>[AaPp]\.?[Mm]\.?)",
    "TZH": r"(?P<zone_hour>[+-]?\d{1,2})",
    "TZM": r"(?P<zone_minute>\d{1,2})",
    "TZR": r"(?P<region>[A-Za-z_]+/[A-Za-z_]+|[+-]?\d{1,2}:\d{2}|UTC)",
}
_OPTIONAL = ("hour", "hour12", "minute", "second", "fraction", "half", "zone_hour", "zone_minute", "region")
_ELEMENT = re.compile(
    r'"(?P<quoted>[^"]*)"|FF(?P<digits>[1-9]?)|(?P<name>SYYYY|YYYY|RRRR|RR|YY|MONTH|MON|MM|DD|HH24|HH12|HH|MI|SSSSS|SS|AM|PM|TZH|TZM|TZR)|(?P<fx>FX|FM)|(?P<mark>.)',
    re.I,
)


@lru_cache(maxsize=256)
def parser_of(mask: str) -> Callable[[str], datetime | Moment]:
    """Return the parser of a mask without a zone, or of local time where it has one."""
    parse = fields_parser(mask)
    return lambda text: _moment(parse(text))


def zoned_parser_of(mask: str) -> Callable[[str, int | str], Zoned]:
    """Return the parser of (text, the session's offset), for a mask in which a zone may be."""
    parse = fields_parser(mask)

    def zoned_of(text: str, session: int | str) -> Zoned:
        fields = parse(text)
        return zoned(_moment(fields), zone_of_fields(fields, session))

    return zoned_of


def zone_of_fields(fields: dict[str, str], session: int | str) -> int | str:
    region = fields.get("region")
    if region is not None and region not in REGIONS:
        if not re.fullmatch(r"[+-]?\d{1,2}:\d{2}", region):
            raise OraError(1882, "timezone region not found")
        return zone_minutes(region)
    if region is not None:
        return region
    if "zone_hour" not in fields:
        return session
    return zone_minutes(f"{fields['zone_hour']}:{fields.get('zone_minute', '00')}")


@lru_cache(maxsize=256)
def fields_parser(mask: str) -> Callable[[str], dict[str, str]]:
    """Return the parser of a mask to named fields. As in Oracle, elements after the text's end take their defaults."""
    parts: list[str] = []
    for element in _ELEMENT.finditer(mask):
        if element["quoted"] is not None:
            parts.append(re.escape(element["quoted"]))
        elif element["name"]:
            parts.append(_PATTERNS[element["name"].upper()])
        elif element["digits"] is not None:
            parts.append(rf"(?P<fraction>\d{{1,{element['digits'] or 9}}})")
        elif element["mark"]:
            parts.append(r"[.,]" if element["mark"] in "Xx" else r"[-/,.;: T]?")
    pattern = ""
    for part in reversed(parts):
        optional = any(
            f"?P<{name}>" in part
            for name in ("hour", "hour12", "minute", "second", "fraction", "half", "zone_hour", "zone_minute", "region")
        )
        pattern = f"(?:{part}{pattern})?" if optional or (pattern.endswith(")?") and part.startswith("[")) else part + pattern
    compiled = re.compile(rf"\s*{pattern}\s*$")

    def parse(text: str) -> dict[str, str]:
        found = compiled.match(text)
        if found is None:
            raise OraError(1861, "literal does not match format string")
        return {k: v for k, v in found.groupdict().items() if v is not None}

    return parse


def _moment(fields: dict[str, str]) -> datetime | Moment:
    month = _month(fields)
    year = _year(fields)
    day = int(fields.get("day", "1"))
    hour = int(fields.get("hour", "0"))
    if "hour12" in fields:
        hour = int(fields["hour12"]) % 12 + (12 if fields.get("half", "A")[0].upper() == "P" else 0)
    minute, second = int(fields.get("minute", "0")), int(fields.get("second", "0"))
    nanosecond = int(fields.get("fraction", "0").ljust(9, "0"))
    try:
        at = datetime(year, month, day, hour, minute, second, nanosecond // 1000)
        return with_nanosecond(at, nanosecond)
    except ValueError as error:
        found = Moment(year, month, day, hour, minute, second, nanosecond)
        if found.is_date:
            return found
        code, text = _error_of(str(error))
        raise OraError(code, text) from None


def _error_of(reason: str) -> tuple[int, str]:
    for word, code, text in (
        ("year", 1841, NO_YEAR),
        ("day", 1847, "day of month must be between 1 and last day of month"),
        ("hour", 1850, "hour must be between 0 and 23"),
        ("minute", 1851, "minutes must be between 0 and 59"),
    ):
        if word in reason:
            return code, text
    return 1852, "seconds must be between 0 and 59"


def _month(fields: dict[str, str]) -> int:
    text = fields.get("month_name") or fields.get("month") or "1"
    name = text[:3].upper()
    named = MONTHS.index(name) + 1 if name in MONTHS else 0
    month = int(text) if text.isdigit() else named
    if not 1 <= month <= 12:
        raise OraError(1843, "not a valid month")
    return month


def _year(fields: dict[str, str]) -> int:
    if "year" in fields:
        return int(fields["year"])
    if "yy" in fields:
        return 2000 + int(fields["yy"])
    if "rr" in fields:
        year = int(fields["rr"])
        return year if year >= 100 else year + (2000 if year < 50 else 1900)
    return 1
