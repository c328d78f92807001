"""Collect what the views show about one redo thread's logs in one incarnation, by sequence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.redo import LogCopy, LogFile, LogTrace, RedoFacts
from pipelines.scn import Scn
from pipelines.window.end import End
from pipelines.window.incarnation import Branch


@dataclass(frozen=True, slots=True)
class ThreadLogs:
    """One thread's logs by sequence: `archived` from V$ARCHIVED_LOG, `history` from V$LOG_HISTORY, `online` from V$LOG.

    V$LOG shows the current incarnation only.
    """

    thread: int
    archived: dict[int, LogFile]
    online: dict[int, LogFile]
    history: dict[int, LogTrace]

    def log(self, sequence: int) -> LogFile | None:
        """Return the archived log, else the online one; None where only V$LOG_HISTORY shows it, or no view."""
        return self.archived.get(sequence) or self.online.get(sequence)

    def start_of(self, sequence: int) -> Scn | None:
        """Return the log's FIRST_CHANGE#; None where no view shows the log."""
        seen = self.archived.get(sequence) or self.online.get(sequence) or self.history.get(sequence)
        return None if seen is None else seen.first_scn

    def end_of(self, sequence: int) -> Scn | None:
        """Return the highest NEXT_CHANGE# that a view shows; None where no view shows an end."""
        views: tuple[dict[int, LogFile] | dict[int, LogTrace], ...] = (self.archived, self.online, self.history)
        seen = (view[sequence].next_scn for view in views if sequence in view)
        return max((end for end in seen if end is not None), default=None)

    @property
    def sequences(self) -> list[int]:
        return sorted({*self.archived, *self.online, *self.history})

    @property
    def newest(self) -> int:
        return max((*self.archived, *self.online, *self.history), default=0)

    @property
    def last_end(self) -> Scn:
        """The highest SCN at which one of the logs is known to have ended."""
        return max((end for s in self.sequences if (end := self.end_of(s)) is not None), default=Scn(0))


def logs_of(thread: int, branch: Branch, facts: RedoFacts) -> ThreadLogs:
    """Collect the thread's logs in the branch's incarnation."""
    resetlogs_id = branch.incarnation.resetlogs_id

    def of_thread(logs: Iterable[LogFile]) -> dict[int, LogFile]:
        return _by_sequence(g for g in logs if g.thread == thread and g.resetlogs_id == resetlogs_id)

    history = {h.sequence: h for h in facts.history if h.thread == thread and h.resetlogs_id == resetlogs_id}
    known = ThreadLogs(thread, of_thread(facts.archived), of_thread(facts.online), history)
    last = known.archived.get(known.newest)
    if branch.ends_at is not End.OPEN and last is not None and last.next_scn is None and last.first_scn < branch.ends_at:
        # Oracle may leave NEXT_CHANGE# of the last log before a RESETLOGS empty; the log ends at the RESETLOGS.
        known.archived[last.sequence] = replace(last, next_scn=branch.ends_at)
    return known


def _by_sequence(logs: Iterable[LogFile]) -> dict[int, LogFile]:
    """Return one log per sequence. If copies end at different SCNs, only the longest may be mined: the others are cut short."""
    found: dict[int, LogFile] = {}
    for log in sorted(logs, key=lambda g: (g.next_scn or 0, -g.first_scn)):
        shorter = found.get(log.sequence)
        rest: tuple[LogCopy, ...] = tuple(c for c in shorter.copies if not c.is_claimed) if shorter is not None else ()
        found[log.sequence] = replace(log, copies=(*log.copies, *rest)) if rest else log
    return found
