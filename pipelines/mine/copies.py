"""Which copy of each log is read, and with which neighbours: the decisions between two attempts at a slice.

V$ARCHIVED_LOG claims, ADD_LOGFILE opens, and even then a file may turn out to be another log, or break while it is read. Then
another destination's copy is tried, from the slice's beginning: what a broken fetch delivered is worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pipelines.errors import MiningIncomplete, RedolakeError, RedoLost, Transient
from pipelines.redo import LogCopy, LogFile, Slice

# The file cannot be opened or read, or is not what the control file says: another destination's copy may be whole.
BAD_COPY = frozenset(
    {308, 310, 334, 353, 354, 368, 1284, 1285, 1286, 1287, 1289, 1291, 1324, 1336, 1343, 1346, 1368, 27037}
)  # fmt: skip
RESTORE = (
    "restore it with RMAN (RESTORE ARCHIVELOG SEQUENCE {sequence} THREAD {thread}) and run again; or take new snapshots of "
    "the tables; `redolake recover` lists the choices with what each of them loses"
)

T = TypeVar("T")


class WrongLog(MiningIncomplete):
    """A file holds another log than V$ARCHIVED_LOG says."""


class EdgeCut(MiningIncomplete):
    """LogMiner cannot complete a row with the logs it was given; the logs beside them may hold the rest."""


@dataclass(frozen=True, slots=True)
class LogSet:
    """What one attempt reads: `added` are the slice's logs with the copies that are left to try, and neighbours at need."""

    own: Slice
    added: Slice
    refused: tuple[str, ...] = ()  # copies of earlier attempts, and why

    @property
    def neighbours(self) -> frozenset[int]:
        """Sequences of the logs that only help to complete a row of the slice's own."""
        return frozenset(g.sequence for g in self.added.logs) - {g.sequence for g in self.own.logs}

    def without(self, log: LogFile, copy: LogCopy) -> LogSet:
        left = replace(log, copies=tuple(c for c in log.copies if c != copy))
        logs = tuple(left if g == log else g for g in self.added.logs)
        return replace(self, added=replace(self.added, logs=logs))


class BadCopy(Transient):
    """A copy of a log is bad, and another is left: `next` is what to read instead."""

    def __init__(self, why: RedolakeError, next_reading: LogSet) -> None:
        where: dict[str, Any] = dict(why.where)
        super().__init__(f"a copy of an archived log is bad: {why.what}", cure="nothing: the next copy is read", **where)
        self.next = next_reading


def mine_from_any_copy(own: Slice, attempt: Callable[[LogSet], T], archived: Callable[[], Sequence[LogFile]]) -> T:
    """Attempt the slice until it is read: each bad copy is left out of the next attempt, a cut row gets its neighbours once.

    `archived` tells the logs of the control file. Nothing of a failed attempt may stay: `attempt` has to see to that.
    """
    reading = LogSet(own, own)
    while True:
        try:
            return attempt(reading)
        except BadCopy as bad:
            reading = bad.next
        except EdgeCut:
            wider = reading if reading.neighbours else with_neighbours(reading, archived())
            if wider == reading:
                raise
            reading = wider


def with_neighbours(reading: LogSet, archived: Sequence[LogFile]) -> LogSet:
    """The same with the logs right before and behind, as far as there are archived copies of them."""
    first, last = reading.own.logs[0], reading.own.logs[-1]
    ours = {
        g.sequence: g
        for g in archived
        if (g.thread, g.resetlogs_id) == (first.thread, first.resetlogs_id) and g.next_scn is not None and g.claimed
    }
    beside = (ours.get(first.sequence - 1), *reading.added.logs, ours.get(last.sequence + 1))
    return replace(reading, added=replace(reading.added, logs=tuple(g for g in beside if g is not None)))


def suspects(error: RedolakeError, opened: Mapping[LogFile, LogCopy]) -> list[LogFile]:
    """The logs an error is about: by the files it names, or by its sequence; none when it does not say."""
    text = " ".join((error.what, *map(str, error.where.values())))
    named = [log for log, copy in opened.items() if copy.name and f"{copy.name}" in text]
    if named:
        # One path may begin another: /arch/1_1 and /arch/1_10.
        longest = max(len(opened[log].name or "") for log in named)
        return [log for log in named if len(opened[log].name or "") == longest]
    return [log for log in opened if error.where.get("sequence") == log.sequence]


def after_failure(error: RedolakeError, reading: LogSet, opened: Mapping[LogFile, LogCopy]) -> RedolakeError:
    """What a failed attempt comes to: BadCopy while another copy is left, else the finding itself."""
    if error.ora_code not in BAD_COPY and not isinstance(error, WrongLog):
        return error
    named = suspects(error, opened)
    # An error that names no file may be any file's fault: every log that has another copy takes it.
    replaceable = [log for log in named or opened if len(log.claimed) > 1]
    refused = (*reading.refused, *(refusal(opened[log], error) for log in named or opened))
    if replaceable and set(named) <= set(replaceable):
        left = replace(reading, refused=refused)
        for log in replaceable:
            left = left.without(log, opened[log])
        return BadCopy(error, left)
    if isinstance(error, RedoLost | MiningIncomplete) and not isinstance(error, WrongLog):
        return error
    if named:
        return not_available(named[0], refused)
    return MiningIncomplete(
        f"LogMiner cannot read the logs of the slice: {error.what}",
        cure="compare V$LOGMNR_LOGS with V$ARCHIVED_LOG for this range; restore the log that differs, and run again",
        ora_code=error.ora_code,
        **{**error.where, "tried": "; ".join(refused)},
    )


def refusal(copy: LogCopy, error: RedolakeError) -> str:
    return f"destination {copy.dest_id}: {copy.name}: {error.what}"


def not_available(log: LogFile, refused: Sequence[str]) -> RedoLost:
    return RedoLost(
        f"Redo Thread {log.thread} is inconsistent; an archive log with sequence {log.sequence} is not available",
        cure=RESTORE.format(thread=log.thread, sequence=log.sequence),
        thread=log.thread,
        sequence=log.sequence,
        scn=log.first_scn,
        tried="; ".join(refused) or "V$ARCHIVED_LOG claims no copy any more",
    )
