"""The target, whatever it is: what apply asks of it, and what it is given.

It is given columns by our ids, and net changes: rows that each say what becomes of the row with their key. `delta/` has the one
target that there is. The deliveries, the net change and the order of a table's commits know no more of it than this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame, Row

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.translation import Translation
from redolake.records.batches.attempt import Attempt
from redolake.records.batches.spec import TableTask
from redolake.values.table import ROWID_COLUMN, ROWID_NAME, Column, OracleType, TableVersion
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts

# `op` of a net change: the row is as it says, the row is gone, or only its large objects or filled columns are as it says.
UPSERT, REMOVE, REPLACE, OBJECTS = "U", "D", "R", "O"
ATTEMPT = "attempt"  # in the metadata of a commit of changes: records/batches/attempt.py


# Kept as text, because its parts are internal to Oracle.
ROWID = Column(ROWID_COLUMN, ROWID_NAME, OracleType("VARCHAR2", length=18), 0, nullable=False)


def target_columns(version: TableVersion) -> tuple[Column, ...]:
    """Return the version's columns, and ROWID where it is the key."""
    return (*version.columns, ROWID) if version.key_kind == "rowid" else version.columns


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column of the table in the lake. `default` is its value in rows older than the column, in neutral text."""

    id: int
    name: str
    type: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The range of all keys of a batch, by the first column of the key."""

    column: TargetColumn
    low: int
    high: int


def key_range(column: TargetColumn | None, seen: Row) -> KeyRange | None:
    """Return the range by the answer to the look at the net changes; None where they have no keys."""
    return None if column is None or seen["low"] is None else KeyRange(column, int(seen["low"]), int(seen["high"]))


@dataclass(frozen=True, slots=True)
class NetColumns:
    """Which columns the net changes have, by column id. `objects` are columns with large objects: they are set where
    `is_read`. Columns in `missing` keep the target's value where u<id> is true; MERGE fails, and commits nothing, where the
    target has no such row. A row whose `op` is REPLACE is written only where the target has a row with its key. One whose `op`
    is OBJECTS sets only `objects` and the columns in `filled`. With `has_whole`, a row with `is_whole` finds the rows of the
    target that equal it in all columns, if they are to be removed; if it is to be inserted, it finds none. `within` is the
    range of all keys. With `keeps_removed`, a row that is removed leaves its key, marked as deleted, in a target that never
    had it."""

    key: Sequence[int]
    objects: Collection[int] = ()
    missing: Collection[int] = ()
    filled: Collection[int] = ()
    has_whole: bool = False
    within: KeyRange | None = None
    keeps_removed: bool = False


class Target(Protocol):
    """One table's target. What it knows of the table is read once, and again after `refresh`.

    `rows` are all its rows, `live` those that are not marked as deleted; `columns` are its columns by our id. `position` is the
    SCN of our last commit, `version` its own number of its last one: None without any, as are all of a table that is not there.
    """

    path: str

    @property
    def exists(self) -> bool: ...

    @property
    def columns(self) -> Mapping[int, TargetColumn]: ...

    @property
    def position(self) -> int | None: ...

    @property
    def version(self) -> int | None: ...

    @property
    def load(self) -> str:
        """What names the load whose contents the table continues."""

    def attempt(self) -> Attempt | None:
        """Return what the attempt whose commit has the position did, with the rows of that commit. None where none is noted."""

    def live(self, options: TargetOptions) -> DataFrame: ...

    def refresh(self) -> None: ...

    def check_owner(self, context: ApplyContext, task: TableTask) -> None:
        """Raise FolderTaken where the table is another's."""

    def check_not_set_back(self, task: TableTask, start: int) -> None:
        """Raise TableSetBack when the table lacks applied commits, or when another writer changed its rows."""

    def check_columns(self, version: TableVersion, task: TableTask, translation: Translation) -> None:
        """Raise SchemaConflict unless the table has exactly the version's columns."""

    def make_ready(self, context: ApplyContext, task: TableTask) -> None:
        """Bring properties and layout to the configuration; raise for a table that only a snapshot can bring there."""

    def claim(self, context: ApplyContext, task: TableTask) -> None:
        """Raise FolderTaken where the table is another's; else let the table say whose it is."""

    def evolve(self, context: ApplyContext, task: TableTask, commit_range: CommitRange) -> None:
        """Follow the DDL of the range."""

    def needs(self, options: TargetOptions) -> tuple[str, ...]:
        """Return the columns of changes that the table's own columns are made of, apart from those of every change."""

    def with_findings(self, changes: DataFrame, key: Sequence[int], options: TargetOptions) -> DataFrame:
        """Return changes, net or not, with a finding for a value that the table cannot hold."""

    def ranged_column(self, version: TableVersion) -> TargetColumn | None:
        """Return the column of the key by whose range MERGE shall leave out parts of the table; None for all of it."""

    def commit(
        self, context: ApplyContext, task: TableTask, last_scn: int, metadata: Mapping[str, object]
    ) -> AbstractContextManager[ChangeWriter]:
        """Yield the writer of one commit at the position `last_scn`. Raise an error, with nothing written, where the table is
        not as it was read, or another's, and where the lease is lost; raise InvariantBroken after the commit of another writer
        of ours at the same moment."""


class ChangeWriter(Protocol):
    def merge(self, net: DataFrame, has: NetColumns) -> RowCounts | None:
        """Commit net changes. Commit nothing, and return None, at a position that the table has."""

    def append(self, inserts: DataFrame, count: int) -> RowCounts:
        """Commit `count` INSERTs."""


class History(Protocol):
    """The table with the history of one captured table (values/history.py)."""

    def check_not_set_back(self, task: TableTask) -> None:
        """Raise TableSetBack when the history lacks what batches have appended."""

    def follow(self, context: ApplyContext, table: Any, task: TableTask, start: int) -> None:
        """Begin an epoch with the target's rows where the history cannot be continued from them. Commits from `start` on are
        not applied yet. Raise SchemaConflict for a table that can have no history."""

    def record(self, context: ApplyContext, table: Any, task: TableTask, rows: DataFrame, last_scn: int) -> None:
        """Append the changes up to `last_scn` that the history does not have yet."""
