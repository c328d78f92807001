"""Named points after every write, at which a test may kill the process; without effect otherwise.

`REDOLAKE_CRASH_AT=name` kills at the first pass of that point, `name#3` at the third. `REDOLAKE_CRASH_AT=/file` kills at each
point whose name is not in that file yet, and adds it first: who repeats the same work is killed once after every write, and
then finishes.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "REDOLAKE_CRASH_AT"

_passed: Counter[str] = Counter()
_one_at_a_time = threading.Lock()
_writer: ContextVar[str] = ContextVar("writer", default="unnamed")


def point(name: str) -> None:
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    with _one_at_a_time:
        _passed[name] += 1
        at, _, nth = wanted.partition("#")
        if is_new(name, Path(at)) if at.startswith("/") else at == name and _passed[name] == int(nth or 1):
            os.kill(os.getpid(), signal.SIGKILL)


def is_new(name: str, killed_at: Path) -> bool:
    with killed_at.open("a+") as file:
        file.seek(0)
        if name in file.read().splitlines():
            return False
        file.write(f"{name}\n")
    return True


def writer(function: Callable[P, R]) -> Callable[P, R]:
    """Name the points after this function's writes of files and of the ledger by the function."""

    @wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        before = _writer.set(function.__name__)
        try:
            return function(*args, **kwargs)
        finally:
            _writer.reset(before)

    return named


def ledger_point() -> None:
    """Pass the point after a transaction of the ledger."""
    point(f"ledger.{_writer.get()}")


def file_point(path: str) -> None:
    """Pass the point after a file was written or removed; its name contains the kind of file."""
    point(f"{_writer.get()} {kind_of(path)}")


def kind_of(path: str) -> str:
    """Return `chain/*.json` for `.../chain/0000001-00002000.json`: a star replaces every part that differs between runs."""
    last = "/".join(path.split("/")[-3:])
    return re.sub(r"[^/]*[0-9A-Z][^/]*?(?=\.\w+$|/|$)", "*", last).removeprefix("*/").removeprefix("*/")
