"""Wait for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from urllib.error import HTTPError
from urllib.request import urlopen

T = TypeVar("T")


def first_answer(look: Callable[[], T | None], seconds: float = 30.0, pause: float = 0.2) -> T | None:
    """Return the first answer that is not None, or None at the deadline."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None and time.monotonic() < deadline:
        time.sleep(pause)
    return found


def wait_until(reached: Callable[[], object], seconds: float = 30.0, every: float = 0.005, what: str = "it") -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"{what} does not come to that within {seconds} s"
        time.sleep(every)


def answers(url: str) -> bool:
    """Return whether a server answers there without an error."""
    try:
        with urlopen(url, timeout=5):
            return True
    except HTTPError as refused:
        refused.close()
        return False
    except OSError:  # nobody listens, or a server that starts hangs up or is slow
        return False
