"""The keys of a session's rows, in an order that depends on its own actions alone, with undo for rollbacks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

K = TypeVar("K")


class KeyPool(Generic[K]):
    """A set with random selection in constant time."""

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._index: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: K) -> bool:
        return key in self._index

    def draw(self, rng: Random) -> K:
        return self._keys[rng.randrange(len(self._keys))]

    def add(self, key: K) -> None:
        self._index[key] = len(self._keys)
        self._keys.append(key)

    def discard(self, key: K) -> None:
        index = self._index.pop(key, None)
        if index is None:
            return
        last = self._keys.pop()
        if index < len(self._keys):
            self._keys[index], self._index[last] = last, index


class UndoLog:
    """Undoes changes of key pools, back to a mark."""

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

    def undo_to(self, mark: int) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()

    def clear(self) -> None:
        self._undo.clear()
