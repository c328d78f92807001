"""Try a step again as Airflow would, in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from redolake.config import Pipeline
from redolake.errors import Transient

T = TypeVar("T")


def make_retry(pipeline: Pipeline) -> Callable[[Callable[[], T]], T]:
    """Return a function that tries a step as Airflow would: again after transient errors only, with growing pauses."""
    retry = pipeline.retry
    return Retrying(
        retry=retry_if_exception_type(Transient),
        stop=stop_after_attempt(retry.attempts),
        wait=wait_exponential(multiplier=retry.initial_seconds, max=retry.max_seconds),
        reraise=True,
    )
