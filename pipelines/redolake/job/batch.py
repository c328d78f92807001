"""Run a batch in Spark: write the carry-over, then commit each table, then write the manifest. Each step may be repeated."""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from pyspark.sql import SparkSession

from redolake.apply.context import ApplyContext, MayCommit, allow
from redolake.apply.create import create_shadow
from redolake.apply.lake_tables import open_table
from redolake.apply.spark.kept import KeptRows
from redolake.apply.spark.session import plan_for_few_rows
from redolake.apply.target import Target
from redolake.assemble.transactions import BEFORE_POSITION
from redolake.errors import LakeDamaged, LandingConflict
from redolake.host import crash
from redolake.host.progress import Report, silent
from redolake.job.assembly import Assembly, assemble, captured_table
from redolake.job.carry_over import CarriedOver, carry_over
from redolake.job.changes import write_changes
from redolake.job.damaged_files import check_redo, hold_damaged, result_of_damage, with_damage_held
from redolake.job.events import write_events
from redolake.job.lake import LakeFiles, check_usable, has_neighbours
from redolake.job.tables import BatchTables
from redolake.job.translation import translation
from redolake.job.without_spark import NoSpark, check_none_newly_held
from redolake.land.files import Files
from redolake.records.batches.carry import join_transactions
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.records.codec import decode, to_file
from redolake.values.table import TableId

log = logging.getLogger(__name__)

MOST_ROWS = 10_000  # of a batch: planning for few rows costs less up to here (benchmarks/large_batch.py)


def run_batch(spark: SparkSession, spec: BatchSpec, report: Report = silent, may_commit: MayCommit = allow) -> BatchResult:
    """Apply the batch and return its result. If its manifest exists already, change nothing and return that result."""
    done = read_published(spec)
    if done is not None:
        report("the batch is applied already")
        return done
    work = apply_batch if spec.changes is None else list_changes
    result = work(spark, spec, report, may_commit)
    if isinstance(spark, NoSpark):
        check_none_newly_held(spec, result)
    crash.point("before manifest")
    may_commit()
    return publish_batch(spec, result)


def apply_batch(spark: SparkSession, spec: BatchSpec, report: Report, may_commit: MayCommit) -> BatchResult:
    """Apply the batch to its tables and return its result. A batch of few rows is planned for few rows. Tables that are large,
    or have many changes, come last, with the session's own settings: MERGE and DDL read the whole table."""
    started = time.monotonic()
    spec = with_quarantines(spec)
    check_redo(spec.redo)
    context = apply_context(spark, spec, report, may_commit)
    targets = open_targets(context, spec)
    damage = {number: error for number, target in enumerate(targets) if (error := damage_of_log(target)) is not None}
    positions = [None if number in damage else target.position for number, target in enumerate(targets)]
    spec = with_damage_held(hold_damaged(spec, damage), positions)
    captured = [
        captured_table(task, number, position, spec.scns)
        for number, (task, position) in enumerate(zip(spec.tables, positions, strict=True))
    ]
    sound = [number for number in range(len(targets)) if number not in damage]
    redo = spec.redo
    has_few_rows = redo.rows is not None and redo.rows <= MOST_ROWS
    with plan_for_few_rows(spark) if has_few_rows else nullcontext():
        assembly = assemble(context, redo, captured)
        assemble_seconds = round(time.monotonic() - started, 3)
        log.info("assembled %s change rows of %s window(s) in %.1f s", assembly.rows, len(redo.windows), assemble_seconds)
        report(f"{assembly.rows} change rows assembled")
        carried = carry_over(spark, spec.carry_out, redo, assembly.read, captured)
        applying = time.monotonic()
        tables = BatchTables(context, spec, targets, assembly)
        results = {number: result_of_damage(spec.tables[number], assembly.balances[number]) for number in damage}
        small = [number for number in sound if has_few_rows and tables.is_small(number)]
        results |= tables.apply(small, done=len(results))
    results |= tables.apply([number for number in sound if number not in small], done=len(results))
    apply_seconds = round(time.monotonic() - applying, 3)
    context.kept.let_go(None)
    done = tuple(results[number] for number in range(len(targets)))
    result = batch_result(spec, assembly, done, carried, context.moved)
    unwritten = write_events(spark, spec, may_commit)
    return replace(result, assemble_seconds=assemble_seconds, apply_seconds=apply_seconds, events_error=unwritten)


def damage_of_log(table: Target) -> LakeDamaged | None:
    """Return why the table cannot be read; None if it can, or is not there."""
    try:
        _ = table.position
    except LakeDamaged as error:
        return error
    return None


def list_changes(spark: SparkSession, spec: BatchSpec, report: Report, may_commit: MayCommit) -> BatchResult:
    """Write the changes of the batch as they are, and return its result. What stays open is nobody's to carry on."""
    check_redo(spec.redo)
    context = apply_context(spark, spec, report, may_commit)
    assembly, tables = write_changes(context, spec)
    context.kept.let_go(None)
    return batch_result(spec, assembly, tables, CarriedOver(), Counter())


def apply_context(spark: SparkSession, spec: BatchSpec, report: Report, may_commit: MayCommit) -> ApplyContext:
    translated = translation(spec.redo.encoding, show_row_data=spec.show_row_data, single_quotes=spec.redo.single_quotes)
    usable = partial(check_usable, spec.lake)
    return ApplyContext(
        spark, spec.pipeline, spec.scns, spec.token, translated, may_commit, report, spec.redo.windows, usable, spec.origin,
        KeptRows.of_session(spark), lease=spec.lease,
        has_neighbours=spec.lake is not None and has_neighbours(spec.lake.lake, spec.lake.mark),
    )  # fmt: skip


def open_targets(context: ApplyContext, spec: BatchSpec) -> list[Target]:
    """Return the table of each task. A shadow table is created first."""
    targets = [open_table(context.spark, task.destination.target, task.destination.app_id) for task in spec.tables]
    for target, task in zip(targets, spec.tables, strict=True):
        create_shadow(context, target, task)
    return targets


def with_quarantines(spec: BatchSpec) -> BatchSpec:
    """Return the spec with the quarantines that something may go to, or is in: one listing says which are there."""
    rules = [rule for task in spec.tables if (rule := task.destination.quarantine) is not None]
    if not rules:
        return spec
    folder = rules[0].path.rpartition("/")[0]
    there = {f"{folder}/{name}" for name in LakeFiles(folder).names("")}

    def with_own(task: TableTask) -> TableTask:
        rule = task.destination.quarantine
        has_one = rule is not None and (rule.path in there or (rule.classes and rule.may_write))
        return task if has_one else replace(task, destination=replace(task.destination, quarantine=None))

    return replace(spec, tables=tuple(map(with_own, spec.tables)))


def batch_result(
    spec: BatchSpec,
    assembly: Assembly,
    tables: tuple[TableResult, ...],
    carried: CarriedOver,
    moved: Counter[tuple[TableId, str, str, str]],
) -> BatchResult:
    batch, rests, known = assembly.batch, assembly.rests, spec.redo.digests
    accounts = [table.balance for table in tables]
    earlier, by_window = Counter[TableId](), Counter[tuple[str, str, str]]()
    for (table, counted_as, term, window), rows in moved.items():
        by_window[counted_as, term, window] += rows
        earlier[table] += rows if counted_as == BEFORE_POSITION else 0
    applied = {
        number: one.applied + one.filtered + one.quarantined - earlier[tables[number].table]
        for number, one in enumerate(accounts)
    }
    return BatchResult(
        pipeline=spec.pipeline,
        resetlogs_id=spec.resetlogs_id,
        start=spec.start,
        end=spec.end,
        token=spec.token,
        windows=tuple(window.name for window in spec.redo.windows),
        tables=tables,
        open_transactions=join_transactions((*carried.open_transactions, *(one.part for one in rests))),
        carry_files=carried.files,
        parked=(*rests, *carried.parked),
        digests={**{f: known[f] for one in rests for f in one.files if f in known}, **carried.digests},
        foreign_rows=batch.input_counts.foreign,
        dropped=batch.dropped,
        accounts=batch.accounting.accounts(spec.redo.windows, batch.input_counts, applied, by_window),
        read_to=batch.input_counts.read_to,
        without_transaction={str(spec.tables[n].table): scn for n, scn in batch.accounting.without_transaction.items()},
    )


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
    result = replace(result, applied_at=datetime.now(UTC).isoformat(timespec="seconds"))
    if not Files(folder).create(name, to_file(result)):
        first = read_published(spec)
        assert first is not None, "a manifest is never removed"
        return first
    return result
