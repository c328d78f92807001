"""Named points at which a test may kill the process; free of effect otherwise.

`REDOLAKE_CRASH_AT=name` kills at the first pass of that point, `name#3` at the third.
"""

from __future__ import annotations

import os
import signal
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
