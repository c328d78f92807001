"""Plan the next window: from the position to the last log edge that every redo thread has reached, within a byte budget.

A pure function of the control file's facts. It relies on what V$ARCHIVED_LOG claims; mining proves the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from redolake.values.redo import LogFile, Position, RedoFacts, Slice, Window
from redolake.values.scn import Scn, ScnRange
from redolake.window.end import End
from redolake.window.gate import Coverage, Lost, PartialCoverage, cover_all
from redolake.window.incarnation import Branch, locate
from redolake.window.log_state import Current, Wait

SWITCH_HINT = "; ALTER SYSTEM ARCHIVE LOG CURRENT, or a smaller ARCHIVE_LAG_TARGET, closes it earlier"


class SizeLimits(Protocol):
    """The part of config.WindowLimits that planning uses."""

    @property
    def max_bytes(self) -> int: ...
    @property
    def slice_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Sealed:
    """The next window: the archived logs of every redo thread cover it."""

    window: Window


@dataclass(frozen=True, slots=True)
class NothingNew:
    """No log edge lies ahead. `held_back_by` are the threads whose next log is not switched yet."""

    reason: str
    held_back_by: tuple[int, ...] = ()


WindowDecision = Sealed | NothingNew | Wait | Lost


def plan_window(position: Position, facts: RedoFacts, limits: SizeLimits) -> WindowDecision:
    """Return the next window, or why there is none.

    A window ends before any hole; the hole is reported once the position stands at it.
    """
    branch = locate(position, facts)
    if not isinstance(branch, Branch):
        return Lost(branch)
    coverages = cover_all(branch, facts)
    reach = common_reach(branch, coverages, facts.current_scn)
    logs = [log for coverage in coverages for log in coverage.logs]
    edges = log_edges(branch, coverages, reach)
    if not edges:
        return explain(branch, coverages, facts.current_scn)
    end = within_budget(edges, logs, limits.max_bytes)
    scns = ScnRange(branch.position, end)
    slices = cut_slices(scns, coverages, limits.slice_bytes)
    return Sealed(Window(facts.dbid, branch.incarnation.resetlogs_id, scns, slices, doubtful_scn(branch, scns, slices)))


def doubtful_scn(branch: Branch, scns: ScnRange, slices: Sequence[Slice]) -> Scn | None:
    """Return the window's last SCN if it ends at a RESETLOGS and a log goes on after that.

    It is not certain whether redo counts up to RESETLOGS_CHANGE# or up to the SCN before. A log that ends there was read whole.
    """
    goes_on = any(log.next_scn is not None and log.next_scn > scns.end for piece in slices for log in piece.logs)
    return scns.last_scn if scns.end == branch.ends_at and goes_on else None


def partial(coverages: Sequence[Coverage]) -> list[PartialCoverage]:
    return [c for c in coverages if isinstance(c, PartialCoverage)]


def common_reach(branch: Branch, coverages: Sequence[Coverage], current_scn: Scn) -> Scn:
    """Return the SCN that every thread covers. The views were read after CURRENT_SCN, so nothing beyond it is used."""
    limit = current_scn if branch.ends_at is End.OPEN else branch.ends_at
    return min([limit, *(c.covered_to for c in partial(coverages))])


def log_edges(branch: Branch, coverages: Sequence[Coverage], reach: Scn) -> list[Scn]:
    """Return where a window may end: at the end of any log up to `reach`, and at the end of its incarnation."""
    ends = {log.next_scn for c in coverages for log in c.logs if log.next_scn is not None}
    ends |= {c.covered_to for c in partial(coverages)}
    if branch.ends_at is not End.OPEN:
        ends.add(branch.ends_at)
    return sorted(end for end in ends if branch.position < end <= reach)


def find_overlapping(logs: Sequence[LogFile], scns: ScnRange) -> list[LogFile]:
    return [g for g in logs if g.first_scn < scns.end and (g.next_scn is None or g.next_scn > scns.start)]


def within_budget(edges: Sequence[Scn], logs: Sequence[LogFile], max_bytes: int) -> Scn:
    """Return the last edge whose logs fit, at least the first: otherwise a log above the budget would never be read."""
    remaining = sorted(logs, key=lambda g: g.first_scn, reverse=True)
    chosen, size = edges[0], 0
    for edge in edges:
        while remaining and remaining[-1].first_scn < edge:
            size += remaining.pop().bytes
        if size > max_bytes:
            break
        chosen = edge
    return chosen


def cut_slices(scns: ScnRange, coverages: Sequence[Coverage], slice_bytes: int) -> tuple[Slice, ...]:
    """Return runs of adjacent logs of one thread. A log across the window's edge is mined whole in both windows.

    Adjacent logs are cut into as few slices as the budget allows, and these so that the largest is as small as possible: slices
    are mined side by side, and the window lands after the last one.
    """
    cut: list[list[LogFile]] = []
    for coverage in coverages:
        for run in adjacent_runs(find_overlapping(coverage.logs, scns)):
            cut += balance(run, slice_bytes)
    return tuple(Slice(n, run[0].thread, tuple(run)) for n, run in enumerate(cut))


def adjacent_runs(logs: Sequence[LogFile]) -> list[list[LogFile]]:
    runs: list[list[LogFile]] = []
    for log in logs:
        if not runs or runs[-1][-1].next_scn != log.first_scn:
            runs.append([])
        runs[-1].append(log)
    return runs


def balance(run: Sequence[LogFile], most_bytes: int) -> list[list[LogFile]]:
    """Return the parts of a run with the smallest budget that needs no more parts than `most_bytes`."""
    parts = len(within(run, most_bytes))
    low, high = 0, most_bytes
    while low < high:
        budget = (low + high) // 2
        low, high = (low, budget) if len(within(run, budget)) <= parts else (budget + 1, high)
    return within(run, high)


def within(run: Sequence[LogFile], most_bytes: int) -> list[list[LogFile]]:
    """Cut a run into parts of at most `most_bytes`; a larger log is a part of its own."""
    parts: list[list[LogFile]] = []
    size = 0
    for log in run:
        if not parts or size + log.bytes > most_bytes:
            parts.append([])
            size = 0
        parts[-1].append(log)
        size += log.bytes
    return parts


def explain(branch: Branch, coverages: Sequence[Coverage], current_scn: Scn) -> NothingNew | Wait | Lost:
    """Return why there is no window: the most serious obstacle among the threads that stand at the position."""
    obstacles = [c.obstacle for c in partial(coverages) if c.covered_to <= branch.position]
    for kind in (Lost, Wait):
        for obstacle in obstacles:
            if isinstance(obstacle, kind):
                return obstacle
    current = [obstacle for obstacle in obstacles if isinstance(obstacle, Current)]
    if not current:
        return NothingNew(f"no log ended between SCN {branch.position} and the current SCN {current_scn}")
    reason = "; ".join(map(str, current)) + SWITCH_HINT
    ahead = [f"redo thread {c.thread} is archived up to SCN {end}" for c in coverages if (end := end_of(c)) > branch.position]
    if ahead:
        reason = f"held back at SCN {branch.position}, though {' and '.join(ahead)}: {reason}"
    return NothingNew(reason, tuple(obstacle.thread for obstacle in current))


def end_of(coverage: Coverage) -> Scn:
    return (coverage.logs[-1].next_scn if coverage.logs else None) or Scn(0)
