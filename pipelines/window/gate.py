"""How far the archived logs of one redo thread reach without a hole, and what stands in the way behind that.

Values in, values out: a log is awaited while the control file still shows it online, and lost once it is deleted,
unavailable, or followed by others without a trace of its own. Whether a file is really there, ADD_LOGFILE tells later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.errors import RedoLost
from pipelines.redo import LogCopy, LogFile, RedoFacts, RedoThread
from pipelines.scn import Scn
from pipelines.window.incarnation import Branch

LOST_CURE = (
    "restore the archived log with RMAN (RESTORE ARCHIVELOG THREAD {thread} SEQUENCE {sequence}) and run again; or take new "
    "snapshots of the tables; or declare the gap (`redolake status` shows it): changes in it are then missing from the tables"
)
SWITCH_HINT = "; ALTER SYSTEM ARCHIVE LOG CURRENT, or a smaller ARCHIVE_LAG_TARGET, closes it earlier"


@dataclass(frozen=True, slots=True)
class Current:
    """The next log is still being written: nothing is wrong."""

    thread: int
    sequence: int | None
    scn: Scn

    def __str__(self) -> str:
        log = "the next log" if self.sequence is None else f"log {self.sequence}"
        return f"redo thread {self.thread}: {log} is still being written{SWITCH_HINT}"


@dataclass(frozen=True, slots=True)
class Wait:
    """The log is switched, and its archived copy does not show yet."""

    reason: str
    thread: int
    sequence: int
    scn: Scn


@dataclass(frozen=True, slots=True)
class Lost:
    error: RedoLost


@dataclass(frozen=True, slots=True)
class Coverage:
    """`logs` hold all redo of the thread in [start, covered_to); None as covered_to: nothing of it can come any more."""

    thread: int
    logs: tuple[LogFile, ...]
    covered_to: Scn | None
    behind: Current | Wait | Lost | None


@dataclass(frozen=True, slots=True)
class ThreadLogs:
    """All that is known of one thread's logs in one incarnation, by sequence."""

    thread: int
    archived: dict[int, LogFile]
    online: dict[int, LogFile]
    history: frozenset[int]

    def known(self, sequence: int) -> LogFile | None:
        return self.archived.get(sequence) or self.online.get(sequence)

    @property
    def newest(self) -> int:
        return max((*self.archived, *self.online, *self.history), default=0)


def logs_of(thread: int, branch: Branch, facts: RedoFacts) -> ThreadLogs:
    def mine(logs: Iterable[LogFile]) -> dict[int, LogFile]:
        own = (g for g in logs if g.thread == thread and g.resetlogs_id == branch.incarnation.resetlogs_id)
        # The last log before a RESETLOGS may have kept its open end.
        return {g.sequence: replace(g, next_scn=g.next_scn or branch.ends_at) for g in own}

    history = frozenset(s for t, s, scn in facts.history if t == thread and scn == branch.incarnation.resetlogs_scn)
    return ThreadLogs(thread, mine(facts.archived), mine(facts.online), history)


def is_ready(log: LogFile | None) -> bool:
    return log is not None and log.next_scn is not None and bool(log.claimed)


def thread_limits(known: ThreadLogs, thread: RedoThread | None, branch: Branch) -> tuple[Scn, Scn | None]:
    """(from where, up to where) the thread can have redo; None as the end: it is open.

    V$THREAD speaks of the current incarnation only. A thread that it does not show, or shows as disabled without an SCN,
    has the redo that its logs show.
    """
    if branch.ends_at is not None:
        return Scn(0), branch.ends_at
    shown = max((g.next_scn for g in known.archived.values() if g.next_scn is not None), default=Scn(0))
    if thread is None:
        return Scn(0), shown
    enabled = thread.enable_scn or Scn(0)
    if thread.enabled == "DISABLED":
        return enabled, thread.disable_scn or shown
    return enabled, None if thread.is_open else (thread.checkpoint_scn or shown)


def cover(known: ThreadLogs, thread: RedoThread | None, branch: Branch) -> Coverage:
    """Follow the thread's logs from the branch's position on, or from where the thread was enabled."""
    enabled_from, ends_at = thread_limits(known, thread, branch)
    # A thread disabled and enabled again behind the position has left logs from before: they are still to be read.
    older = any(g.next_scn is not None and branch.position < g.next_scn <= enabled_from for g in known.archived.values())
    start = branch.position if older else max(branch.position, enabled_from)
    if ends_at is not None and ends_at <= start:
        return Coverage(known.thread, (), None, None)
    first = first_log(known, start)
    logs, stop = chain(known, first, start) if isinstance(first, LogFile) else ([], first)
    reach = stop.scn if isinstance(stop, Current) else _end(logs, start)
    if ends_at is not None and reach >= ends_at:
        return Coverage(known.thread, tuple(logs), None, None)
    if branch.ends_at is not None and isinstance(stop, Current):
        return _last_of_old_incarnation(known, thread, logs, reach, branch.ends_at)
    return Coverage(known.thread, tuple(logs), reach, stop)


def _last_of_old_incarnation(
    known: ThreadLogs, thread: RedoThread | None, logs: list[LogFile], reach: Scn, ends_at: Scn
) -> Coverage:
    """No log follows and none will: an open thread has lost one, any other had ended before the RESETLOGS."""
    if thread is None or not thread.is_open:
        return Coverage(known.thread, tuple(logs), None, None)
    sequence = logs[-1].sequence + 1 if logs else known.newest + 1
    why = f"the incarnation went on to SCN {ends_at}, where the database was opened with RESETLOGS"
    return Coverage(known.thread, tuple(logs), reach, _lost(known, sequence, reach, why))


def _end(logs: list[LogFile], start: Scn) -> Scn:
    end = logs[-1].next_scn if logs else None
    return start if end is None else end


def first_log(known: ThreadLogs, start: Scn) -> LogFile | Current | Wait | Lost:
    """The log that holds `start`; or the next one, when the thread was closed at `start` and its sequences prove it."""
    every = {**known.online, **known.archived}
    holding = [g for g in every.values() if g.first_scn <= start and (g.next_scn is None or start < g.next_scn)]
    if holding:
        return holding[0]
    later = sorted((g for g in every.values() if g.first_scn > start), key=lambda g: g.sequence)
    if not later:
        return Current(known.thread, None, start)
    first = later[0]
    before = known.known(first.sequence - 1)
    if first.sequence == 1 or (before is not None and before.next_scn is not None and before.next_scn <= start):
        return first
    return missing(known, first.sequence - 1, start)


def chain(known: ThreadLogs, first: LogFile, start: Scn) -> tuple[list[LogFile], Current | Wait | Lost]:
    """Ready logs from `first` on, each the next sequence at the SCN where the one before ended, and why there are no more.

    A log that begins later than its predecessor ended is no hole: the thread was closed in between.
    """
    logs: list[LogFile] = []
    log: LogFile | None = first
    sequence, reach = first.sequence, max(first.first_scn, start)
    while is_ready(log):
        assert log is not None
        if logs and log.first_scn < reach:
            return logs, _lost(known, sequence, reach, f"begins at SCN {log.first_scn}, before the one in front of it ended")
        logs.append(log)
        sequence, reach = log.sequence + 1, _end(logs, reach)
        log = known.known(sequence)
    return logs, missing(known, sequence, reach)


def missing(known: ThreadLogs, sequence: int, reach: Scn) -> Current | Wait | Lost:
    """Why the log `sequence` cannot be mined."""
    archived, online = known.archived.get(sequence), known.online.get(sequence)
    if archived is not None and not _may_come(archived.copies, online is not None):
        return _lost(known, sequence, reach, "; ".join(_fate(copy) for copy in archived.copies) or "it has no copy")
    if archived is None and online is not None and online.next_scn is None:
        return Current(known.thread, sequence, max(reach, online.first_scn))
    read_too_early = bool(known.online) and sequence > max(known.online)  # V$LOG was read before that log began
    if online is not None or archived is not None or (read_too_early and sequence < known.newest):
        reason = f"redo thread {known.thread}: log {sequence} is switched but not archived yet"
        return Wait(reason, known.thread, sequence, reach)
    if sequence > known.newest:
        return Current(known.thread, None, reach)
    trace = "V$LOG_HISTORY shows that it existed" if sequence in known.history else "no view shows it any more"
    return _lost(known, sequence, reach, trace)


def _may_come(copies: tuple[LogCopy, ...], is_online: bool) -> bool:
    """An archiver is at work on one, or all so far went to other hosts while the log still waits for its local copy."""
    return any(not c.archived and not c.deleted for c in copies) or (is_online and all(c.standby for c in copies))


def _fate(copy: LogCopy) -> str:
    place = f"destination {copy.dest_id}"
    if copy.deleted or copy.status == "D":
        return f"{place}: deleted" + (f", was {copy.name}" if copy.name else "")
    if copy.standby:
        return f"{place}: sent to {copy.name}, no file of this host"
    if not copy.name:
        return f"{place}: its name was cleared"
    return f"{place}: {copy.name} has status {copy.status}"


def _lost(known: ThreadLogs, sequence: int, scn: Scn, why: str) -> Lost:
    what = f"Redo Thread {known.thread} is inconsistent; an archive log with sequence {sequence} is not available"
    cure = LOST_CURE.format(thread=known.thread, sequence=sequence)
    return Lost(RedoLost(what, cure=cure, thread=known.thread, sequence=sequence, scn=scn, why=why))
