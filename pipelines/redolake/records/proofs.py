"""What comparisons found: a record for each table and comparison, and the rows that differ, which a repair reads again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from redolake.values.chunks import Chunk, Cut, KeyType

ProofMethod = Literal["rows", "buckets", "keys"]  # `keys`: only rows that were repaired
FoundKind = Literal["missing", "extra", "differing", "twice", "rows"]


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that differs: by the hash of its key and the key's values as text, or with the kind `rows`, of a row that is known
    by all its columns, by the hash of these. `twice`: the lake has several rows with the key."""

    kind: FoundKind
    hash: str
    key: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ProvedHistory:
    """What the table's history says of the same SCN: rows that it lacks, and that it has too many. `waits` is why it says
    nothing of it yet."""

    missing_rows: int = 0
    extra_rows: int = 0
    waits: str | None = None

    @property
    def is_equal(self) -> bool:
        return not (self.missing_rows or self.extra_rows)


@dataclass(frozen=True, slots=True)
class TableProof:
    """One comparison of a table: what was compared, the result, and what it cost.

    `share` is the share of the table's buckets that were compared. `source_rows_read` and `source_bytes_read` were fetched from
    Oracle, `lake_bytes_read` is the size of the Delta files that Spark had to read. `found` rows are named in the record beside
    it, `names_all` says whether these are all. Where undo did not last for one SCN, ranges of the key were compared at `scns`,
    the last of which is `scn`; `delta_version` is that of the first."""

    FORMAT: ClassVar[int] = 5

    table: str  # OWNER.NAME
    name: str  # of its file
    at: str  # ISO time in UTC at its end
    scn: int | None = None
    resetlogs_id: int | None = None
    delta_version: int | None = None
    method: ProofMethod = "rows"
    share: float = 1.0
    buckets: int = 0
    differing_buckets: int = 0
    source_rows: int | None = None
    delta_rows: int | None = None
    missing_rows: int = 0
    extra_rows: int = 0
    differing_cells: int = 0
    seconds: float | None = None
    source_rows_read: int = 0
    source_bytes_read: int = 0
    lake_bytes_read: int | None = None
    found: int = 0
    names_all: bool = True
    error: str | None = None
    quarantined_keys: int = 0  # known to be wrong: their rows were not compared
    scns: tuple[int, ...] = ()
    nulled: Mapping[str, int] = field(default_factory=dict)  # values that are NULL by rule, by column in Oracle
    history: ProvedHistory | None = None  # None of a table without one, or where it was not compared

    @property
    def is_equal(self) -> bool:
        return self.error is None and not (self.missing_rows or self.extra_rows or self.differing_cells)


@dataclass(frozen=True, slots=True)
class HashingBegun:
    """A comparison of a large table that has begun: its position, a hash of what is hashed, and how the table is cut."""

    table: str
    scn: int
    delta_version: int
    resetlogs_id: int | None
    hashing: str
    by: Cut
    chunks: tuple[Chunk, ...]
    column: str = ""
    type: KeyType = "number"


@dataclass(frozen=True, slots=True)
class HashedChunk:
    """The sums of one chunk of the comparison that has begun AS OF `scn`: of each bucket its name, the number of rows, and two
    sums over their hashes. The chunk was read AS OF `as_of`, which the Delta table was complete to with `delta_version`."""

    FORMAT: ClassVar[int] = 2

    table: str
    number: int
    scn: int
    buckets: tuple[tuple[str, int, int, int], ...]
    as_of: int = 0  # 0: as begun
    delta_version: int = 0


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The rows that differ by one comparison; `key` are the columns of the key by id."""

    table: str
    proof: str
    key: tuple[int, ...]
    rows: tuple[FoundRow, ...]
