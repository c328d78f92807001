"""The Spark job: wires decode, assemble and apply, for a batch, a snapshot load or a comparison.

Gets its order as a JSON file and leaves a manifest; touches no ledger. `spark-submit job.py ORDER.json`, or the functions
with any session, classic or Connect, that runs nothing else meanwhile.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import fsspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from pipelines import crash
from pipelines.apply.commit_ranges import ddl_scns, stop_scn
from pipelines.apply.delta.compare import compare
from pipelines.apply.delta.create import create_shadow
from pipelines.apply.delta.log import last_txn
from pipelines.apply.delta.snapshot import load_snapshot
from pipelines.apply.session import open_session
from pipelines.apply.table import CommittedChanges, apply_table, check_session, check_space, unexpected
from pipelines.apply.translation import Translation
from pipelines.assemble.assembled import Assembled, assembled
from pipelines.assemble.carry import list_open, rows_to_carry
from pipelines.assemble.census import check_balance
from pipelines.assemble.subjects import Subject
from pipelines.assemble.transactions import APPLIED, CARRIED_OUT
from pipelines.batch import (
    TERMINAL_EXIT,
    Balance,
    BatchResult,
    BatchSpec,
    CompareResult,
    CompareSpec,
    Failure,
    OpenTransaction,
    Result,
    Rules,
    SnapshotLoaded,
    SnapshotResult,
    SnapshotSpec,
    Spec,
    TableResult,
    batch_result_from_json,
    spec_from_json,
    to_json,
)
from pipelines.decode.changes import changes_schema, decode_changes
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.errors import LandingConflict, RedolakeError, Terminal, Transient
from pipelines.land.files import Files
from pipelines.schema.constant import spark_literal
from pipelines.table import TableVersion

Report = Callable[[str], None]
Check = Callable[[], None]


def say_nothing(line: str) -> None:
    """The default of `on_progress`."""


def go_on() -> None:
    """The default of `may_commit`, which is asked before each commit and raises when another writer has begun."""


# --- A batch ---------------------------------------------------------------------------------------------------------


def run_batch(
    spark: SparkSession, spec: BatchSpec, on_progress: Report | None = None, may_commit: Check = go_on
) -> BatchResult:
    """Carry-over first, then each table, then the manifest: each may be repeated. A batch that has a manifest is done."""
    report = on_progress or say_nothing
    done = published(spec)
    if done is not None:
        report("the batch is applied already")
        return done
    for task in spec.tables:
        create_shadow(spark, task, {"pipeline": spec.pipeline, "token": spec.token}, translation(spec.character_set))
    positions = [last_txn(task.target, task.app_id) for task in spec.tables]
    subjects = [
        Subject(
            number=number,
            table=task.table,
            object_ids=tuple(sorted({version.object_id for version in task.versions})),
            position=-1 if position is None else position,
            until=stop_scn(task, spec.scns),
            cuts=ddl_scns(task, spec.scns, -1 if position is None else position),
        )
        for number, (task, position) in enumerate(zip(spec.tables, positions, strict=True))
    ]
    batch = assembled(spark, spec.scns, spec.windows, spec.carry_in, subjects, spec.container, spec.dropped)
    balances = [batch.census.balance(subject.number, batch.survey) for subject in subjects]
    for subject, balance in zip(subjects, balances, strict=True):
        check_balance(balance, table=subject.table)
    for name, account in batch.census.accounts(spec.windows, batch.survey).items():
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
        foreign_rows=batch.survey.foreign,
        dropped=batch.dropped,
        accounts=batch.census.accounts(spec.windows, batch.survey, applied),
        read_to=batch.survey.read_to,
    )
    crash.point("before manifest")
    may_commit()
    return publish_batch(spec, result)


def carry_over(spark: SparkSession, spec: BatchSpec, batch: Assembled) -> tuple[tuple[str, ...], tuple[OpenTransaction, ...]]:
    """A folder of this attempt's own, so that a late attempt cannot touch what a manifest names."""
    if not any(batch.census.count(number, CARRIED_OUT) for number in range(len(spec.tables))):
        return (), ()
    folder = f"{spec.carry_out.rstrip('/')}/{uuid.uuid4().hex}"
    rows_to_carry(batch.changes, batch.rows, batch.survey.parallel_rows > 0).write.mode("error").parquet(folder)
    crash.point("carry-over")
    return parquet_files(folder), list_open(spark.read.parquet(folder))


def parquet_files(folder: str) -> tuple[str, ...]:
    filesystem, root = fsspec.core.url_to_fs(folder)
    found = filesystem.glob(f"{root}/*.parquet")
    return tuple(sorted(str(filesystem.unstrip_protocol(path)) if "://" in folder else str(path) for path in found))


def apply_one(
    spark: SparkSession,
    spec: BatchSpec,
    batch: Assembled,
    number: int,
    balance: Balance,
    position: int | None,
    report: Report,
    may_commit: Check,
) -> TableResult:
    task = spec.tables[number]

    def changes(piece: int) -> CommittedChanges:
        problem = batch.census.problems.get((number, piece))
        return CommittedChanges(
            frame=batch.committed(number, piece),
            count=batch.census.count(number, APPLIED, piece),
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
    result = batch_result_from_json(body.decode(), spec.manifest)
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
    if not Files(folder).create(name, to_json(result).encode()):
        first = published(spec)
        assert first is not None, "a manifest is never removed"
        return first
    return result


# --- Snapshots and comparisons ---------------------------------------------------------------------------------------


def run_snapshot(
    spark: SparkSession, spec: SnapshotSpec, on_progress: Report | None = None, may_commit: Check = go_on
) -> SnapshotResult:
    report, loaded = on_progress or say_nothing, []
    for task in spec.tables:
        may_commit()
        try:
            done = load_snapshot(spark, spec, task, TRANSLATION)
        except Transient:
            raise
        except RedolakeError as error:
            done = SnapshotLoaded(task.table, "held", False, error=error.as_dict())
        except Exception as surprise:
            check_session(spark, surprise)
            done = SnapshotLoaded(task.table, "held", False, error=unexpected(task.table, surprise))
        report(f"{task.table}: {done.rows} rows" if done.loaded else f"{task.table}: nothing loaded")
        loaded.append(done)
    result = SnapshotResult(spec.pipeline, spec.scn, tuple(loaded))
    leave(spec.manifest, result)
    return result


def run_compare(spark: SparkSession, spec: CompareSpec, on_progress: Report | None = None) -> CompareResult:
    report, compared = on_progress or say_nothing, []
    for task in spec.tables:
        found = compare(spark, task.target, task.files, task.version, task.complete_to, task.rules, TRANSLATION)
        report(f"{task.table}: {'equal' if found.equal else 'DIFFERS'}, {found.source_rows} rows")
        compared.append(found)
    result = CompareResult(spec.pipeline, tuple(compared))
    leave(spec.manifest, result)
    return result


def leave(path: str, result: SnapshotResult | CompareResult) -> None:
    """What the last attempt found counts: both are told by the tables themselves."""
    folder, _, name = path.rpartition("/")
    with Files(folder).writing(name) as out:
        out.write(to_json(result).encode())


def run(spark: SparkSession, spec: Spec, on_progress: Report | None = None, may_commit: Check = go_on) -> Result:
    try:
        if isinstance(spec, BatchSpec):
            return run_batch(spark, spec, on_progress, may_commit)
        if isinstance(spec, SnapshotSpec):
            return run_snapshot(spark, spec, on_progress, may_commit)
        return run_compare(spark, spec, on_progress)
    except RedolakeError:
        raise
    except Exception as surprise:
        check_space(surprise)
        raise


# --- What apply is told of decode and schema -------------------------------------------------------------------------


def decode_frame(frame: DataFrame, version: TableVersion, rules: Rules, *, character_set: str) -> DataFrame:
    types = {column.id: rules.get(column.id) for column in version.columns}
    arrow = changes_schema(to_arrow_schema(frame.schema), version, types)

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield decode_changes(batch, version, types, charset=character_set)

    return frame.mapInArrow(decode, from_arrow_schema(arrow, prefer_timestamp_ntz=True))


def translation(character_set: str) -> Translation:
    decode = partial(decode_frame, character_set=character_set)
    return Translation(decode=decode, spark_type=spark_ddl_type, literal=spark_literal)


TRANSLATION = translation("AL32UTF8")  # for loads and comparisons, which decode no redo


# --- spark-submit ----------------------------------------------------------------------------------------------------


def watch_parent(seconds: float = 2.0) -> None:
    """End this driver when its parent is gone: Airflow kills spark-submit's JVM, and the Python driver would live on."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        os._exit(70)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def write_line(line: str) -> None:
    sys.stdout.write(f"redolake: {line}\n")
    sys.stdout.flush()


def read_spec(path: str) -> Spec:
    folder, _, name = path.rpartition("/")
    body = Files(folder or ".").read(name)
    if body is None:
        raise LandingConflict("the order of the job is not there", cure="prepare the batch again", path=path)
    return spec_from_json(body.decode(), path)


def run_order(path: str) -> None:
    spec = read_spec(path)
    spark = open_session("submit", conf=spec.spark)
    try:
        run(spark, spec, write_line)
    finally:
        spark.stop()


def leave_failure(path: str, failure: Failure) -> None:
    folder, _, name = path.rpartition("/")
    Files(folder or ".").create(name, to_json(failure).encode())


def main(argv: Sequence[str] | None = None) -> int:
    """`ORDER.json [FAILURE.json]`; the second is written when a typed error ends the job."""
    path, *failure_path = sys.argv[1:] if argv is None else argv
    watch_parent()
    try:
        run_order(path)
    except RedolakeError as error:
        failure = Failure(isinstance(error, Terminal), str(error))
        write_line(failure.text)
        for file in failure_path:
            leave_failure(file, failure)
        return TERMINAL_EXIT if failure.terminal else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
