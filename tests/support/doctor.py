"""What the doctor finds, as a list."""

from __future__ import annotations

from typing import Any

from redolake import steps
from redolake.config import Pipeline
from redolake.errors import Finding


def run_doctor(pipeline: Pipeline, source: Any = None, *, spark: Any = None, **asked: Any) -> list[Finding]:
    return list(steps.examine(steps.Run(pipeline, source, spark), **asked).findings)
