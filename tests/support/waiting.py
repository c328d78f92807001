"""Wait for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.error import HTTPError, URLError
from urllib.request import urlopen


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
    except URLError:
        return False
