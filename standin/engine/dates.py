"""TO_DATE and TO_TIMESTAMP: text parsed under an Oracle format mask.

Years before Christ have a minus sign; BC and AD are not modelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from standin.interface import OraError
from standin.moment import Moment

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
}
_ELEMENT = re.compile(
    r'"(?P<quoted>[^"]*)"|FF(?P<digits>[1-9]?)|(?P<name>SYYYY|YYYY|RRRR|RR|YY|MONTH|MON|MM|DD|HH24|HH12|HH|MI|SSSSS|SS|AM|PM|TZH|TZM)|(?P<fx>FX|FM)|(?P<mark>.)',
    re.I,
)


@lru_cache(maxsize=256)
def parser_of(mask: str) -> Callable[[str], datetime | Moment]:
    """Return the parser of a mask. As in Oracle, elements after the text's end take their defaults."""
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
        optional = any(f"?P<{name}>" in part for name in ("hour", "hour12", "minute", "second", "fraction", "half", "zone"))
        pattern = f"(?:{part}{pattern})?" if optional or (pattern.endswith(")?") and part.startswith("[")) else part + pattern
    compiled = re.compile(rf"\s*{pattern}\s*$")

    def parse(text: str) -> datetime | Moment:
        found = compiled.match(text)
        if found is None:
            raise OraError(1861, "literal does not match format string")
        return _moment({k: v for k, v in found.groupdict().items() if v is not None})

    return parse


def _moment(fields: dict[str, str]) -> datetime | Moment:
    month = _month(fields)
    year = _year(fields)
    day = int(fields.get("day", "1"))
    hour = int(fields.get("hour", "0"))
    if "hour12" in fields:
        hour = int(fields["hour12"]) % 12 + (12 if fields.get("half", "A")[0].upper() == "P" else 0)
    minute, second = int(fields.get("minute", "0")), int(fields.get("second", "0"))
    nanosecond = int(fields.get("fraction", "0").ljust(6, "0")[:6]) * 1000
    try:
        return datetime(year, month, day, hour, minute, second, nanosecond // 1000)
    except ValueError as error:
        found = Moment(year, month, day, hour, minute, second, nanosecond)
        if found.is_date:
            return found
        code, text = _error_of(str(error))
        raise OraError(code, text) from None


def _error_of(reason: str) -> tuple[int, str]:
    for word, code, text in (
        ("year", 1841, "(full) year must be between -4713 and +9999, and not be 0"),
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
