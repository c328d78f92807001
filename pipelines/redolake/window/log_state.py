"""Decide for one log whether it can be mined, is still being written, must be waited for, or is lost.

V$ARCHIVED_LOG only claims that a file is available; ADD_LOGFILE proves it later.
"""

from __future__ import annotations

from dataclasses import dataclass

from redolake.values.redo import LogCopy, LogFile, RedoThread
from redolake.values.scn import Scn
from redolake.window.loss import Hole, state_of_copy
from redolake.window.thread_logs import ThreadLogs


@dataclass(frozen=True, slots=True)
class Current:
    """The next log is not switched: it is still being written, or its thread was closed before a log switch."""

    thread: int
    sequence: int | None  # None: no view shows the next log yet
    scn: Scn
    is_open: bool = True  # of the thread

    def __str__(self) -> str:
        if self.sequence is None:
            return f"redo thread {self.thread}: no view shows its next log yet"
        state = "is still being written" if self.is_open else "is not switched, although the thread is closed"
        return f"redo thread {self.thread}: log {self.sequence} {state}"


@dataclass(frozen=True, slots=True)
class Wait:
    """The log is switched, and no view shows its archived copy yet."""

    reason: str
    thread: int
    sequence: int
    scn: Scn


LogState = LogFile | Current | Wait | Hole  # a LogFile can be mined


def state_of_log(known: ThreadLogs, sequence: int, scn: Scn, thread: RedoThread | None, *, is_last: bool) -> LogState:
    """Return the log if it can be mined, else why not. Its redo is needed from `scn` on; `is_last`: it is the newest."""
    archived, online = known.archived.get(sequence), known.online.get(sequence)
    if archived is not None and is_complete(archived):
        flaw = flaw_of(archived, known)
        if flaw is not None and online is not None and not online.is_archived:
            return _wait(known, sequence, scn)  # the log itself comes yet
        return archived if flaw is None else Hole(sequence, scn, flaw)
    if online is not None and is_last and known.end_of(sequence) is None:
        return Current(known.thread, sequence, scn, thread is None or thread.is_open)
    if _will_be_archived(known, sequence, is_last=is_last):
        return _wait(known, sequence, scn)
    if archived is not None:
        return Hole(sequence, scn, "; ".join(map(state_of_copy, archived.copies)) or "it has no copy")
    return Hole(sequence, scn, last_trace(known, sequence), may_appear=True)


def _wait(known: ThreadLogs, sequence: int, scn: Scn) -> Wait:
    return Wait(f"redo thread {known.thread}: log {sequence} is switched but not archived yet", known.thread, sequence, scn)


def is_minable(log: LogFile, known: ThreadLogs) -> bool:
    return is_complete(log) and flaw_of(log, known) is None


def is_complete(log: LogFile) -> bool:
    return log.next_scn is not None and bool(log.claimed)


def flaw_of(log: LogFile, known: ThreadLogs) -> str | None:
    """Return why a log that V$ARCHIVED_LOG lists must not be mined: it is cut short, or it overlaps the previous log."""
    if log.sequence in known.conflicts:
        return f"{known.conflicts[log.sequence]}; remove the wrong row (RMAN: CHANGE ARCHIVELOG 'file' UNCATALOG)"
    end, previous_end = known.end_of(log.sequence), known.end_of(log.sequence - 1)
    if end is not None and log.next_scn is not None and end > log.next_scn:
        return f"its copy ends at SCN {log.next_scn}, the log itself at {end}"
    if previous_end is not None and log.first_scn < previous_end:
        return f"it begins at SCN {log.first_scn}, before the previous log ended"
    return None


def last_trace(known: ThreadLogs, sequence: int) -> str:
    """Say which view still shows a log without a row in V$ARCHIVED_LOG."""
    if sequence in known.conflicts:
        return f"{known.conflicts[sequence]}; remove that row (RMAN: CHANGE ARCHIVELOG 'file' UNCATALOG)"
    if sequence in known.online:
        return "V$LOG reports it as archived, and V$ARCHIVED_LOG shows no copy"
    return "V$LOG_HISTORY shows that it existed" if sequence in known.history else "no view shows it"


def _will_be_archived(known: ThreadLogs, sequence: int, *, is_last: bool) -> bool:
    archived, online = known.archived.get(sequence), known.online.get(sequence)
    if archived is not None:
        return _copy_is_due(archived.copies, online is not None)
    if online is not None:
        return not online.is_archived
    read_too_early = bool(known.online) and sequence > max(known.online)  # V$LOG was read before that log began
    return read_too_early and not is_last


def _copy_is_due(copies: tuple[LogCopy, ...], is_online: bool) -> bool:
    """Return whether an archiver is at work, or the log is still online and has only copies for other hosts."""
    at_work = any(not c.archived and not c.deleted and not c.standby and c.name for c in copies)  # no name: it was cleared
    return at_work or (is_online and all(c.standby or not c.archived for c in copies))
