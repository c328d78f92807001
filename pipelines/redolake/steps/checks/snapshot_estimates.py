"""What doctor says before large tables are read: rows, bytes, time, and whether undo lasts as long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redolake.config import Pipeline
from redolake.errors import Finding, one_line
from redolake.source import Source, TableSize, read_sizes
from redolake.values.amounts import duration, size
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import TableId

ROWS_PER_SECOND = 50_000  # of one session; docs/sizing.md has what was measured
NAMED = 5  # tables in one finding
ROW_BYTES = 100  # where no statistics say how many rows a table has


@dataclass(frozen=True, slots=True)
class Estimate:
    """The read of one table: `seconds` with all its sessions, and whether chunks of several SCNs may make it."""

    table: TableId
    size: TableSize
    chunks: int
    sessions: int
    rate: float
    allows_several: bool

    @property
    def seconds(self) -> float:
        return self.rows / self.rate

    def __str__(self) -> str:
        how = f"if each has {ROW_BYTES} bytes: there are no statistics" if self.size.rows is None else "by statistics"
        return (
            f"has {size(self.size.bytes)} and {self.rows:,} rows {how}: its snapshot is "
            f"read in some {self.chunks:,} chunks, some {duration(self.seconds)} with {self.sessions} sessions"
        )

    @property
    def rows(self) -> int:
        return (self.size.bytes or 0) // ROW_BYTES if self.size.rows is None else self.size.rows


def estimates(pipeline: Pipeline, oracle: Source, tables: Sequence[DictionaryTable]) -> tuple[list[Estimate], list[TableId]]:
    """Return an estimate for each table that would be read in chunks, and the tables of unknown size."""
    sizes = read_sizes(oracle, [table.in_oracle for table in tables], pipeline.source.container) if tables else {}
    found = (estimate(pipeline, table, sizes[table.in_oracle]) for table in tables)
    unknown = [table.table for table in tables if sizes[table.in_oracle].bytes is None]
    return [one for one in found if one is not None], unknown


def estimate(pipeline: Pipeline, table: DictionaryTable, size: TableSize) -> Estimate | None:
    own = pipeline.settings(table.table)
    settings, key = own.snapshot, own.key_policy.kind
    if size.bytes is None or size.bytes <= settings.chunk_bytes:
        return None
    chunks = -(-size.bytes // settings.chunk_bytes)
    sessions = min(settings.sessions, chunks)
    rate = min(ROWS_PER_SECOND * sessions, settings.rows_per_second or ROWS_PER_SECOND * sessions)
    is_plain = not (table.large_objects or table.documents or table.rereads_rows)
    return Estimate(table.table, size, chunks, sessions, rate, is_plain and key in ("primary", "rowid"))


def estimate_findings(found: list[Estimate], undo_seconds: int | None) -> Iterator[Finding]:
    """Yield a note for each large table, and a warning for one that takes longer than undo is kept."""
    for one in found:
        name = str(one.table)
        if undo_seconds is None or one.seconds <= undo_seconds:
            status = "`redolake snapshot --status` shows how far it is while it is read"
            yield Finding(name, str(one), gather(one.table) if one.size.rows is None else status, "note")
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


def gather(table: TableId) -> str:
    owner, name = (one_line(f'"{part}"').replace("'", "''") for part in (table.owner, table.name))
    return f"for a better estimate, BEGIN DBMS_STATS.GATHER_TABLE_STATS('{owner}', '{name}'); END;"


def unknown_sizes(pipeline: Pipeline, unknown: Sequence[TableId]) -> Iterator[Finding]:
    """Yield a warning for tables of unknown size that shall be read in some hours only: each is read in one piece."""
    tables = [table for table in unknown if pipeline.settings(table).snapshot.hours_utc is not None]
    if tables:
        names = ", ".join(map(str, tables[:NAMED])) + (f" and {len(tables) - NAMED} more" if len(tables) > NAMED else "")
        yield Finding(
            "`snapshot.hours_utc`",
            f"does not hold for {names}: nothing says how large they are, so each is read in one piece, at any hour",
            f"GRANT SELECT ON DBA_SEGMENTS, or gather statistics: {gather(tables[0])}",
            "warning",
        )


def undo_retention(oracle: Source) -> int | None:
    """Return UNDO_RETENTION in seconds, which Oracle keeps where the undo tablespace is large enough."""
    oracle.use_container(None)
    rows = oracle.query("undo_retention")
    return int(rows[0].value) if rows and rows[0].value is not None else None
