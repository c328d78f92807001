"""How much a window and a batch have, how much redo must be left, and how often a step is tried again."""

from __future__ import annotations

from pydantic import Field

from redolake.config.values import Bytes, Settings


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
