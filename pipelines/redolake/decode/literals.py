"""Find the literals of a batch of redo statements by the parity of quotes, over the whole Arrow buffer at once.

Outside a literal a quote opens one; inside, a doubled quote is a quote and a single one closes the literal. A format mask
is not a value, so it is left to the separator around it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_QUOTE = ord("'")


@dataclass(frozen=True, slots=True)
class Split:
    """Each row as separator, literal, separator, ..., separator. Separators include the quotes; doubled quotes stay doubled."""

    pieces: pa.StringArray  # over the buffer of the batch, not a copy
    row: Ints  # row of each literal
    first: Ints  # per row, and once more at the end: number of its first literal
    doubled: Bools  # literals with a doubled quote inside
    unbalanced: Ints  # rows whose last literal has no end; they are split as empty texts

    @property
    def literal_pieces(self) -> Ints:
        return 2 * np.arange(len(self.row), dtype=np.int32) + self.row + 1

    @property
    def separator_row(self) -> Ints:
        rows = len(self.first) - 1
        return np.repeat(np.arange(rows, dtype=np.int32), np.diff(self.first) + 1)

    @property
    def separator_pieces(self) -> Ints:
        separator_row = self.separator_row
        return 2 * np.arange(len(separator_row), dtype=np.int32) - separator_row


def split_literals(sql: pa.StringArray) -> Split:
    """Split each text into separators and literals. `sql` must not contain nulls."""
    rows = len(sql)
    offsets = np.frombuffer(sql.buffers()[1], np.int32)[sql.offset : sql.offset + rows + 1]
    text = sql.buffers()[2] or pa.py_buffer(b"")
    data = np.frombuffer(text, np.uint8)
    quotes = (np.flatnonzero(data[offsets[0] : offsets[-1]] == _QUOTE) + offsets[0]).astype(np.int32)
    quotes_before = np.searchsorted(quotes, offsets).astype(np.int32)
    odd = np.flatnonzero(np.diff(quotes_before) & 1).astype(np.int32)
    if len(odd):
        is_odd = np.zeros(rows, np.bool_)
        is_odd[odd] = True
        even = split_literals(pc.if_else(pa.array(is_odd), "", sql))
        return Split(even.pieces, even.row, even.first, even.doubled, odd)

    opens, closes = quotes[0::2], quotes[1::2]
    starts = np.ones(len(opens), np.bool_)  # not the second half of a doubled quote
    np.not_equal(opens[1:], closes[:-1] + 1, out=starts[1:])
    row_start = quotes_before >> 1
    starts[row_start[row_start < len(opens)]] = True
    start = np.flatnonzero(starts).astype(np.int32)
    last = (np.append(start[1:], len(opens))[: len(start)] - 1).astype(np.int32)
    is_value = ~_masks(data, opens[start], closes[last])
    start, last = start[is_value], last[is_value]
    first = np.searchsorted(start, row_start).astype(np.int32)
    row = np.repeat(np.arange(rows, dtype=np.int32), np.diff(first))

    literals = len(start)
    bounds = np.empty(2 * literals + rows + 1, np.int32)
    at = 2 * np.arange(literals, dtype=np.int32) + row
    bounds[at + 1] = opens[start] + 1
    bounds[at + 2] = closes[last]
    bounds[2 * first + np.arange(rows + 1, dtype=np.int32)] = offsets
    pieces = pa.Array.from_buffers(pa.string(), len(bounds) - 1, [None, pa.py_buffer(bounds), text])
    return Split(pieces, row, first, last > start, np.empty(0, np.int32))


def _masks(data: npt.NDArray[np.uint8], opens: Ints, closes: Ints) -> Bools:
    """Find literals that follow `', '`, which are format masks.

    Only the second argument of a call is written so: INSERT has no blank there, and SET has a name.
    """
    masks = np.zeros(len(opens), np.bool_)
    near = np.flatnonzero(opens[1:] - closes[:-1] == len("', '") - 1)
    close = closes[near]
    masks[near[(data[close + 1] == ord(",")) & (data[close + 2] == ord(" "))] + 1] = True
    return masks


def unescape(literals: pa.StringArray) -> pa.StringArray:
    return pc.replace_substring(literals, "''", "'")


_NO_ESCAPE = re.compile(r"\\(?![0-9A-Fa-f]{4})")


def decode_unistr(texts: list[str]) -> list[str | None]:
    """Decode texts in which `\\XXXX` is a UTF-16 code unit and `\\\\` a backslash.

    None for a text with another escape, or with half a surrogate pair.
    """
    try:
        return list(_decode_unistr(texts))
    except ValueError:
        return [_decode_one(text) for text in texts]


def _decode_unistr(texts: list[str]) -> list[str]:
    """Decode by way of JSON, whose escape differs by one letter, and whose reader is written in C."""
    escaped = [text.replace("\\\\", "\\005C") for text in texts]
    if _NO_ESCAPE.search("\n".join(escaped)):
        raise ValueError("a backslash that is not an escape")
    items = '","'.join(text.replace("\\", "\\u").replace('"', '\\"') for text in escaped)
    decoded: list[str] = json.loads(f'["{items}"]', strict=False)
    "".join(decoded).encode()  # raises on half a surrogate pair
    return decoded


def _decode_one(text: str) -> str | None:
    try:
        return _decode_unistr([text])[0]
    except ValueError:
        return None
