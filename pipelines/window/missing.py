"""Everything that stands in the way of a position, for a person who has to choose what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.redo import LogCopy, Position, RedoFacts
from pipelines.scn import Scn, ScnRange
from pipelines.window.gate import ThreadRedo, follow_all
from pipelines.window.incarnation import Branch, find_branch, newest_scn, next_branch
from pipelines.window.loss import Hole, copies_of


@dataclass(frozen=True, slots=True)
class MissingLog:
    """A log to be restored, or made known again, before its thread can be mined past it. Logs still being archived are none."""

    thread: int
    sequence: int
    resetlogs_id: int
    scns: ScnRange | None  # where its redo lies, as near as the views tell; the edges of a gap of several logs are shared
    copies: tuple[LogCopy, ...]  # as V$ARCHIVED_LOG last knew them; empty when it has no row any more
    why: str
    older_too: bool = False  # logs with lower sequences may be needed as well, and no view says which


def missing_logs(position: Position, facts: RedoFacts) -> tuple[MissingLog, ...]:
    """Every log that is lost from the position up to now, through all RESETLOGS: by incarnation, thread and sequence.

    Empty also where no log would help: another database, or a position that was rewound (plan_window says so).
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
    """The smallest SCN at or after the position from which on no redo is lost up to now; None where there is none at all.

    It may lie in a later incarnation (`incarnation_at`). Redo that is not archived yet is no hole.
    """
    branch = find_branch(position, facts)
    if not isinstance(branch, Branch) or position.scn > newest_scn(branch, facts):
        return None
    return max([position.scn, *(_end(hole, redo) for _, redo, hole in _holes(position, facts))])


def _holes(position: Position, facts: RedoFacts) -> Iterator[tuple[Branch, ThreadRedo, Hole]]:
    found = find_branch(position, facts)
    branch = found if isinstance(found, Branch) else None
    while branch is not None:
        for redo in follow_all(branch, facts):
            for hole in (link for link in redo.links if isinstance(link, Hole)):
                yield branch, redo, hole
        branch = next_branch(branch, facts)


def _end(hole: Hole, redo: ThreadRedo) -> Scn:
    """Where the hole is over: at its own end, or where the next known log begins, or with the thread's redo."""
    end = redo.known.next_scn(hole.sequence)
    if end is None:
        end = next((redo.known.first_scn(s) for s in redo.known.sequences if s > hole.sequence), redo.end)
    end = hole.scn if end is None else end
    return max(hole.scn, end if redo.end is None else min(end, redo.end))


def _range(hole: Hole, redo: ThreadRedo) -> ScnRange | None:
    first = redo.known.first_scn(hole.sequence)
    if first is None:
        first = next((redo.known.next_scn(s) for s in reversed(redo.known.sequences) if s < hole.sequence), None)
    end = redo.known.next_scn(hole.sequence) or _end(hole, redo)
    return None if first is None or end <= first else ScnRange(first, end)
