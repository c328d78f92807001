"""The end of a process at a crash point (pipelines/crash.py), within the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest


class Killed(BaseException):
    """Stands for SIGKILL: no code of the product catches it."""


@contextmanager
def killed_at(point: str) -> Iterator[None]:
    """End the block where it passes the point for the first time. It fails where it does not."""

    def kill(name: str) -> None:
        if name == point:
            raise Killed(name)

    with mock.patch("pipelines.crash.point", kill), pytest.raises(Killed):
        yield
