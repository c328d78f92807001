"""The target, whatever it is: what is asked of a table of the lake, and what it is given (docs/development/adding-a-target.md).

It is given columns by our ids, and net changes: rows that each say what becomes of the row with their key. `delta/` has the one
target that there is, and `lake_tables.py` chooses it. Nothing else knows more of it than this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext, MayCommit, allow
from redolake.apply.owner import Owner, Use
from redolake.apply.table_log import TableLog, VersionToRead
from redolake.records.batches.attempt import Attempt
from redolake.records.batches.spec import TableTask
from redolake.records.maintenance import MaintenanceSpec, MaintenanceTask
from redolake.values import frames
from redolake.values.table import ROWID_COLUMN, ROWID_NAME, Column, OracleType, TableId, TableVersion
from redolake.values.target_options import DEFAULT, TargetOptions
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


def key_range(column: TargetColumn | None, seen: Row | Mapping[str, Any]) -> KeyRange | None:
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

    @property
    def are_plain(self) -> bool:
        """Return whether a change only sets or removes a row, by its key."""
        return not (self.objects or self.filled or self.has_whole or self.keeps_removed)

    def types(self, columns: Mapping[int, TargetColumn]) -> dict[str, str]:
        """Return the columns of all net changes into a target with these columns, with their types."""
        keys = {frames.key(i): columns[i].type for i in self.key}
        values = {frames.after(column.id): column.type for column in columns.values()}
        return {"op": "string", **keys, **values, **{frames.unknown(i): "boolean" for i in self.missing}}


@dataclass(frozen=True, slots=True)
class Tag:
    """The name and the number of one commit (table_log.py): without an application id it has neither. `metadata` is for people
    who look at the table's history; the code only reads whether it is ours, and what was checked."""

    app_id: str
    version: int
    metadata: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Terms:
    """Under which terms a table is written. `may_commit` raises when another writer holds the lease, `check_lake` where there
    is no lake; it is asked where there is no table. `covers` is the newest version whose rows were compared: changes of others
    up to it are known. With `any_rows` it does not matter who has written the rows that are there. With `later` the caller
    looks for rows that others have written at the same moment, once it has recorded the commit. With `exact` no other commit
    at all may have been made."""

    table: TableId
    owner: Owner | None
    may_commit: MayCommit = allow
    check_lake: Callable[[], None] = allow
    use: Use = "merge"
    covers: int | None = None
    any_rows: bool = False
    later: bool = False
    exact: bool = False

    @classmethod
    def of(cls, context: ApplyContext, task: TableTask, *, later: bool = False) -> Terms:
        """Return the terms of a batch's commits."""
        owner = Owner.of(task.destination.app_id, context.origin, task.course.latest.object_id)
        return cls(task.table, owner, context.may_commit, context.check_lake, later=later)


class Writer(Protocol):
    """What may be committed. Each verb is one commit, with the tag."""

    def merge(
        self, net: Callable[[], DataFrame], has: NetColumns, options: TargetOptions, rows: pa.Table | None = None
    ) -> RowCounts | None:
        """Commit net changes: `net` makes their frame, `rows` are the same, where this process has them and the table takes
        them. Commit nothing, and return None, at a position that the table has."""

    def append(self, rows: DataFrame, *, new_columns: bool = False) -> None: ...

    def replace(self, rows: DataFrame, where: str | None = None, *, new_columns: bool = False) -> None:
        """Replace all rows, or those of a predicate. The table keeps its columns and its partitions."""

    def create(self, rows: DataFrame, options: TargetOptions = DEFAULT) -> None:
        """Replace schema and rows at once, whether or not there is a table."""


class Target(Protocol):
    """One table of the lake. What it knows is read once, and again after `refresh` and after each commit.

    `base_id` names our commits, `app_id` those that continue the load whose contents the table has, `load` that load. `log` is
    None where no table is there; then there is no `position`, the SCN of our last commit, no `version`, the table's own number
    of its last one, and no `filled_to`, the SCN up to which DDL has changed rows. `columns` are those of Oracle, by our id,
    `bytes` the size of the files: None where it is not known.
    """

    spark: SparkSession
    path: str
    base_id: str

    @property
    def log(self) -> TableLog | None: ...
    @property
    def app_id(self) -> str: ...
    @property
    def load(self) -> str: ...
    @property
    def position(self) -> int | None: ...
    @property
    def filled_to(self) -> int | None: ...
    @property
    def version(self) -> int | None: ...
    @property
    def columns(self) -> Mapping[int, TargetColumn]: ...
    @property
    def schema(self) -> StructType: ...
    @property
    def bytes(self) -> int | None: ...

    def takes_rows(self, changes: int) -> bool:
        """Return whether this process may merge so many net changes whose rows it has."""

    def rows(self, version: int | None = None) -> DataFrame:
        """Return all rows, of now or of a version, those that are marked as deleted too."""

    def refresh(self) -> None: ...

    def attempt(self) -> Attempt | None:
        """Return what the attempt whose commit has the position did, with the rows of that commit. None where none is noted."""

    def make_ready(self, context: ApplyContext, task: TableTask) -> None:
        """Bring properties and layout to the configuration; raise SchemaConflict or TargetRefused for a table that only a
        snapshot can bring there."""

    def evolve(self, context: ApplyContext, task: TableTask, commit_range: CommitRange) -> None:
        """Follow the DDL of the range."""

    def commit(self, terms: Terms, tag: Tag, point: str) -> AbstractContextManager[Writer]:
        """Yield the writer of one commit; `point` is the crash point after it. Raise Transient where the table has gone on
        since it was read, LakeMissing, FolderTaken, TableSetBack for rows of another writer, and what `may_commit` raises, with
        nothing written. Raise InvariantBroken or TableSetBack where another writer has committed at the same moment."""

    def make_way(
        self, table: TableId, options: TargetOptions, key_kind: str, metadata: Mapping[str, object], *, replaces: bool
    ) -> None:
        """Leave a table that one commit can replace, or none. Unless it `replaces` whatever is there, raise SchemaConflict or
        TargetRefused for a table that refuses rows, or that some readers cannot open."""

    def put_aside(self, owner: Owner | None, table: TableId) -> None:
        """Leave a folder without a table, where the one that is there is damaged. Raise FolderTaken where it says that it is
        another's."""

    def enable(
        self, schema: StructType, metadata: Mapping[str, object], terms: Terms, options: TargetOptions | None = None
    ) -> None:
        """Let the table have columns of these names and types. With `options`, they are all that it is going to have."""

    def settle(self, terms: Terms, options: TargetOptions, metadata: Mapping[str, object], comment: str | None = None) -> None:
        """Bring properties and clustering to the options, which may say whose the table is, and set its comment."""

    def copy(self, one: VersionToRead, terms: Terms, metadata: Mapping[str, object], *, is_whole: bool) -> None:
        """Make this table a copy of a version of another one, with that one's position. Changes that are merged into it do not
        reach the other one. A whole copy has files of its own: those of the other one may go."""

    def maintain(self, spec: MaintenanceSpec, task: MaintenanceTask, terms: Terms) -> tuple[int, int, bool]:
        """Rewrite small files into larger ones where there are many, and remove those of old versions. Return how many files
        there were, how many are left, and whether they were rewritten."""


class History(Target, Protocol):
    """The table with the history of one captured table (values/history.py). `base_id` is that of the captured table."""

    def follow(self, context: ApplyContext, table: Any, task: TableTask, start: int) -> None:
        """Begin an epoch with the target's rows where the history cannot be continued from them. Commits from `start` on are
        not applied yet. Raise SchemaConflict for a table that can have no history."""

    def record(self, context: ApplyContext, table: Any, task: TableTask, rows: DataFrame, last_scn: int) -> None:
        """Append the changes up to `last_scn` that the history does not have yet."""

    def add(self, context: ApplyContext, table: Any, task: TableTask, made: Any) -> int:
        """Append the rows of another history, whose changes end where those of the table do. Return how many epochs it has."""
