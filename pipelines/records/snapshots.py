"""One table's snapshot: the Parquet files that contain its rows AS OF an SCN, and the markers of its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pipelines.records.file_digest import FileDigest


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    table: str
    scn: int
    row_count: int
    files: tuple[str, ...]  # names relative to the snapshot's folder
    circumstance: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # by the names in `files`

    FORMAT: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class SnapshotBegun:
    """A snapshot was begun in one part of the chain, which the file's name identifies."""

    begun: bool = True


@dataclass(frozen=True, slots=True)
class RedoNeededFrom:
    """The oldest transaction open at the snapshot began at this SCN; the file's name has its incarnation too."""

    scn: int
