"""Record lost redo, with the logs that are missing, in the ledger until a later step proves that it is available again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from redolake.context import Run
from redolake.errors import RedolakeError
from redolake.ledger import Loss
from redolake.records.codec import from_body, to_body
from redolake.values.redo import Position, Window
from redolake.window import MissingLog

Step = Literal["plan", "mine"]
LogId = tuple[int, int, int]  # incarnation, thread, sequence


@dataclass(frozen=True, slots=True)
class LostPosition:
    """`window_end` is the end of the window that could not be mined."""

    dbid: int
    resetlogs_id: int
    scn: int
    window_end: int | None = None


@dataclass(frozen=True, slots=True)
class MissingLogFile:
    """An archived copy as V$ARCHIVED_LOG last showed it."""

    destination: int
    file: str | None
    status: str


@dataclass(frozen=True, slots=True)
class MissingLogReport:
    """`scns` are start and end of the log's redo, None where unknown; `older_too`: older logs may be missing as well."""

    thread: int
    sequence: int
    resetlogs_id: int
    scns: tuple[int, int] | None
    files: tuple[MissingLogFile, ...]
    why: str
    older_too: bool

    @property
    def id(self) -> LogId:
        return self.resetlogs_id, self.thread, self.sequence


def record_redo_loss(
    context: Run,
    error: RedolakeError,
    step: Step,
    position: Position,
    missing: Sequence[MissingLog],
    window_end: int | None = None,
) -> Loss:
    at = LostPosition(position.dbid, position.resetlogs_id, int(position.scn), window_end)
    logs = [to_body(missing_log_report(log)) for log in missing]
    return context.ledger.record_loss(error.as_dict(), step=step, position=to_body(at), missing=logs)


def clear_redo_loss(context: Run, step: Step) -> None:
    """Clear a loss that `step` has proved to be over. A plan relies on V$ARCHIVED_LOG, so it cannot clear what mining lost;
    landing can clear both."""
    loss = context.ledger.loss()
    if loss is not None and (loss.step == step or step == "mine"):
        context.ledger.clear_loss()


def lost_position(loss: Loss) -> LostPosition:
    return from_body(LostPosition, loss.position, "the loss in the ledger")


def missing_logs_of(loss: Loss) -> tuple[MissingLogReport, ...]:
    """Return every log that was ever missing since the loss began."""
    return tuple(from_body(MissingLogReport, log, "the loss in the ledger") for log in loss.missing)


def missing_log_report(log: MissingLog) -> MissingLogReport:
    return MissingLogReport(
        thread=log.thread,
        sequence=log.sequence,
        resetlogs_id=log.resetlogs_id,
        scns=None if log.scns is None else (int(log.scns.start), int(log.scns.end)),
        files=tuple(MissingLogFile(copy.dest_id, copy.name, copy.status) for copy in log.copies),
        why=log.why,
        older_too=log.older_too,
    )


def unreadable_logs(error: RedolakeError, window: Window) -> tuple[MissingLog, ...]:
    """Return the log without which a slice could not be mined, although V$ARCHIVED_LOG still lists it.

    Empty if the log was read and its content is the problem: restoring it would change nothing. The error then names it as
    the place of a row.
    """
    if error.ora_code is None and "tried" not in error.where:
        return ()
    wanted = (error.where.get("thread"), error.where.get("sequence"))
    return tuple(
        MissingLog(log.thread, log.sequence, log.resetlogs_id, None, log.copies, str(error.where.get("tried", error.what)))
        for piece in window.slices
        for log in piece.logs
        if (log.thread, log.sequence) == wanted
    )
