"""Pauses between checks of something that is awaited: short at first, because most waits are short."""

from __future__ import annotations

from collections.abc import Iterator

FIRST_SECONDS = 1.0


def growing_pauses(max_seconds: float, initial_seconds: float = FIRST_SECONDS) -> Iterator[float]:
    """Yield seconds without end: `initial_seconds`, then twice as long each time, and never more than `max_seconds`."""
    pause = initial_seconds
    while True:
        pause = min(pause, max_seconds)
        yield pause
        pause *= 2
