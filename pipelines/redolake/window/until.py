"""Plan windows that end where a declared gap does, from logs that were restored; also those that no view lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from redolake.values.redo import LogFile, Position, RedoFacts, Slice, Window
from redolake.values.scn import ScnRange
from redolake.window.gate import Lost
from redolake.window.incarnation import follow_resetlogs
from redolake.window.log_state import Wait
from redolake.window.missing import MissingLog, missing_logs
from redolake.window.plan import NothingNew, Sealed, SizeLimits, plan_window


def plan_until(position: Position, end: Position, facts: RedoFacts, limits: SizeLimits) -> Sealed | NothingNew | Wait | Lost:
    """Return the next window, which ends at `end` at the latest. The gate is that of capture: all redo threads cover it."""
    found = plan_window(position, facts, limits)
    return Sealed(within(found.window, end)) if isinstance(found, Sealed) else found


def plan_all(
    position: Position, end: Position, facts: RedoFacts, limits: SizeLimits
) -> Iterator[Sealed | NothingNew | Wait | Lost]:
    """Yield the windows up to `end`; the last one that is yielded is the obstacle, if there is one."""
    while not has_reached(position, end, facts):
        found = plan_until(position, end, facts, limits)
        yield found
        if not isinstance(found, Sealed):
            return
        position = end_of(found.window)


def end_of(window: Window) -> Position:
    return Position(window.dbid, window.resetlogs_id, window.scns.end)


def has_reached(position: Position, end: Position, facts: RedoFacts) -> bool:
    """Return whether nothing lies between. Exactly at a RESETLOGS a position has a name in either incarnation."""
    return follow_resetlogs(position, facts).chain_position >= end.chain_position


def within(window: Window, end: Position) -> Window:
    """Return the window, cut at the end. A log across it is mined whole, as at each window's edge."""
    if window.resetlogs_id != end.resetlogs_id or window.scns.end <= end.scn:
        return window
    runs = ((s, tuple(log for log in s.logs if log.first_scn < end.scn)) for s in window.slices)
    slices = (Slice(0, s.thread, logs) for s, logs in runs if logs)
    numbered = tuple(replace(s, number=number) for number, s in enumerate(slices))
    return replace(window, scns=ScnRange(window.scns.start, end.scn), slices=numbered, doubtful_scn=None)


def missing_until(position: Position, end: Position, facts: RedoFacts) -> tuple[MissingLog, ...]:
    """Return the logs that are lost between the two; one whose SCNs are not known may lie between them."""
    return tuple(log for log in missing_logs(position, facts) if may_lie_before(log, end))


def may_lie_before(log: MissingLog, end: Position) -> bool:
    if log.resetlogs_id != end.resetlogs_id:
        return log.resetlogs_id < end.resetlogs_id
    return log.scns is None or log.scns.start < end.scn


def with_offered(facts: RedoFacts, offered: Iterable[LogFile]) -> RedoFacts:
    """Return the facts as if V$ARCHIVED_LOG listed these files too: their headers say which logs they are."""
    logs = {(log.resetlogs_id, log.thread, log.sequence): log for log in facts.archived}
    for log in offered:
        name = (log.resetlogs_id, log.thread, log.sequence)
        known = logs.get(name)
        if known is None or not known.claimed:
            logs[name] = log
        elif (known.first_scn, known.next_scn) == (log.first_scn, log.next_scn):
            logs[name] = replace(known, copies=(*known.copies, *log.copies))
    return replace(facts, archived=tuple(logs[name] for name in sorted(logs)))
