"""Divide a batch, for one table, at each followed DDL: each range becomes one Delta commit, after its DDL."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.errors import SchemaConflict
from pipelines.records.batch_spec import ColumnChange, TableTask
from pipelines.scn import Scn, ScnRange
from pipelines.table import TableVersion


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Oracle commits in [start, end), applied as one Delta commit under `version`, after the DDL `steps`."""

    number: int
    start: int
    end: int
    version: TableVersion
    steps: tuple[ColumnChange, ...] = ()

    @property
    def last_scn(self) -> Scn:
        return Scn(self.end - 1)


def stop_scn(task: TableTask, scns: ScnRange) -> int:
    """Return the SCN at which the table stops in this batch: that of its hold, or the batch's end."""
    return scns.end if task.hold is None else max(scns.start, min(scns.end, task.hold.at_scn))


def ddl_scns(task: TableTask, scns: ScnRange, position: int) -> tuple[int, ...]:
    """Return the SCNs of DDL still to follow; DDL at or below the position is in the target already."""
    stop = stop_scn(task, scns)
    return tuple(sorted({step.scn for step in task.ddl if max(scns.start, position + 1) <= step.scn < stop}))


def plan_commit_ranges(task: TableTask, scns: ScnRange, position: int) -> tuple[CommitRange, ...]:
    """Return the ranges in order; none when the table is held from the start or is complete already."""
    start, stop, edges = max(scns.start, position + 1), stop_scn(task, scns), ddl_scns(task, scns, position)
    if start >= stop:
        return ()
    begins = [start, *edges] if start not in edges else list(edges)
    first = 0 if start not in edges else 1  # a DDL right at the start leaves the range before it empty
    ends = [*begins[1:], stop]
    return tuple(
        CommitRange(
            number=first + number,
            start=begin,
            end=end,
            version=_version_at(task, begin, end),
            steps=tuple(step for step in task.ddl if step.scn == begin) if begin in edges else (),
        )
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    )


def _version_at(task: TableTask, begin: int, end: int) -> TableVersion:
    """Raise SchemaConflict when columns change inside the range without a followed DDL."""
    older = [version for version in task.versions if version.from_scn <= begin]
    version = older[-1] if older else task.versions[0]
    for later in task.versions:
        if version.from_scn < later.from_scn < end and {c.id for c in later.columns} != {c.id for c in version.columns}:
            raise SchemaConflict(
                "the table's columns change without a followed DDL",
                cure=f"run `redolake snapshot {task.table} --replace` to rebuild the table",
                table=task.table,
                scn=later.from_scn,
            )
    return version
