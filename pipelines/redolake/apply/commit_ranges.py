"""Divide a batch, for one table, at each followed DDL: each range becomes one Delta commit, after its DDL.

After a DDL that changed rows without redo, the table is known again only at the end of its window, where capture has read it.
So the range goes on until there, and contains the DDL in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from redolake.errors import OF_BATCH, InvariantBroken, SchemaConflict, report_with
from redolake.records.batches.spec import ColumnChange, Course, TableTask, WholeFile
from redolake.values.delivery import (
    PLAIN,
    Appended,
    Assembled,
    Delivery,
    NullableKey,
    Plain,
    RereadRows,
    RereadValues,
    WholeTable,
)
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableVersion

Known = tuple[TableVersion, Delivery]  # a version of the table, and the delivery of changes under it
NEED_ROWS = frozenset({"remove_rows", "fill_column"})


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Oracle commits in [start, end), applied as one Delta commit under `version`, after the DDL `steps`. `whole` is what was
    read of the table AS OF its end, if a DDL in it changed rows without redo; `changes` is the delivery under `version`."""

    number: int
    start: int
    end: int
    version: TableVersion
    steps: tuple[ColumnChange, ...] = ()
    whole: WholeFile | None = None
    changes: Delivery = PLAIN

    @property
    def delivery(self) -> Delivery | WholeTable:
        """How its changes are applied, with what was read of the whole table."""
        match self.changes:
            case NullableKey():  # the file has the keys of rows, and a row without one is in no file
                return self.changes if self.whole is None else WholeTable(PLAIN)
            case Plain() | RereadValues() | Assembled():
                return self.changes if self.whole is None else WholeTable(self.changes)
            case RereadRows() | Appended():  # neither has DDL that changes rows without redo
                return self.changes
            case _:
                assert_never(self.changes)

    @property
    def last_scn(self) -> Scn:
        return Scn(self.end - 1)

    @property
    def removes(self) -> bool:
        """Return whether a DDL has removed rows."""
        return any(step.kind in ("remove_rows", "truncate") for step in self.steps)

    @property
    def rows_vanish(self) -> bool:
        """Return whether rows may go without redo: `whole` shows which are left."""
        return self.whole is not None and self.removes

    @property
    def filled(self) -> frozenset[int]:
        """The columns whose values are those of `whole`; none without it."""
        if self.whole is None:
            return frozenset()
        kept = {column.id for column in self.version.columns}
        return frozenset(step.column.id for step in self.steps if step.kind == "fill_column" and step.column.id in kept)

    @property
    def followed(self) -> tuple[ColumnChange, ...]:
        """The steps for the Delta table. A TRUNCATE after rows were read again shows in what was read."""
        return tuple(step for step in self.steps if self.whole is None or step.kind != "truncate")


def stop_scn(task: TableTask, scns: ScnRange) -> int:
    """Return the SCN at which the table stops in this batch: that of its hold, or the batch's end."""
    return scns.end if task.hold is None else max(scns.start, min(scns.end, task.hold.at_scn))


def ddl_scns(task: TableTask, scns: ScnRange, position: int) -> tuple[int, ...]:
    """Return the SCNs at which the commits are divided: of DDL still to follow, and of the ends of windows where the table was
    read again. DDL at or below the position is in the target already."""
    first, stop = max(scns.start, position + 1), stop_scn(task, scns)
    edges = {step.scn for step in task.course.ddl if first <= step.scn < stop}
    for start, whole in _read_again(task, first, stop):
        edges = {scn for scn in edges if not start < scn <= whole.scn} | ({whole.scn + 1} if whole.scn + 1 < stop else set())
    return tuple(sorted(edges))


def _read_again(task: TableTask, first: int, stop: int) -> Iterator[tuple[int, WholeFile]]:
    """Yield the SCN of the first DDL from `first` on that needs each file of the table's rows."""
    for whole in task.course.whole:
        scns = [step.scn for step in task.course.ddl if step.kind in NEED_ROWS and step.scn in whole.ddl]
        if needing := [scn for scn in scns if first <= scn < stop]:
            yield min(needing), whole


def plan_commit_ranges(task: TableTask, scns: ScnRange, position: int) -> tuple[CommitRange, ...]:
    """Return the ranges in order; none when the table is held from the start or is complete already."""
    start, stop, edges = max(scns.start, position + 1), stop_scn(task, scns), ddl_scns(task, scns, position)
    if start >= stop:
        return ()
    begins = [start, *edges] if start not in edges else list(edges)
    first = 0 if start not in edges else 1  # a DDL right at the start leaves the range before it empty
    ends = [*begins[1:], stop]
    read = dict(_read_again(task, start, stop))
    _require_ends(task, read, stop)
    ranges = []
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True), start=first):
        version = _version_at(task, end - 1 if begin in read else begin, end)
        steps = (
            [s for s in task.course.ddl if begin <= s.scn < end and (s.scn == begin or begin in read)] if begin in edges else []
        )
        changes = task.course.deliveries[task.course.versions.index(version)]
        ranges.append(CommitRange(number, begin, end, version, tuple(steps), read.get(begin), changes))
    return tuple(ranges)


def _require_ends(task: TableTask, read: Mapping[int, WholeFile], stop: int) -> None:
    """Raise InvariantBroken if the table stops between a DDL and the SCN at which its rows were read again."""
    for begin, whole in read.items():
        if whole.scn >= stop:
            raise InvariantBroken(
                f"the table is to stop before SCN {stop}, after the DDL at SCN {begin} its rows are known AS OF {whole.scn}",
                cure=f"run `redolake snapshot {task.table} --replace` to go on; nothing was merged. {report_with(OF_BATCH)}",
                table=task.table,
                scn=begin,
            )


def _version_at(task: TableTask, scn: int, end: int) -> TableVersion:
    """Raise SchemaConflict when columns change between the SCN and the range's end without a followed DDL."""
    version = task.course.valid_at(scn)
    for later in task.course.versions:
        if version.from_scn < later.from_scn < end and {c.id for c in later.columns} != {c.id for c in version.columns}:
            raise SchemaConflict(
                "the table's columns change without a followed DDL",
                cure=f"run `redolake snapshot {task.table} --replace` to rebuild the table",
                table=task.table,
                scn=later.from_scn,
            )
    return version


def known_versions(course: Course, commit_range: CommitRange, scns: tuple[int, int] | None) -> tuple[Known, ...]:
    """Return the versions of the range's changes, which have SCNs in `scns` (both inclusive; None is not known). Each one is a
    part of the plan, with a decoder of its own, so those that none of the changes has are left out: else a range would cost
    more with each DDL that the table ever had."""
    every = course.known
    known = tuple(one for one in every if one[0].from_scn < commit_range.end) or every[:1]
    if scns is None:
        return known
    low, high = scns
    first = max((number for number, (version, _) in enumerate(known) if version.from_scn <= low), default=0)
    return tuple(one for n, one in enumerate(known) if n == first or (n > first and one[0].from_scn <= high))
