"""List every missing log after a position, for the person who chooses what to do about the loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from redolake.errors import RedoLost
from redolake.values.redo import LogCopy, Position, RedoFacts
from redolake.values.scn import Scn, ScnRange
from redolake.window.end import End
from redolake.window.gate import ThreadRedo, follow_all
from redolake.window.incarnation import Branch, find_branch, locate, next_branch
from redolake.window.loss import Hole, copies_of


@dataclass(frozen=True, slots=True)
class MissingLog:
    """A log to restore or catalogue before its thread can be mined past it. A log still being archived is not missing."""

    thread: int
    sequence: int
    resetlogs_id: int
    scns: ScnRange | None  # the nearest known bounds of its redo, shared by neighbouring missing logs; None: unknown
    copies: tuple[LogCopy, ...]  # as V$ARCHIVED_LOG last showed them; empty when it has no row any more
    why: str
    older_too: bool = False  # logs with lower sequences may be needed as well, and no view says which


def missing_logs(position: Position, facts: RedoFacts) -> tuple[MissingLog, ...]:
    """Return every log lost from the position up to now, across all RESETLOGS, by incarnation, thread and sequence.

    Empty also where no log would help: another database, or a position that a RESETLOGS undid (see plan_window).
    """
    return tuple(
        MissingLog(
            redo.known.thread,
            hole.sequence,
            branch.incarnation.resetlogs_id,
            _range(hole, redo),
            copies_of(hole.sequence, redo.known),
            hole.why,
            hole.older_too,
        )
        for branch, redo, hole in _holes(position, facts)
    )


def next_complete_scn(position: Position, facts: RedoFacts) -> Scn | None:
    """Return the lowest SCN at or after the position from which no redo is lost up to now; None where there is none.

    It may lie in a later incarnation (`incarnation_at`). Redo that is not archived yet is not lost.
    """
    if isinstance(locate(position, facts), RedoLost):
        return None
    return max([position.scn, *(_end(hole, redo) for _, redo, hole in _holes(position, facts))])


def _holes(position: Position, facts: RedoFacts) -> Iterator[tuple[Branch, ThreadRedo, Hole]]:
    found = find_branch(position, facts)
    branch = found if isinstance(found, Branch) else None
    while branch is not None:
        for redo in follow_all(branch, facts):
            for hole in (state for state in redo.logs if isinstance(state, Hole)):
                yield branch, redo, hole
        branch = next_branch(branch, facts)


def _end(hole: Hole, redo: ThreadRedo) -> Scn:
    """Return where the hole ends: at the log's own end, at the start of the next known log, or at the end of the thread."""
    end = redo.known.end_of(hole.sequence)
    if end is None:
        end = next((redo.known.start_of(s) for s in redo.known.sequences if s > hole.sequence), None)
    if redo.end is End.OPEN:
        return max(hole.scn, hole.scn if end is None else end)
    return max(hole.scn, redo.end if end is None else min(end, redo.end))


def _range(hole: Hole, redo: ThreadRedo) -> ScnRange | None:
    first = redo.known.start_of(hole.sequence)
    if first is None:
        first = next((redo.known.end_of(s) for s in reversed(redo.known.sequences) if s < hole.sequence), None)
    end = redo.known.end_of(hole.sequence) or _end(hole, redo)
    return None if first is None or end <= first else ScnRange(first, end)
