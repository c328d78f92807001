"""What doctor says before large tables are read: rows, bytes, time, and whether undo lasts as long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.config import Pipeline
from pipelines.errors import Finding
from pipelines.source import Source, TableSize, read_sizes
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.table import TableId

ROWS_PER_SECOND = 50_000  # of one session; docs/sizing.md has what was measured
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Estimate:
    """The read of one table: `seconds` with all its sessions, and whether chunks of several SCNs may make it."""

    table: TableId
    size: TableSize
    chunks: int
    sessions: int
    seconds: float | None
    allows_several: bool

    def __str__(self) -> str:
        size = self.size
        rows = "an unknown number of rows" if size.rows is None else f"{size.rows:,} rows by statistics"
        time = (
            "" if self.seconds is None else f", some {max(1, round(self.seconds / 60)):,} minutes with {self.sessions} sessions"
        )
        return (
            f"has {(size.bytes or 0) / MEBIBYTE:,.0f} MiB and {rows}: its snapshot is read in some {self.chunks:,} chunks{time}"
        )


def estimates(pipeline: Pipeline, oracle: Source, tables: Sequence[DictionaryTable]) -> list[Estimate]:
    """Return an estimate for each table that would be read in chunks."""
    sizes = read_sizes(oracle, [table.in_oracle for table in tables], pipeline.source.container) if tables else {}
    found = (estimate(pipeline, table, sizes[table.in_oracle]) for table in tables)
    return [one for one in found if one is not None]


def estimate(pipeline: Pipeline, table: DictionaryTable, size: TableSize) -> Estimate | None:
    settings, key = pipeline.snapshot_settings(table.table), pipeline.table(table.table).key_policy.kind
    if size.bytes is None or size.bytes <= settings.chunk_bytes:
        return None
    chunks = -(-size.bytes // settings.chunk_bytes)
    sessions = min(settings.sessions, chunks)
    rate = min(ROWS_PER_SECOND * sessions, settings.rows_per_second or ROWS_PER_SECOND * sessions)
    seconds = None if size.rows is None else size.rows / rate
    is_plain = not (table.large_objects or table.documents or table.rereads_rows)
    return Estimate(table.table, size, chunks, sessions, seconds, is_plain and key in ("primary", "rowid"))


def estimate_findings(found: list[Estimate], undo_seconds: int | None) -> Iterator[Finding]:
    """Yield a note for each large table, and a warning for one that takes longer than undo is kept."""
    for one in found:
        name = str(one.table)
        if undo_seconds is None or one.seconds is None or one.seconds <= undo_seconds:
            yield Finding(name, str(one), "run `redolake snapshot --status` while it is read: it shows how far it is", "note")
            continue
        then = (
            "chunks that undo no longer reaches are read AS OF newer SCNs"
            if one.allows_several
            else "and such a table has to be read AS OF one SCN"
        )
        yield Finding(
            name,
            f"{one}, and UNDO_RETENTION is {undo_seconds:,} s: {then}",
            f"ALTER SYSTEM SET UNDO_RETENTION = {int(one.seconds * 1.5)}, with an undo tablespace as large as that needs; or "
            "raise `snapshot.sessions`, or read the table at a quieter time",
            "warning",
        )


def undo_retention(oracle: Source) -> int | None:
    """Return UNDO_RETENTION in seconds, which Oracle keeps where the undo tablespace is large enough."""
    oracle.use_container(None)
    rows = oracle.query("undo_retention")
    return int(rows[0].value) if rows and rows[0].value is not None else None
