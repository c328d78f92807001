"""A line of progress that also says how much of how much work is done, so that a terminal can show a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar


class Frame(Protocol):
    def num_rows(self) -> int: ...


Rows = TypeVar("Rows", bound=Frame)


class Progress(str):
    """The line; `work` names what is counted. `total` is None where the amount of work is not known."""

    __slots__ = ("done", "total", "work")
    work: str
    done: int
    total: int | None

    def __new__(cls, line: str, work: str, done: int, total: int | None = None) -> Progress:
        self = super().__new__(cls, line)
        self.work, self.done, self.total = work, done, total
        return self


def count_rows(
    batches: Iterable[Rows], work: str, report: Callable[[str], None], expected: int | None = None
) -> Iterator[Rows]:
    """Pass batches of rows on, and report after each how many rows there were, of those `expected`. The lines are empty: logs
    need none."""
    done = 0
    for batch in batches:
        done += batch.num_rows()
        report(Progress("", work, done, None if expected is None or expected <= done else expected))
        yield batch
    report(Progress("", work, done, done))
