"""One Spark session for all jobs of a command, opened when the first one needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from redolake.config import Pipeline
from redolake.errors import SparkLost
from redolake.steps.shared.spark_jobs import open_spark, stop_session


class Spark:
    """One Spark session for all batches, opened when the first one needs it."""

    def __init__(self, pipeline: Pipeline, given: Any = None, opens: Callable[[], Any] | None = None) -> None:
        self._pipeline, self._given, self._own, self._opens = pipeline, given, None, opens
        self._opening = Lock()  # a snapshot may be loaded beside batches

    def session(self) -> Any:
        if self._given is not None:
            return self._given
        with self._opening:
            if self._own is None:
                self._own = open_spark(self._pipeline) if self._opens is None else self._opens()
            return self._own

    def replace(self) -> None:
        """Give up a session that has ended; the next call of `session` opens another."""
        from redolake.apply.spark.session import give_up

        ended, self._given, self._own = self._own or self._given, None, None
        if ended is not None:
            give_up(ended)

    def stop(self) -> None:
        """Close the session if this process opened it; the next batch opens another. Raises SparkLost if none can be opened."""
        own, self._own = self._own, None
        if own is not None:
            stop_session(own)


@contextmanager
def spark_when_needed(pipeline: Pipeline, given: Any, opens: Callable[[], Any] | None = None) -> Iterator[Spark]:
    """Yield the given session, or one that is opened when it is needed, by `opens` where that is given."""
    spark = Spark(pipeline, given, opens)
    try:
        yield spark
    finally:
        with suppress(SparkLost):  # the work is done, or the first error says why it is not
            spark.stop()
