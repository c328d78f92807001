"""Follow a pipeline in one process: capture and apply until asked to stop, with Spark kept warm between batches."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from threading import Event

from redolake.context import Run, now, pipeline_params
from redolake.context.spark import Spark
from redolake.errors import SnapshotPaused, SparkLost, Transient
from redolake.host.pauses import growing_pauses
from redolake.reconcile.snapshot_pauses import may_go_on
from redolake.steps.capture.receive import CapturedWindow
from redolake.steps.run import LOOK_SECONDS, RunOutcome, apply, capture, first_contents, snapshot_again
from redolake.steps.shared.status import read_status
from redolake.steps.shared.step_times import StepTimes
from redolake.steps.shared.wait import AwaitedLog, log_overdue, plan_now
from redolake.steps.snapshots.beside import Beside
from redolake.values.table import TableId
from redolake.window import NothingNew, Wait


def follow_pipeline(run: Run, stop: Event) -> RunOutcome:
    """Land and apply each window as soon as its logs are archived, until `stop` is set: then end after the step that runs.

    A transient error repeats the round after a pause that grows to the longest of `retry`. A terminal error ends
    the loop, and so does the end of a Java that this process started; a held table does not.
    """
    pipeline = run.configured
    source = run.source or (pipeline_params(pipeline) if pipeline.source.connection else None)
    follower = Follower(run, stop)
    with run.spark as spark, follower.beside:
        while not stop.is_set():
            try:
                with Run(pipeline, source, spark, follower.report_new) as own:  # a round keeps nothing of the one before
                    follower.round(own)
            except Transient as error:
                follower.stop_after(error, spark)  # it may be what failed
                follower.pause_after(error)
    return RunOutcome(
        follower.windows, follower.batches, "stopped", "asked to stop", read_status(pipeline).tables, follower.retries
    )


class Follower:
    """Counts what was done, and waits longer after each error in a row."""

    def __init__(self, run: Run, stop: Event) -> None:
        self.pipeline, self.stop, self.report = run.configured, stop, run.report
        self.windows = self.batches = self.retries = 0
        self._pauses = self._new_pauses()
        self._times = StepTimes()
        self._has_contents = False
        self._paused = list[SnapshotPaused]()  # tables whose hours are over, or that a person has paused
        self.beside = Beside()
        self._was_nothing = False
        self._awaited: AwaitedLog | None = None
        self._awaited_since = math.inf

    def round(self, run: Run) -> None:
        """Land sealed windows, as many as one batch may have, apply them, and wait for the next log if there was none."""
        self._first_contents(run)
        found = self._capture(run)
        if self.stop.is_set():
            return
        if apply(run, self._times):
            self.batches += 1
            self._has_contents = False  # the redo that a table added later waited for may be landed now
        elif not snapshot_again(run, self.beside) and found is not None:
            self._wait(run, found.plan.awaited)
        self._pauses = self._new_pauses()

    def _first_contents(self, run: Run) -> None:
        try:
            is_free = self.beside.is_free()
        except Exception:
            self._has_contents = False
            raise
        if not is_free or (self._has_contents and not self._may_go_on(run)):
            return
        self._paused.clear()
        self._has_contents = first_contents(run, self.beside, self._paused)

    def _may_go_on(self, run: Run) -> bool:
        """Return whether a table whose snapshot was paused may be read now."""
        if not self._paused:
            return False
        tables = [TableId.parse(str(paused.where["table"])) for paused in self._paused]
        return may_go_on(run, tables, now())

    def _new_pauses(self) -> Iterator[float]:
        return growing_pauses(self.pipeline.retry.max_seconds, self.pipeline.retry.initial_seconds)

    def stop_after(self, error: Transient, spark: Spark) -> None:
        """Close the session. Report the error first if no other session can be opened."""
        try:
            spark.stop()
        except SparkLost:
            self.report(str(error))
            raise

    def pause_after(self, error: Transient) -> None:
        """Wait before the next try, twice as long after each failure in a row."""
        seconds = next(self._pauses)
        self.retries += 1
        self.report(f"{error}\nretrying in {seconds:g} s")
        self.stop.wait(seconds)

    def _capture(self, run: Run) -> CapturedWindow | None:
        """Land windows until there is none, or enough for a batch; return the last plan. Return None where it was asked to
        stop."""
        rows = 0
        while not self.stop.is_set():
            found = capture(run, self._times)
            if found.plan.outcome != "window":
                return found
            self.windows += 1
            rows += found.rows
            if rows >= self.pipeline.batch.max_rows:
                return found
        return None

    def report_new(self, text: str) -> None:
        """Report once that there is nothing new, and not at every look."""
        is_nothing = text.startswith("nothing:")
        if not (is_nothing and self._was_nothing):
            self.report(text)
        if text.startswith(("nothing:", "wait:", "window:")):  # what a plan has found
            self._was_nothing = is_nothing

    def _wait(self, run: Run, awaited: AwaitedLog | None) -> None:
        """Wait until there is redo to land, and at most until the next plan is due.

        One connection stays open for the looks, each of which reads the views that a plan reads first.
        """
        self._times = StepTimes()  # nothing came of this plan
        if self.pipeline.source.is_stream:
            self.stop.wait(min(LOOK_SECONDS, self.pipeline.wait_max_pause_seconds))
            return
        self._report_overdue(awaited)
        seconds = self.pipeline.wait_max_pause_seconds
        due = time.monotonic() + seconds
        position = run.ledger.position()
        if position is None:
            self.stop.wait(seconds)
            return
        with run.oracle() as oracle:
            while not self.stop.wait(min(LOOK_SECONDS, seconds)) and time.monotonic() < due:
                if not isinstance(plan_now(oracle, position, self.pipeline.window), NothingNew | Wait):
                    return

    def _report_overdue(self, awaited: AwaitedLog | None) -> None:
        """Report once that an awaited log has not come for as long as a run would wait."""
        if awaited != self._awaited:
            self._awaited, self._awaited_since = awaited, time.monotonic()
        minutes = (time.monotonic() - self._awaited_since) / 60
        if awaited is not None and minutes >= self.pipeline.wait_max_minutes:
            self.report(str(log_overdue(awaited, minutes)))
            self._awaited_since = math.inf
