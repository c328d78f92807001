"""TO_CHAR of dates: Oracle's date format masks, compiled to one formatting function each.

An element of Oracle's that is not listed here raises ORA-03001, any other ORA-01821.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache

from standin.interface import OraError
from standin.moment import NO_DATE, Moment, fields_of

MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip
DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


Field = Callable[[Moment], str]


def _clock12(m: Moment) -> str:
    return f"{m.hour % 12 or 12:02d}"


def _offset_hours(m: Moment) -> str:
    return f"{'-' if m.offset < 0 else '+'}{abs(m.offset) // 60:02d}"


def _offset_minutes(m: Moment) -> str:
    return f"{abs(m.offset) % 60:02d}"


def _meridian(m: Moment) -> str:
    return "AM" if m.hour < 12 else "PM"


def _fraction(digits: int) -> Field:
    return lambda m: f"{m.nanosecond:09d}"[:digits]


def _day(m: Moment) -> date:
    if not 1 <= m.year <= 9999:
        raise OraError(3001, "unimplemented feature: weeks and days of the week before year 1")
    return date(m.year, m.month, m.day)


JULIAN = 1_721_425  # the day before the first one of Python

# Longest first, so that MONTH is not read as MON and TH.
FIELDS: dict[str, Field] = {
    "SYYYY": lambda m: f"{'-' if m.year < 0 else ' '}{abs(m.year):04d}",
    "MONTH": lambda m: MONTHS[m.month - 1].ljust(9),
    "SSSSS": lambda m: f"{m.hour * 3600 + m.minute * 60 + m.second:05d}",
    "YYYY": lambda m: f"{abs(m.year):04d}",
    "RRRR": lambda m: f"{abs(m.year):04d}",
    "HH24": lambda m: f"{m.hour:02d}",
    "HH12": _clock12,
    "A.M.": lambda m: f"{_meridian(m)[0]}.M.",
    "P.M.": lambda m: f"{_meridian(m)[0]}.M.",
    "B.C.": lambda m: "B.C." if m.year < 0 else "A.D.",
    "A.D.": lambda m: "B.C." if m.year < 0 else "A.D.",
    "MON": lambda m: MONTHS[m.month - 1][:3],
    "TZH": _offset_hours,
    "TZM": _offset_minutes,
    "TZR": lambda m: f"{_offset_hours(m)}:{_offset_minutes(m)}",
    "IYYY": lambda m: f"{_day(m).isocalendar().year:04d}",
    "DDD": lambda m: f"{_day(m).timetuple().tm_yday:03d}",
    "DAY": lambda m: DAYS[_day(m).weekday()].ljust(9),
    "DY": lambda m: DAYS[_day(m).weekday()][:3],
    "IW": lambda m: f"{_day(m).isocalendar().week:02d}",
    "WW": lambda m: f"{(_day(m).timetuple().tm_yday + 6) // 7:02d}",
    "YYY": lambda m: f"{abs(m.year) % 1000:03d}",
    "YY": lambda m: f"{abs(m.year) % 100:02d}",
    "RR": lambda m: f"{abs(m.year) % 100:02d}",
    "MM": lambda m: f"{m.month:02d}",
    "DD": lambda m: f"{m.day:02d}",
    "HH": _clock12,
    "MI": lambda m: f"{m.minute:02d}",
    "SS": lambda m: f"{m.second:02d}",
    "AM": _meridian,
    "PM": _meridian,
    "BC": lambda m: "BC" if m.year < 0 else "AD",
    "AD": lambda m: "BC" if m.year < 0 else "AD",
    "D": lambda m: str(_day(m).isoweekday() % 7 + 1),  # of America, where the week begins on Sunday
    "J": lambda m: str(_day(m).toordinal() + JULIAN),
    "Q": lambda m: str((m.month + 2) // 3),
    "W": lambda m: str((m.day + 6) // 7),
}
_NOT_MODELLED = re.compile(r"SCC|CC|DL|DS|TS|S?YEAR|RM|TZD|EE?|IYY|IY|I|Y,YYY|Y|F[MX]|SP|TH", re.IGNORECASE)
_SCANNER = re.compile(
    r'"(?P<quoted>[^"]*)"|FF(?P<digits>[1-9]?)|(?P<name>'
    + "|".join(re.escape(n) for n in FIELDS)
    + r")|(?P<mark>[-/,.;: ]|[Xx]|T)",
    re.IGNORECASE,
)
_WORDS = frozenset({"MONTH", "MON", "DAY", "DY"})


def _cased(field: Field, spelled: str) -> Field:
    """Follow the case of the mask's first two letters, as Oracle does: `Mon` gives Mar, `mon` mar, `MON` MAR."""
    if spelled[:2].isupper():
        return field
    return (lambda m: field(m).capitalize()) if spelled[0].isupper() else (lambda m: field(m).lower())


def _packed(field: Field) -> Field:
    """Leave out the blanks and zeros that FM removes."""
    return lambda m: field(m).strip().lstrip("0") or "0"


def _constant(text: str) -> Field:
    return lambda _: text


@lru_cache(maxsize=256)
def compile_mask(mask: str, radix: str = ".", fraction_digits: int = 6) -> Callable[[Moment], str]:
    """Return the formatter of a mask; FF without a digit prints `fraction_digits`, the column's precision."""
    fields: list[Field] = []
    packed = mask[:2].upper() == "FM"
    at = 2 if packed else 0
    while at < len(mask):
        found = _SCANNER.match(mask, at)
        if found is None and _NOT_MODELLED.match(mask, at):
            raise OraError(3001, f"unimplemented feature: the date format {mask}")
        if found is None:
            raise OraError(1821, f"date format not recognized: {mask}")
        at = found.end()
        if (quoted := found["quoted"]) is not None:
            fields.append(_constant(quoted))
        elif (name := found["name"]) is not None:
            field = _packed(FIELDS[name.upper()]) if packed else FIELDS[name.upper()]
            fields.append(_cased(field, name) if name.upper() in _WORDS else field)
        elif (mark := found["mark"]) is not None:
            fields.append(_constant(radix if mark in "Xx" else mark))
        else:
            fields.append(_fraction(int(found["digits"] or fraction_digits)))
    parts = tuple(fields)
    return lambda m: "".join([part(m) for part in parts])


def date_text(value: datetime | Moment, mask: str) -> str:
    """Return TO_CHAR(value, mask), zeros for bytes that are no date."""
    fields = fields_of(value)
    return compile_mask(mask)(fields if fields.is_date else NO_DATE)
