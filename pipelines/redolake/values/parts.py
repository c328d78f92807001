"""Take a long row of things a part at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def in_parts(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` things, and a last one of fewer; none is taken before its list is asked for."""
    rest = iter(things)
    while some := list(islice(rest, size)):
        yield some
