"""INTERVAL DAY TO SECOND and YEAR TO MONTH as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta

from standin.interface import OraError

_HALF, _SMALL = 0x80000000, 60
_SECOND, _DAY = 10**9, 86_400 * 10**9
_DAYS = re.compile(r"\s*([+-]?)(\d{1,9}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?\s*", re.ASCII)
_YEARS = re.compile(r"\s*([+-]?)(\d{1,9})-(\d{1,2})\s*", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class DaySecond:
    """`digits` are those of days and of the fraction in the value's type, with which TO_CHAR shows it."""

    nanoseconds: int
    digits: tuple[int, int] = field(default=(2, 6), compare=False)

    @classmethod
    def of(cls, value: timedelta) -> DaySecond:
        return cls(value // timedelta(microseconds=1) * 1000)

    @property
    def span(self) -> timedelta:
        """Return it as Python has it, without the digits after those of microseconds."""
        return timedelta(microseconds=abs(self.nanoseconds) // 1000) * (-1 if self.nanoseconds < 0 else 1)

    def __neg__(self) -> DaySecond:
        return DaySecond(-self.nanoseconds, self.digits)

    def __add__(self, other: DaySecond) -> DaySecond:
        return DaySecond(self.nanoseconds + other.nanoseconds)

    @classmethod
    def parse(cls, text: str) -> DaySecond:
        found = _DAYS.fullmatch(text)
        if found is None or int(found[3]) > 23 or max(int(found[4]), int(found[5])) > 59:
            raise OraError(1867, "the interval is invalid")
        days, hours, minutes, seconds = (int(found[i]) for i in (2, 3, 4, 5))
        total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * _SECOND + int((found[6] or "").ljust(9, "0"))
        return cls(-total if found[1] == "-" else total)

    @classmethod
    def decode(cls, raw: bytes) -> DaySecond:
        days, nanoseconds = int.from_bytes(raw[:4], "big") - _HALF, int.from_bytes(raw[7:11], "big") - _HALF
        hours, minutes, seconds = (byte - _SMALL for byte in raw[4:7])
        return cls((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * _SECOND + nanoseconds)

    def encode(self) -> bytes:
        sign, (days, rest) = (-1 if self.nanoseconds < 0 else 1), divmod(abs(self.nanoseconds), _DAY)
        seconds, fraction = divmod(rest, _SECOND)
        small = (sign * part + _SMALL for part in (seconds // 3600, seconds // 60 % 60, seconds % 60))
        return (sign * days + _HALF).to_bytes(4, "big") + bytes(small) + (sign * fraction + _HALF).to_bytes(4, "big")

    def text(self, day_digits: int, fraction_digits: int) -> str:
        days, rest = divmod(abs(self.nanoseconds), _DAY)
        seconds, fraction = divmod(rest, _SECOND)
        time = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        shown = f".{f'{fraction:09d}'[:fraction_digits]}" if fraction_digits else ""
        return f"{'-' if self.nanoseconds < 0 else '+'}{days:0{day_digits}d} {time}{shown}"

    def __str__(self) -> str:
        return self.text(*self.digits)


@dataclass(frozen=True, slots=True, order=True)
class YearMonth:
    """`digits` are those of the years in the value's type, with which TO_CHAR shows it."""

    months: int
    digits: int = field(default=2, compare=False)

    def __neg__(self) -> YearMonth:
        return YearMonth(-self.months, self.digits)

    def __add__(self, other: YearMonth) -> YearMonth:
        return YearMonth(self.months + other.months)

    @classmethod
    def parse(cls, text: str) -> YearMonth:
        found = _YEARS.fullmatch(text)
        if found is None or int(found[3]) > 11:
            raise OraError(1867, "the interval is invalid")
        total = int(found[2]) * 12 + int(found[3])
        return cls(-total if found[1] == "-" else total)

    @classmethod
    def decode(cls, raw: bytes) -> YearMonth:
        return cls((int.from_bytes(raw[:4], "big") - _HALF) * 12 + raw[4] - _SMALL)

    def encode(self) -> bytes:
        sign, (years, months) = (-1 if self.months < 0 else 1), divmod(abs(self.months), 12)
        return (sign * years + _HALF).to_bytes(4, "big") + bytes((sign * months + _SMALL,))

    def text(self, year_digits: int) -> str:
        years, months = divmod(abs(self.months), 12)
        return f"{'-' if self.months < 0 else '+'}{years:0{year_digits}d}-{months:02d}"

    def __str__(self) -> str:
        return self.text(self.digits)
