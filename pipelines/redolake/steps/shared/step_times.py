"""Measure how long the steps from the gate to the merge take, for one line per batch."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redolake.records.batches.manifest import BatchResult
from redolake.records.jobs import Result

SHOWN_FROM_SECONDS = 0.05
START_SPARK = "start Spark"


@dataclass(slots=True)
class Job:
    result: Result | None = None


class StepTimes:
    """The seconds of each step since the last batch became visible, in the order of the steps."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[step] += time.monotonic() - began

    @contextmanager
    def of_job(self) -> Iterator[Job]:
        """Divide the time of a job, but for the start of Spark in it, by its result. Tables run side by side: what they took
        together is divided as the sum of their own times."""
        job, began, before = Job(), time.monotonic(), self._seconds[START_SPARK]
        yield job
        seconds = time.monotonic() - began - (self._seconds[START_SPARK] - before)
        if isinstance(job.result, BatchResult):
            result = job.result
            in_tables = sum(table.seconds for table in result.tables)
            merge = result.apply_seconds * sum(table.merge_seconds for table in result.tables) / (in_tables or 1.0)
            self._seconds["assemble"] += seconds - result.apply_seconds
            self._seconds["decode"] += result.apply_seconds - merge
            self._seconds["merge"] += merge
        else:
            self._seconds["Spark"] += seconds

    def take_text(self) -> str:
        """Return the steps' times as text, and begin again."""
        seconds, self._seconds = self._seconds, defaultdict(float)
        steps = ", ".join(f"{step} {taken:.1f} s" for step, taken in seconds.items() if taken >= SHOWN_FROM_SECONDS)
        return f"{sum(seconds.values()):.1f} s of work ({steps})" if steps else "less than 0.1 s of work"
