"""Text of ROWIDs: 6 characters of data object, 3 of file, 6 of block, 3 of row, each in base 64."""

from __future__ import annotations

from functools import lru_cache

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {c: i for i, c in enumerate(_ALPHABET)}
_ROWS_PER_BLOCK = 200
_FIRST_BLOCK = 131
_FILE = 12


def _digits(number: int, width: int) -> str:
    return "".join([_ALPHABET[(number >> shift) & 63] for shift in range(6 * (width - 1), -1, -6)])


@lru_cache(maxsize=4096)
def _head(data_object_id: int, block: int) -> str:
    return _digits(data_object_id, 6) + _digits(_FILE, 3) + _digits(block, 6)


_ROWS = tuple(_digits(n, 3) for n in range(_ROWS_PER_BLOCK))


def rowid_text(data_object_id: int, row: int) -> str:
    """Return the ROWID of a row by its number in the segment."""
    return _head(data_object_id, _FIRST_BLOCK + row // _ROWS_PER_BLOCK) + _ROWS[row % _ROWS_PER_BLOCK]


def row_of(text: str) -> int | None:
    """Return the row number of a ROWID; None for text that is not such a ROWID."""
    if len(text) != 18 or not _VALUES.keys() >= set(text):
        return None
    block, row = _number(text[9:15]), _number(text[15:])
    return None if block < _FIRST_BLOCK or row >= _ROWS_PER_BLOCK else (block - _FIRST_BLOCK) * _ROWS_PER_BLOCK + row


def _number(text: str) -> int:
    number = 0
    for character in text:
        number = number * 64 + _VALUES[character]
    return number
