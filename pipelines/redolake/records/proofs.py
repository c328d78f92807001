"""What comparisons found: a record for each table and comparison, and the rows that differ, which a repair reads again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from redolake.errors import one_line
from redolake.values.chunks import Chunk, Cut, KeyType
from redolake.values.null_rule import nulled_text
from redolake.values.utc import beside

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

    FORMAT: ClassVar[int] = 6

    table: str  # OWNER.NAME
    # Results with different names, ends and costs are equal.
    name: str = field(compare=False)  # of its file
    at: str = field(compare=False)  # ISO time in UTC at its end
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
    seconds: float | None = field(default=None, compare=False)
    source_rows_read: int = field(default=0, compare=False)
    source_bytes_read: int = field(default=0, compare=False)
    lake_bytes_read: int | None = field(default=None, compare=False)
    found: int = 0
    names_all: bool = True
    error: str | None = None
    quarantined_keys: int = 0  # known to be wrong: their rows were not compared
    scns: tuple[int, ...] = ()
    nulled: Mapping[str, int] = field(default_factory=dict)  # values that are NULL by rule, by column in Oracle
    history: ProvedHistory | None = None  # None of a table without one, or where it was not compared
    scn_at: str | None = None  # when the source wrote `scn`, in UTC

    @property
    def has_equal_rows(self) -> bool:
        return self.error is None and not (self.missing_rows or self.extra_rows or self.differing_cells)

    @property
    def equal(self) -> bool:
        """Whether the rows are equal, and the history says the same."""
        return self.has_equal_rows and (self.history is None or self.history.is_equal)

    def __str__(self) -> str:
        where = f"AS OF SCN {self.scn}{beside(self.scn_at)}, Delta version {self.delta_version}"
        if self.scns:
            listed = ", ".join(map(str, self.scns))
            where = (
                f"AS OF SCNs {listed}{beside(self.scn_at)}, each range of the key at one of them, from Delta version "
                f"{self.delta_version} on"
            )
        if self.method == "buckets":
            of = f" of a sample, {self.share:.1%} of the buckets" if self.share < 1 else ""
            where += f"; {self.differing_buckets} of {self.buckets} buckets{of} differed, {self.source_rows_read} rows fetched"
        where += history_text(self.history)
        apart = f"; {self.quarantined_keys} keys in quarantine were not compared" if self.quarantined_keys else ""
        apart += f"; {nulled_text(self.nulled)}" if self.nulled else ""
        if self.equal:
            verdict = "equal but for quarantine" if self.quarantined_keys else "equal"
            return one_line(f"{self.table}: {verdict}, {self.source_rows} rows, {where}{apart}")
        counts = f"{self.missing_rows} rows missing, {self.extra_rows} extra, {self.differing_cells} cells differ"
        return one_line(f"{self.table}: DIFFERS, {counts}, {where}{apart}")


def history_text(found: ProvedHistory | None) -> str:
    if found is None:
        return ""
    if found.waits is not None:
        return f"; its history begins again with the next batch: {found.waits}"
    if found.is_equal:
        return "; its history says the same"
    return f"; its HISTORY DIFFERS from the table: {found.missing_rows} rows missing, {found.extra_rows} extra"


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
