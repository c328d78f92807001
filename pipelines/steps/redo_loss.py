"""Lost redo stays in the ledger, with what is missing, until the way goes on: status and `redolake recover` tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pipelines.context import Workplace
from pipelines.errors import RedolakeError
from pipelines.ledger import Loss
from pipelines.redo import Position, Window
from pipelines.window import MissingLog

Step = Literal["plan", "mine"]


def keep_loss(
    work: Workplace,
    error: RedolakeError,
    step: Step,
    position: Position,
    missing: Sequence[MissingLog],
    window_end: int | None = None,
) -> Loss:
    """`window_end` is that of the window which could not be mined."""
    at = {**position_to_json(position), **({} if window_end is None else {"window_end": window_end})}
    shown = [missing_to_json(log) for log in missing]
    return work.ledger.record_loss(error.as_dict(), step=step, position=at, missing=shown)


def regain(work: Workplace, step: Step) -> None:
    """A plan proves what was lost for plans, and only landing what was lost in mining: V$ARCHIVED_LOG claims, files prove."""
    loss = work.ledger.loss()
    if loss is not None and (loss.step == step or step == "mine"):
        work.ledger.clear_loss()


def position_to_json(position: Position) -> dict[str, int]:
    return {"dbid": position.dbid, "resetlogs_id": position.resetlogs_id, "scn": int(position.scn)}


def missing_to_json(log: MissingLog) -> dict[str, Any]:
    return {
        "thread": log.thread,
        "sequence": log.sequence,
        "resetlogs_id": log.resetlogs_id,
        "scns": None if log.scns is None else [int(log.scns.start), int(log.scns.end)],
        "files": [{"destination": c.dest_id, "file": c.name, "status": c.status} for c in log.copies],
        "why": log.why,
        "older_too": log.older_too,
    }


def missing_in(error: RedolakeError, window: Window) -> tuple[MissingLog, ...]:
    """The log a slice could not be mined without, which V$ARCHIVED_LOG still lists. None where a log was read, and what stands
    in it is the loss: the error then names it as the place of a row, and restoring it would change nothing."""
    if error.ora_code is None and "tried" not in error.where:
        return ()
    wanted = (error.where.get("thread"), error.where.get("sequence"))
    return tuple(
        MissingLog(log.thread, log.sequence, log.resetlogs_id, None, log.copies, str(error.where.get("tried", error.what)))
        for piece in window.slices
        for log in piece.logs
        if (log.thread, log.sequence) == wanted
    )


def identity_of(log: Mapping[str, Any]) -> tuple[int, int, int]:
    """A log as (incarnation, thread, sequence)."""
    return int(log["resetlogs_id"]), int(log["thread"]), int(log["sequence"])
