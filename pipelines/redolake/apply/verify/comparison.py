"""The input and the result of a comparison of a Delta table with Oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from redolake.records.file_digest import Digests
from redolake.records.proofs import FoundRow
from redolake.values.canonical import HashPlan
from redolake.values.chunks import KeyType
from redolake.values.table import Rules, TableId, TableVersion
from redolake.values.target_options import DEFAULT, TargetOptions


@dataclass(frozen=True, slots=True)
class Part:
    """The rows in some buckets, or with `others` those in all other ones; of their columns the key and `columns`, or all."""

    buckets: tuple[str, ...]
    others: bool = False
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """Ranges of the values of a column of the key, as Oracle's text of them: from the first to before the second one. Without a
    first value the range has NULL too."""

    column: int
    type: KeyType
    limits: tuple[tuple[str | None, str | None], ...]


@dataclass(frozen=True, slots=True)
class CompareTask:
    """Compare the version of a Delta table that is complete to an SCN with the rows read from Oracle AS OF that SCN.

    `delta_version` is the version that the ledger knows; see DeltaLog.last_version_with. The files hold the rows of `part`, or
    of the whole table. Without `hashing` the rows that differ are counted and not named."""

    table: TableId
    target: str
    version: TableVersion
    files: tuple[str, ...]
    complete_to: int
    delta_version: int
    rules: Rules = field(default_factory=dict)
    options: TargetOptions = DEFAULT
    app_id: str = ""
    origin: str = ""
    digests: Digests = field(default_factory=dict)  # of the files
    hashing: HashPlan | None = None
    part: Part | None = None
    quarantine: str | None = None  # where the table's quarantine is; None without one
    ranges: KeyRanges | None = None  # of the rows that are hashed


@dataclass(frozen=True, slots=True)
class Difference:
    """One cell that differs, or a row that only one side has (column "*")."""

    key: str
    column: str
    source: str | None
    delta: str | None


@dataclass(frozen=True, slots=True)
class Digest:
    """A Delta version's buckets: number of rows, and two sums over the hashes of its rows. `bytes` is the size of the files."""

    delta_version: int
    buckets: dict[str, tuple[int, int, int]]
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    table: TableId
    complete_to: int
    delta_version: int
    source_rows: int
    delta_rows: int
    missing_rows: int  # in the source, not in Delta
    extra_rows: int
    differing_cells: int
    samples: tuple[Difference, ...] = ()
    found: tuple[FoundRow, ...] = ()
    names_all: bool = True  # `found` has all rows that differ
    bytes: int | None = None  # of the table's files
    quarantined: int = 0  # keys that are known to be wrong, whose rows are on neither side
    nulled: Mapping[str, int] = field(default_factory=dict)  # values of the source that are NULL by rule, by column

    def with_more(self, other: Comparison) -> Comparison:
        """Return the comparison of both parts of the table."""
        counts = ("source_rows", "delta_rows", "missing_rows", "extra_rows", "differing_cells")
        summed: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in counts}
        return replace(
            self,
            **summed,
            samples=(*self.samples, *other.samples),
            found=(*self.found, *other.found),
            names_all=self.names_all and other.names_all,
            quarantined=max(self.quarantined, other.quarantined),
            nulled=dict(Counter(self.nulled) + Counter(other.nulled)),
        )

    @property
    def equal(self) -> bool:
        return not (self.missing_rows or self.extra_rows or self.differing_cells)
