"""How a time is written beside an SCN. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(at: datetime | str | None) -> str:
    """Return an aware time, or its ISO text, as `2026-11-22 12:00:03` in UTC; nothing for a time that is not known."""
    if at is None:
        return ""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def beside(at: datetime | str | None, how: str = "") -> str:
    """Return the time in brackets, to be put after an SCN, such as ` (by 2026-11-22 12:00:03 UTC)`; nothing for a time that is
    not known."""
    return "" if at is None else f" ({how}{utc_text(at)} UTC)"
