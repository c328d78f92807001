"""The rows of a segment: versions by row number, and the blocks that direct-path loads have written.

A loaded block stays packed until one of its rows changes, so that a table of millions of rows fits in memory. Its rows have
one version each, and all of them one SCN. A block is either packed or loose, never both.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from standin.engine.storage.locks import RowOwner
from standin.engine.types.rowids import ROWS_OF_BLOCK

Row = tuple[Any, ...]
Loose = Iterable[tuple[int, "list[Version]"]]


class Version:
    """A version of a row, valid from `scn` on or owned by the open transaction `tx`. `values` is None for a deleted row."""

    __slots__ = ("scn", "tx", "values")

    def __init__(self, scn: int, values: Row | None, tx: RowOwner | None) -> None:
        self.scn, self.values, self.tx = scn, values, tx


class Packed:
    """The rows of one block, none of which was changed since the load that wrote it."""

    __slots__ = ("_content", "count", "first", "scn", "tx")

    def __init__(self, first: int, rows: Sequence[Row], scn: int, tx: RowOwner | None) -> None:
        self.first, self.count, self.scn, self.tx = first, len(rows), scn, tx
        self._content = pickle.dumps(rows, protocol=pickle.HIGHEST_PROTOCOL)

    def __contains__(self, row: int) -> bool:
        return self.first <= row < self.first + self.count

    def is_seen(self, scn: int, tx: RowOwner | None) -> bool:
        return self.scn <= scn or (tx is not None and self.tx is tx)

    def rows(self) -> Iterator[tuple[int, Row]]:
        return enumerate(pickle.loads(self._content), self.first)

    def only(self, chosen: Sequence[int]) -> Packed:
        """Return a block of the chosen rows alone, which are given in order."""
        if len(chosen) >= self.count and chosen[0] <= self.first and chosen[-1] >= self.first + self.count - 1:
            return self
        return _Part(self, frozenset(chosen))


class _Part(Packed):
    """Some rows of a packed block."""

    __slots__ = ("_chosen", "_whole")

    def __init__(self, whole: Packed, chosen: frozenset[int]) -> None:
        self.scn, self.tx, self._whole, self._chosen = whole.scn, whole.tx, whole, chosen

    def rows(self) -> Iterator[tuple[int, Row]]:
        return ((row, values) for row, values in self._whole.rows() if row in self._chosen)


class Rows(dict[int, list[Version]]):
    """Versions by row number. A change asks for the versions of a row, which unpacks its block; a scan does not."""

    def __init__(self, versions: Iterable[tuple[int, list[Version]]] = ()) -> None:
        super().__init__(versions)
        self.packed: dict[int, Packed] = {}  # by number of the block in the segment

    def packed_with(self, row: int) -> Packed | None:
        """Return the packed block that contains the row."""
        block = self.packed.get(row // ROWS_OF_BLOCK)
        return block if block is not None and row in block else None

    def add(self, block: Packed) -> None:
        self.packed[block.first // ROWS_OF_BLOCK] = block

    def drop(self, block: Packed) -> None:
        del self.packed[block.first // ROWS_OF_BLOCK]

    def __missing__(self, row: int) -> list[Version]:
        block = self.packed_with(row)
        if block is None:
            raise KeyError(row)
        if block.tx is not None:  # nobody changes rows of a load before it is committed
            return [Version(block.scn, values, block.tx) for number, values in block.rows() if number == row]
        self._unpack(block)
        return self[row]

    def __contains__(self, row: object) -> bool:
        return super().__contains__(row) or (isinstance(row, int) and self.packed_with(row) is not None)

    def get(self, row: int, default: Sequence[Version] = ()) -> Sequence[Version]:  # type: ignore[override]
        versions = super().get(row)
        return versions if versions is not None else self[row] if self.packed_with(row) is not None else default

    def pop(self, row: int, default: Any = None) -> Any:
        return super().pop(row) if self.get(row) else default

    def clear(self) -> None:
        super().clear()
        self.packed.clear()

    def __iter__(self) -> Iterator[int]:
        self._unpack_all()
        return super().__iter__()

    def keys(self) -> Any:
        self._unpack_all()
        return super().keys()

    def items(self) -> Any:
        self._unpack_all()
        return super().items()

    def values(self) -> Any:
        self._unpack_all()
        return super().values()

    def _unpack(self, block: Packed) -> None:
        self.drop(block)
        for row, values in block.rows():
            self[row] = [Version(block.scn, values, block.tx)]

    def _unpack_all(self) -> None:
        closed = [block for block in self.packed.values() if block.tx is None]
        if not closed:
            return
        for block in closed:
            self._unpack(block)
        ordered = sorted(dict.items(self))
        dict.clear(self)
        self.update(ordered)

    def one_of_each_block(self) -> Iterator[int]:
        """Yield the numbers of rows of every block that has some; of a packed block only the first."""
        yield from dict.keys(self)
        yield from (block.first for block in self.packed.values())

    def blocks(self, chosen: Iterable[int] | None = None) -> Iterator[Packed | Loose]:
        """Yield all rows, or the `chosen` ones, in segment order: block by block where some are packed."""
        if not self.packed:
            yield dict.items(self) if chosen is None else self._present(sorted(chosen))
            return
        numbers = defaultdict[int, list[int]](list)
        for row in sorted(dict.keys(self) if chosen is None else chosen):
            numbers[row // ROWS_OF_BLOCK].append(row)
        for number in sorted(numbers.keys() | self.packed.keys()) if chosen is None else numbers:
            block = self.packed.get(number)
            if block is None:
                yield self._present(numbers[number])
            else:
                yield block if chosen is None else block.only(numbers[number])

    def _present(self, numbers: Iterable[int]) -> Loose:
        return [(row, versions) for row in numbers if (versions := dict.get(self, row)) is not None]


def pack(rows: Sequence[Row], first: int, scn: int, tx: RowOwner) -> Iterator[Packed]:
    """Yield the blocks of rows that are stored one after the other from row number `first` on, which begins a block."""
    for at in range(0, len(rows), ROWS_OF_BLOCK):
        yield Packed(first + at, rows[at : at + ROWS_OF_BLOCK], scn, tx)
