"""Wait for an archived log that is due: its redo thread has switched it, and no view lists its archived copy yet.

Only the plan decides which log is awaited. This module checks whether to plan again, and writes nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from redolake.config import WindowLimits
from redolake.config.limits import Retry
from redolake.context import Run, pipeline_params
from redolake.errors import LogOverdue, SourceUnavailable
from redolake.host.pauses import growing_pauses
from redolake.source import ConnectParams, Source, open_source, read_current_scn, read_redo_facts
from redolake.values.redo import Position
from redolake.values.scn import Scn
from redolake.window import Wait, WindowDecision, plan_window

CHECK_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class AwaitedLog:
    """An archived log that is due, and the position that cannot continue without it."""

    dbid: int
    resetlogs_id: int
    position: int
    thread: int
    sequence: int
    scn: int  # its redo is needed from here on

    def __str__(self) -> str:
        return f"the archived log with sequence {self.sequence} of redo thread {self.thread}, from SCN {self.scn}"


def awaited_log(position: Position, wait: Wait) -> AwaitedLog:
    return AwaitedLog(
        int(position.dbid), int(position.resetlogs_id), int(position.scn), wait.thread, wait.sequence, int(wait.scn)
    )


def plan_now(oracle: Source, position: Position, limits: WindowLimits) -> WindowDecision:
    """Return what a plan would find, from one reading of the views. Nothing is recorded."""
    return plan_window(position, read_redo_facts(oracle, position.scn), limits)


def is_still_awaited(awaited: AwaitedLog, source: ConnectParams) -> bool:
    """Return whether the position still waits for this log. Ask once, with a short timeout: the caller checks again anyway."""
    position = Position(awaited.dbid, awaited.resetlogs_id, Scn(awaited.position))
    with open_source(source, call_timeout_seconds=CHECK_TIMEOUT_SECONDS, retry=Retry(attempts=1)) as oracle:
        found = plan_now(oracle, position, WindowLimits())
    return isinstance(found, Wait) and (found.thread, found.sequence) == (awaited.thread, awaited.sequence)


def is_source_back(source: ConnectParams) -> bool:
    """Return whether Oracle answers. Any other error than that it does not is raised: the caller plans again and reports it."""
    try:
        with open_source(source, call_timeout_seconds=CHECK_TIMEOUT_SECONDS, retry=Retry(attempts=1)) as oracle:
            read_current_scn(oracle)
    except SourceUnavailable:
        return False
    return True


def await_log(run: Run, awaited: AwaitedLog) -> None:
    """Block until the log is there, without limit. Report that it is overdue each time the deadline passes."""
    pipeline, params = run.pipeline, run.source or pipeline_params(run.pipeline)
    began = reported = time.monotonic()
    run.report(f"waiting for {awaited}")
    for pause in growing_pauses(pipeline.wait_max_pause_seconds):
        if not run.retry(lambda _: is_still_awaited(awaited, params)):
            return
        if time.monotonic() - reported >= pipeline.wait_max_minutes * 60:
            reported = time.monotonic()
            run.report(str(log_overdue(awaited, (reported - began) / 60)))
        time.sleep(pause)


def log_overdue(awaited: AwaitedLog, minutes: float) -> LogOverdue:
    return LogOverdue(
        f"Redo Thread {awaited.thread}: log {awaited.sequence} is switched, and no archived copy has appeared for "
        f"{minutes:g} minutes",
        cure="check the archiver (V$INSTANCE.ARCHIVER, V$ARCHIVE_DEST_STATUS.ERROR, free space in the recovery area) and the "
        "redo transport to a standby; nothing is lost while its redo is kept (`redolake runway`), and the next run waits again",
        thread=awaited.thread,
        sequence=awaited.sequence,
        scn=awaited.scn,
    )
