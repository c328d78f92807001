"""A pytest plugin for the process that runs the driver's suite: a time limit for each test, and its outcome as a line of JSON.

It is loaded by name, with this folder on the path. It imports nothing of Redolake, whose own `tests` the suite's would shadow.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_OUTCOMES = Path(os.environ["DRIVER_OUTCOMES"])
_SECONDS = int(os.environ["DRIVER_SECONDS"])


class TookTooLong(BaseException):
    """Not an Exception: neither the driver nor a test may catch it."""


def _stop(*_: Any) -> None:
    raise TookTooLong(f"longer than {_SECONDS} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write the outcome of a test: that of its call, or of the fixture that failed or skipped it."""
    if report.when == "call" or report.outcome != "passed":
        with _OUTCOMES.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"test": report.nodeid, "outcome": report.outcome, "reason": _reason(report)}) + "\n")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        with _OUTCOMES.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"test": report.nodeid, "outcome": "failed", "reason": str(report.longrepr)}) + "\n")


def _reason(report: pytest.TestReport) -> str:
    found = report.longrepr
    if isinstance(found, tuple):
        return str(found[2])
    crash = getattr(found, "reprcrash", None)
    return crash.message if crash is not None else str(found or "")
