"""Cut a large table into chunks, by the extents of its segments or the values of its key; the condition of each chunk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from redolake.errors import RedolakeError
from redolake.source.dictionary import query_tables
from redolake.source.oracle import Source
from redolake.source.quoting import quote
from redolake.source.snapshot import WHOLE, Part
from redolake.values.chunks import (
    Chunk,
    Cut,
    Extent,
    KeyType,
    PartKind,
    SegmentPart,
    cut_by_key,
    cut_by_rowid,
    has_plain_rowids,
)
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.ora_codes import MISSING_PRIVILEGE
from redolake.values.table import TableId

T = TypeVar("T")
log = logging.getLogger(__name__)

SAMPLES_PER_CHUNK = 200
LEAST_PERCENT, MOST_PERCENT = 0.000001, 99.999999  # of SAMPLE
KEY_TYPES: Mapping[str, KeyType] = {
    "NUMBER": "number", "VARCHAR2": "text", "CHAR": "text", "DATE": "date", "TIMESTAMP": "date",
}  # fmt: skip
DATE_MASK = "'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN'"
SAMPLED: Mapping[KeyType, str] = {
    "number": "TO_CHAR({0}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''')",
    "text": "{0}",
    "date": f"TO_CHAR({{0}}, {DATE_MASK})",
}
LIMIT: Mapping[KeyType, str] = {"number": "{0}", "text": "{0}", "date": f"TO_DATE({{0}}, {DATE_MASK})"}


@dataclass(frozen=True, slots=True)
class TableSize:
    """The size of a table in Oracle, as far as it is known; `is_measured` by its segments, else estimated by statistics."""

    bytes: int | None
    rows: int | None
    is_measured: bool


@dataclass(frozen=True, slots=True)
class CutTable:
    by: Cut
    chunks: tuple[Chunk, ...]
    column: str = ""
    type: KeyType = "number"


def read_sizes(source: Source, tables: Sequence[TableId], container: str | None) -> dict[TableId, TableSize]:
    """Return the size of each table, by its name in Oracle: by DBA_SEGMENTS, or statistics where that view is not granted."""
    source.use_container(container)
    estimated = query_tables(source, "table_size", tables)
    measured = if_granted(lambda: query_tables(source, "segment_size", tables)) or {}
    return {table: size_of(estimated[table], measured.get(table, [])) for table in tables}


def size_of(estimated: Sequence[Any], measured: Sequence[Any]) -> TableSize:
    known = estimated[0] if estimated else None
    rows = None if known is None or known.num_rows is None else int(known.num_rows)
    if measured:
        return TableSize(int(measured[0].bytes), rows, True)
    length = None if known is None or known.avg_row_len is None else int(known.avg_row_len)
    return TableSize(None if rows is None or length is None else rows * length, rows, False)


def cut_table(
    source: Source, table: DictionaryTable, size: TableSize, chunk_bytes: int, container: str | None
) -> CutTable | None:
    """Return the chunks of a table that is larger than `chunk_bytes`; None for one that is read in one piece."""
    if size.bytes is None or size.bytes <= chunk_bytes:
        return None
    source.use_container(container)
    found = _by_extents(source, table, chunk_bytes)
    if found is None:
        found = _by_keys(source, table, size, chunk_bytes)
    return found if found is not None and len(found.chunks) > 1 else None


def cut_by_key_ranges(
    source: Source, table: DictionaryTable, size: TableSize, chunk_bytes: int, container: str | None, ordered: Collection[str]
) -> CutTable | None:
    """Return chunks by ranges of the key, however the table is stored; None where its first column is none of `ordered`."""
    column = key_column(table)
    if column is None or column.name not in ordered or (size.bytes or 0) <= chunk_bytes:
        return None
    source.use_container(container)
    found = _by_keys(source, table, size, chunk_bytes)
    if found is None or len(found.chunks) < 2 or (found.type == "date" and any(is_before_christ(one) for one in found.chunks)):
        return None
    return found


def is_before_christ(chunk: Chunk) -> bool:
    return (chunk.low or "").startswith("-")


def _by_extents(source: Source, table: DictionaryTable, chunk_bytes: int) -> CutTable | None:
    """Return chunks by ranges of ROWIDs; None where the extents cannot be read, or do not say which ROWIDs they have."""
    if table.organization != "heap":
        return None
    name = table.in_oracle
    rows = if_granted(lambda: source.query("table_extents", owner=name.owner, table_name=name.name))
    if rows is None:
        log.info("DBA_EXTENTS is not granted: %s is cut by its key", table.table)
        return None
    extents = [Extent(r.partition_name, int(r.relative_fno), int(r.block_id), int(r.bytes)) for r in rows]
    parts = [part_of(row) for row in source.query("table_segments", owner=name.owner, table_name=name.name)]
    known = {p.data_object_id for p in table.parts if p.data_object_id} if table.parts else {table.data_object_id}
    if not has_plain_rowids(extents) or {part.data_object_id for part in parts} != known:
        return None
    return CutTable("rowid", cut_by_rowid(sorted(parts, key=lambda p: p.name or ""), extents, chunk_bytes))


def part_of(row: Any) -> SegmentPart:
    kind: PartKind = "SUBPARTITION" if row.object_type == "TABLE SUBPARTITION" else "PARTITION"
    return SegmentPart(row.subobject_name, kind, int(row.data_object_id))


def _by_keys(source: Source, table: DictionaryTable, size: TableSize, chunk_bytes: int) -> CutTable | None:
    """Return chunks by ranges of the first column of the key, from a sample; None without such a key or without statistics."""
    column = key_column(table)
    if column is None or not size.rows or size.bytes is None:
        return None
    count, kind = -(-size.bytes // chunk_bytes), KEY_TYPES[column.type.name]
    percent = min(MOST_PERCENT, max(LEAST_PERCENT, 100 * SAMPLES_PER_CHUNK * count / size.rows))
    name = quote(column.name)
    sql = (
        f"SELECT {SAMPLED[kind].format(name)} AS value\n  FROM {quote(table.in_oracle.owner)}.{quote(table.in_oracle.name)} "
        f"SAMPLE ({percent:.6f})\n WHERE {name} IS NOT NULL\n ORDER BY {name}"
    )
    sampled = [str(row.value) for row in source.query_text(sql, {}, f"sample of {table.table}")]
    chunks = cut_by_key(sampled, count, size.bytes) if sampled else ()
    return CutTable("key", chunks, column.name, kind)


def key_column(table: DictionaryTable) -> DictionaryColumn | None:
    """Return the first column of the primary key, or of a unique index, if ranges of its values can be read."""
    names = [key[0] for key in (table.key, *(index.columns for index in table.key_candidates)) if key]
    found = (column for name in names for column in table.columns if column.name == name)
    return next((column for column in found if column.type.name in KEY_TYPES), None)


def part_for(chunk: Chunk, by: Cut, column: str, kind: KeyType) -> Part:
    """Return the part of the table that the chunk is. Each limit is the same expression in both chunks at it, so that every row
    is in one of them, whatever Oracle makes of the text."""
    partition = "" if chunk.part is None else f" {chunk.part_kind} ({quote(chunk.part)})"
    if by == "rowid":
        name, limit = "ROWID", "CHARTOROWID({0})"
    else:
        name, limit = quote(column), LIMIT[kind]
    conditions, binds = [], {}
    for sign, bind, text in ((">=", "low", chunk.low), ("<", "high", chunk.high)):
        if text is not None:
            conditions.append(f"{name} {sign} {limit.format(':' + bind)}")
            binds[bind] = Decimal(text) if by == "key" and kind == "number" else text
    if by == "key" and chunk.low is None and chunk.high is not None:
        conditions = [f"({conditions[0]} OR {name} IS NULL)"]
    return Part(partition, " AND ".join(conditions), binds) if partition or conditions else WHOLE


def if_granted(query: Callable[[], T]) -> T | None:
    """Return the result of a query; None where the user may not read its view."""
    try:
        return query()
    except RedolakeError as error:
        if error.ora_code not in MISSING_PRIVILEGE:
            raise
        return None
