"""TIMESTAMP WITH TIME ZONE and WITH LOCAL TIME ZONE: an instant, with an offset or a region, or with the session's zone.

Oracle numbers its regions. The numbers here are not Oracle's: a client could not know those either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import total_ordering
from zoneinfo import ZoneInfo

from standin.moment import Moment, fields_of, shifted

REGIONS = ("Europe/Berlin", "Europe/London", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
_REGION_FLAG = 0x80


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Zoned:
    """`utc` is the instant, and orders them; `zone` an offset in minutes, a region, or None for a local time zone."""

    utc: Moment
    zone: int | str | None = None

    def offset(self, session: int | str = 0) -> int:
        """Return the minutes by which local time is ahead of UTC."""
        zone = session if self.zone is None else self.zone
        return region_offset(zone, self.utc) if isinstance(zone, str) else zone

    def local(self, session: int | str = 0) -> Moment:
        return shifted(self.utc, self.offset(session))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Zoned) and self.utc == other.utc

    def __lt__(self, other: object) -> bool:
        return self.utc < other.utc if isinstance(other, Zoned) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.utc)


def region_offset(region: str, utc: Moment) -> int:
    at = datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, tzinfo=UTC)
    delta = at.astimezone(ZoneInfo(region)).utcoffset()
    assert delta is not None
    return int(delta.total_seconds()) // 60


def zoned(local: datetime | Moment, zone: int | str | None, session: int | str = 0) -> Zoned:
    """Return the instant of a local time. A client's datetime may bring its own offset."""
    local = local if isinstance(local, datetime) else replace(local, offset=0)
    if isinstance(local, datetime) and (delta := local.utcoffset()) is not None:
        minutes = int(delta.total_seconds()) // 60
        return Zoned(replace(shifted(fields_of(local), -minutes), offset=0), None if zone is None else minutes)
    own = session if zone is None else zone
    if isinstance(own, str):
        at = datetime(local.year, local.month, local.day, local.hour, local.minute, local.second, tzinfo=ZoneInfo(own))
        delta = at.utcoffset()
        assert delta is not None
        minutes = int(delta.total_seconds()) // 60
    else:
        minutes = own
    return Zoned(replace(shifted(fields_of(local), -minutes), offset=0), zone)


def session_zone(setting: str) -> int | str:
    """Return TIME_ZONE of a session as a region, or in minutes."""
    return setting if setting in REGIONS else zone_minutes(setting)


def zone_minutes(zone: str) -> int:
    """Return an offset in minutes. Other names count as UTC."""
    sign = -1 if zone.startswith("-") else 1
    hours, colon, minutes = zone.lstrip("+-").partition(":")
    return sign * (int(hours) * 60 + int(minutes)) if colon and hours.isdigit() and minutes.isdigit() else 0


def zone_bytes(value: Zoned) -> bytes:
    """Encode an offset as hours plus 20 and minutes plus 60, a region as its number with the first bit set."""
    if isinstance(value.zone, str):
        number = 1 + REGIONS.index(value.zone)
        return bytes((_REGION_FLAG | number >> 6, (number & 63) << 2))
    minutes = value.offset()
    hours = int(minutes / 60)
    return bytes((hours + 20, minutes - 60 * hours + 60))


def zone_of(encoded: bytes) -> int | str:
    if encoded[0] & _REGION_FLAG:
        return REGIONS[((encoded[0] & 0x7F) << 6 | encoded[1] >> 2) - 1]
    return (encoded[0] - 20) * 60 + encoded[1] - 60
