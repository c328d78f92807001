"""One table's snapshot: the Parquet files that contain its rows AS OF an SCN, and the markers of its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from redolake.records.file_digest import FileDigest
from redolake.values.chunks import Chunk, Cut, KeyType


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    table: str
    scn: int
    row_count: int
    files: tuple[str, ...]  # names relative to the snapshot's folder
    circumstance: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # by the names in `files`
    scns: Mapping[str, int] = field(default_factory=dict)  # of the files whose rows are AS OF another SCN than `scn`
    filter: str = ""  # by which Oracle chose the rows; empty where all were read

    FORMAT: ClassVar[int] = 4

    @property
    def settles_at(self) -> int | None:
        """The highest SCN of its files, if they have several: with all redo up to there the rows are those of one SCN."""
        return max(self.scns.values(), default=None)


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """How a large table is read. `by` says what the limits are: ROWIDs, or values of `column`, which has that type. `settings`
    is a hash of what pipelines.yml says of the table's columns and key: with others, it is read again from the beginning."""

    table: str
    scn: int
    by: Cut
    chunks: tuple[Chunk, ...]
    column: str = ""
    type: KeyType = "number"
    settings: str = ""
    filter: str = ""  # as in the manifest
    is_sealed: bool = False  # limits that are values are encrypted (host/sealed_text.py)

    FORMAT: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class ChunkManifest:
    """One chunk: its rows AS OF `scn`, in one file of the snapshot's folder."""

    table: str
    number: int
    scn: int
    rows: int
    file: str
    digest: FileDigest
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkScn:
    """Chunks of a snapshot are read AS OF this SCN, since undo no longer reaches the one before. `because` is its error."""

    scn: int
    because: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotGivenUp:
    """The chunks of a snapshot are not continued."""

    because: str


@dataclass(frozen=True, slots=True)
class SnapshotBegun:
    """A snapshot was begun in one part of the chain, which the file's name identifies."""

    begun: bool = True


@dataclass(frozen=True, slots=True)
class RedoNeededFrom:
    """The oldest transaction open at the snapshot began at this SCN; the file's name has its incarnation too. Not `is_listed`:
    nobody showed what was open, and one may have begun before all redo that was read."""

    FORMAT: ClassVar[int] = 2
    scn: int
    is_listed: bool = True
