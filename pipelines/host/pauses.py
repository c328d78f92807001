"""Pauses between checks of something that is awaited: short at first, because most waits are short."""

from __future__ import annotations

from collections.abc import Iterator

FIRST_SECONDS = 1.0


def growing_pauses(most_seconds: float, first_seconds: float = FIRST_SECONDS) -> Iterator[float]:
    """Yield seconds without end: `first_seconds`, then twice as long each time, and never more than `most_seconds`."""
    pause = first_seconds
    while True:
        pause = min(pause, most_seconds)
        yield pause
        pause *= 2
