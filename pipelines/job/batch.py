"""Run a batch: carry-over first, then each table, then the manifest. Every part may be repeated."""

from __future__ import annotations

import uuid

import fsspec
from pyspark.sql import SparkSession

from pipelines import crash
from pipelines.apply.commit_ranges import ddl_scns, stop_scn
from pipelines.apply.context import MayCommit, Report, allow, silent
from pipelines.apply.delta.create import create_shadow
from pipelines.apply.delta.log import last_txn
from pipelines.apply.table import CommittedChanges, apply_table
from pipelines.assemble.assembled import AssembledBatch, assemble_batch
from pipelines.assemble.captured_tables import CapturedTable
from pipelines.assemble.carry import list_open, rows_to_carry
from pipelines.assemble.row_accounting import check_balance
from pipelines.assemble.transactions import APPLIED, CARRIED_OUT
from pipelines.errors import LandingConflict
from pipelines.job.translation import translation
from pipelines.land.files import Files
from pipelines.records.batch_result import BatchResult, RowAccount, TableResult
from pipelines.records.batch_spec import BatchSpec
from pipelines.records.codec import decode, encode
from pipelines.records.open_transaction import OpenTransaction


def run_batch(spark: SparkSession, spec: BatchSpec, report: Report = silent, may_commit: MayCommit = allow) -> BatchResult:
    """Do nothing when the batch has its manifest already."""
    done = published(spec)
    if done is not None:
        report("the batch is applied already")
        return done
    for task in spec.tables:
        create_shadow(spark, task, {"pipeline": spec.pipeline, "token": spec.token}, translation(spec.character_set))
    positions = [last_txn(task.target, task.app_id) for task in spec.tables]
    captured = [
        CapturedTable(
            number=number,
            id=task.table,
            object_ids=tuple(sorted({version.object_id for version in task.versions})),
            position=-1 if position is None else position,
            stop_scn=stop_scn(task, spec.scns),
            ddl_scns=ddl_scns(task, spec.scns, -1 if position is None else position),
        )
        for number, (task, position) in enumerate(zip(spec.tables, positions, strict=True))
    ]
    batch = assemble_batch(spark, spec.scns, spec.windows, spec.carry_in, captured, spec.container, spec.dropped)
    balances = [batch.accounting.balance(table.number, batch.input_counts) for table in captured]
    for table, balance in zip(captured, balances, strict=True):
        check_balance(balance, table=table.id)
    for name, account in batch.accounting.accounts(spec.windows, batch.input_counts).items():
        check_balance(account, window=name)
    report(f"{sum(b.landed + b.carried_in for b in balances)} change rows assembled")
    carried, open_transactions = carry_over(spark, spec, batch)
    tables = [
        apply_one(spark, spec, batch, number, balance, positions[number], report, may_commit)
        for number, balance in enumerate(balances)
    ]
    applied = {number: table.balance.applied for number, table in enumerate(tables)}
    result = BatchResult(
        pipeline=spec.pipeline,
        resetlogs_id=spec.resetlogs_id,
        start=spec.start,
        end=spec.end,
        token=spec.token,
        windows=tuple(window.name for window in spec.windows),
        tables=tuple(tables),
        open_transactions=open_transactions,
        carry_files=carried,
        foreign_rows=batch.input_counts.foreign,
        dropped=batch.dropped,
        accounts=batch.accounting.accounts(spec.windows, batch.input_counts, applied),
        read_to=batch.input_counts.read_to,
    )
    crash.point("before manifest")
    may_commit()
    return publish_batch(spec, result)


def carry_over(
    spark: SparkSession, spec: BatchSpec, batch: AssembledBatch
) -> tuple[tuple[str, ...], tuple[OpenTransaction, ...]]:
    """A folder of this attempt's own, so that a late attempt cannot touch what a manifest names."""
    if not any(batch.accounting.count(number, CARRIED_OUT) for number in range(len(spec.tables))):
        return (), ()
    folder = f"{spec.carry_out.rstrip('/')}/{uuid.uuid4().hex}"
    rows_to_carry(batch.changes, batch.rows, batch.input_counts.parallel_rows > 0).write.mode("error").parquet(folder)
    crash.point("carry-over")
    return parquet_files(folder), list_open(spark.read.parquet(folder))


def parquet_files(folder: str) -> tuple[str, ...]:
    filesystem, root = fsspec.core.url_to_fs(folder)
    found = filesystem.glob(f"{root}/*.parquet")
    return tuple(sorted(str(filesystem.unstrip_protocol(path)) if "://" in folder else str(path) for path in found))


def apply_one(
    spark: SparkSession,
    spec: BatchSpec,
    batch: AssembledBatch,
    number: int,
    balance: RowAccount,
    position: int | None,
    report: Report,
    may_commit: MayCommit,
) -> TableResult:
    task = spec.tables[number]

    def changes(range_number: int) -> CommittedChanges:
        problem = batch.accounting.problems.get((number, range_number))
        return CommittedChanges(
            frame=batch.committed(number, range_number),
            count=batch.accounting.count(number, APPLIED, range_number),
            problem=None if problem is None else problem.error(task.table),
        )

    metadata = {"pipeline": spec.pipeline, "batch": str(spec.scns), "token": spec.token}
    known = translation(spec.character_set)
    result = apply_table(spark, task, spec.scns, changes, balance, metadata, known, position, may_commit)
    counts = f"+{result.inserted} ~{result.updated} -{result.deleted}"
    report(f"{task.table}: {result.state} to SCN {result.complete_to}, {counts}")
    return result


def published(spec: BatchSpec) -> BatchResult | None:
    """The manifest of this very batch, whoever wrote it. Raises LandingConflict for that of another."""
    folder, _, name = spec.manifest.rpartition("/")
    body = Files(folder).read(name)
    if body is None:
        return None
    result = decode(BatchResult, body.decode(), spec.manifest)
    if not result.is_of(spec):
        raise LandingConflict(
            f"another batch's manifest lies there: SCN [{result.start}, {result.end})",
            cure="find out who else writes there: no manifest is ever changed",
            path=spec.manifest,
        )
    return result


def publish_batch(spec: BatchSpec, result: BatchResult) -> BatchResult:
    """Of two attempts the first wins, and both return what it wrote."""
    folder, _, name = spec.manifest.rpartition("/")
    if not Files(folder).create(name, encode(result).encode()):
        first = published(spec)
        assert first is not None, "a manifest is never removed"
        return first
    return result
