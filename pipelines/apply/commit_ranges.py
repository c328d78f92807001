"""Cut a batch, for one table, at each followed DDL: the changes committed before it, the DDL itself, then the rest."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.errors import SchemaConflict
from pipelines.records.batch_spec import ColumnChange, TableTask
from pipelines.scn import Scn, ScnRange
from pipelines.table import TableVersion


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Commits in [start, end), applied as one commit under `version`, after the `steps` that lead to it."""

    number: int
    start: int
    end: int
    version: TableVersion
    steps: tuple[ColumnChange, ...] = ()

    @property
    def last_scn(self) -> Scn:
        return Scn(self.end - 1)


def stop_scn(task: TableTask, scns: ScnRange) -> int:
    """Where the table stops in this batch: at its hold, or at the batch's end."""
    return scns.end if task.hold is None else max(scns.start, min(scns.end, task.hold.at_scn))


def ddl_scns(task: TableTask, scns: ScnRange, position: int) -> tuple[int, ...]:
    """The DDL that is still to be followed: what lies at or below the position is in the target already."""
    stop = stop_scn(task, scns)
    return tuple(sorted({step.scn for step in task.ddl if max(scns.start, position + 1) <= step.scn < stop}))


def plan_commit_ranges(task: TableTask, scns: ScnRange, position: int) -> tuple[CommitRange, ...]:
    """In order; none when the table is held from the start or is complete already."""
    start, stop, edges = max(scns.start, position + 1), stop_scn(task, scns), ddl_scns(task, scns, position)
    if start >= stop:
        return ()
    begins = [start, *edges] if start not in edges else list(edges)
    first = 0 if start not in edges else 1  # a DDL right at the start leaves the piece before it empty
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
    """Raises SchemaConflict when columns change inside the piece without a DDL that is followed."""
    older = [version for version in task.versions if version.from_scn <= begin]
    version = older[-1] if older else task.versions[0]
    for later in task.versions:
        if version.from_scn < later.from_scn < end and {c.id for c in later.columns} != {c.id for c in version.columns}:
            raise SchemaConflict(
                "the table's columns change, but no DDL that is followed says so",
                cure=f"`redolake snapshot {task.table} --replace` takes the table anew",
                table=task.table,
                scn=later.from_scn,
            )
    return version
