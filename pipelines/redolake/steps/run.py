"""Run the steps of the DAGs in one process, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, TypeVar

from redolake.config import Pipeline
from redolake.context import Report, silent
from redolake.errors import (
    OF_ALL_TABLES,
    OF_THE_LAKE,
    Finding,
    RedolakeError,
    SnapshotPaused,
    SnapshotTooEarly,
    SparkExhausted,
    SparkLost,
    TableHeld,
    Terminal,
)
from redolake.host.progress import Progress
from redolake.records.gaps import GapKind
from redolake.source import ConnectParams
from redolake.steps.apply.batch import prepare_batch, record_batch
from redolake.steps.capture.receive import receive_next_window
from redolake.steps.capture.windows import Outcome, PlanOutcome, land_window, mine_window_slice, plan_next_window
from redolake.steps.recovery.recover import check_gap_reason, declare_gap
from redolake.steps.shared.retries import make_retry
from redolake.steps.shared.spark_jobs import run_spark_job
from redolake.steps.shared.spark_session import Spark, spark_when_needed
from redolake.steps.shared.status import DeclaredGapReport, TableStatus, read_status
from redolake.steps.shared.step_times import StepTimes
from redolake.steps.shared.wait import await_log
from redolake.steps.snapshots.begin import BegunSnapshot, begin_snapshot, lacking_contents
from redolake.steps.snapshots.beside import Beside
from redolake.steps.snapshots.load import LoadedSnapshot, prepare_snapshot_load, record_snapshot_load
from redolake.steps.snapshots.read import TableSnapshot, read_snapshot_table
from redolake.steps.snapshots.refused_tables import capturable_tables, hold_unread
from redolake.steps.snapshots.resnapshot import begin_resnapshots
from redolake.values.utc import beside

T = TypeVar("T")

LOOK_SECONDS = 2.0  # between looks for redo while there is none


@dataclass(frozen=True, slots=True)
class RunOutcome:
    windows: int  # landed
    batches: int  # applied
    outcome: Outcome  # of the last plan
    reason: str
    tables: tuple[TableStatus, ...]


@dataclass(frozen=True, slots=True)
class CapturedWindow(PlanOutcome):
    """A plan that was carried out: `rows` change rows were landed for its window."""

    rows: int = 0

    @classmethod
    def of(cls, plan: PlanOutcome, rows: int = 0) -> CapturedWindow:
        return cls(plan.outcome, plan.reason, plan.window, plan.slices, plan.awaited, plan.announced, rows)


@dataclass(frozen=True, slots=True)
class RecoveredLoss:
    gap: DeclaredGapReport
    snapshots: tuple[TableSnapshot, ...]


def take_snapshot(
    pipeline: Pipeline,
    tables: Sequence[str] | None = None,
    *,
    replace: bool = False,
    restart: bool = False,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
) -> LoadedSnapshot:
    """Read tables and load them. With `restart`, chunks that were read before are not used."""
    with spark_when_needed(pipeline, spark) as session:
        return read_and_load_snapshot(pipeline, tables, replace, source, session, report, restart=restart)


def read_and_load_snapshot(
    pipeline: Pipeline,
    tables: Sequence[str] | None,
    replace: bool,
    source: ConnectParams | None,
    spark: Spark,
    report: Report,
    by_itself: bool = False,
    *,
    restart: bool = False,
    waits: bool = True,
) -> LoadedSnapshot:
    begun = make_retry(pipeline)(
        lambda: begin_snapshot(pipeline, source, tables, replace=replace, only_held=by_itself, restart=restart)
    )
    return finish_snapshot(pipeline, begun, source, spark, report, by_itself=by_itself, waits=waits)


def finish_snapshot(
    pipeline: Pipeline,
    begun: BegunSnapshot,
    source: ConnectParams | None,
    spark: Spark,
    report: Report,
    *,
    by_itself: bool = False,
    waits: bool = True,
    stop: Event | None = None,
    paused: list[SnapshotPaused] | None = None,
) -> LoadedSnapshot:
    """Read the tables that were begun, and load them. Once `stop` is set, no further chunk is read, and a table that lacks one
    is not loaded: the next snapshot continues it. `paused` gets the errors of tables that may not be read now."""
    retried = make_retry(pipeline)
    if not begun.tables:
        return report_unloaded(LoadedSnapshot(None, ()), begun.held)
    reads, unread, paused = dict[str, int](), dict[str, Terminal](), [] if paused is None else paused
    for number, table in enumerate(begun.tables):
        report(
            Progress(
                f"reading {table} AS OF SCN {begun.scn_of(table)}{beside(begun.at)}",
                "reading tables",
                number,
                len(begun.tables),
            )
        )
        try:
            read = partial(read_snapshot_table, pipeline, source, begun.scn_of(table), table, report)
            done = retried(partial(read, by_itself=by_itself, waits=waits, stop=stop))
            if done.complete:
                reads[table] = done.scn
        except OF_ALL_TABLES:
            raise
        except SnapshotPaused as error:
            report(str(error))
            paused.append(error)
        except Terminal as error:
            unread[table] = error
    if not reads and (errors := [*unread.values(), *paused]):
        raise errors[0]
    if not reads:  # it was stopped
        return report_unloaded(LoadedSnapshot(None, ()), begun.held)
    held = (*begun.held, *(hold_unread(pipeline, table, error) for table, error in unread.items()))
    batch = prepare_snapshot_load(pipeline, reads, replace=begun.replace)
    report(Progress("loading into Delta", "loading tables", 0, len(reads)))
    run_spark_job(pipeline, batch, spark.session(), report)
    try:
        loaded = record_snapshot_load(pipeline, batch)
    except TableHeld as failed:
        raise TableHeld((*held, *failed.findings)) from failed
    return report_unloaded(loaded, held)


def report_unloaded(loaded: LoadedSnapshot, held: tuple[Finding, ...]) -> LoadedSnapshot:
    """Raise TableHeld for tables that cannot be captured or read, after the others are loaded."""
    if held:
        raise TableHeld(held, loaded)
    return loaded


def run_pipeline(
    pipeline: Pipeline,
    *,
    until_caught_up: bool = False,
    wait: bool = False,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
) -> RunOutcome:
    """Land and apply one window, or all that are sealed; with `wait`, also wait for an archived log that is due.

    Tables without contents get their snapshot first. A table that a DDL holds is snapshotted again after each batch, if
    `on_ddl` says `resnapshot`. While a snapshot in chunks is read and loaded, windows are landed and applied beside it.
    """
    windows = batches = rows = 0
    times = StepTimes()
    with spark_when_needed(pipeline, spark) as session, Beside() as beside:
        first_contents(pipeline, source, session, report, beside)
        while True:
            was_free = beside.is_free()
            found = capture(pipeline, source, report, times)
            windows, rows = windows + (found.outcome == "window"), rows + found.rows
            if until_caught_up and found.outcome == "window" and rows < pipeline.batch.max_rows:
                continue  # one batch over many windows costs little more than one over one
            applied, rows = apply(pipeline, session, report, times), 0
            batches += applied
            again = snapshot_again(pipeline, source, session, report, beside)
            if not beside.is_free() or not was_free:  # what is loaded now catches up before the end
                if not (applied or found.outcome == "window"):
                    beside.wait(LOOK_SECONDS)
                continue
            if wait and found.awaited is not None:
                await_log(pipeline, found.awaited, source, report, make_retry(pipeline))
                continue
            if not until_caught_up or not (applied or again):
                break
    return RunOutcome(windows, batches, found.outcome, found.reason, read_status(pipeline).tables)


def first_contents(
    pipeline: Pipeline,
    source: ConnectParams | None,
    spark: Spark,
    report: Report,
    beside: Beside,
    paused: list[SnapshotPaused] | None = None,
) -> None:
    """Snapshot tables without contents: beside the stream if some are read in chunks. A table that was added later has to wait
    until its redo is landed, and without a connection until one is named. `paused` gets the errors of tables that may not be
    read now."""
    if (waiting := waiting_for_connection(pipeline)) is not None:
        report(waiting)
        return
    try:
        begun = make_retry(pipeline)(lambda: begin_snapshot(pipeline, source))
    except SnapshotTooEarly as error:
        report(str(error))
        return

    def finish() -> None:
        try:
            finish_snapshot(pipeline, begun, source, spark, report, waits=False, stop=beside.stop, paused=paused)
        except SnapshotPaused:
            return  # it is reported where it is found
        except (SnapshotTooEarly, TableHeld) as error:
            report(str(error))

    if begun.chunks:
        beside.start(finish)
    else:
        finish()


def waiting_for_connection(pipeline: Pipeline) -> str | None:
    """Return which tables have no contents while others are captured without a connection."""
    lacking = [] if pipeline.source.connection is not None else lacking_contents(pipeline)
    return f"{', '.join(lacking)}: no contents yet; a snapshot needs `connection` below `source`" if lacking else None


def snapshot_again(pipeline: Pipeline, source: ConnectParams | None, spark: Spark, report: Report, beside: Beside) -> bool:
    """Read the held tables again that the policies name, each alone, and those in chunks beside the stream. Return whether
    there was one; while another snapshot is read beside, they wait."""
    if not beside.is_free():
        return False

    def finish(begun: BegunSnapshot) -> None:
        with report_errors(report):
            finish_snapshot(pipeline, begun, source, spark, report, by_itself=True, waits=False, stop=beside.stop)

    due, large = begin_resnapshots(pipeline), list[BegunSnapshot]()
    for table in due:
        with report_errors(report):
            begun = make_retry(pipeline)(partial(begin_snapshot, pipeline, source, [table], replace=True, only_held=True))
            if begun.chunks:
                large.append(begun)
            else:
                finish(begun)
    if large:
        beside.start(partial(each, finish, large))
    return bool(due)


def each(work: Callable[[T], None], of: Sequence[T]) -> None:
    for one in of:
        work(one)


@contextmanager
def report_errors(report: Report) -> Iterator[None]:
    """Report the error of one table, which the others do not wait for. Raise those of the lake and of Spark."""
    try:
        yield
    except OF_THE_LAKE:
        raise
    except (SparkLost, SparkExhausted):
        raise
    except RedolakeError as error:
        report(str(error))


def capture(
    pipeline: Pipeline, source: ConnectParams | None = None, report: Report = silent, times: StepTimes | None = None
) -> CapturedWindow:
    """Plan one window, mine its slices in parallel, and land it; or receive one."""
    retried, times = make_retry(pipeline), times or StepTimes()
    if pipeline.source.is_stream:
        with times.of("receive"):
            received = retried(lambda: receive_next_window(pipeline, source))
        report(f"{received.plan.outcome}: {received.plan.reason}")
        return CapturedWindow.of(received.plan, 0 if received.landed is None else received.landed.rows)
    with times.of("gate"):
        found = retried(lambda: plan_next_window(pipeline, source))
    report(f"{found.outcome}: {found.reason}")
    if (window := found.window) is None:
        return CapturedWindow.of(found)
    records = []
    with times.of("mine"), ThreadPoolExecutor(pipeline.parallel_sessions) as pool:
        for record in pool.map(lambda n: retried(lambda: mine_window_slice(pipeline, source, window, n)), found.slices):
            records.append(record)
            report(Progress("", "mining slices", len(records), len(found.slices)))
    with times.of("land"):
        landed = retried(lambda: land_window(pipeline, window, records, source))
    report(f"landed SCN [{landed.start_scn}, {landed.end_scn}){beside(landed.ends_at)}: {landed.rows} rows")
    return CapturedWindow.of(found, landed.rows)


def apply(pipeline: Pipeline, spark: Spark, report: Report, times: StepTimes | None = None) -> bool:
    """Apply one batch; return False if there was none. A held table does not stop the others."""
    times = times or StepTimes()
    with times.of("prepare"):
        prepared = make_retry(pipeline)(lambda: prepare_batch(pipeline))
    if prepared.batch is None:
        return False
    at = beside(prepared.ends_at)
    report(f"applying commits of SCN [{prepared.start_scn}, {prepared.end_scn}){at}: {prepared.reason}")
    with times.of("start Spark"):
        session = spark.session()
    with times.of_job() as job:
        job.result = run_spark_job(pipeline, prepared.batch, session, report)
    try:
        with times.of("record"):
            record_batch(pipeline, prepared.batch)
    except TableHeld as held:
        report(str(held))
    report(f"SCN {prepared.end_scn - 1}{at} is visible: {times.take_text()}")
    return True


def recover_redo_loss(
    pipeline: Pipeline,
    kind: GapKind,
    *,
    scn: int | None = None,
    reason: str = "",
    by: str = "",
    tables: Sequence[str] | None = None,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
    approved: str | None = None,
) -> RecoveredLoss:
    """Carry out a choice about lost redo: apply the landed windows, declare the gap, take the snapshots. `approved` is the cost
    that a person saw (declare_gap)."""
    check_gap_reason(kind, reason)  # before anything takes time
    with spark_when_needed(pipeline, spark) as session:
        while apply(pipeline, session, report):
            pass
        made = declare_gap(pipeline, kind, source, scn=scn, reason=reason, by=by, approved=approved, tables=tables or ())
        report(f"the chain goes on at SCN {made.to_scn}")
        if kind != "snapshot":
            return RecoveredLoss(made, ())
        chosen = tables or capturable_tables(pipeline)
        return RecoveredLoss(made, read_and_load_snapshot(pipeline, chosen, True, source, session, report).tables)
