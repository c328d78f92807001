"""The end of a process at a crash point (pipelines/redolake/host/crash.py), within the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest import mock

import pytest


class Killed(BaseException):
    """Stands for SIGKILL: no code of the product catches it."""


@contextmanager
def killed_at(point: str) -> Iterator[None]:
    """End the block where it passes the point, with `merge#2` where it passes it for the second time. It fails where it does
    not."""
    wanted, _, nth = point.partition("#")
    passed = count(1)

    def kill(name: str) -> None:
        if name == wanted and next(passed) == int(nth or 1):
            raise Killed(name)

    with mock.patch("redolake.host.crash.point", kill), pytest.raises(Killed):
        yield
