"""How much a window and a batch have, how much redo must be left, and how often a step is tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from pydantic import Field
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from redolake.config.values import Bytes, Settings
from redolake.errors import Transient

T = TypeVar("T")
log = logging.getLogger(__name__)


class WindowLimits(Settings):
    max_bytes: Bytes = Field(2 * 2**30, description="redo per window, all threads together; a window has at least one log")
    slice_bytes: Bytes = Field(512 * 2**20, description="redo per LogMiner session; a session has at least one log")


class BatchLimits(Settings):
    max_rows: int = Field(
        10_000_000,
        ge=1,
        description="change rows after which a batch ends, with its window, so that a long backlog becomes visible in "
        "parts; the catch-up of a resumed table is one batch",
    )


class RunwayLimits(Settings):
    warn_below_hours: float = Field(12, ge=0, description="warn when needed logs may be deleted within this many hours")
    warn_below_bytes: Bytes | None = Field(None, description="the same in bytes of redo, all redo threads together")


class Retry(Settings):
    attempts: int = Field(5, ge=1, le=100, description="attempts of a step that fails with a transient error")
    initial_seconds: float = Field(1.0, gt=0, description="first pause between attempts; each further one is twice as long")
    max_seconds: float = Field(60.0, gt=0, description="longest pause between attempts")

    def call(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` again after transient errors only, with growing pauses, and log before each what failed. Raises the
        last attempt's error. One that a call within it has tried that often (a connection of a step) is not tried again."""
        try:
            return Retrying(
                retry=retry_if_exception(lambda error: isinstance(error, Transient) and not error.is_tried_out),
                stop=stop_after_attempt(self.attempts),
                wait=wait_exponential(multiplier=self.initial_seconds, max=self.max_seconds),
                before_sleep=self._log_pause,
                reraise=True,
            )(attempt)
        except Transient as error:
            if self.attempts > 1:
                error.is_tried_out = True
            raise

    def _log_pause(self, state: RetryCallState) -> None:
        failed, error = state.attempt_number, state.outcome and state.outcome.exception()
        assert isinstance(error, Transient)
        log.warning("attempt %d of %d in %g s, after %s", failed + 1, self.attempts, state.upcoming_sleep, error.what)
