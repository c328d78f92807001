"""Commit the changes of a batch to its tables, some side by side, each by itself."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.prepared import CommittedChanges
from redolake.apply.epochs import state_of
from redolake.apply.lake_tables import open_history
from redolake.apply.small_tables import Prepared, SmallTables, small_table
from redolake.apply.spark.failures import try_twice
from redolake.apply.spark.session import side_by_side
from redolake.apply.table import apply_table, check_position
from redolake.apply.target import Target
from redolake.assemble.transactions import APPLIED
from redolake.errors import LakeDamaged
from redolake.host.progress import Progress
from redolake.job.assembly import Assembly
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.values.delivery import is_in_redo

log = logging.getLogger(__name__)

# Planning for few rows costs less up to FEW_ROWS changes of a table of at most SMALL_BYTES (benchmarks/large_batch.py).
FEW_ROWS, SMALL_BYTES = 5_000, 4 << 20


def is_small(table: Target, task: TableTask, balance: RowAccount) -> bool:
    """Return whether few rows are read for the task. A table without changes and DDL counts as small; its size is not read.
    Rows that were read again may be many, even if the redo has few changes."""
    if task.course.whole or not is_in_redo(task.course.deliveries):
        return False
    happens = balance.applied or task.course.ddl or task.destination.reshape
    return not happens or (balance.applied <= FEW_ROWS and table.bytes is not None and table.bytes <= SMALL_BYTES)


@dataclass(frozen=True, slots=True)
class BatchTables:
    """The tables of a batch: the tasks of `spec`, and `targets`, the table of each task. Tables are named by number."""

    context: ApplyContext
    spec: BatchSpec
    targets: Sequence[Target]
    assembly: Assembly

    def is_small(self, number: int) -> bool:
        return is_small(self.targets[number], self.spec.tables[number], self.assembly.balances[number])

    def apply(self, numbers: Sequence[int], done: int) -> dict[int, TableResult]:
        """Apply tables, some side by side, and return their results; `done` others have been applied before.
        After an error that ends the job no further table begins; those that have begun are finished."""
        results: dict[int, TableResult] = {}
        waiting, running = deque(numbers), dict[Future[TableResult], int]()
        parallel = self._side_by_side(len(numbers))
        small = self._small_tables(numbers, parallel)
        with ThreadPoolExecutor(parallel, "table") as threads:
            while waiting or running:
                while waiting and len(running) < parallel:
                    number = waiting.popleft()
                    running[threads.submit(self._apply_one, number, small.prepare(number))] = number
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    results[running.pop(future)] = result = future.result()
                    self._report(result, done + len(results))
        return results

    def _report(self, result: TableResult, done: int) -> None:
        self.context.report(Progress(f"{result.table}: {result.reported_text}", "applying tables", done, len(self.targets)))

    def _side_by_side(self, tables: int) -> int:
        return 1 if tables < 2 else self.spec.parallel_tables or side_by_side(self.context.spark)

    def _small_tables(self, numbers: Sequence[int], parallel: int) -> SmallTables:
        found = {
            number: small_table(self.context, self.targets[number], self.spec.tables[number], partial(self._changes, number))
            for number in numbers
        }
        small = {number: one for number, one in found.items() if one is not None}
        return SmallTables(self.context, small, parallel, self.assembly.batch.changes_of_tables)

    def _changes(self, number: int, commit_range: int) -> CommittedChanges:
        batch = self.assembly.batch
        problem = batch.accounting.problems.get((number, commit_range))
        return CommittedChanges(
            frame=batch.changes_of(number, commit_range),
            count=batch.accounting.count(number, APPLIED, commit_range),
            scns=batch.accounting.scns.get((number, commit_range)),
            times=batch.accounting.times.get((number, commit_range)),
            windows=batch.accounting.windows(number, commit_range),
            problem=None if problem is None else problem.error(self.spec.tables[number].table),
        )

    def _apply_one(self, number: int, prepared: Prepared | None) -> TableResult:
        context, task, target, started = self.context, self.spec.tables[number], self.targets[number], time.monotonic()
        changes, balance, counted_from = partial(self._changes, number), self.assembly.balances[number], target.position
        there = task.destination

        def apply_once(is_last: bool) -> TableResult:
            if is_last:
                target.refresh()
                check_position(target, task, counted_from)  # what was committed is counted by the next attempt
                context.forget_work(task.table)
            history = None if there.history is None else open_history(context.spark, there.history, there.app_id)
            ready = None if is_last else prepared
            result = apply_table(context, target, task, changes, balance, ready, history, is_last=is_last)
            if history is not None:
                with suppress(LakeDamaged):  # it holds the table
                    result = replace(result, history=state_of(history.log))
            return result

        result = try_twice(apply_once)
        context.kept.let_go(task.table)
        before = 0.0 if prepared is None else prepared.seconds
        result = replace(result, seconds=round(before + time.monotonic() - started, 3))
        log.info("%s: %s, %.1f s", task.table, result.reported_text, result.seconds)
        return result
