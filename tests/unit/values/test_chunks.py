"""How a table is cut: every row is in one chunk, whatever was known of its extents or values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redolake.source.chunks import part_for
from redolake.values.chunks import Chunk, Extent, SegmentPart, cut_by_key, cut_by_rowid, has_plain_rowids, rowid_text

BLOCK = 8192


def holds(chunk: Chunk, value: str) -> bool:
    return (chunk.low is None or value >= chunk.low) and (chunk.high is None or value < chunk.high)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 500)), unique=True), st.integers(1, 20))
def test_each_rowid_of_a_segment_is_in_one_chunk_also_outside_of_the_known_extents(
    blocks: list[tuple[int, int]], chunk_blocks: int
) -> None:
    part = SegmentPart(None, "PARTITION", 74567)
    extents = [Extent(None, file, block * 8, 8 * BLOCK) for file, block in blocks]
    chunks = cut_by_rowid([part], extents, chunk_blocks * BLOCK)
    order = {rowid_text(74567, file, block): (file, block) for file in range(11) for block in range(0, 4100, 700)}
    order |= {rowid_text(74567, extent.file, extent.block): (extent.file, extent.block) for extent in extents}

    def at(text: str | None, missing: int) -> tuple[int, int]:
        return (missing, missing) if text is None else order[text]

    for row in order.values():
        assert sum(at(chunk.low, -1) <= row < at(chunk.high, 9999) for chunk in chunks) == 1
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert sum(chunk.bytes for chunk in chunks) == len(extents) * 8 * BLOCK


def test_partitions_are_cut_apart_and_an_empty_one_is_read_too() -> None:
    parts = [SegmentPart("P1", "PARTITION", 1), SegmentPart("P2", "PARTITION", 2), SegmentPart("S", "SUBPARTITION", 3)]
    extents = [Extent("P2", 4, block, 8 * BLOCK) for block in (128, 136, 144)]
    chunks = cut_by_rowid(parts, extents, 16 * BLOCK)

    assert [(c.part, c.low, c.high) for c in chunks] == [
        ("P1", None, None),
        ("P2", None, rowid_text(2, 4, 144)),
        ("P2", rowid_text(2, 4, 144), None),
        ("S", None, None),
    ]
    assert rowid_text(74567, 12, 131) == "AAASNHAAMAAAACDAAA"  # as DBMS_ROWID.ROWID_CREATE shows it
    assert not has_plain_rowids([Extent(None, 1024, 128, BLOCK)])
    assert part_for(chunks[3], "rowid", "", "number").partition == ' SUBPARTITION ("S")'


@given(st.lists(st.text("abcd", min_size=1, max_size=2), max_size=30), st.integers(1, 12))
def test_each_value_of_a_key_is_in_one_chunk_however_often_the_sample_has_it(sampled: list[str], count: int) -> None:
    chunks = cut_by_key(sorted(sampled), count, 1000) if sampled else (Chunk(0),)

    for value in ("", "a", "ab", "b", "cc", "d", "z", *sampled):
        assert sum(holds(chunk, value) for chunk in chunks) == 1
    assert len(chunks) <= max(1, count)


def test_rows_without_the_value_are_in_the_first_chunk_by_key() -> None:
    first, last = cut_by_key(["1", "5", "9"], 2, 100)

    assert part_for(first, "key", "N", "number").condition == '("N" < :high OR "N" IS NULL)'
    assert part_for(last, "key", "D", "date").condition.startswith('"D" >= TO_DATE(:low, ')
