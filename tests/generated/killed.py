"""Work that is ended after some of its writes, by chance, as a process that is killed, and repeated."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from redolake.host import crash


class Killed(BaseException):
    """Stands for a process that ends here."""


def repeat_killed(
    monkeypatch: pytest.MonkeyPatch,
    chance: random.Random,
    work: Callable[[], object],
    at: tuple[str, ...] = (),
    share: float = 0.1,
) -> int:
    """Do the work, end it after up to three writes by chance, and repeat it until it ends by itself. Return how often it was
    ended. `at` names the points of writes, by default all."""
    ended = 0

    def end_sometimes(point: str) -> None:
        nonlocal ended
        is_lease = threading.current_thread().name == "lease"  # a thread beside the work, which goes on without it
        if not is_lease and ended < 3 and (not at or point in at) and chance.random() < share:
            ended += 1
            raise Killed

    with monkeypatch.context() as killing:
        killing.setattr(crash, "point", end_sometimes)
        while True:
            try:
                work()
                return ended
            except Killed:
                continue
