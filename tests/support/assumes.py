"""Mark a test as the proof of what the product assumes of a library: docs/development/assumptions.md is made of the marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def assumes(what: str, *, of: str, used_in: str, says: str) -> Callable[[Test], Test]:
    """`of` is the library as constraints.txt names it. `used_in` is the file that relies on it, and `says` words of the comment
    there: an assumption whose comment has gone is removed too. All are literals, which the page reads."""
    return lambda test: test
