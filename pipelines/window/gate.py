"""How far the archived logs of one redo thread reach without a hole, and what stands in the way behind that.

Values in, values out. Sequences carry the proof: a thread that was closed and reopened leaves a gap in SCNs and none in
sequences, so two logs with adjoining sequences have no redo between them, and a sequence that is not there may hold anything.
Whether a claimed file is really there, ADD_LOGFILE tells later.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.errors import RedoLost
from pipelines.redo import LogCopy, LogFile, RedoFacts, RedoThread
from pipelines.scn import Scn
from pipelines.window.incarnation import Branch
from pipelines.window.known import ThreadLogs, is_ready, logs_of
from pipelines.window.loss import Hole, fate, loss_of

__all__ = ["Coverage", "Current", "Lost", "ThreadLogs", "Wait", "cover", "cover_all", "follow_all", "is_ready", "logs_of"]


@dataclass(frozen=True, slots=True)
class Current:
    """The next log is still being written: nothing is wrong. Or its thread is closed, and nobody has switched it since."""

    thread: int
    sequence: int | None
    scn: Scn
    is_open: bool = True

    def __str__(self) -> str:
        log = "the next log" if self.sequence is None else f"log {self.sequence}"
        state = "is still being written" if self.is_open else "is not switched, although the thread is closed"
        return f"redo thread {self.thread}: {log} {state}"


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


Link = LogFile | Current | Wait | Hole


@dataclass(frozen=True, slots=True)
class ThreadRedo:
    """The thread's logs from the position on, in sequence: ready ones, and whatever stands between and behind them."""

    known: ThreadLogs
    links: tuple[Link, ...]
    end: Scn | None  # where the thread's redo ends in this incarnation; None while it is open


def cover_all(branch: Branch, facts: RedoFacts) -> tuple[Coverage, ...]:
    return tuple(cover(redo, branch.position) for redo in follow_all(branch, facts))


def cover(redo: ThreadRedo, start: Scn) -> Coverage:
    """As far as the thread's logs are ready one after the other."""
    logs: list[LogFile] = []
    for link in redo.links:
        if isinstance(link, LogFile):
            logs.append(link)
            continue
        behind = Lost(loss_of(link, redo.known)) if isinstance(link, Hole) else link
        return Coverage(redo.known.thread, tuple(logs), max(start, link.scn), behind)
    return Coverage(redo.known.thread, tuple(logs), None, None)


def follow_all(branch: Branch, facts: RedoFacts) -> tuple[ThreadRedo, ...]:
    """Every thread that V$THREAD shows or that has left a log: none is passed over for being idle, closed or private."""
    threads = {t.number: t for t in facts.threads}
    resetlogs_id = branch.incarnation.resetlogs_id
    numbers = {t.number for t in facts.threads if counts(t, branch, facts.current_scn)}
    numbers |= {g.thread for g in (*facts.archived, *facts.online) if g.resetlogs_id == resetlogs_id}
    numbers |= {h.thread for h in facts.history if h.resetlogs_id == resetlogs_id}
    return tuple(follow(logs_of(n, branch, facts), threads.get(n), branch) for n in sorted(numbers))


def counts(thread: RedoThread, branch: Branch, current_scn: Scn) -> bool:
    """Whether the thread counts even if no view shows a log of it.

    V$THREAD is read last and speaks of the current incarnation. A thread enabled behind CURRENT_SCN was not yet there when
    the logs were read; in an old incarnation only one that was surely there counts.
    """
    if branch.ends_at is None:
        return thread.enable_scn is None or thread.enable_scn < current_scn
    return thread.is_open and thread.enable_scn is not None and thread.enable_scn < branch.ends_at


def follow(known: ThreadLogs, thread: RedoThread | None, branch: Branch) -> ThreadRedo:
    """From the log that holds the position, sequence by sequence, up to the thread's end or its newest log."""
    reach, end = branch.position, last_scn(known, thread, branch)
    links: list[Link] = []
    if end is not None and end <= reach:
        return ThreadRedo(known, (), end)
    unseen = unseen_before(known, thread, reach)
    if unseen is not None:
        links.append(Hole(unseen, reach, "no view shows it any more, nor any older log of the thread", older_too=True))
    newest = known.newest
    for sequence in range(first_needed(known, reach), newest + 1):
        begins = known.first_scn(sequence)
        if end is not None and (reach >= end or (begins is not None and begins >= end)):
            return ThreadRedo(known, tuple(links), end)
        link = link_of(known, sequence, max(reach, begins or reach), thread, is_last=sequence == newest)
        links.append(link)
        if isinstance(link, Current):
            return ThreadRedo(known, tuple(links), end)
        reach = max(reach, known.next_scn(sequence) or reach)
    behind = None if end is not None and reach >= end else behind_newest(known, thread, branch, reach)
    return ThreadRedo(known, tuple(links) if behind is None else (*links, behind), end)


def last_scn(known: ThreadLogs, thread: RedoThread | None, branch: Branch) -> Scn | None:
    """Up to where the thread can have redo; None while it is open.

    A thread that V$THREAD does not show, or shows as disabled without an SCN, has the redo that its logs show.
    """
    is_disabled = thread is not None and not thread.is_open and thread.enabled == "DISABLED"
    disabled_at = thread.disable_scn if thread is not None and is_disabled else None
    if branch.ends_at is not None:
        return branch.ends_at if disabled_at is None else min(branch.ends_at, disabled_at)
    if thread is None:
        return None if any(g.next_scn is None for g in known.online.values()) else known.last_end
    if thread.is_open:
        return None
    if is_disabled and disabled_at is None:
        return known.last_end
    # It was closed before it was disabled: its checkpoint is the nearer end, and no log reaches to the other.
    return min((scn for scn in (thread.checkpoint_scn, disabled_at) if scn is not None), default=known.last_end)


def first_needed(known: ThreadLogs, start: Scn) -> int:
    """The log that holds `start`, or the one behind the last that ended before it: its sequence proves a thread closed then."""
    begun = [s for s in known.sequences if (known.first_scn(s) or 0) <= start]
    if not begun:
        return min(known.sequences, default=1)
    end = known.next_scn(begun[-1])
    return begun[-1] + 1 if end is not None and end <= start else begun[-1]


def unseen_before(known: ThreadLogs, thread: RedoThread | None, start: Scn) -> int | None:
    """The sequence before the oldest known log, when that begins behind `start` and the thread may have written till then."""
    oldest = min(known.sequences, default=1)
    begins = known.first_scn(oldest)
    if oldest <= 1 or begins is None or begins <= start:
        return None
    silent = (
        thread is not None
        and thread.disable_scn is not None
        and thread.enable_scn is not None
        and thread.disable_scn <= start
        and begins <= thread.enable_scn
    )
    return None if silent else oldest - 1


def link_of(known: ThreadLogs, sequence: int, scn: Scn, thread: RedoThread | None, *, is_last: bool) -> Link:
    """The log if it can be mined, else why not."""
    archived, online = known.archived.get(sequence), known.online.get(sequence)
    if archived is not None and is_ready(archived):
        flaw = flaw_of(archived, known)
        return archived if flaw is None else Hole(sequence, scn, flaw)
    if online is not None and is_last and known.next_scn(sequence) is None:
        return Current(known.thread, sequence, scn, thread is None or thread.is_open)
    read_too_early = bool(known.online) and sequence > max(known.online)  # V$LOG was read before that log began
    if archived is not None:
        comes = _may_come(archived.copies, online is not None)
    else:
        comes = not online.is_archived if online is not None else read_too_early and not is_last
    if comes:
        return Wait(f"redo thread {known.thread}: log {sequence} is switched but not archived yet", known.thread, sequence, scn)
    if archived is not None:
        return Hole(sequence, scn, "; ".join(map(fate, archived.copies)) or "it has no copy")
    return Hole(sequence, scn, trace_of(known, sequence))


def trace_of(known: ThreadLogs, sequence: int) -> str:
    if sequence in known.online:
        return "V$LOG says that it was archived, and V$ARCHIVED_LOG shows no copy"
    return "V$LOG_HISTORY shows that it existed" if sequence in known.history else "no view shows it any more"


def flaw_of(log: LogFile, known: ThreadLogs) -> str | None:
    """What makes a claimed log unfit: it is not all of that log, or it does not go on where the one before ended."""
    end, before = known.next_scn(log.sequence), known.next_scn(log.sequence - 1)
    if end is not None and log.next_scn is not None and end > log.next_scn:
        return f"its copy ends at SCN {log.next_scn}, the log itself at {end}"
    if before is not None and log.first_scn < before:
        return f"begins at SCN {log.first_scn}, before the one in front of it ended"
    return None


def is_minable(log: LogFile, known: ThreadLogs) -> bool:
    return is_ready(log) and flaw_of(log, known) is None


def _may_come(copies: tuple[LogCopy, ...], is_online: bool) -> bool:
    """An archiver is at work on one, or all so far went to other hosts while the log still waits for its local copy."""
    at_work = any(not c.archived and not c.deleted and not c.standby for c in copies)
    return at_work or (is_online and all(c.standby or not c.archived for c in copies))


def behind_newest(known: ThreadLogs, thread: RedoThread | None, branch: Branch, reach: Scn) -> Link | None:
    """What is to be expected behind the newest log that any view knows; None: nothing."""
    if branch.ends_at is not None:
        # The thread reached no RESETLOGS. Had it gone on, V$LOG_HISTORY would know; if it runs today, it may well have.
        if known.newest in known.history and (thread is None or not thread.is_open):
            return None
        return Hole(known.newest + 1, reach, f"the database was opened with RESETLOGS at SCN {branch.ends_at} only")
    if thread is None or (not thread.is_open and known.newest in known.online):
        return None  # V$LOG shows all groups of a thread, and none behind this one
    if thread.is_open:
        return Current(known.thread, None, reach)
    why = f"the thread was open up to SCN {thread.checkpoint_scn}, and no view shows a later log"
    return Hole(known.newest + 1, reach, why)
