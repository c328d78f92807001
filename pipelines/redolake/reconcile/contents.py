"""What versions of a table's Delta table contain, by the manifests of batches and loads: from which SCN on, and to which.

A version that a batch left is the table at each SCN of the batch from its position, that of the last commit that changed
something, to the SCN to which the batch completed the table. Positions that a later load has set back do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from redolake.context import Run
from redolake.land import layout
from redolake.reconcile.batches import (
    batch_result,
    find_superseded,
    left_alone,
    loads_until,
    position_loaded,
)
from redolake.reconcile.newest_batches import end_of, newest_first, start_of
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.loads import SnapshotTask
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class Contents:
    """Version `version` of the Delta table is the table at each SCN from `since` to `complete_to`. `position` is the one in its
    log, None where an older manifest does not say."""

    resetlogs_id: int
    since: int
    complete_to: int
    version: int
    position: int | None

    def has(self, at: ChainPosition) -> bool:
        """Return whether the version is the table at that SCN."""
        return self.resetlogs_id == at.resetlogs_id and self.since <= at.scn <= self.complete_to

    @property
    def end(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.complete_to)


def best_contents(found: Iterable[Contents], at: ChainPosition) -> Contents | None:
    """Return the newest version that is the table at that SCN, else the one that needs the fewest changes more; None where the
    table had no contents then."""
    known = list(found)
    exact = [contents for contents in known if contents.has(at)]
    before = [contents for contents in known if contents.end <= at]
    return max(exact or before, key=lambda contents: (contents.end, contents.version), default=None)


def contents_at(context: Run, tables: Collection[TableId], at: ChainPosition) -> dict[TableId, Contents | None]:
    """Return for each table the version to read, or to go on from, for an SCN."""
    void, found = find_superseded(context), dict[TableId, list[Contents]]()
    for name, table, contents in every_contents(context, tables, at):
        if name not in void.get(table, ()):
            found.setdefault(table, []).append(contents)
            if all(any(one.has(at) or one.end <= at for one in found.get(wanted, ())) for wanted in tables):
                break
    for name, task, version in loads_until(context, at.scn):
        left = contents_of_load(task, version)
        if task.table in tables and name not in void.get(task.table, ()) and left is not None and left.end <= at:
            found.setdefault(task.table, []).append(left)
    return {table: best_contents(found.get(table, ()), at) for table in tables}


def every_contents(context: Run, tables: Collection[TableId], at: ChainPosition) -> Iterator[tuple[str, TableId, Contents]]:
    """Yield what batches left, newest first, from the batch that contains the SCN on: its name, the table, and the contents."""
    names = [n for n in context.landing.files.names(layout.BATCHES) if ChainPosition(end_of(n).resetlogs_id, start_of(n)) <= at]
    for name in newest_first(names):
        result = batch_result(context, name)
        for done in result.tables if result is not None else ():
            if done.table in tables and result is not None and (contents := contents_of(result, done)) is not None:
                yield name, done.table, contents


def contents_of(result: BatchResult, done: TableResult) -> Contents | None:
    """Return what a batch left in a table; None where that is not known. Where it followed DDL, only its end is certain."""
    if done.complete_to is None or done.delta_version is None or left_alone(done):
        return None
    is_same = done.position is not None and not done.ddl
    since = min(done.complete_to, max(done.position or 0, result.start - 1)) if is_same else done.complete_to
    return Contents(result.resetlogs_id, since, done.complete_to, done.delta_version, done.position)


def contents_of_load(task: SnapshotTask, version: int) -> Contents | None:
    """Return what a load left. A table that was read in chunks of several SCNs is of none of them before a batch has passed the
    last one."""
    if task.scns:
        return None
    return Contents(position_loaded(task).resetlogs_id, task.scn, task.scn, version, task.scn)
