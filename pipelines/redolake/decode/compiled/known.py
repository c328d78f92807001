"""The vocabulary of separators as the kernels use it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from redolake.decode.compiled import statements
from redolake.decode.redo_sql import MAX_SEPARATORS
from redolake.decode.vocabulary import Vocabulary


class KnownSeparators:
    """The separators read so far, with a hash table over their texts, and per separator which two came after it last."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._texts: list[bytes] = []
        self._guesses = np.full((1, 2), -1, np.int32)  # the first row is of the beginning of a statement
        self.learn(())

    def learn(self, texts: Iterable[str]) -> None:
        """Add separators that the vocabulary lacks."""
        new = list(dict.fromkeys(texts))
        self.vocabulary.codes(new)
        self._texts += [text.encode() for text in new]
        self._octets = np.frombuffer(b"".join(self._texts) or b"\0", np.uint8)
        self._bounds = np.append(0, np.cumsum([len(text) for text in self._texts], dtype=np.int64)).astype(np.int32)
        self._slots = np.empty(1 << (2 * len(self._texts)).bit_length(), np.int32)
        statements.index_separators(self._octets, self._bounds, self._slots)
        self._guesses = np.concatenate([self._guesses, np.full((len(new), 2), -1, np.int32)])

    def arrays(self) -> statements.Separators:
        return statements.Separators(self._octets, self._bounds, self._slots, self._guesses, self.vocabulary.arrays())


_known = KnownSeparators()


def known_separators() -> KnownSeparators:
    """Return the separators of this process; new ones once numbers or names have made the old ones too many."""
    global _known
    if len(_known.vocabulary) > MAX_SEPARATORS:
        _known = KnownSeparators()
    return _known
