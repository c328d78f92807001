"""Collect what the views show about one redo thread's logs in one incarnation, by sequence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from redolake.values.redo import LogFile, RedoFacts
from redolake.values.scn import Scn
from redolake.window.end import End
from redolake.window.incarnation import Branch


@dataclass(frozen=True, slots=True)
class ThreadLogs:
    """One thread's logs by sequence: `archived` from V$ARCHIVED_LOG, `history` from V$LOG_HISTORY, `online` from V$LOG.

    V$LOG shows the current incarnation only. `conflicts` says why rows of V$ARCHIVED_LOG for a sequence are not mined.
    """

    thread: int
    archived: dict[int, LogFile]
    online: dict[int, LogFile]
    history: dict[int, LogFile]
    conflicts: dict[int, str] = field(default_factory=dict)
    is_standby: bool = False

    def log(self, sequence: int) -> LogFile | None:
        """Return the archived log, else the online one; None where only V$LOG_HISTORY shows it, or no view."""
        return self.archived.get(sequence) or self.online.get(sequence)

    def start_of(self, sequence: int) -> Scn | None:
        """Return the lowest FIRST_CHANGE# that a view shows; None where no view shows the log."""
        return min((view[sequence].first_scn for view in self.views if sequence in view), default=None)

    def end_of(self, sequence: int) -> Scn | None:
        """Return the highest NEXT_CHANGE# that a view shows; None where no view shows an end."""
        seen = (view[sequence].next_scn for view in self.views if sequence in view)
        return max((end for end in seen if end is not None), default=None)

    @property
    def views(self) -> tuple[dict[int, LogFile], ...]:
        return self.archived, self.online, self.history

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

    def of_thread(logs: Iterable[LogFile]) -> list[LogFile]:
        return [g for g in logs if g.thread == thread and g.resetlogs_id == resetlogs_id]

    history = {g.sequence: g for g in of_thread(facts.history)}
    online = {g.sequence: g for g in of_thread(facts.online)}
    rows = [row for row in of_thread(facts.archived) if facts.is_standby or not _is_open(row.sequence, online, history)]
    archived, conflicts = _by_sequence(rows, online, history)
    known = ThreadLogs(thread, archived, online, history, conflicts, facts.is_standby)
    last = known.archived.get(known.newest)
    if branch.ends_at is not End.OPEN and last is not None and last.next_scn is None and last.first_scn < branch.ends_at:
        # Oracle may leave NEXT_CHANGE# of the last log before a RESETLOGS empty; the log ends at the RESETLOGS.
        known.archived[last.sequence] = replace(last, next_scn=branch.ends_at)
    return known


def _is_open(sequence: int, online: dict[int, LogFile], history: dict[int, LogFile]) -> bool:
    """Return whether the log is still written. No log was switched while the views were read, so a row of V$ARCHIVED_LOG with
    an end is another log, such as one of an abandoned future. V$LOG of a standby does not show what the primary writes."""
    return sequence in online and online[sequence].next_scn is None and sequence not in history


def _by_sequence(
    rows: Iterable[LogFile], online: dict[int, LogFile], history: dict[int, LogFile]
) -> tuple[dict[int, LogFile], dict[int, str]]:
    """Return one log per sequence, and for some sequences why rows of V$ARCHIVED_LOG are not mined.

    V$LOG_HISTORY and V$LOG show the range of a switched log, and a row beyond it is another log. If neither shows it, the
    rows must begin at one SCN, and the log is the longest: the others are cut short.
    """
    groups: defaultdict[int, list[LogFile]] = defaultdict(list)
    for row in sorted(rows, key=lambda g: (g.next_scn or 0, -g.first_scn)):
        groups[row.sequence].append(row)
    logs: dict[int, LogFile] = {}
    conflicts: dict[int, str] = {}
    for sequence, listed in groups.items():
        seen = [
            view for view in (history.get(sequence), online.get(sequence)) if view is not None and view.next_scn is not None
        ]
        group = [row for row in listed if not any(_is_beyond(row, view) for view in seen)]
        if not group:
            conflicts[sequence] = (
                f"V$ARCHIVED_LOG lists {_ranges(listed)}, which is another log: its own is {_ranges(seen[:1])}"
            )
            continue
        log, begins = group[-1], min(row.first_scn for row in group)
        if begins != max(row.first_scn for row in group) and not seen:
            conflicts[sequence] = f"V$ARCHIVED_LOG lists {_ranges(group)}, and no view shows which of them is the log"
            log = replace(log, first_scn=begins)
        others = (copy for row in group[:-1] for copy in row.copies if not copy.is_claimed)
        logs[sequence] = replace(log, copies=(*log.copies, *others))
    return logs, conflicts


def _is_beyond(row: LogFile, seen: LogFile) -> bool:
    """Return whether the row begins or ends after the log itself. V$LOG_HISTORY may show a log's last SCN as its end."""
    ends_later = row.next_scn is not None and seen.next_scn is not None and row.next_scn > seen.next_scn + 1
    return row.first_scn > seen.first_scn or ends_later


def _ranges(rows: Iterable[LogFile]) -> str:
    return " and ".join(f"SCN [{row.first_scn}, {row.next_scn})" for row in rows)
