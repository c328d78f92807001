"""What the views together say of one redo thread's logs in one incarnation, by sequence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.redo import LogCopy, LogFile, LogTrace, RedoFacts
from pipelines.scn import Scn
from pipelines.window.incarnation import Branch


@dataclass(frozen=True, slots=True)
class ThreadLogs:
    """`online` is V$LOG and is empty for an old incarnation: V$LOG speaks of the current one only."""

    thread: int
    archived: dict[int, LogFile]
    online: dict[int, LogFile]
    history: dict[int, LogTrace]

    def known(self, sequence: int) -> LogFile | None:
        return self.archived.get(sequence) or self.online.get(sequence)

    def first_scn(self, sequence: int) -> Scn | None:
        seen = self.archived.get(sequence) or self.online.get(sequence) or self.history.get(sequence)
        return None if seen is None else seen.first_scn

    def next_scn(self, sequence: int) -> Scn | None:
        """Where the log ended by the view that saw most of it; None while it is open, or when no view knows it."""
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
        """The highest SCN at which one of its logs is known to have ended."""
        return max((end for s in self.sequences if (end := self.next_scn(s)) is not None), default=Scn(0))


def logs_of(thread: int, branch: Branch, facts: RedoFacts) -> ThreadLogs:
    resetlogs_id = branch.incarnation.resetlogs_id

    def mine(logs: Iterable[LogFile]) -> dict[int, LogFile]:
        return _by_sequence(g for g in logs if g.thread == thread and g.resetlogs_id == resetlogs_id)

    history = {h.sequence: h for h in facts.history if h.thread == thread and h.resetlogs_id == resetlogs_id}
    known = ThreadLogs(thread, mine(facts.archived), mine(facts.online), history)
    last = known.archived.get(known.newest)
    if branch.ends_at is not None and last is not None and last.next_scn is None and last.first_scn < branch.ends_at:
        known.archived[last.sequence] = replace(last, next_scn=branch.ends_at)  # the last log before a RESETLOGS may stay open
    return known


def _by_sequence(logs: Iterable[LogFile]) -> dict[int, LogFile]:
    """One log per sequence. Of copies that end at different SCNs only the longest count: a short one is not whole."""
    found: dict[int, LogFile] = {}
    for log in sorted(logs, key=lambda g: (g.next_scn or 0, -g.first_scn)):
        shorter = found.get(log.sequence)
        rest: tuple[LogCopy, ...] = tuple(c for c in shorter.copies if not c.is_claimed) if shorter is not None else ()
        found[log.sequence] = replace(log, copies=(*log.copies, *rest)) if rest else log
    return found


def is_ready(log: LogFile | None) -> bool:
    return log is not None and log.next_scn is not None and bool(log.claimed)
