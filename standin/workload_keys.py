"""The keys a session believes to exist, in an order that depends on its own actions only, and taken back with them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

K = TypeVar("K")


class KeyPool(Generic[K]):
    """A set to draw from at random, in constant time."""

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._place: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: K) -> bool:
        return key in self._place

    def draw(self, rng: Random) -> K:
        return self._keys[rng.randrange(len(self._keys))]

    def add(self, key: K) -> None:
        self._place[key] = len(self._keys)
        self._keys.append(key)

    def discard(self, key: K) -> None:
        place = self._place.pop(key, None)
        if place is None:
            return
        last = self._keys.pop()
        if place < len(self._keys):
            self._keys[place], self._place[last] = last, place


class Journal:
    """What must be believed again after a rollback."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    @property
    def mark(self) -> int:
        return len(self._undo)

    def added(self, pool: KeyPool[K], key: K) -> None:
        pool.add(key)
        self._undo.append(lambda: pool.discard(key))

    def removed(self, pool: KeyPool[K], key: K) -> None:
        pool.discard(key)
        self._undo.append(lambda: pool.add(key))

    def back_to(self, mark: int) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()

    def forget(self) -> None:
        self._undo.clear()
