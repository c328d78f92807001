"""Hash a large table in Oracle chunk by chunk, AS OF one SCN: a comparison that was killed asks only for the chunks that are
missing, at the SCN with which it began.

The sums of the chunks of a bucket add up to those of the bucket, so that chunks need not be cut by buckets.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from pipelines.context import PipelineContext, Report
from pipelines.host import crash
from pipelines.host.progress import Progress
from pipelines.ledger import TableEntry
from pipelines.records.proofs import HashedChunk, HashingBegun
from pipelines.source import Source, cut_table, part_for, read_sizes
from pipelines.source.buckets import BucketSum, Hashing, read_digests
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.scn import Scn

HASHED_AT_ONCE = 1 << 30  # bytes of a table that are hashed by one statement
MOST_CHUNKS = 64


def with_unfinished(context: PipelineContext, entry: TableEntry) -> TableEntry:
    """Return the entry at the position of a comparison that was begun and did not end, if the table was not loaded since."""
    begun = context.landing.proofs.hashing(entry.table)
    if begun is None:
        return entry
    if begun.resetlogs_id != entry.resetlogs_id or begun.scn < int(entry.snapshot_scn or 0):
        context.landing.proofs.end_hashing(entry.table)
        return entry
    return replace(entry, complete_to_scn=Scn(begun.scn), delta_version=begun.delta_version)


@crash.writer
def hash_by_chunks(
    context: PipelineContext,
    oracle: Source,
    table: DictionaryTable,
    hashing: Hashing,
    entry: TableEntry,
    report: Report,
) -> dict[str, BucketSum]:
    """Return the sums of all buckets AS OF the entry's SCN; those of a small table are not recorded."""
    assert entry.complete_to_scn is not None
    container = context.pipeline.source.container
    begun = context.landing.proofs.hashing(entry.table)
    if begun is None or (begun.scn, begun.hashing) != (int(entry.complete_to_scn), digest_of(hashing)):
        begun = begin(context, oracle, table, hashing, entry)
    if begun is None:
        return read_digests(oracle, table, hashing, entry.complete_to_scn, container)
    known = context.landing.proofs.hashed_chunks(entry.table, begun.scn)
    for chunk in begun.chunks:
        if chunk.number not in known:
            part = part_for(chunk, begun.by, begun.column, begun.type)
            sums = read_digests(oracle, table, hashing, entry.complete_to_scn, container, part=part)
            shown = tuple((name, one.rows, one.first, one.second) for name, one in sums.items())
            known[chunk.number] = HashedChunk(begun.table, chunk.number, begun.scn, shown)
            context.landing.proofs.write_hashed(entry.table, known[chunk.number])
        report(Progress("", f"chunks of {entry.table} hashed", len(known), len(begun.chunks)))
    return add_up(known.values())


def begin(
    context: PipelineContext, oracle: Source, table: DictionaryTable, hashing: Hashing, entry: TableEntry
) -> HashingBegun | None:
    """Record how a large table is cut; return None for one that is hashed at once."""
    container = context.pipeline.source.container
    context.landing.proofs.end_hashing(entry.table)
    size = read_sizes(oracle, [table.in_oracle], container)[table.in_oracle]
    cut = cut_table(oracle, table, size, max(HASHED_AT_ONCE, (size.bytes or 0) // MOST_CHUNKS), container)
    if cut is None:
        return None
    assert entry.complete_to_scn is not None
    begun = HashingBegun(
        str(entry.table), int(entry.complete_to_scn), entry.delta_version or 0, entry.resetlogs_id, digest_of(hashing), cut.by,
        cut.chunks, cut.column, cut.type,
    )  # fmt: skip
    context.landing.proofs.begin_hashing(entry.table, begun)
    return begun


def digest_of(hashing: Hashing) -> str:
    """Return a hash of what is hashed: with other columns or buckets, the chunks are hashed again."""
    return hashlib.sha256(repr(hashing).encode()).hexdigest()[:16]


def add_up(chunks: Iterable[HashedChunk]) -> dict[str, BucketSum]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for chunk in chunks:
        for name, *parts in chunk.buckets:
            sums[name] = [a + b for a, b in zip(sums[name], parts, strict=True)]
    return {name: BucketSum(*parts) for name, parts in sums.items()}
