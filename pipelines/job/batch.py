"""Run a batch in Spark: write the carry-over, then commit each table, then write the manifest. Each step may be repeated."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import SparkSession

from pipelines.apply.commit_ranges import ddl_scns, stop_scn
from pipelines.apply.context import ApplyContext, MayCommit, Report, allow, silent
from pipelines.apply.delivery.prepared import CommittedChanges
from pipelines.apply.delta.create import create_shadow
from pipelines.apply.delta.history import DeltaHistory
from pipelines.apply.delta.target import DeltaTarget
from pipelines.apply.small_tables import Prepared, SmallTables, small_table
from pipelines.apply.spark.kept import let_go
from pipelines.apply.spark.session import plan_for_few_rows
from pipelines.apply.table import apply_table
from pipelines.assemble.assembled import AssembledBatch, assemble_batch
from pipelines.assemble.attribution import CapturedTable
from pipelines.assemble.parked import find_resting, with_resting
from pipelines.assemble.row_accounting import check_balance
from pipelines.assemble.transactions import APPLIED
from pipelines.errors import LakeDamaged, LandingConflict
from pipelines.host import crash
from pipelines.host.progress import Progress
from pipelines.job.carry_over import CarriedOver, carry_over
from pipelines.job.damaged_files import check_carried, check_redo, with_damage_held
from pipelines.job.lake import LakeFiles, check_usable
from pipelines.job.translation import translation
from pipelines.land.cures import resume_or_snapshot
from pipelines.land.files import Files
from pipelines.records.batches.carry import ParkedRows, join_transactions
from pipelines.records.batches.manifest import BatchResult, RowAccount, TableResult
from pipelines.records.batches.spec import BatchSpec, HoldAt, TableTask
from pipelines.records.codec import decode, encode
from pipelines.values.delivery import is_in_redo, widest
from pipelines.values.quarantine import QuarantineRule

log = logging.getLogger(__name__)

# Planning for few rows costs less up to FEW_ROWS changes of a table of at most SMALL_BYTES, in a batch that reads at most
# MOST_ROWS (benchmarks/large_batch.py).
FEW_ROWS, SMALL_BYTES, MOST_ROWS = 5_000, 4 << 20, 10_000


def run_batch(spark: SparkSession, spec: BatchSpec, report: Report = silent, may_commit: MayCommit = allow) -> BatchResult:
    """Apply the batch and return its result. If its manifest exists already, change nothing and return that result."""
    done = read_published(spec)
    if done is not None:
        report("the batch is applied already")
        return done
    result = apply_batch(spark, spec, report, may_commit)
    crash.point("before manifest")
    may_commit()
    return publish_batch(spec, result)


def apply_batch(spark: SparkSession, spec: BatchSpec, report: Report, may_commit: MayCommit) -> BatchResult:
    """Apply the batch to its tables and return its result. A batch of few rows is planned for few rows. Tables that are large,
    or have many changes, come last, with the session's own settings: MERGE and DDL read the whole table."""
    started = time.monotonic()
    spec = with_quarantines(spec)
    check_redo(spec)
    translated = translation(spec.encoding, show_row_data=spec.show_row_data, single_quotes=spec.single_quotes)
    usable = partial(check_usable, spec.lake)
    context = ApplyContext(
        spark, spec.pipeline, spec.scns, spec.token, translated, may_commit, report, spec.windows, usable, spec.origin,
        lease=spec.lease,
    )  # fmt: skip
    tables = [DeltaTarget(spark, task.target, task.app_id) for task in spec.tables]
    for table, task in zip(tables, spec.tables, strict=True):
        create_shadow(context, table, task)
    damage = {number: error for number, table in enumerate(tables) if (error := table.damage()) is not None}
    positions = [None if number in damage else table.position for number, table in enumerate(tables)]
    spec = with_damage_held(hold_damaged(spec, damage), positions)
    captured = [captured_table(spec, number, position) for number, position in enumerate(positions)]
    has_few_rows = spec.rows is not None and spec.rows <= MOST_ROWS
    with plan_for_few_rows(spark) if has_few_rows else nullcontext():
        assembly = assemble(spark, spec, captured)
        assemble_seconds = round(time.monotonic() - started, 3)
        log.info("assembled %s change rows of %s window(s) in %.1f s", assembly.rows, len(spec.windows), assemble_seconds)
        report(f"{assembly.rows} change rows assembled")
        carried = carry_over(spark, spec.carry_out, assembly.read, captured)
        applying = time.monotonic()
        results = {number: result_of_damage(spec.tables[number], assembly.balances[number]) for number in damage}
        sound = [(n, table) for n, table in enumerate(tables) if n not in damage]
        small = [n for n, table in sound if has_few_rows and is_small(table, spec.tables[n], assembly.balances[n])]
        results |= apply_all(context, tables, small, spec, assembly, done=len(results))
    others = [n for n, _ in sound if n not in small]
    results |= apply_all(context, tables, others, spec, assembly, done=len(results))
    apply_seconds = round(time.monotonic() - applying, 3)
    let_go(assembly.read.changes)
    done = tuple(results[n] for n in range(len(tables)))
    result = batch_result(spec, assembly.batch, done, carried, assembly.rests, window_parts(context))
    return replace(result, assemble_seconds=assemble_seconds, apply_seconds=apply_seconds)


def with_quarantines(spec: BatchSpec) -> BatchSpec:
    """Return the spec with the quarantines that something may go to, or is in: one listing says which are there."""
    rules = [task.quarantine for task in spec.tables if task.quarantine is not None]
    if not rules:
        return spec
    folder = rules[0].path.rpartition("/")[0]
    there = {f"{folder}/{name}" for name in LakeFiles(folder).names("")}

    def rule_of(rule: QuarantineRule | None) -> QuarantineRule | None:
        return rule if rule is not None and (rule.path in there or (rule.classes and rule.may_write)) else None

    return replace(spec, tables=tuple(replace(task, quarantine=rule_of(task.quarantine)) for task in spec.tables))


def is_small(table: DeltaTarget, task: TableTask, balance: RowAccount) -> bool:
    """Return whether few rows are read for the task. A table without changes and DDL counts as small; its size is not read.
    What was read again of a table may be much, however few its changes."""
    if task.whole or not is_in_redo(task.deliveries):
        return False
    happens = balance.applied or task.ddl or task.reshape
    return not happens or (balance.applied <= FEW_ROWS and table.bytes is not None and table.bytes <= SMALL_BYTES)


@dataclass(frozen=True, slots=True)
class Assembly:
    """`read` contains the rows that were read; `batch` also counts parked rows that were not. `balances` has each table's row
    account."""

    read: AssembledBatch
    batch: AssembledBatch
    rests: Sequence[ParkedRows]
    balances: Sequence[RowAccount]

    @property
    def rows(self) -> int:
        return sum(balance.landed + balance.carried_in for balance in self.balances)


def assemble(spark: SparkSession, spec: BatchSpec, captured: Sequence[CapturedTable]) -> Assembly:
    rests = [] if spec.dropped else find_resting(spark, spec.windows, spec.parked, captured)
    carry_in = (*spec.carry_in, *(file for one in spec.parked if one not in rests for file in one.files))
    check_carried(spec, carry_in)
    read = assemble_batch(spark, spec.scns, spec.windows, carry_in, captured, spec.container, spec.dropped, spec.doubtful_scn)
    batch = with_resting(read, rests, captured)
    return Assembly(read, batch, rests, check_accounts(spec, batch, captured))


def hold_damaged(spec: BatchSpec, damage: Mapping[int, LakeDamaged]) -> BatchSpec:
    """Return the spec in which the tables whose log cannot be read are held from its start."""
    tables = list(spec.tables)
    for number, error in damage.items():
        task, where = tables[number], error.where.get("path")
        shown = LakeDamaged(error.what, cure=resume_or_snapshot(task.table), path=where, table=task.table)
        tables[number] = replace(task, hold=HoldAt(spec.start, shown.as_dict()))
    return replace(spec, tables=tuple(tables))


def result_of_damage(task: TableTask, balance: RowAccount) -> TableResult:
    """Return the result of a table whose log cannot be read: none of its changes is applied, and its position is not known."""
    assert task.hold is not None
    return TableResult(task.table, "held", None, dict(task.hold.error), balance=balance)


def captured_table(spec: BatchSpec, number: int, found: int | None) -> CapturedTable:
    task, position = spec.tables[number], -1 if found is None else found
    return CapturedTable(
        number=number,
        id=task.table,
        names=task.names,
        object_ids=tuple(sorted({i for version in task.versions for i in version.object_ids})),
        rows_have_rowids=all(version.organization != "index" for version in task.versions),
        position=position,
        stop_scn=stop_scn(task, spec.scns),
        ddl_scns=ddl_scns(task, spec.scns, position),
        no_large_objects=leaves_out_objects(task),
        plain_columns=plain_columns(task),
        delivery=widest(task.deliveries),
    )


def plain_columns(task: TableTask) -> tuple[str, ...]:
    names = {column.name for version in task.versions for column in version.columns if version.hides_rowids}
    return tuple(sorted(names - {name for version in task.versions for name in version.large_columns}))


def leaves_out_objects(task: TableTask) -> bool:
    """Return whether columns are left out, and none of the others is one that redo of a large object can concern."""
    left_out = any(version.left_out for version in task.versions)
    return left_out and not any(version.has_large_objects for version in task.versions)


def check_accounts(spec: BatchSpec, batch: AssembledBatch, captured: Sequence[CapturedTable]) -> list[RowAccount]:
    """Return each table's row account. Raise InvariantBroken unless the rows of every table and every window add up."""
    balances = [batch.accounting.balance(table.number, batch.input_counts) for table in captured]
    for table, balance in zip(captured, balances, strict=True):
        check_balance(balance, table=table.id)
    for name, account in batch.accounting.accounts(spec.windows, batch.input_counts).items():
        check_balance(account, window=name)
    return balances


def apply_all(
    context: ApplyContext,
    tables: Sequence[DeltaTarget],
    numbers: Sequence[int],
    spec: BatchSpec,
    assembly: Assembly,
    done: int = 0,
) -> dict[int, TableResult]:
    """Apply the tables with these numbers, `parallel_tables` side by side, and return their results; `done` others have been
    applied before. After an error that ends the job no further table begins; those that have begun are finished."""
    results: dict[int, TableResult] = {}
    waiting, running = deque(numbers), dict[Future[TableResult], int]()
    small = small_tables(context, tables, numbers, spec, assembly.batch)
    with ThreadPoolExecutor(spec.parallel_tables, "table") as threads:
        while waiting or running:
            while waiting and len(running) < spec.parallel_tables:
                number = waiting.popleft()
                ready = small.prepare(number)
                future = threads.submit(apply_one, context, tables[number], spec, assembly, number, ready)
                running[future] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                results[running.pop(future)] = result = future.result()
                reached = "" if result.complete_to is None else f" to SCN {result.complete_to}"
                line = f"{result.table}: {result.state}{reached}, {rows_of(result)}"
                context.report(Progress(line, "applying tables", done + len(results), len(tables)))
    return results


def small_tables(
    context: ApplyContext, tables: Sequence[DeltaTarget], numbers: Sequence[int], spec: BatchSpec, batch: AssembledBatch
) -> SmallTables:
    found = {
        number: small_table(context, tables[number], spec.tables[number], partial(changes_of, spec, batch, number))
        for number in numbers
    }
    return SmallTables(context, {number: one for number, one in found.items() if one is not None}, spec.parallel_tables)


def changes_of(spec: BatchSpec, batch: AssembledBatch, number: int, commit_range: int) -> CommittedChanges:
    problem = batch.accounting.problems.get((number, commit_range))
    return CommittedChanges(
        frame=batch.changes_of(number, commit_range),
        count=batch.accounting.count(number, APPLIED, commit_range),
        scns=batch.accounting.scns.get((number, commit_range)),
        times=batch.accounting.times.get((number, commit_range)),
        problem=None if problem is None else problem.error(spec.tables[number].table),
    )


def apply_one(
    context: ApplyContext,
    table: DeltaTarget,
    spec: BatchSpec,
    assembly: Assembly,
    number: int,
    prepared: Prepared | None,
) -> TableResult:
    task, started = spec.tables[number], time.monotonic()
    changes, balance = partial(changes_of, spec, assembly.batch, number), assembly.balances[number]
    history = None if task.history is None else DeltaHistory(context.spark, task.history, task.app_id)
    result = apply_table(context, table, task, changes, balance, prepared, history)
    context.kept.let_go(task.table)
    before = 0.0 if prepared is None else prepared.seconds
    result = replace(result, seconds=round(before + time.monotonic() - started, 3))
    log.info("%s: %s to SCN %s, %s, %.1f s", task.table, result.state, result.complete_to, rows_of(result), result.seconds)
    return result


def rows_of(result: TableResult) -> str:
    return f"+{result.inserted} ~{result.updated} -{result.deleted}"


def batch_result(
    spec: BatchSpec,
    batch: AssembledBatch,
    tables: tuple[TableResult, ...],
    carried: CarriedOver,
    rests: Sequence[ParkedRows],
    parts: Mapping[tuple[str, int], int],
) -> BatchResult:
    accounts = [table.balance for table in tables]
    applied = {number: one.applied + one.filtered + one.quarantined for number, one in enumerate(accounts)}
    return BatchResult(
        pipeline=spec.pipeline,
        resetlogs_id=spec.resetlogs_id,
        start=spec.start,
        end=spec.end,
        token=spec.token,
        windows=tuple(window.name for window in spec.windows),
        tables=tables,
        open_transactions=join_transactions((*carried.open_transactions, *(one.part for one in rests))),
        carry_files=carried.files,
        parked=(*rests, *carried.parked),
        digests={**{f: spec.digests[f] for one in rests for f in one.files if f in spec.digests}, **carried.digests},
        foreign_rows=batch.input_counts.foreign,
        dropped=batch.dropped,
        accounts=batch.accounting.accounts(spec.windows, batch.input_counts, applied, parts),
        read_to=batch.input_counts.read_to,
    )


def window_parts(context: ApplyContext) -> dict[tuple[str, int], int]:
    """Return how many changes of all tables were filtered or quarantined, by term and start of the window."""
    found = Counter[tuple[str, int]]()
    for (_, term, window), changes in context.parts.items():
        found[term, window] += changes
    return dict(found)


def read_published(spec: BatchSpec) -> BatchResult | None:
    """Return the result in the batch's manifest, if there is one. Raise LandingConflict if it is another batch's manifest."""
    folder, _, name = spec.manifest.rpartition("/")
    body = Files(folder).read(name)
    if body is None:
        return None
    result = decode(BatchResult, body, spec.manifest)
    if not result.is_of(spec):
        raise LandingConflict(
            f"the path has another batch's manifest: SCN [{result.start}, {result.end})",
            cure="find out who else writes there: a manifest is never changed",
            path=spec.manifest,
        )
    return result


@crash.writer
def publish_batch(spec: BatchSpec, result: BatchResult) -> BatchResult:
    """Write the manifest. If another attempt has written it first, return that attempt's result."""
    folder, _, name = spec.manifest.rpartition("/")
    if not Files(folder).create(name, encode(result).encode()):
        first = read_published(spec)
        assert first is not None, "a manifest is never removed"
        return first
    return result
