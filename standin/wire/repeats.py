"""Leave out the values of a row that equal those of the row before it, as Oracle does.

Message 21 precedes such a row and has a bit for each column: 1 if the value is sent. The first row of a later fetch repeats
values of the last row that the client has; its bits are in the row header. Values of LOB and LONG columns, cursors and
objects are always sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from standin.wire.primitives import ub
from standin.wire.types import LOBS, LONGS, WireType

BIT_VECTOR = 0x15
_ALWAYS_SENT = LOBS | LONGS | {WireType.BFILE, WireType.CURSOR, WireType.OBJECT}
_NOTHING = pa.scalar(b"", pa.binary())
Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class RepeatedValues:
    """The values of the last row of one result, by column. `types` are the wire types of its columns."""

    types: Sequence[int]
    _last: list[bytes] = field(default_factory=list)

    def leave_out(self, columns: Sequence[pa.Array]) -> tuple[list[pa.Array], list[bytes] | None]:
        """Return the cells with repeated ones empty, and the message before each row; None if no value is repeated."""
        repeated = [self._repeated(i, cells) for i, cells in enumerate(columns)]
        self._last = [cells[-1].as_py() for cells in columns]
        if not any(mask.any() for mask in repeated):
            return list(columns), None
        kept = [
            pc.if_else(pa.array(mask), _NOTHING, cells) if mask.any() else cells
            for cells, mask in zip(columns, repeated, strict=True)
        ]
        return kept, _messages(np.column_stack(repeated))

    def leave_out_of(self, row: Sequence[bytes]) -> tuple[bytes, Sequence[bytes]]:
        """Return the message before one row, empty if it repeats nothing, and the values that are sent."""
        last, self._last = self._last, list(row)
        if not last:
            return b"", row
        sent = [value != before or kind in _ALWAYS_SENT for value, before, kind in zip(row, last, self.types, strict=True)]
        if all(sent):
            return b"", row
        bits = sum(1 << place for place, is_sent in enumerate(sent) if is_sent)
        vector = bits.to_bytes((len(sent) + 7) // 8, "little")
        return bytes((BIT_VECTOR,)) + ub(sum(sent)) + vector, [*compress(row, sent)]

    def _repeated(self, column: int, cells: pa.Array) -> Bools:
        mask = np.zeros(len(cells), np.bool_)
        if self.types[column] in _ALWAYS_SENT:
            return mask
        mask[1:] = pc.equal(cells[1:], cells[:-1]).to_numpy(zero_copy_only=False)
        mask[0] = bool(self._last) and cells[0].as_py() == self._last[column]
        return mask


def _messages(repeated: Bools) -> list[bytes]:
    """Return the message before each row, empty where nothing is repeated."""
    vectors = np.packbits(~repeated, axis=1, bitorder="little")
    sent = (~repeated).sum(axis=1)
    columns = repeated.shape[1]
    return [
        b"" if count == columns else bytes((BIT_VECTOR,)) + ub(int(count)) + vector.tobytes()
        for count, vector in zip(sent, vectors, strict=True)
    ]


def vector_in_front(row: memoryview, columns: int) -> tuple[bytes, memoryview]:
    """Return the bit vector in front of a row, empty if there is none, and the rows without it."""
    if row[0] != BIT_VECTOR:
        return b"", row
    start = 2 + row[1]  # the type, and the number of sent columns as a length and its bytes
    end = start + (columns + 7) // 8
    return bytes(row[start:end]), row[end:]
