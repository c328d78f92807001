"""DATE and TIMESTAMP outside the range of Python's datetime: Oracle's is 4712 BC to 9999 AD.

Oracle has the leap days of the Julian calendar up to 1582. It does not check the bytes that a client binds as a DATE, so a
column may contain what is no date at all.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import total_ordering

FIRST_YEAR, LAST_YEAR, GREGORIAN_SINCE = -4712, 9999, 1582


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A DATE or TIMESTAMP by its fields, for those that Python's datetime lacks: other years, nanoseconds.

    The year is negative before Christ, the offset is in minutes. Its order with datetime is that of the fields."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanosecond: int = 0
    offset: int = 0

    @property
    def microsecond(self) -> int:
        return self.nanosecond // 1000

    @property
    def is_date(self) -> bool:
        """Whether Oracle's calendar has the day, and the day this time."""
        leap = self.year % 4 == 0 and (self.year <= GREGORIAN_SINCE or self.year % 100 != 0 or self.year % 400 == 0)
        days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
        is_day = FIRST_YEAR <= self.year <= LAST_YEAR and self.year and 1 <= self.month <= 12
        is_time = 0 <= self.hour <= 23 and 0 <= self.minute <= 59 and 0 <= self.second <= 59
        return bool(is_day and 1 <= self.day <= days[self.month - 1] and is_time)

    def with_microsecond(self, microsecond: int) -> Moment:
        return replace(self, nanosecond=microsecond * 1000)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moment | datetime) and _ordered(self) == _ordered(other)

    def __lt__(self, other: object) -> bool:
        return _ordered(self) < _ordered(other) if isinstance(other, Moment | datetime) else NotImplemented

    def __hash__(self) -> int:
        return hash(_ordered(self))


def with_nanosecond(at: Moment | datetime, nanosecond: int) -> datetime | Moment:
    return moment_of_fields(at.year, at.month, at.day, at.hour, at.minute, at.second, nanosecond)


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


NO_DATE = Moment(*(0 for _ in fields(Moment)))  # TO_CHAR shows it for bytes that are no date


def _ordered(at: Moment | datetime) -> tuple[int, ...]:
    return at.year, at.month, at.day, at.hour, at.minute, at.second, nanosecond_of(at)


def nanosecond_of(at: Moment | datetime) -> int:
    return at.nanosecond if isinstance(at, Moment) else at.microsecond * 1000


def fields_of(at: Moment | datetime) -> Moment:
    return at if isinstance(at, Moment) else Moment(at.year, at.month, at.day, at.hour, at.minute, at.second, nanosecond_of(at))


def moment_of_fields(
    year: int, month: int, day: int, hour: int, minute: int, second: int, nanosecond: int = 0
) -> datetime | Moment:
    """Return a datetime, or a Moment where Python has no such point of time."""
    if nanosecond % 1000:
        return Moment(year, month, day, hour, minute, second, nanosecond)
    try:
        return datetime(year, month, day, hour, minute, second, nanosecond // 1000)
    except ValueError:
        return Moment(year, month, day, hour, minute, second, nanosecond)
