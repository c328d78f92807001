"""An end of a range as people write it: an SCN, a time with its zone, `first`, `now`, or the name of a window. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from redolake.values.scn import check_scn

WINDOW = re.compile(r"(\d{10})-(\d{20})-(\d{20})")
COPY = re.compile(r"(?P<start>\d+)-(?P<end>\d+)-(?P<kind>copy|replaced)")  # whole copies of tables: steps/ranges/swap.py
TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?([+-]\d{2}:\d{2}|[A-Za-z][\w+/-]*)?")
PATTERN = r"^\s*(\d+|first|now|\d{10}-\d{20}-\d{20}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*)\s*$"  # of all texts that may be one
FORMS = 'an SCN, a time with its zone such as "2026-11-20 08:00 Europe/Berlin", `first`, `now`, or the name of a window'


@dataclass(frozen=True, slots=True)
class AtWindow:
    """The window with this name: its start where a range begins with it, its end where a range ends with it."""

    name: str


Edge = Literal["first", "now"]  # the beginning or the end of what has landed
Moment = int | datetime | Edge | AtWindow  # an SCN, a time in UTC


def parse_moment(text: str) -> Moment:
    """Raise ValueError for a text that is none of FORMS, and for a local time that the zone has twice or not at all."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        check_scn(scn := int(text.lstrip("0")[:40] or "0"))  # Python reads no number of thousands of digits
        return scn
    if text in ("first", "now"):
        return "first" if text == "first" else "now"
    if WINDOW.fullmatch(text):
        return AtWindow(text)
    found = TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not {FORMS}")
    day, clock, zone = found.groups()
    if zone is None:
        raise ValueError(f"{text!r} has no zone: write `{text} UTC`, `{text} Europe/Berlin` or `{text}+01:00`")
    try:
        local = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError as wrong:
        raise ValueError(f"{text!r} is no time: {wrong}") from None
    try:
        return in_utc(local, zone, text)
    except OverflowError:
        raise ValueError(f"{text!r} is no time: in UTC it is before the year 1 or after 9999") from None


def in_utc(local: datetime, zone: str, text: str) -> datetime:
    if zone[0] in "+-":
        return datetime.fromisoformat(f"{local.isoformat()}{zone}").astimezone(UTC)
    if zone.upper() in ("Z", "UTC"):
        return local.replace(tzinfo=UTC)
    try:
        known = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{text!r}: no time zone {zone!r} is known here; write an offset such as +01:00") from None
    first, second = (local.replace(tzinfo=known, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return first
    raise ValueError(f"{text!r} {two_readings(local, known, first, second)}")


def two_readings(local: datetime, zone: ZoneInfo, first: datetime, second: datetime) -> str:
    """Say what a local time around a change of the clock may mean: it is there twice, or not at all."""
    shown = tuple(f"{at:%Y-%m-%d %H:%M:%S}".removesuffix(":00") for at in (first, second))
    if first < second:
        offsets = [offset_text(local.replace(tzinfo=UTC) - at) for at in (first, second)]
        both = " and ".join(f"as {at} UTC ({offset})" for at, offset in zip(shown, offsets, strict=True))
        day = f"{local:%Y-%m-%d %H:%M}"
        return (
            f"is there twice in {zone.key}, {both}, because the clock is set back then: write `{day}{offsets[0]}` or "
            f"`{day}{offsets[1]}`"
        )
    meant = [f"{at.astimezone(zone):%Y-%m-%d %H:%M%z}" for at in (second, first)]
    both = " or ".join(f"`{one[:-2]}:{one[-2:]}`" for one in meant)
    return f"does not exist in {zone.key}, because the clock is set forward then: write {both}"


def check_window(name: str) -> None:
    """Raise ValueError for a text that is no name of a window."""
    if not WINDOW.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a window, such as 1212321600-00000000000002000000-00000000000002000161")


def check_copy(name: str) -> None:
    """Raise ValueError for a text that is no name of a whole copy."""
    if not COPY.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name of a whole copy, such as 2000000-2000400-copy, which a backfill to `copy` prints"
        )


def is_time(text: str | int) -> bool:
    """Return whether a text means a time, so that a database may know its SCN."""
    try:
        return isinstance(parse_moment(str(text)), datetime)
    except ValueError:
        return False


def offset_text(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
