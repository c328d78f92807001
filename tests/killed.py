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


def kill_at(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    """Have the code that follows end where it passes the point, or with `merge#2` where it passes it for the second time."""
    at, _, nth = wanted.partition("#")
    passed: list[str] = []

    def point(name: str) -> None:
        passed.append(name)
        if name == at and passed.count(at) == int(nth or 1):
            raise Killed(name)

    monkeypatch.setattr("pipelines.crash.point", point)
