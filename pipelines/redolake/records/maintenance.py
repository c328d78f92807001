"""The specification and the result of maintenance: Delta tables with many small files are rewritten, old files removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from redolake.records.lakes import LakePlace
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class MaintenanceTask:
    """`own_properties` are those that pipelines.yml sets for the table: they are left to it. `of` is the folder of the table
    whose history this is, None for a table itself."""

    table: TableId
    target: str
    own_properties: tuple[str, ...] = ()
    of: str | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceSpec:
    """A table is rewritten if it has `files` or more, of fewer than `file_bytes` on average. `history_hours` is how long the
    files of older versions stay; None keeps them. After `minutes` no further table is begun. Of a history, what it says of
    times before `history_from`, by the database's clock, is removed. `events` are for the lake's log, which keeps those from
    `events_from` on."""

    pipeline: str
    token: str
    tables: tuple[MaintenanceTask, ...]
    manifest: str
    files: int
    file_bytes: int
    minutes: float
    history_hours: int | None = None
    lease: int | None = None
    load_lease: int | None = None  # no snapshot is loaded meanwhile
    lake: LakePlace | None = None
    history_from: str | None = None
    events: tuple[Mapping[str, Any], ...] = ()
    events_from: str | None = None

    FORMAT: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class MaintainedTable:
    """`error` says why a table could not be maintained; the others are. `optimized` says that its files were rewritten,
    `is_history` that they are those of the table's history."""

    table: TableId
    files_before: int = 0
    files_after: int = 0
    optimized: bool = False
    error: str = ""
    is_history: bool = False

    @property
    def name(self) -> str:
        return f"the history of {self.table}" if self.is_history else str(self.table)


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """`left` are the tables for which no time was left."""

    pipeline: str
    tables: tuple[MaintainedTable, ...]
    left: tuple[str, ...] = ()
    events_error: str = ""  # why the lake's log could not be written

    FORMAT: ClassVar[int] = 3
