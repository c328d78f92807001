"""Find the rows whose quotes may not be doubled, by one scan of the text of a whole batch.

The scan keeps one bit per byte. So its cost follows the bytes and not the number of quotes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from redolake.values.combinations import Numbers

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
Words = np.ndarray[tuple[int], np.dtype[np.uint64]]
QUOTE = 0x27
# Digits, letters and all bytes of a character beyond ASCII are at or above it; what delimits a literal is below.
FIRST_OF_WORDS = 0x30
ROWS = 1000  # scanned at a time: their flags stay in the processor's cache
ONE = np.uint64(1)


@dataclass(frozen=True, slots=True)
class QuoteMarks:
    """Facts about each text. `between_words` may include texts whose quote is not between two letters, and omits none."""

    is_odd: Flags  # an odd number of quotes
    between_words: Flags
    adjacent: Flags  # two quotes side by side


def quote_marks(texts: pa.Array) -> QuoteMarks:
    """Scan a column of type string; a NULL is an empty text."""
    parts = [_scan(texts.slice(start, ROWS)) for start in range(0, max(len(texts), 1), ROWS)]
    return QuoteMarks(*(np.concatenate([getattr(part, name) for part in parts]) for name in QuoteMarks.__slots__))


def _scan(texts: pa.Array) -> QuoteMarks:
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    start, end = (int(ends[0]), int(ends[-1])) if len(texts) else (0, 0)
    if start == end:
        none = np.zeros(len(texts), np.bool_)
        return QuoteMarks(none, none, none)
    text = np.frombuffer(data, np.uint8)[start:end]
    at = ends.astype(np.int64) - start
    quotes, words = _bits(text)
    before, after = words << ONE, words >> ONE
    before[1:] |= words[:-1] >> np.uint64(63)
    after[:-1] |= words[1:] << np.uint64(63)
    next_quotes = quotes >> ONE
    next_quotes[:-1] |= quotes[1:] << np.uint64(63)
    is_odd = np.diff(_Totals(quotes).before(at)) % 2 == 1
    return QuoteMarks(is_odd, _inside(quotes & before & after, at, from_start=1), _inside(quotes & next_quotes, at))


class _Totals:
    """How many bits are set before a position."""

    def __init__(self, marks: Words) -> None:
        self._marks, self._totals = marks, np.zeros(len(marks) + 1, np.int64)
        np.cumsum(np.bitwise_count(marks), out=self._totals[1:])

    def before(self, at: Numbers) -> Numbers:
        word = at >> 6
        lower = self._marks[word] & ((ONE << (at & 63).astype(np.uint64)) - ONE)
        found: Numbers = self._totals[word] + np.bitwise_count(lower)
        return found


def _inside(marks: Words, at: Numbers, from_start: int = 0) -> Flags:
    """Return which texts have a mark, other than at their last byte, which says something of the next text, or before the byte
    `from_start`."""
    if not marks.any():
        return np.zeros(len(at) - 1, np.bool_)
    totals = _Totals(marks)
    last, first = np.maximum(at[1:] - 1, at[:-1]), np.minimum(at[:-1] + from_start, at[1:])
    found: Flags = totals.before(last) > totals.before(first)
    return found


def _bits(text: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> tuple[Words, Words]:
    """Return one bit per byte, set for quotes, and set for bytes that may belong to a word."""
    size, last = len(text) // 64 + 1, (len(text) + 7) // 8
    bits = np.zeros((2, size * 8), np.uint8)
    bits[0, :last] = np.packbits(text == QUOTE, bitorder="little")
    bits[1, :last] = np.packbits(text >= FIRST_OF_WORDS, bitorder="little")
    quotes, words = bits.view("<u8")
    return quotes, words
