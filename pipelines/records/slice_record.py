"""One mined slice. It travels between tasks, so it contains counts and hashes, never rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pipelines.records.file_digest import FileDigest
from pipelines.records.window_manifest import DdlRow, LogIdentity


@dataclass(frozen=True, slots=True)
class LogTally:
    """One log's rows within the window; `row_hash` does not depend on batches or slicing."""

    log: LogIdentity
    row_count: int
    row_hash: str


@dataclass(frozen=True, slots=True)
class SliceRecord:
    window: str
    number: int
    token: str
    tables: tuple[str, ...]  # OWNER.NAME captured, sorted
    files: tuple[str, ...]  # relative to the window's folder
    logs: tuple[LogTally, ...]
    counts: Mapping[str, int]
    ddl: tuple[DdlRow, ...]
    circumstance: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # by the names in `files`

    FORMAT: ClassVar[int] = 2
