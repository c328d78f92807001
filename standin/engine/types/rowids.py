"""Text of ROWIDs: 6 characters of data object, 3 of file, 6 of block, 3 of row, each in base 64."""

from __future__ import annotations

import re
from functools import lru_cache

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {c: i for i, c in enumerate(_ALPHABET)}
ROWS_OF_BLOCK = 200
_FIRST_BLOCK = 131
_ROWID = re.compile(r"[A-Za-z0-9+/]{18}")
FILE = 12
_LOGICAL = "*"  # in front of the ROWID of a row of an index-organized table


def _digits(number: int, width: int) -> str:
    return "".join([_ALPHABET[(number >> shift) & 63] for shift in range(6 * (width - 1), -1, -6)])


@lru_cache(maxsize=4096)
def _head(data_object_id: int, block: int) -> str:
    return _digits(data_object_id, 6) + _digits(FILE, 3) + _digits(block, 6)


_ROWS = tuple(_digits(n, 3) for n in range(ROWS_OF_BLOCK))


def rowid_text(data_object_id: int, row: int) -> str:
    """Return the ROWID of a row by its number in the segment."""
    return _head(data_object_id, _FIRST_BLOCK + row // ROWS_OF_BLOCK) + _ROWS[row % ROWS_OF_BLOCK]


def block_of(row: int) -> int:
    """Return the block that holds a row by its number in the segment."""
    return _FIRST_BLOCK + row // ROWS_OF_BLOCK


def created_rowid(kind: int, data_object_id: int, file: int, block: int, row: int) -> str:
    """Return what DBMS_ROWID.ROWID_CREATE does for an extended ROWID (kind 1)."""
    return "".join(_digits(number, width) for number, width in ((data_object_id, 6), (file, 3), (block, 6), (row, 3)))


def rows_between(low: str | None, high: str | None, last: int) -> range:
    """Return the row numbers that may have a ROWID from `low` to `high`, in one segment whose last row is `last`."""

    def first_of(text: str) -> int:
        return (_number(text[9:15]) - _FIRST_BLOCK) * ROWS_OF_BLOCK + min(_number(text[15:]), ROWS_OF_BLOCK)

    return range(0 if low is None else max(0, first_of(low)), last + 1 if high is None else min(last, first_of(high)) + 1)


def row_of(text: str) -> int | None:
    """Return the row number of a ROWID; None for text that is not such a ROWID."""
    if len(text) != 18 or not _VALUES.keys() >= set(text):
        return None
    block, row = _number(text[9:15]), _number(text[15:])
    return None if block < _FIRST_BLOCK or row >= ROWS_OF_BLOCK else (block - _FIRST_BLOCK) * ROWS_OF_BLOCK + row


def _number(text: str) -> int:
    number = 0
    for character in text:
        number = number * 64 + _VALUES[character]
    return number


def encode_rowid(text: str) -> bytes:
    """Encode a value of type ROWID: data object, then file in the upper 10 bits before the block, then row."""
    return _encoded_block(text[:15]) + _number(text[15:]).to_bytes(2, "big")


@lru_cache(maxsize=4096)
def _encoded_block(text: str) -> bytes:
    address = _number(text[6:9]) << 22 | _number(text[9:15])
    return _number(text[:6]).to_bytes(4, "big") + address.to_bytes(4, "big")


def encode_urowid(text: str) -> bytes:
    """Encode a value of type UROWID: 1 for a physical address, 2 for a row of an index-organized table, whose key Oracle has
    here too; data object, file, block, row."""
    kind, text = (b"\x02", text[1:]) if text.startswith(_LOGICAL) else (b"\x01", text)
    parts = ((text[:6], 4), (text[6:9], 2), (text[9:15], 4), (text[15:], 2))
    return kind + b"".join(_number(part).to_bytes(width, "big") for part, width in parts)


def stored_text(raw: bytes) -> str:
    """Return the text of an encoded ROWID or UROWID."""
    if len(raw) == 10:
        address = int.from_bytes(raw[4:8], "big")
        numbers = (int.from_bytes(raw[:4], "big"), address >> 22, address & 0x3FFFFF, int.from_bytes(raw[8:], "big"))
    else:
        numbers = tuple(int.from_bytes(raw[a:b], "big") for a, b in ((1, 5), (5, 7), (7, 11), (11, 13)))  # type: ignore[assignment]
    text = "".join(_digits(number, width) for number, width in zip(numbers, (6, 3, 6, 3), strict=True))
    return _LOGICAL + text if len(raw) != 10 and raw[0] == 2 else text


def is_rowid(text: str) -> bool:
    return _ROWID.fullmatch(text) is not None
