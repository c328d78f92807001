"""Named points at which a test may kill the process; free of effect otherwise.

`REDOLAKE_CRASH_AT=name` kills at the first pass of that point, `name#3` at the third.
tests/e2e/test_kills_everywhere.py kills at each.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter

VARIABLE = "REDOLAKE_CRASH_AT"

_passed: Counter[str] = Counter()


def point(name: str) -> None:
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _passed[name] += 1
    at, _, nth = wanted.partition("#")
    if at == name and _passed[name] == int(nth or 1):
        os.kill(os.getpid(), signal.SIGKILL)


def ledger_point() -> None:
    """After a transaction of the ledger, named by the method that wrote: no write is left out, whoever adds one."""
    if VARIABLE in os.environ:
        in_exit = 2  # from here: the door's generator, contextlib's __exit__, the method
        point(f"ledger.{sys._getframe(in_exit + 1).f_code.co_name}")
