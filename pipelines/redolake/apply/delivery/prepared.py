"""The values between the steps of a commit range: what is committed, its net change, and what is written to the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame

from redolake.apply.commit_ranges import CommitRange, Known, known_versions
from redolake.apply.context import ApplyContext
from redolake.apply.net.missing_columns import NOTHING_MISSING, Missing
from redolake.apply.quarantine.divide import NOTHING_TAKEN, Taken
from redolake.apply.schema import check_columns
from redolake.apply.spark.probes import Plan
from redolake.apply.target import NetColumns, Target, TargetColumn
from redolake.apply.translation import Translation
from redolake.errors import RedolakeError
from redolake.records.batches.attempt import Windows
from redolake.records.batches.spec import Destination, TableTask
from redolake.values.lake_columns import with_lake_names
from redolake.values.mapping import RowFilter
from redolake.values.null_rule import is_else_null
from redolake.values.table import TableVersion


@dataclass(frozen=True, slots=True)
class CommittedChanges:
    """The committed changes of one range: `count` of them, or the problem for which they cannot be applied. `scns` are the
    lowest and the highest SCN of a change, `times` those of the first and last commit; None is not known. `windows` says in
    which windows they landed."""

    frame: DataFrame
    count: int
    problem: RedolakeError | None = None
    scns: tuple[int, int] | None = None
    times: tuple[datetime, datetime] | None = None
    windows: Windows = field(default_factory=dict)


ChangesOf = Callable[[int], CommittedChanges]  # by the number of the range


@dataclass(frozen=True, slots=True)
class TableRange:
    """A commit range of a table that is to be applied."""

    table: Target
    task: TableTask
    commit_range: CommitRange
    committed: CommittedChanges

    @property
    def version(self) -> TableVersion:
        return self.commit_range.version

    @property
    def key(self) -> tuple[int, ...]:
        return self.commit_range.version.key

    @property
    def there(self) -> Destination:
        return self.task.destination

    @property
    def keeps_removed(self) -> bool:
        """Return whether rows are marked that the target never had: those of a shadow from before its range."""
        return self.there.shadow_from is not None and self.there.options.deletes == "mark"

    @property
    def filter(self) -> RowFilter | None:
        """The filter of rows; None where the target shall have all."""
        return None if self.version.mapping is None else self.version.mapping.where

    @property
    def asks_target(self) -> bool:
        """Return whether the target says which rows the table had before the range. Of keys in quarantine it may have rows of
        any time."""
        has_all = self.filter is None and self.there.shadow_from is None and not self.is_mixed
        return has_all and self.there.quarantine is None

    @property
    def counts_nulls(self) -> bool:
        """Return whether values that do not fit are NULL by rule, so that the changes have `nulled`."""
        return any(map(is_else_null, self.task.course.rules.values()))

    @property
    def is_mixed(self) -> bool:
        """Return whether the target's rows are those of several SCNs, as chunks of its snapshot were read."""
        return self.there.settles_at is not None and self.commit_range.start <= self.there.settles_at

    def columns_with_default(self, columns: Iterable[TargetColumn]) -> frozenset[int]:
        """Return the columns whose default Oracle may show in rows that do not store it."""
        return frozenset(c.id for c in columns if c.default is not None or c.id in self.task.course.defaulted)

    def check_columns(self, translation: Translation) -> None:
        """Raise SchemaConflict for a target with other columns."""
        lake = with_lake_names(self.version, self.there.options)
        check_columns(lake, self.task.course.rules, self.table.columns, translation)

    @property
    def known_versions(self) -> tuple[Known, ...]:
        return known_versions(self.task.course, self.commit_range, self.committed.scns)


@dataclass(frozen=True, slots=True)
class NetChanges:
    """One change for each key, not checked yet. They stand for `expected` changes of the redo.

    `missing` are the columns of which a change may keep the target's value. `objects` are columns that are set only where
    `is_read`, or where a change gives them a value. With `has_whole`, some rows have no key (null_keys.py). `events` are all
    changes (net.events), where each of them has all its values; a history is made of them."""

    frame: DataFrame
    expected: int
    missing: Missing = NOTHING_MISSING
    objects: tuple[int, ...] = ()
    has_whole: bool = False
    filtered: int = 0  # of the expected, changes after which the filter leaves the row out
    events: DataFrame | None = None
    taken: Taken = NOTHING_TAKEN
    filtered_in: Mapping[int, int] = field(default_factory=dict)  # the filtered ones by the start of their window
    undivided: DataFrame | None = None  # the changes, where one with a finding may go to quarantine


@dataclass(frozen=True, slots=True)
class ToMerge:
    """Checked net changes, and what MERGE has to know of their columns. `changes` makes their frame where Spark merges them.
    `upserts` of them are rows to write; None is not counted."""

    changes: Callable[[], DataFrame]
    has: NetColumns
    missing: Missing = NOTHING_MISSING
    filtered: int = 0
    events: DataFrame | None = None
    taken: Taken = NOTHING_TAKEN
    filtered_in: Mapping[int, int] = field(default_factory=dict)
    is_empty: bool = False  # all changes go to quarantine
    upserts: int | None = None
    nulled: int = 0  # values of the changes that are NULL by rule
    asks_target: bool = True
    rows: pa.Table | None = None  # the changes, where this process has them


@dataclass(frozen=True, slots=True)
class ToAppend:
    """Checked INSERTs, `count` of them; the filter has left out `filtered` others."""

    changes: DataFrame
    count: int
    filtered: int = 0
    filtered_in: Mapping[int, int] = field(default_factory=dict)
    taken: Taken = NOTHING_TAKEN  # always: nothing tells which row of the lake would be wrong
    nulled: int = 0


PreparedRange = ToMerge | ToAppend
Prepare = Callable[[ApplyContext, TableRange], Plan[PreparedRange]]
NetChange = Callable[[ApplyContext, TableRange], Plan[NetChanges]]
