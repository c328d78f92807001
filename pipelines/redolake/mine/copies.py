"""Choose the copy of each log, and the neighbouring logs, for the next attempt at a slice.

A file that V$ARCHIVED_LOG claims and ADD_LOGFILE opens may still be another log, or fail while it is read. Then another
destination's copy is tried from the start of the slice, and the rows of the failed attempt are discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from redolake.errors import MiningIncomplete, RedolakeError, RedoLost, Transient
from redolake.values.ora_codes import BAD_COPY
from redolake.values.redo import LogCopy, LogFile, Slice
from redolake.values.scn import Scn

RESTORE_LOG = (
    "restore it with RMAN (RESTORE ARCHIVELOG SEQUENCE {sequence} THREAD {thread}) and run again, or take new snapshots of the "
    "tables; `redolake recover` lists the choices and what each loses"
)

T = TypeVar("T")


class WrongLog(MiningIncomplete):
    """A file contains another log than V$ARCHIVED_LOG lists for it."""


class EdgeCut(MiningIncomplete):
    """LogMiner cannot complete a row at the edge of the slice; the neighbouring logs may contain the rest."""


@dataclass(frozen=True, slots=True)
class LogSet:
    """The logs of one attempt: `added` are those of the slice, with the copies left to try, and neighbours where needed.

    `others` are logs of other redo threads, which LogMiner reads for a dictionary in the redo, from `dictionary_scn` on."""

    own: Slice
    added: Slice
    refused: tuple[str, ...] = ()  # copies that failed in earlier attempts, each with the reason
    others: tuple[LogFile, ...] = ()
    dictionary_scn: Scn | None = None

    @classmethod
    def of(cls, piece: Slice, dictionary_logs: Sequence[LogFile] = ()) -> LogSet:
        """Return the first attempt at a slice, with the logs from the dictionary to the slice's end."""
        needed = [log for log in dictionary_logs if log.first_scn < piece.next_scn and log not in piece.logs]
        before = tuple(log for log in needed if log.thread == piece.thread and log.sequence < piece.logs[0].sequence)
        others = tuple(log for log in needed if log.thread != piece.thread)
        begin = dictionary_logs[0].first_scn if dictionary_logs else None
        return cls(piece, replace(piece, logs=(*before, *piece.logs)), others=others, dictionary_scn=begin)

    @property
    def all_logs(self) -> tuple[LogFile, ...]:
        return (*self.added.logs, *self.others)

    @property
    def neighbours(self) -> frozenset[int]:
        """Sequences of the logs that were added only to complete rows of the slice."""
        return frozenset(g.sequence for g in self.added.logs) - {g.sequence for g in self.own.logs}

    def without(self, log: LogFile, copy: LogCopy) -> LogSet:
        """Return the set without this copy of the log."""
        left = replace(log, copies=tuple(c for c in log.copies if c != copy))
        logs, others = (tuple(left if g == log else g for g in some) for some in (self.added.logs, self.others))
        return replace(self, added=replace(self.added, logs=logs), others=others)


class BadCopy(Transient):
    """A copy of a log is bad and another is left; `next` is the set of logs to read instead."""

    def __init__(self, why: RedolakeError, next_logs: LogSet) -> None:
        where: dict[str, Any] = dict(why.where)
        super().__init__(f"a copy of an archived log is bad: {why.what}", cure="wait: the next copy is read", **where)
        self.next = next_logs


def mine_from_any_copy(own: Slice | LogSet, attempt: Callable[[LogSet], T], archived: Callable[[], Sequence[LogFile]]) -> T:
    """Call `attempt` until it succeeds. A bad copy is left out of the next attempt; a cut row adds the neighbouring logs, once.

    `archived` reads the archived logs of the control file. `attempt` must discard everything when it fails.
    """
    logs = own if isinstance(own, LogSet) else LogSet.of(own)
    while True:
        try:
            return attempt(logs)
        except BadCopy as bad:
            logs = bad.next
        except EdgeCut:
            wider = with_neighbours(logs, archived())
            if wider == logs:
                raise
            logs = wider


def with_neighbours(log_set: LogSet, archived: Sequence[LogFile]) -> LogSet:
    """Add the logs right before and after the slice that have an archived copy."""
    first, last = log_set.own.logs[0], log_set.own.logs[-1]
    ours = {
        g.sequence: g
        for g in archived
        if (g.thread, g.resetlogs_id) == (first.thread, first.resetlogs_id) and g.next_scn is not None and g.claimed
    }
    known = {g.sequence for g in log_set.added.logs}
    beside = [ours[n] for n in (first.sequence - 1, last.sequence + 1) if n in ours and n not in known]
    logs = tuple(sorted((*log_set.added.logs, *beside), key=lambda g: g.sequence))
    return replace(log_set, added=replace(log_set.added, logs=logs))


def suspects(error: RedolakeError, opened: Mapping[LogFile, LogCopy]) -> list[LogFile]:
    """Return the logs that the error names, by file or by sequence; empty if it names none."""
    text = " ".join((error.what, *map(str, error.where.values())))
    named = set()
    # One path may be a prefix of another: /arch/1_1 and /arch/1_10. So the longest is looked for first, and taken out.
    for log, copy in sorted(opened.items(), key=lambda item: len(item[1].name or ""), reverse=True):
        if copy.name and copy.name in text:
            named.add(log)
            text = text.replace(copy.name, "")
    return [log for log in opened if log in named] or [log for log in opened if error.where.get("sequence") == log.sequence]


def after_failure(error: RedolakeError, log_set: LogSet, opened: Mapping[LogFile, LogCopy]) -> RedolakeError:
    """Return BadCopy while another copy is left, else the error to raise."""
    if error.ora_code not in BAD_COPY and not isinstance(error, WrongLog):
        return error
    named = suspects(error, opened)
    # If the error names no file, any file may be bad: every log with another copy switches to it.
    replaceable = [log for log in named or opened if len(log.claimed) > 1]
    refused = (*log_set.refused, *(refusal(opened[log], error) for log in named or opened))
    if replaceable and set(named) <= set(replaceable):
        left = replace(log_set, refused=refused)
        for log in replaceable:
            left = left.without(log, opened[log])
        return BadCopy(error, left)
    if isinstance(error, RedoLost | MiningIncomplete) and not isinstance(error, WrongLog):
        return error
    if named:
        return not_available(named[0], refused)
    return MiningIncomplete(
        f"LogMiner cannot read the logs of the slice: {error.what}",
        cure="compare V$LOGMNR_LOGS with V$ARCHIVED_LOG for this range, restore the log that differs, and run again",
        ora_code=error.ora_code,
        **{**error.where, "tried": "; ".join(refused)},
    )


def without_choice(error: RedolakeError, logs: Slice) -> RedolakeError:
    """Return the error to raise where Oracle chooses the copies: RedoLost of the log whose file it names."""
    if error.ora_code not in BAD_COPY or isinstance(error, RedoLost | MiningIncomplete):
        return error
    for log in logs.logs:
        for copy in log.copies:
            if copy.name and copy.name in error.what:
                return not_available(log, [refusal(copy, error)])
    return MiningIncomplete(
        f"Oracle does not find the logs of the range, or cannot read them: {error.what}",
        cure="restore the archived logs of this range and run again. Logs of an earlier incarnation may be readable from the "
        "root only. `redolake recover` lists the other choices",
        ora_code=error.ora_code,
        **error.where,
    )


def refusal(copy: LogCopy, error: RedolakeError) -> str:
    return f"destination {copy.dest_id}: {copy.name}: {error.what}"


def not_available(log: LogFile, refused: Sequence[str]) -> RedoLost:
    return RedoLost(
        f"Redo Thread {log.thread} is inconsistent; an archive log with sequence {log.sequence} is not available",
        cure=RESTORE_LOG.format(thread=log.thread, sequence=log.sequence),
        thread=log.thread,
        sequence=log.sequence,
        scn=log.first_scn,
        tried="; ".join(refused) or "V$ARCHIVED_LOG lists no available copy",
    )
