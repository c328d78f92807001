"""Divide a batch, for one table, at each followed DDL: each range becomes one Delta commit, after its DDL.

After a DDL that changed rows without redo, the table is known again only at the end of its window, where capture has read it.
So the range goes on until there, and contains the DDL in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.errors import InvariantBroken, SchemaConflict
from pipelines.records.batches.spec import ColumnChange, TableTask, WholeFile
from pipelines.values.scn import Scn, ScnRange
from pipelines.values.table import TableVersion

NEED_ROWS = frozenset({"remove_rows", "fill_column"})


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Oracle commits in [start, end), applied as one Delta commit under `version`, after the DDL `steps`. `whole` is what was
    read of the table AS OF its end, if a DDL in it changed rows without redo."""

    number: int
    start: int
    end: int
    version: TableVersion
    steps: tuple[ColumnChange, ...] = ()
    whole: WholeFile | None = None

    @property
    def last_scn(self) -> Scn:
        return Scn(self.end - 1)

    @property
    def removes(self) -> bool:
        """Return whether a DDL has removed rows."""
        return any(step.kind in ("remove_rows", "truncate") for step in self.steps)

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
    edges = {step.scn for step in task.ddl if first <= step.scn < stop}
    for start, whole in _read_again(task, first, stop):
        edges = {scn for scn in edges if not start < scn <= whole.scn} | ({whole.scn + 1} if whole.scn + 1 < stop else set())
    return tuple(sorted(edges))


def _read_again(task: TableTask, first: int, stop: int) -> Iterator[tuple[int, WholeFile]]:
    """Yield the SCN of the first DDL from `first` on that needs each file of the table's rows."""
    for whole in task.whole:
        scns = [step.scn for step in task.ddl if step.kind in NEED_ROWS and step.scn in whole.ddl]
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
    return tuple(
        CommitRange(
            number=first + number,
            start=begin,
            end=end,
            version=_version_at(task, end - 1 if begin in read else begin, end),
            steps=tuple(s for s in task.ddl if begin <= s.scn < end and (s.scn == begin or begin in read))
            if begin in edges
            else (),
            whole=read.get(begin),
        )
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    )


def _require_ends(task: TableTask, read: Mapping[int, WholeFile], stop: int) -> None:
    """Raise InvariantBroken if the table stops between a DDL and the SCN at which its rows were read again."""
    for begin, whole in read.items():
        if whole.scn >= stop:
            raise InvariantBroken(
                f"the table is to stop before SCN {stop}, after the DDL at SCN {begin} its rows are known AS OF {whole.scn}",
                cure="nothing was merged; report it with the batch file",
                table=task.table,
                scn=begin,
            )


def _version_at(task: TableTask, scn: int, end: int) -> TableVersion:
    """Raise SchemaConflict when columns change between the SCN and the range's end without a followed DDL."""
    older = [version for version in task.versions if version.from_scn <= scn]
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
