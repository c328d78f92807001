"""The next window: from the position to the last log edge that every redo thread has reached, within a budget of bytes.

A pure function of the control file's facts. It promises nothing about files, only about what V$ARCHIVED_LOG claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.redo import LogFile, Position, RedoFacts, Slice, Window
from pipelines.scn import Scn, ScnRange
from pipelines.window.gate import Coverage, Current, Lost, Wait, cover_all
from pipelines.window.incarnation import Branch, find_branch, newest_scn, set_back

__all__ = ["Limits", "Lost", "NothingNew", "Sealed", "Wait", "WindowDecision", "cover_all", "plan_window"]

SWITCH_HINT = "; ALTER SYSTEM ARCHIVE LOG CURRENT, or a smaller ARCHIVE_LAG_TARGET, closes it earlier"


class Limits(Protocol):
    """What config.WindowLimits holds."""

    @property
    def max_bytes(self) -> int: ...
    @property
    def slice_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Sealed:
    window: Window


@dataclass(frozen=True, slots=True)
class NothingNew:
    """`held_back_by` are the threads at which the window ends: their next log is not switched yet."""

    reason: str
    held_back_by: tuple[int, ...] = ()


WindowDecision = Sealed | NothingNew | Wait | Lost


def plan_window(position: Position, facts: RedoFacts, limits: Limits) -> WindowDecision:
    """Sealed with as much as there is before any hole; a hole is reported once the position stands at it."""
    branch = find_branch(position, facts)
    if not isinstance(branch, Branch):
        return Lost(branch)
    newest = newest_scn(branch, facts)
    if branch.position > newest:
        return Lost(set_back(branch.position, newest))
    coverages = cover_all(branch, facts)
    reach = common_reach(branch, coverages, facts.current_scn)
    logs = [log for coverage in coverages for log in coverage.logs]
    edges = log_edges(branch, coverages, reach)
    if not edges:
        return explain(branch, coverages, facts.current_scn)
    end = within_budget(edges, logs, limits.max_bytes)
    scns = ScnRange(branch.position, end)
    slices = cut_slices(scns, coverages, limits.slice_bytes)
    return Sealed(Window(facts.dbid, branch.incarnation.resetlogs_id, scns, slices))


def common_reach(branch: Branch, coverages: Sequence[Coverage], current_scn: Scn) -> Scn:
    """How far all threads reach. The views were read after CURRENT_SCN, so what they show beyond it is left for later."""
    ends = [c.covered_to for c in coverages if c.covered_to is not None]
    limit = current_scn if branch.ends_at is None else branch.ends_at
    return min([limit, *ends])


def log_edges(branch: Branch, coverages: Sequence[Coverage], reach: Scn) -> list[Scn]:
    """Where a window may end: at the end of any log up to `reach`, and at the end of its incarnation."""
    ends = {log.next_scn for c in coverages for log in c.logs if log.next_scn is not None}
    ends |= {c.covered_to for c in coverages if c.covered_to is not None}
    if branch.ends_at is not None:
        ends.add(branch.ends_at)
    return sorted(end for end in ends if branch.position < end <= reach)


def overlapping(logs: Sequence[LogFile], scns: ScnRange) -> list[LogFile]:
    return [g for g in logs if g.first_scn < scns.end and (g.next_scn is None or g.next_scn > scns.start)]


def within_budget(edges: Sequence[Scn], logs: Sequence[LogFile], max_bytes: int) -> Scn:
    """The last edge whose logs fit; the first one in any case, or a log larger than the budget would never be read."""
    waiting = sorted(logs, key=lambda g: g.first_scn, reverse=True)
    chosen, size = edges[0], 0
    for edge in edges:
        while waiting and waiting[-1].first_scn < edge:
            size += waiting.pop().bytes
        if size > max_bytes:
            break
        chosen = edge
    return chosen


def cut_slices(scns: ScnRange, coverages: Sequence[Coverage], slice_bytes: int) -> tuple[Slice, ...]:
    """Runs of adjoining logs of one thread. A log that the window's edge cuts is mined whole, here and in the next window."""
    runs: list[list[LogFile]] = []
    for coverage in coverages:
        size = 0
        for log in overlapping(coverage.logs, scns):
            adjoins = bool(runs) and runs[-1][-1].thread == log.thread and runs[-1][-1].next_scn == log.first_scn
            if not adjoins or size + log.bytes > slice_bytes:
                runs.append([])
                size = 0
            runs[-1].append(log)
            size += log.bytes
    return tuple(Slice(n, run[0].thread, tuple(run)) for n, run in enumerate(runs))


def explain(branch: Branch, coverages: Sequence[Coverage], current_scn: Scn) -> WindowDecision:
    """Why there is no window: the gravest reason among the threads that stand at the position."""
    stuck = [c.behind for c in coverages if c.covered_to is not None and c.covered_to <= branch.position]
    for kind in (Lost, Wait):
        for behind in stuck:
            if isinstance(behind, kind):
                return behind
    held = [behind for behind in stuck if isinstance(behind, Current)]
    if not held:
        return NothingNew(f"no log ended between SCN {branch.position} and the current SCN {current_scn}")
    reason = "; ".join(map(str, held)) + SWITCH_HINT
    ahead = [f"redo thread {c.thread} is archived up to SCN {end}" for c in coverages if (end := end_of(c)) > branch.position]
    if ahead:
        reason = f"held back at SCN {branch.position}, though {' and '.join(ahead)}: {reason}"
    return NothingNew(reason, tuple(behind.thread for behind in held))


def end_of(coverage: Coverage) -> Scn:
    return (coverage.logs[-1].next_scn if coverage.logs else None) or Scn(0)
