"""DBA_SEGMENTS and DBA_EXTENTS: the blocks of a table's segments, as many as its rows have needed.

USER_EXTENTS has no file and block, as Oracle's, so that only the DBA_ view says where rows are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from standin.engine.storage.storage import TableStore
from standin.engine.types.rowids import FILE, block_of
from standin.views.registration import ViewRow, dictionary_views

if TYPE_CHECKING:
    from standin.engine.database.database import Database

BLOCK_BYTES, BLOCKS_OF_EXTENT = 8192, 8
TABLESPACE = "USERS"


def segments_of(store: TableStore) -> Iterator[tuple[str | None, str, int, int]]:
    """Yield name of the partition, type, first block and number of blocks of each segment that has rows, or had."""
    t = store.definition
    if t.temporary or t.iot is not None or t.cluster:
        return
    blocks: dict[str | None, set[int]] = defaultdict(set)
    for row in store.rows.one_of_each_block():
        part = store.part_of.get(row)
        blocks[None if part is None else part.name].add(block_of(row))
    kind = "TABLE" if t.partitioning is None else "TABLE SUBPARTITION" if t.partitioning.sub else "TABLE PARTITION"
    for name, used in sorted(blocks.items(), key=lambda item: item[0] or ""):
        yield name, kind, min(used), max(used) - min(used) + 1


def segments(database: Database) -> Iterator[ViewRow]:
    for store in database.tables.stores.values():
        t = store.definition
        for name, kind, first, count in segments_of(store):
            extents = -(-count // BLOCKS_OF_EXTENT)
            blocks = extents * BLOCKS_OF_EXTENT
            values = (
                t.owner, t.name, name, kind, TABLESPACE, FILE, first - 1, blocks * BLOCK_BYTES, blocks, extents, FILE,
            )  # fmt: skip
            yield ViewRow(t.con_id, t.owner, t, values)


def extents(database: Database) -> Iterator[ViewRow]:
    for store in database.tables.stores.values():
        t = store.definition
        for name, kind, first, count in segments_of(store):
            for number in range(-(-count // BLOCKS_OF_EXTENT)):
                block = first + number * BLOCKS_OF_EXTENT
                values = (
                    t.owner, t.name, name, kind, TABLESPACE, number, FILE, block, BLOCKS_OF_EXTENT * BLOCK_BYTES,
                    BLOCKS_OF_EXTENT, FILE,
                )  # fmt: skip
                yield ViewRow(t.con_id, t.owner, t, values)


def register() -> None:
    dictionary_views(
        "SEGMENTS",
        """OWNER VARCHAR2(128), SEGMENT_NAME VARCHAR2(128), PARTITION_NAME VARCHAR2(128), SEGMENT_TYPE VARCHAR2(18),
        TABLESPACE_NAME VARCHAR2(30), HEADER_FILE NUMBER, HEADER_BLOCK NUMBER, BYTES NUMBER, BLOCKS NUMBER, EXTENTS NUMBER,
        RELATIVE_FNO NUMBER""",
        segments,
        only=("DBA", "CDB"),
    )
    dictionary_views(
        "EXTENTS",
        """OWNER VARCHAR2(128), SEGMENT_NAME VARCHAR2(128), PARTITION_NAME VARCHAR2(128), SEGMENT_TYPE VARCHAR2(18),
        TABLESPACE_NAME VARCHAR2(30), EXTENT_ID NUMBER, FILE_ID NUMBER, BLOCK_ID NUMBER, BYTES NUMBER, BLOCKS NUMBER,
        RELATIVE_FNO NUMBER""",
        extents,
        only=("DBA", "CDB"),
    )
