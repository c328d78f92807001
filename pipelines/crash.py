"""Named points behind every write, at which a test may kill the process; free of effect otherwise.

`REDOLAKE_CRASH_AT=name` kills at the first pass of that point, `name#3` at the third. `REDOLAKE_CRASH_AT=/file` kills at each
point whose name does not stand in the file yet, where it is written first: who starts the same work again and again comes
further each time, and ends when he was killed behind every write.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

VARIABLE = "REDOLAKE_CRASH_AT"

# Functions that write for others.
DOORS = frozenset(
    [
        "create",
        "create_record",
        "writing",
        "remove",
        "__exit__",
        "write_parquet",
        "write_record_once",
        "write_once",
        "write_text",
        "write_rows",
        "discard",
    ]
)

_passed: Counter[str] = Counter()
_one_at_a_time = threading.Lock()


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


def ledger_point() -> None:
    """Behind a transaction of the ledger, named by the method that wrote: no write is left out, whoever adds one."""
    if VARIABLE in os.environ:
        in_exit = 2  # from here: the door's generator, contextlib's __exit__, the method
        point(f"ledger.{sys._getframe(in_exit + 1).f_code.co_name}")


def file_point(path: str) -> None:
    """Behind a file that was written or removed, named by the function that wanted it and by what kind of file it is."""
    if VARIABLE in os.environ:
        frame = sys._getframe(1)
        while frame.f_code.co_name in DOORS and frame.f_back is not None:
            frame = frame.f_back
        point(f"{frame.f_code.co_name} {kind_of(path)}")


def kind_of(path: str) -> str:
    """`.../chain/0000001-00002000.json` is `chain/*.json`: a star for what is another on each run."""
    last = "/".join(path.split("/")[-3:])
    return re.sub(r"[^/]*[0-9A-Z][^/]*?(?=\.\w+$|/|$)", "*", last).removeprefix("*/").removeprefix("*/")
