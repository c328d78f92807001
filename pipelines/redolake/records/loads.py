"""The specification and the result of a snapshot load: tables read AS OF an SCN become Delta tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from redolake.records.file_digest import FileDigest
from redolake.records.lakes import LakePlace
from redolake.values.table import Rules, TableId, TableVersion
from redolake.values.target_options import DEFAULT, TargetOptions


@dataclass(frozen=True, slots=True)
class SnapshotTask:
    """One table's Parquet files, read AS OF `scn`. `supersedes` names the batches and loads that brought the table beyond that
    SCN before; the load makes them void for this table. With `joins`, the files have the key and these columns alone, and the
    others are those that the table has at the SCN."""

    table: TableId
    target: str
    app_id: str
    version: TableVersion
    files: tuple[str, ...]
    rules: Rules = field(default_factory=dict)
    rows: int | None = None  # as counted at the source; checked when given
    supersedes: tuple[str, ...] = ()
    options: TargetOptions = DEFAULT
    comment: str = ""
    comments: tuple[tuple[int, str], ...] = ()  # of columns, by column id
    scn: int = field(kw_only=True)
    scns: Mapping[str, int] = field(kw_only=True, default_factory=dict)  # of the files with rows AS OF another SCN
    joins: tuple[int, ...] = field(kw_only=True, default=())  # ids of columns


@dataclass(frozen=True, slots=True)
class SnapshotSpec:
    """`scn` is the highest of its tables', which usually have the same one."""

    FORMAT: ClassVar[int] = 9
    GONE: ClassVar[tuple[str, ...]] = ("spark",)

    pipeline: str
    scn: int
    token: str
    tables: tuple[SnapshotTask, ...]
    manifest: str
    replace: bool = False
    lease: int | None = None
    lake: LakePlace | None = None  # None where nobody checks it
    origin: str = ""  # of the landing: FirstPosition.origin
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # of all files that it reads, by their paths


@dataclass(frozen=True, slots=True)
class SnapshotLoaded:
    """`loaded` is False where the table already held this snapshot."""

    table: TableId
    state: Literal["applied", "held"]
    loaded: bool
    rows: int = 0
    delta_version: int | None = None
    error: Mapping[str, Any] | None = None
    nulled: Mapping[str, int] = field(default_factory=dict)  # values that are NULL by rule, by column in Oracle


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    FORMAT: ClassVar[int] = 2

    pipeline: str
    scn: int
    tables: tuple[SnapshotLoaded, ...]
