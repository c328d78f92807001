"""The process that forks Spark's Python workers. It imports what they need, and ends once its session has no use for it.

Spark gives each session of a Connect server such a process of its own, and stops none before itself (SPARK-54055, seen with
4.2.0). Each batch through Connect has a session, so each would leave a process of 50 MB.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from importlib import import_module

from pyspark.daemon import manager

FORKED_WITH = ("pyspark.worker", "redolake.decode.choice", "redolake.decode.changes")
# Spark ends a worker that was idle for a minute, and starts another daemon where one is needed again.
UNUSED_SECONDS, CHECK_SECONDS = 60.0, 15.0


def end_when_unused(seconds: float, check_seconds: float) -> None:
    """End this process once it has had no worker for so long. Workers, which are forked, inherit no timer."""
    used_at = time.monotonic()

    def check(*_: object) -> None:
        nonlocal used_at
        if has_workers():
            used_at = time.monotonic()
        elif time.monotonic() - used_at >= seconds:
            os._exit(0)

    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, check_seconds, check_seconds)


def has_workers() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def main() -> None:
    for name in FORKED_WITH:
        import_module(name)
    gc.freeze()  # a worker collects garbage after each task: 26 ms over all that was imported, whose pages it would copy
    if os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default") != "default":  # else it is Spark's only one
        end_when_unused(UNUSED_SECONDS, CHECK_SECONDS)
    manager()


if __name__ == "__main__":
    main()
