"""Numbers as people read them."""

from __future__ import annotations

from datetime import datetime

from redolake.records.batches.manifest import HistoryFact


def count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def of_history(found: HistoryFact) -> str:
    """Return since when a history's newest epoch counts, and how far its commits go: they may end before the epoch begins."""
    since = "" if found.since is None else f" counts since SCN {count(found.since)}, because {found.why}"
    last = "" if found.position is None else f"; the last commit is of SCN {count(found.position)}"
    return f"epoch {found.epoch}{since}{last}"


def clock(moment: datetime | None, now: datetime | None = None) -> str:
    """Return the time of day, with the date if it is another day than `now`."""
    if moment is None:
        return "–"
    is_today = now is None or moment.date() == now.date()
    return moment.strftime("%H:%M:%S") if is_today else moment.strftime("%Y-%m-%d %H:%M")
