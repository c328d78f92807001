"""Run the steps of the DAGs in one process, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Literal, TypeVar

from redolake.context import Run, step
from redolake.errors import (
    OF_ALL_TABLES,
    OF_THE_LAKE,
    Finding,
    RedolakeError,
    SnapshotPaused,
    SnapshotTooEarly,
    SourceBusy,
    SourceUnavailable,
    SparkExhausted,
    SparkLost,
    TableHeld,
    Terminal,
)
from redolake.host.progress import Progress, Report
from redolake.records.gaps import GapKind
from redolake.records.windows import SliceRecord
from redolake.steps.apply.batch import prepare_batch, record_batch
from redolake.steps.capture.receive import CapturedWindow, receive_next_window
from redolake.steps.capture.windows import AlreadyLanded, Outcome, land_window, mine_window_slice, plan_next_window
from redolake.steps.recovery.recover import check_gap_reason, declare_gap
from redolake.steps.shared.spark_jobs import run_spark_job
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
    outcome: Outcome | Literal["stopped"]  # of the last plan; `stopped` when it was asked to
    reason: str
    tables: tuple[TableStatus, ...]
    retries: int = 0  # of rounds that ended with a transient error, where a pipeline is followed


@dataclass(frozen=True, slots=True)
class RecoveredLoss:
    gap: DeclaredGapReport
    snapshots: tuple[TableSnapshot, ...]


@step
def take_snapshot(
    run: Run,
    tables: Sequence[str] | None = None,
    *,
    replace: bool = False,
    restart: bool = False,
) -> LoadedSnapshot:
    """Read tables and load them. With `restart`, chunks that were read before are not used."""
    begin = partial(begin_snapshot, tables=tables, replace=replace, restart=restart)
    return finish_snapshot(run, run.retry(begin))


@step
def mend_by_snapshot(context: Run, table: str, *, replace: bool) -> LoadedSnapshot:
    """Read a table again, or for the first time, and record who decided that and why."""
    why = {"table": table, "reason": context.reason}
    context.ledger.record_decision("snapshot", why, context.decided_by)
    return take_snapshot(context, [table], replace=replace)


def finish_snapshot(
    run: Run,
    begun: BegunSnapshot,
    *,
    by_itself: bool = False,
    waits: bool = True,
    stop: Event | None = None,
    paused: list[SnapshotPaused] | None = None,
) -> LoadedSnapshot:
    """Read the tables that were begun, and load them. Once `stop` is set, no further chunk is read, and a table that lacks one
    is not loaded: the next snapshot continues it. `paused` gets the errors of tables that may not be read now."""
    if not begun.tables:
        return report_unloaded(LoadedSnapshot(None, ()), begun.held)
    reads, unread, paused = dict[str, int](), dict[str, Terminal](), [] if paused is None else paused
    for number, table in enumerate(begun.tables):
        scn, of = begun.scn_of(table), len(begun.tables)
        run.report(Progress(f"reading {table} AS OF SCN {scn}{beside(begun.at)}", "reading tables", number, of))
        try:
            read = partial(read_snapshot_table, scn=scn, table=table, by_itself=by_itself, waits=waits, stop=stop)
            done = run.retry(read)
            if done.complete:
                reads[table] = done.scn
        except OF_ALL_TABLES:
            raise
        except SnapshotPaused as error:
            run.report(str(error))
            paused.append(error)
        except Terminal as error:
            unread[table] = error
    if not reads and (errors := [*unread.values(), *paused]):
        raise errors[0]
    if not reads:  # it was stopped
        return report_unloaded(LoadedSnapshot(None, ()), begun.held)
    held = (*begun.held, *(hold_unread(run, table, error) for table, error in unread.items()))
    batch = prepare_snapshot_load(run, reads, replace=begun.replace)
    run.report(Progress("loading into Delta", "loading tables", 0, len(reads)))
    run_spark_job(run, batch)
    try:
        loaded = record_snapshot_load(run, batch)
    except TableHeld as failed:
        raise TableHeld((*held, *failed.findings)) from failed
    return report_unloaded(loaded, held)


def report_unloaded(loaded: LoadedSnapshot, held: tuple[Finding, ...]) -> LoadedSnapshot:
    """Raise TableHeld for tables that cannot be captured or read, after the others are loaded."""
    if held:
        raise TableHeld(held, loaded)
    return loaded


@step
def run_pipeline(run: Run, *, until_caught_up: bool = False, wait: bool = False) -> RunOutcome:
    """Land and apply one window, or all that are sealed; with `wait`, also wait for an archived log that is due.

    Tables without contents get their snapshot first. A table that a DDL holds is snapshotted again after each batch, if
    `on_ddl` says `resnapshot`. While a snapshot in chunks is read and loaded, windows are landed and applied beside it.
    """
    windows = batches = rows = 0
    times = StepTimes()
    with Beside() as beside:
        first_contents(run, beside)
        while True:
            was_free = beside.is_free()
            captured = capture(run, times)
            found = captured.plan
            windows, rows = windows + (found.outcome == "window"), rows + captured.rows
            if until_caught_up and found.outcome == "window" and rows < run.configured.batch.max_rows:
                continue  # one batch over many windows costs little more than one over one
            applied, rows = apply(run, times), 0
            batches += applied
            again = snapshot_again(run, beside)
            run.begin_turn()
            if not beside.is_free() or not was_free:  # what is loaded now catches up before the end
                if not (applied or found.outcome == "window"):
                    beside.wait(LOOK_SECONDS)
                continue
            if wait and found.awaited is not None:
                await_log(run, found.awaited)
                continue
            if not until_caught_up or not (applied or again):
                break
        return RunOutcome(windows, batches, found.outcome, found.reason, read_status(run).tables)


def first_contents(run: Run, beside: Beside, paused: list[SnapshotPaused] | None = None) -> bool:
    """Snapshot tables without contents: beside the stream if some are read in chunks. A table that was added later has to wait
    until its redo is landed, without a connection until one is named, and until Oracle answers: the primary of a standby may be
    away while the others are captured. `paused` gets the errors of tables that may not be read now. Return whether a batch has
    to be applied before another try may do more."""
    if (waiting := waiting_for_connection(run)) is not None:
        run.report(waiting)
        return True
    captures = run.ledger.position() is not None
    try:
        begun = run.retry(begin_snapshot)
    except SnapshotTooEarly as error:
        run.report(str(error))
        return True
    except (SourceUnavailable, SourceBusy) as error:
        if not captures:
            raise
        run.report(str(error))
        return False

    def finish(own: Run) -> None:
        try:
            finish_snapshot(own, begun, waits=False, stop=beside.stop, paused=paused)
        except SnapshotPaused:
            return  # it is reported where it is found
        except (SnapshotTooEarly, TableHeld) as error:
            own.report(str(error))

    if begun.chunks:
        beside.start(partial(in_fork, run, finish))
    else:
        finish(run)
    return True


def waiting_for_connection(run: Run) -> str | None:
    """Return which tables have no contents while others are captured without a connection."""
    lacking = [] if run.pipeline.source.connection is not None else lacking_contents(run)
    return f"{', '.join(lacking)}: no contents yet; a snapshot needs `connection` below `source`" if lacking else None


def snapshot_again(run: Run, beside: Beside) -> bool:
    """Read the held tables again that the policies name, each alone, and those in chunks beside the stream. Return whether
    there was one; while another snapshot is read beside, they wait."""
    if not beside.is_free():
        return False

    def finish(own: Run, begun: BegunSnapshot) -> None:
        with report_errors(own.report):
            finish_snapshot(own, begun, by_itself=True, waits=False, stop=beside.stop)

    due, large = begin_resnapshots(run), list[BegunSnapshot]()
    for table in due:
        with report_errors(run.report):
            begun = run.retry(partial(begin_snapshot, tables=[table], replace=True, only_held=True))
            if begun.chunks:
                large.append(begun)
            else:
                finish(run, begun)
    if large:
        beside.start(partial(in_fork, run, lambda own: each(partial(finish, own), large)))
    return bool(due)


def in_fork(run: Run, work: Callable[[Run], None]) -> None:
    with run.fork() as own:
        work(own)


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


@step
def capture(run: Run, times: StepTimes | None = None) -> CapturedWindow:
    """Plan one window, mine its slices in parallel, and land it; or receive one."""
    times = times or StepTimes()
    if run.pipeline.source.is_stream:
        with times.of("receive"):
            received = run.retry(receive_next_window)
        run.report(f"{received.plan.outcome}: {received.plan.reason}")
        return received
    with times.of("gate"):
        found = run.retry(plan_next_window)
    run.report(f"{found.outcome}: {found.reason}")
    if (window := found.window) is None:
        return CapturedWindow(found)

    def mine(number: int) -> SliceRecord | AlreadyLanded:
        with run.fork() as own:
            return own.retry(partial(mine_window_slice, window=window, slice_number=number))

    records = []
    with times.of("mine"), ThreadPoolExecutor(run.pipeline.parallel_sessions) as pool:
        for record in pool.map(mine, found.slices):
            records.append(record)
            run.report(Progress("", "mining slices", len(records), len(found.slices)))
    with times.of("land"):
        landed = run.retry(partial(land_window, window=window, mined_slices=records))
    run.report(f"landed SCN [{landed.start_scn}, {landed.end_scn}){beside(landed.ends_at)}: {landed.rows} rows")
    return CapturedWindow(found, landed)


@step
def apply(run: Run, times: StepTimes | None = None) -> bool:
    """Apply one batch; return False if there was none. A held table does not stop the others."""
    times = times or StepTimes()
    with times.of("prepare"):
        prepared = run.retry(prepare_batch)
    if prepared.batch is None:
        return False
    at = beside(prepared.ends_at)
    run.report(f"applying commits of SCN [{prepared.start_scn}, {prepared.end_scn}){at}: {prepared.reason}")
    with times.of_job() as job:
        job.result = run_spark_job(run, prepared.batch, times)
    try:
        with times.of("record"):
            record_batch(run, prepared.batch)
    except TableHeld as held:
        run.report(str(held))
    run.report(f"SCN {prepared.end_scn - 1}{at} is visible: {times.take_text()}")
    return True


@step
def recover_redo_loss(
    run: Run, kind: GapKind, *, scn: int | None = None, tables: Sequence[str] | None = None, approved: str | None = None
) -> RecoveredLoss:
    """Carry out a choice about lost redo: apply the landed windows, declare the gap, take the snapshots. `approved` is the cost
    that a person saw (declare_gap)."""
    check_gap_reason(run, kind)  # before anything takes time
    while apply(run):
        run.begin_turn()
    made = declare_gap(run, kind, scn=scn, approved=approved, tables=tables or ())
    run.begin_turn()
    run.report(f"the chain goes on at SCN {made.to_scn}")
    if kind != "snapshot":
        return RecoveredLoss(made, ())
    chosen = tables or capturable_tables(run)
    return RecoveredLoss(made, take_snapshot(run, chosen, replace=True).tables if chosen else ())
