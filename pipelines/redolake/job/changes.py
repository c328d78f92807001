"""Write the changes of a batch themselves, in place of what becomes of the tables' rows."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from redolake.apply.commit_ranges import plan_commit_ranges
from redolake.apply.context import ApplyContext
from redolake.apply.range_changes import Written, change_rows, check_rows, is_written, with_removals, write_changed_rows
from redolake.apply.spark.failures import check_session, try_twice
from redolake.apply.spark.holds import held_error
from redolake.apply.spark.shallow import unite
from redolake.assemble.transactions import APPLIED
from redolake.errors import OF_ALL_TABLES, RedolakeError
from redolake.host.progress import Progress
from redolake.job.assembly import Assembly, assemble, captured_table
from redolake.records.batches.manifest import TableResult
from redolake.records.batches.spec import BatchSpec, TableTask


def write_changes(context: ApplyContext, spec: BatchSpec) -> tuple[Assembly, tuple[TableResult, ...]]:
    """Write the changes of each table that has none yet, and return the results. An error leaves a table without any."""
    captured = [captured_table(task, number, position_before(task, spec), spec.scns) for number, task in enumerate(spec.tables)]
    assembly, results = assemble(context, spec.redo, captured), list[TableResult]()
    for number, task in enumerate(spec.tables):
        results.append(try_twice(partial(write_or_hold, context, spec, assembly, number)))
        done = results[-1]
        line = f"{task.table}: {done.changed} change(s), {done.state}"
        context.report(Progress(line, "writing changes", len(results), len(spec.tables)))
    return assembly, tuple(results)


def position_before(task: TableTask, spec: BatchSpec) -> int:
    """Return the position below which commits are not of the range: windows at its beginning have some."""
    return (spec.start if (scn := task.destination.shadow_from) is None else scn) - 1


def write_or_hold(context: ApplyContext, spec: BatchSpec, assembly: Assembly, number: int, is_last: bool) -> TableResult:
    task, started = spec.tables[number], time.monotonic()
    result = TableResult(task.table, "applied", spec.end - 1, balance=assembly.balances[number])
    try:
        written = write_table(context, spec, assembly, number)
    except OF_ALL_TABLES:
        raise
    except RedolakeError as error:
        return replace(result, state="held", complete_to=spec.start - 1, error=error.as_dict())
    except Exception as surprise:
        check_session(context.spark, surprise, is_last=is_last)
        context.check_lake()
        failed = held_error(task.table, task.destination.target, surprise, task.course.latest.mapping)
        return replace(result, state="held", complete_to=spec.start - 1, error=failed)
    apart = {"filtered": written.filtered, "quarantined": written.unread}
    balance = replace(result.balance, applied=result.balance.applied - sum(apart.values()), **apart)
    seconds = round(time.monotonic() - started, 3)
    return replace(
        result,
        balance=balance,
        unknown=written.unknown,
        seconds=seconds,
        **written.counts,
    )


def write_table(context: ApplyContext, spec: BatchSpec, assembly: Assembly, number: int) -> Written:
    """Write one table's changes; they are counted again where an earlier attempt has written them."""
    task, batch = spec.tables[number], assembly.batch
    assert spec.changes is not None
    ranges = [one.number for one in plan_commit_ranges(task, spec.scns, position_before(task, spec))]
    for one in ranges:
        if (problem := batch.accounting.problems.get((number, one))) is not None:
            raise problem.error(task.table)
    rows = change_rows(unite([batch.changes_of(number, one) for one in ranges]), task, context.translation)
    written = check_rows(rows, task, sum(batch.accounting.count(number, APPLIED, one) for one in ranges))
    if not is_written(task.destination, spec.changes):
        context.may_commit()
        write_changed_rows(with_removals(rows, task, spec.scns), task, spec.changes, spec.end, context.metadata)
    return written
