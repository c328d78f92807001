"""Prepare the small tables of a batch in groups: looking at their changes before MERGE takes two jobs for a group, not two for
each table. Each table is committed by itself, in its turn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from redolake.apply.commit_ranges import CommitRange, plan_commit_ranges
from redolake.apply.context import ApplyContext
from redolake.apply.delivery import prepare_range
from redolake.apply.delivery.prepared import ChangesOf, PreparedRange, TableRange
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.probes import take_together
from redolake.apply.target import Target, TargetColumn
from redolake.errors import RedolakeError
from redolake.records.batches.spec import TableTask
from redolake.values.delivery import is_in_redo

log = logging.getLogger(__name__)

# A group's changes stay in the executors until its last table is merged.
MOST_CHANGES = 10_000  # of a table
MOST_TABLES = 16  # of a group


@dataclass(frozen=True, slots=True)
class Prepared:
    """The outcome for a commit range under `columns` of the target, and the table's share of the time that one thread would
    have needed."""

    commit_range: CommitRange
    columns: Mapping[int, TargetColumn]
    outcome: Future[PreparedRange]
    seconds: float

    def fits(self, commit_range: CommitRange, table: Target) -> bool:
        return self.commit_range == commit_range and self.columns == table.columns


class SmallTables:
    """The small tables of a batch, by number. A group is prepared when the turn of its first table comes."""

    def __init__(self, context: ApplyContext, small: Mapping[int, TableRange], side_by_side: int) -> None:
        self.context, self.small, self.side_by_side = context, small, side_by_side
        numbers = tuple(small)
        self.groups = {numbers[at]: numbers[at : at + MOST_TABLES] for at in range(0, len(numbers), MOST_TABLES)}
        self.known: dict[int, Prepared] = {}

    def prepare(self, number: int) -> Prepared | None:
        """Return None for a table that is to be prepared by itself."""
        group = self.groups.pop(number, ())
        if len(group) > 1:
            self.known |= self._prepare(group)
        return self.known.pop(number, None)

    def _prepare(self, group: tuple[int, ...]) -> dict[int, Prepared]:
        began, tables = time.monotonic(), [self.small[number] for number in group]
        plans = [prepare_range(self.context, one) for one in tables]
        try:
            outcomes = take_together(plans, self.side_by_side)
        except Exception as surprise:
            check_session(self.context.spark, surprise)
            # One of them may be the reason: by itself it is held, and the others are applied.
            log.info("%s tables are prepared one by one: %s", len(tables), type(surprise).__name__)
            return {}
        seconds = (time.monotonic() - began) * min(self.side_by_side, len(tables)) / len(tables)
        return {
            number: Prepared(one.commit_range, one.table.columns, outcome, seconds)
            for number, one, outcome in zip(group, tables, outcomes, strict=True)
        }


def small_table(context: ApplyContext, table: Target, task: TableTask, changes_of: ChangesOf) -> TableRange | None:
    """Return the table if it has a single commit range of few changes, with no DDL and no large objects; else None."""
    if table.log is None or not is_in_redo(task.course.deliveries):
        return None
    try:
        ranges = plan_commit_ranges(task, context.scns, -1 if table.position is None else table.position)
    except RedolakeError:
        return None  # it is raised again in the table's turn
    if len(ranges) != 1 or ranges[0].steps or ranges[0].whole is not None:
        return None
    committed = changes_of(ranges[0].number)
    if committed.problem is not None or not 0 < committed.count <= MOST_CHANGES:
        return None
    return TableRange(table, task, ranges[0], committed)
