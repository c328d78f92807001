"""Waiting for an archived log that is due: its redo thread has switched it, and no copy of it shows yet.

Only plan decides what is awaited, and what comes of it; here somebody looks whether to plan again. Nothing is written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.config import Pipeline, WindowLimits
from pipelines.context import Report
from pipelines.errors import LogOverdue
from pipelines.redo import Position
from pipelines.scn import Scn
from pipelines.source import ConnectParams, RetryRule, connect_params, open_source, read_redo_facts
from pipelines.window import Wait, plan_window

LOOK_SECONDS = 60.0


def awaited_by(position: Position, wait: Wait) -> dict[str, Any]:
    """Numbers only: what somebody else needs to look for the log, and to name it."""
    return {
        "dbid": int(position.dbid),
        "resetlogs_id": int(position.resetlogs_id),
        "position": int(position.scn),
        "thread": wait.thread,
        "sequence": wait.sequence,
        "scn": int(wait.scn),
    }


def named(awaited: Mapping[str, Any]) -> str:
    return f"the archived log with sequence {awaited['sequence']} of redo thread {awaited['thread']}, from SCN {awaited['scn']}"


def is_still_awaited(awaited: Mapping[str, Any], source: ConnectParams) -> bool:
    """Whether the position still stands at this log. It asks once and shortly: whoever waits looks again anyway."""
    position = Position(awaited["dbid"], awaited["resetlogs_id"], Scn(awaited["position"]))
    with open_source(source, call_timeout_seconds=LOOK_SECONDS, retry=RetryRule(attempts=1)) as oracle:
        found = plan_window(position, read_redo_facts(oracle), WindowLimits())
    return isinstance(found, Wait) and (found.thread, found.sequence) == (awaited["thread"], awaited["sequence"])


def await_log(
    pipeline: Pipeline, awaited: Mapping[str, Any], source: ConnectParams | None, report: Report, retried: Callable[..., bool]
) -> None:
    """In this process, until the log is there, however long; each time the deadline passes it is told again."""
    params = source or connect_params(pipeline.source.connection, os.environ)
    began = told = time.monotonic()
    report(f"waiting for {named(awaited)}")
    while retried(lambda: is_still_awaited(awaited, params)):
        if time.monotonic() - told >= pipeline.wait_warns_after_minutes * 60:
            told = time.monotonic()
            report(str(log_overdue(awaited, (told - began) / 60)))
        time.sleep(pipeline.wait_looks_every_seconds)


def log_overdue(awaited: Mapping[str, Any], minutes: float) -> LogOverdue:
    where = {name: awaited[name] for name in ("thread", "sequence", "scn")}
    return LogOverdue(
        f"Redo Thread {awaited['thread']}: log {awaited['sequence']} is switched, and no archived copy of it has come for "
        f"{minutes:g} minutes",
        cure="look at the archiver (V$INSTANCE.ARCHIVER, V$ARCHIVE_DEST_STATUS.ERROR, room in the recovery area) and at the "
        "transport to a standby; nothing is lost while its redo is kept (`redolake runway`), and the next run goes on waiting",
        **where,
    )
