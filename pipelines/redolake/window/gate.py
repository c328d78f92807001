"""Follow each redo thread by sequence and decide how far its archived logs are complete.

Sequences are the proof. A thread that was closed and reopened skips SCNs but no sequence: two logs with consecutive sequences
have no redo between them. A sequence that no view shows may contain any redo.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from redolake.errors import RedoLost
from redolake.values.redo import LogFile, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window.end import End, is_past
from redolake.window.incarnation import Branch, log_history_reaches
from redolake.window.log_state import Current, LogState, Wait, is_minable, state_of_log
from redolake.window.loss import Hole, loss_of
from redolake.window.thread_logs import ThreadLogs, logs_of


@dataclass(frozen=True, slots=True)
class Lost:
    """Redo that is needed next is lost.

    `may_appear`: the log has no row in V$ARCHIVED_LOG. Read the views once more before this answer is acted on.
    """

    error: RedoLost
    may_appear: bool = False


@dataclass(frozen=True, slots=True)
class PartialCoverage:
    """`logs` contain all redo of the thread from the position up to `covered_to`; `obstacle` is why they end there."""

    thread: int
    logs: tuple[LogFile, ...]
    covered_to: Scn
    obstacle: Current | Wait | Lost


@dataclass(frozen=True, slots=True)
class FullCoverage:
    """`logs` contain all redo of the thread from the position to its end; it writes no more in this incarnation."""

    thread: int
    logs: tuple[LogFile, ...]


Coverage = PartialCoverage | FullCoverage


@dataclass(frozen=True, slots=True)
class ThreadRedo:
    """The state of each log of the thread from the position on, by sequence. Missing logs and an open end have a state too."""

    known: ThreadLogs
    logs: tuple[LogState, ...]
    end: Scn | End  # where the thread's redo in this incarnation ends


def cover_all(branch: Branch, facts: RedoFacts) -> tuple[Coverage, ...]:
    """Return the coverage of every redo thread."""
    return tuple(cover(redo, branch.position) for redo in follow_all(branch, facts))


def cover(redo: ThreadRedo, start: Scn) -> Coverage:
    """Return the thread's logs up to the first one that cannot be mined, and why it cannot."""
    logs: list[LogFile] = []
    for state in redo.logs:
        if isinstance(state, LogFile):
            logs.append(state)
            continue
        obstacle = Lost(loss_of(state, redo.known), state.may_appear) if isinstance(state, Hole) else state
        return PartialCoverage(redo.known.thread, tuple(logs), max(start, state.scn), obstacle)
    return FullCoverage(redo.known.thread, tuple(logs))


def follow_all(branch: Branch, facts: RedoFacts) -> tuple[ThreadRedo, ...]:
    """Follow every thread that V$THREAD shows or that has left a log, whether it is idle, closed, PUBLIC or PRIVATE."""
    threads = {t.number: as_on_primary(t) if facts.is_standby else t for t in facts.threads}
    resetlogs_id = branch.incarnation.resetlogs_id
    numbers = {g.thread for g in (*facts.archived, *facts.online) if g.resetlogs_id == resetlogs_id}
    numbers |= {h.thread for h in facts.history if h.resetlogs_id == resetlogs_id}
    if branch.ends_at is not End.OPEN and not numbers:
        numbers = set(threads) or {1}  # a thread wrote in this incarnation, and nothing shows which
    numbers |= {t.number for t in threads.values() if counts(t, branch, facts)}
    reaches_back = log_history_reaches(branch, facts)
    return tuple(follow(logs_of(n, branch, facts), threads.get(n), branch, reaches_back) for n in sorted(numbers))


def as_on_primary(thread: RedoThread) -> RedoThread:
    """Return the thread of a standby as open: V$THREAD may show it as closed there, whatever the primary does."""
    return replace(thread, is_open=thread.enabled != "DISABLED")


def counts(thread: RedoThread, branch: Branch, facts: RedoFacts) -> bool:
    """Return whether redo of the thread is required even if no view shows a log of it.

    V$THREAD is read last and describes the current incarnation. A thread enabled after CURRENT_SCN did not exist when the
    logs were read. In an older incarnation, redo is required of a thread that certainly ran then, and of one that may have
    been enabled then if the log history does not show that it wrote nothing.
    """
    if branch.ends_at is End.OPEN:
        return thread.enable_scn is None or thread.enable_scn < facts.current_scn
    if thread.is_open and thread.enable_scn is not None and thread.enable_scn < branch.ends_at:
        return True
    return may_have_been_enabled(thread, branch, facts) and not log_history_reaches(branch, facts)


def may_have_been_enabled(thread: RedoThread, branch: Branch, facts: RedoFacts) -> bool:
    """Return whether the thread may have been enabled in an older incarnation, at or after the position.

    OPEN RESETLOGS enables a thread again that was enabled before, so an ENABLE_CHANGE# up to the RESETLOGS proves nothing.
    """
    if thread.disable_scn is not None and thread.disable_scn > branch.position:
        return True
    if thread.enabled == "DISABLED":
        return thread.disable_scn is None and thread.enable_scn is not None
    return thread.enable_scn is None or thread.enable_scn <= facts.current_incarnation.resetlogs_scn


def follow(known: ThreadLogs, thread: RedoThread | None, branch: Branch, reaches_back: bool) -> ThreadRedo:
    """Return the state of each log by sequence, from the one that contains the position to the thread's end or newest log.

    `reaches_back`: V$LOG_HISTORY shows every log that was switched after the position.
    """
    reach, end = branch.position, end_of_thread(known, thread, branch)
    first = first_needed(known, reach)
    if is_past(reach, end):
        return ThreadRedo(known, beyond_end(known, first, branch), end)
    logs: list[LogState] = [] if reaches_back else [*before_oldest(known, thread, reach)]
    newest = known.newest
    for sequence in range(first, newest + 1):
        start = known.start_of(sequence)
        if is_past(reach, end) or (start is not None and is_past(start, end)):
            return ThreadRedo(known, (*logs, *beyond_end(known, sequence, branch)), end)
        state = state_of_log(known, sequence, max(reach, start or reach), thread, is_last=sequence == newest)
        logs.append(state)
        if isinstance(state, Current):
            return ThreadRedo(known, tuple(logs), end)
        reach = max(reach, known.end_of(sequence) or reach)
    if not is_past(reach, end):
        logs += after_newest(known, thread, branch, reach)
    return ThreadRedo(known, tuple(logs), end)


def beyond_end(known: ThreadLogs, first: int, branch: Branch) -> tuple[LogFile, ...]:
    """Return the available logs from sequence `first` on, although V$THREAD says that the thread has no redo in them.

    Nothing is lost if one is missing. After a RESETLOGS, such logs contain redo that was undone.
    """
    if branch.ends_at is not End.OPEN:
        return ()
    logs = (log for sequence, log in sorted(known.archived.items()) if sequence >= first)
    return tuple(log for log in logs if is_minable(log, known))


def end_of_thread(known: ThreadLogs, thread: RedoThread | None, branch: Branch) -> Scn | End:
    """Return the SCN up to which the thread can have redo in this incarnation.

    The end is open for a thread without a row in V$THREAD: it was dropped, and the known logs are all it has. For one that was
    never enabled, it is the end of its last log.
    """
    is_disabled = thread is not None and not thread.is_open and thread.enabled == "DISABLED"
    disabled_at = thread.disable_scn if thread is not None and is_disabled else None
    if branch.ends_at is not End.OPEN:
        return branch.ends_at if disabled_at is None else min(branch.ends_at, disabled_at)
    if thread is None or thread.is_open:
        return End.OPEN
    if thread.enabled == "DISABLED" and disabled_at is None and thread.enable_scn is None and not known.sequences:
        return known.last_end
    # A thread is closed before it is disabled, so its logs may end at its checkpoint, below DISABLE_CHANGE#.
    return min((scn for scn in (thread.checkpoint_scn, disabled_at) if scn is not None), default=known.last_end)


def first_needed(known: ThreadLogs, start: Scn) -> int:
    """Return the sequence of the log that contains `start`. If no known log does, return the one after the last that ended.

    In the second case the thread was closed at `start`: consecutive sequences have no redo between them.
    """
    begun = [s for s in known.sequences if (known.start_of(s) or 0) <= start]
    if not begun:
        return min(known.sequences, default=1)
    end = known.end_of(begun[-1])
    return begun[-1] + 1 if end is not None and end <= start else begun[-1]


def before_oldest(known: ThreadLogs, thread: RedoThread | None, start: Scn) -> tuple[Hole, ...]:
    """Return a hole before the oldest known log if that log begins after `start` and the thread may have written before it."""
    oldest = min(known.sequences, default=1)
    begins = known.start_of(oldest)
    if oldest <= 1 or begins is None or begins <= start:
        return ()
    was_disabled = (
        thread is not None
        and thread.disable_scn is not None
        and thread.enable_scn is not None
        and thread.disable_scn <= start
        and begins <= thread.enable_scn
    )
    if was_disabled:
        return ()
    return (Hole(oldest - 1, start, "no view shows it or any older log of the thread", older_too=True),)


def after_newest(known: ThreadLogs, thread: RedoThread | None, branch: Branch, reach: Scn) -> tuple[Current | Hole, ...]:
    """Return the obstacle after the newest log that any view shows, if more redo must follow it."""
    if branch.ends_at is not End.OPEN:
        if not known.sequences:
            old = f"incarnation {branch.incarnation.resetlogs_id}, which ended with RESETLOGS at SCN {branch.ends_at}"
            return (Hole(1, reach, f"no view shows a log of the thread in {old}; so its sequence is not known"),)
        # The last log ends at RESETLOGS_CHANGE# or one SCN before: which of them is not certain.
        if known.last_end >= branch.ends_at - 1:
            return ()
        # The thread's known logs end before the RESETLOGS. V$LOG_HISTORY would normally show a later one. For a thread that is
        # open today that is no proof: its last log before the RESETLOGS may be lost.
        if known.newest in known.history and (thread is None or not thread.is_open):
            return ()
        return (Hole(known.newest + 1, reach, f"the database was opened with RESETLOGS later, at SCN {branch.ends_at}"),)
    if thread is None or (not thread.is_open and known.newest in known.online):
        return ()  # V$LOG shows every online log of a thread, and none after this one
    if thread.is_open:
        return (Current(known.thread, None, reach),)
    why = f"the thread was open up to SCN {thread.checkpoint_scn}, and no view shows a later log"
    return (Hole(known.newest + 1, reach, why),)
