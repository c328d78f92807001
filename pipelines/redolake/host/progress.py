"""A line of progress that also says how much of how much work is done, so that a terminal can show a bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from redolake.values.amounts import done_of, pace

Report = Callable[[str], None]
SILENT_SECONDS = 10.0  # the longest time without a word of how far the work is


def silent(_: str) -> None:
    """Ignore progress."""


class Frame(Protocol):
    def num_rows(self) -> int: ...


Rows = TypeVar("Rows", bound=Frame)


class Progress(str):
    """The line; `work` names what is counted. `total` is None where the amount of work is not known, `seconds` where it is not
    known how long the work has taken so far."""

    __slots__ = ("done", "seconds", "total", "work")
    work: str
    done: int
    total: int | None
    seconds: float | None

    def __new__(cls, line: str, work: str, done: int, total: int | None = None, seconds: float | None = None) -> Progress:
        self = super().__new__(cls, line)
        self.work, self.done, self.total, self.seconds = work, done, total, seconds
        return self

    @property
    def per_second(self) -> float | None:
        return self.done / self.seconds if self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """Return what the rest takes at the present rate."""
        rate = self.per_second
        return (self.total - self.done) / rate if rate and self.total is not None else None

    @property
    def amounts(self) -> str:
        """Return how much is done, how fast, and what is left: `120,000 of some 500,000 (24 %), 4,000 a second, some 95 s
        left`."""
        return done_of(self.done, self.total) + pace(self.per_second, self.seconds_left)


def count_rows(
    batches: Iterable[Rows],
    work: str,
    report: Report,
    expected: int | None = None,
    record: Callable[[Progress], object] = lambda _: None,
) -> Iterator[Rows]:
    """Pass batches of rows on, and report after each how many rows there were, of those `expected`. Every ten seconds the
    report is a line, which `record` gets too; the others are empty, for a terminal's bar alone."""
    done, begun, said_at = 0, time.monotonic(), time.monotonic()
    for batch in batches:
        done, seconds = done + batch.num_rows(), time.monotonic() - begun
        found = Progress("", work, done, None if expected is None or expected <= done else expected, seconds)
        if time.monotonic() - said_at >= SILENT_SECONDS:
            said_at, found = time.monotonic(), Progress(f"{work}: {found.amounts}", work, done, found.total, seconds)
            record(found)
        report(found)
        yield batch
    report(Progress("", work, done, done))
