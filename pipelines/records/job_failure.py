"""The typed error that ended a Spark job. A cluster shows nothing else of the error to the process that waits."""

from __future__ import annotations

from dataclasses import dataclass

TERMINAL_EXIT = 3  # exit code of a job that would fail the same way again; 1 for all else


@dataclass(frozen=True, slots=True)
class JobFailure:
    terminal: bool
    text: str
