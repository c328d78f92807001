"""Numbers as people read them."""

from __future__ import annotations

from datetime import datetime


def count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def clock(moment: datetime | None, now: datetime | None = None) -> str:
    """Return the time of day, with the date if it is another day than `now`."""
    if moment is None:
        return "–"
    is_today = now is None or moment.date() == now.date()
    return moment.strftime("%H:%M:%S") if is_today else moment.strftime("%Y-%m-%d %H:%M")


def plural(number: int, noun: str, several: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
