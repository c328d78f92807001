"""The chunks of a table: parts of its rows that are read one by one, AS OF one SCN or, where undo does not last, of several.

Each row is in exactly one chunk of an SCN, whatever the dictionary knew: the limits are half-open, and the first and the last
chunk of a partition have none outside. Extents and samples only make the chunks about as large as one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# A ROWID has 10 bits for the file and 22 for the block; in a bigfile tablespace, all are of the block.
FILES, BLOCKS = 1 << 10, 1 << 22

Cut = Literal["rowid", "key"]
PartKind = Literal["PARTITION", "SUBPARTITION"]
KeyType = Literal["number", "text", "date"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows from `low` to before `high`: ROWIDs, or values of the first column of the key as text. `part` is the partition or
    subpartition that the rows are in; None for the whole table. `bytes` is an estimate."""

    number: int
    low: str | None = None
    high: str | None = None
    part: str | None = None
    part_kind: PartKind = "PARTITION"
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """A segment of a table: that of a partition, or the table's own (`name` is None)."""

    name: str | None
    kind: PartKind
    data_object_id: int


@dataclass(frozen=True, slots=True)
class Extent:
    """Adjacent blocks of a segment."""

    part: str | None
    file: int
    block: int
    bytes: int


def rowid_text(data_object_id: int, file: int, block: int) -> str:
    """Return the ROWID of a block's first row, as DBMS_ROWID.ROWID_CREATE does."""
    parts = ((data_object_id, 6), (file, 3), (block, 6), (0, 3))
    return "".join(ALPHABET[number >> 6 * place & 63] for number, width in parts for place in reversed(range(width)))


def has_plain_rowids(extents: Iterable[Extent]) -> bool:
    """Return whether the ROWIDs of these blocks are known: not in a bigfile tablespace."""
    return all(extent.file < FILES and extent.block < BLOCKS for extent in extents)


def cut_by_rowid(parts: Sequence[SegmentPart], extents: Sequence[Extent], chunk_bytes: int) -> tuple[Chunk, ...]:
    """Cut each segment before the extent with which a chunk would become larger than `chunk_bytes`."""
    chunks = list[Chunk]()
    for part in parts:
        own = sorted((e for e in extents if e.part == part.name), key=lambda e: (e.file, e.block))
        for group in _groups(own, chunk_bytes):
            low = rowid_text(part.data_object_id, group[0].file, group[0].block)
            size = sum(extent.bytes for extent in group)
            chunks.append(Chunk(len(chunks), low, None, part.name, part.kind, size))
        if not own:
            chunks.append(Chunk(len(chunks), None, None, part.name, part.kind))
    return tuple(_open_ended(chunks))


def _groups(extents: Sequence[Extent], chunk_bytes: int) -> Iterator[list[Extent]]:
    group, size = list[Extent](), 0
    for extent in extents:
        if group and size + extent.bytes > chunk_bytes:
            yield group
            group, size = [], 0
        group.append(extent)
        size += extent.bytes
    if group:
        yield group


def _open_ended(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Give each chunk the next one's lower limit as its upper one; the first and the last of a partition have none outside."""
    for _, group in groupby(chunks, key=lambda chunk: chunk.part):
        own = list(group)
        for place, chunk in enumerate(own):
            high = own[place + 1].low if place + 1 < len(own) else None
            yield replace(chunk, low=chunk.low if place else None, high=high)


def cut_by_key(sampled: Sequence[str], count: int, table_bytes: int) -> tuple[Chunk, ...]:
    """Cut at `count` - 1 of the sampled values, which are in Oracle's order; fewer where values repeat."""
    count = max(1, min(count, len(sampled)))
    cuts = list(dict.fromkeys(sampled[len(sampled) * n // count] for n in range(1, count)))
    if cuts and cuts[0] == sampled[0]:
        cuts = cuts[1:]
    edges = [None, *cuts, None]
    size = table_bytes // (len(edges) - 1)
    return tuple(Chunk(number, low, high, bytes=size) for number, (low, high) in enumerate(pairwise(edges)))
