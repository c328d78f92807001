"""The limits within which a table that a DDL holds is snapshotted again by itself."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from redolake.config.values import Settings


def checked_hours(value: str) -> str:
    """Return the hours if they name a part of the day."""
    found = re.fullmatch(r"(\d{2})-(\d{2})", value)
    if found is None or found[1] == found[2] or not all(int(hour) < 24 for hour in found.groups()):
        raise ValueError('write two hours of the day in UTC from 00 to 23, e.g. "22-05"')
    return value


def is_within(hours: str | None, hour: int) -> bool:
    """Return whether an hour of the day is one of the hours; without any, it is."""
    if hours is None:
        return True
    first, end = (int(text) for text in hours.split("-"))
    return first <= hour < end if first < end else hour >= first or hour < end


class ResnapshotLimits(Settings):
    """A table's settings count before the pipeline's."""

    max_rows: int = Field(
        1_000_000, ge=0, description="the largest table; the read stops at the first row beyond, and the table stays held"
    )
    hours_utc: Annotated[str, AfterValidator(checked_hours)] | None = Field(
        None, description='hours of the day in UTC in which a read may begin, e.g. `"22-05"`; default: any'
    )
    attempts: int = Field(3, ge=1, description="attempts for one hold; then a person has to act")
    pause_minutes: float = Field(60, ge=0, description="shortest time between two attempts for a table, failed or not")

    def begins_at(self, hour: int) -> bool:
        """Return whether a read may begin in this hour of the day."""
        return is_within(self.hours_utc, hour)
