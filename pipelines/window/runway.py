"""How much time is left before redo that is still needed is deleted, and which redo thread holds the window back.

Nothing registers a reader of redo: archived logs are deleted by age, oldest first. So what lies between the oldest log still
there and the oldest still needed is what deletion has to pass first. Each number is a lower bound. Values in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from pipelines.errors import RedoLost
from pipelines.redo import LogFile, Position, RedoFacts
from pipelines.scn import Scn
from pipelines.window.gate import Coverage, Current, Lost, ThreadLogs, Wait, cover_all, is_minable, logs_of
from pipelines.window.incarnation import Branch, find_branch, newest_scn, set_back

ENOUGH, LOW, LOST = "enough", "low", "lost"
RATE_OVER = timedelta(hours=24)
LEAST_HOURS_OF_A_RATE = 1 / 6


class Limits(Protocol):
    """What config.RunwayLimits holds."""

    @property
    def warn_below_hours(self) -> float: ...
    @property
    def warn_below_bytes(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class ThreadRunway:
    """One redo thread. `needed` is the first log still to be read, None when the thread has no more redo to give."""

    thread: int
    instance: str | None
    needed: LogFile | None
    is_archived: bool  # a log that is only online cannot be deleted
    kept: tuple[LogFile, ...]  # archived logs without a hole up to `needed`, which are not needed any more
    deleted_before: bool  # an older log is known to have been, so something deletes them
    hours_left: float | None  # None: the thread needs nothing
    unread: tuple[LogFile, ...]  # archived from `needed` on
    lost: RedoLost | None = None

    @property
    def oldest(self) -> LogFile | None:
        """The first log from which the thread's redo is whole; None when it is not, or when it has no archived one."""
        logs = (*self.kept, *self.unread)
        return logs[0] if logs and self.lost is None else None

    @property
    def kept_bytes(self) -> int:
        return sum(log.bytes for log in self.kept)


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A thread at which all others wait: its log is still open (or not archived yet) while theirs are sealed."""

    thread: int
    instance: str | None
    sequence: int | None
    scn: Scn
    hours: float | None  # since that log began
    is_open: bool
    waiting_logs: int
    waiting_bytes: int


@dataclass(frozen=True, slots=True)
class Runway:
    """`hours_left` is None where no thread needs anything; `at_least`: no log was ever deleted, so nothing limits it yet."""

    needed_scn: Scn
    threads: tuple[ThreadRunway, ...]
    hours_left: float | None
    at_least: bool
    bytes_left: int
    behind_hours: float | None  # age of the redo at the position, at most
    unread_bytes: int
    bytes_per_hour: float | None
    held_back: tuple[HeldBack, ...]
    lost: RedoLost | None = None


def measure(position: Position, facts: RedoFacts, now: datetime) -> Runway:
    """`now` is the database host's own clock, which FIRST_TIME is told by."""
    branch = find_branch(position, facts)
    if isinstance(branch, Branch) and branch.position > newest_scn(branch, facts):
        branch = set_back(branch.position, newest_scn(branch, facts))
    if not isinstance(branch, Branch):
        return Runway(position.scn, (), 0.0, False, 0, None, 0, None, (), branch)
    coverages = cover_all(branch, facts)
    known = {c.thread: logs_of(c.thread, branch, facts) for c in coverages}
    instances = {t.number: t.instance for t in facts.threads}
    threads = tuple(thread_runway(known[c.thread], c, instances.get(c.thread), now) for c in coverages)
    hours, at_least = least_hours(threads)
    lost = next((t.lost for t in threads if t.lost is not None), None)
    return Runway(
        needed_scn=branch.position,
        threads=threads,
        hours_left=hours,
        at_least=at_least,
        bytes_left=0 if lost else bytes_left(threads),
        behind_hours=behind_hours(threads, branch.position, now),
        unread_bytes=sum(log.bytes for t in threads for log in t.unread),
        bytes_per_hour=bytes_per_hour([g for one in known.values() for g in one.archived.values()], now),
        held_back=holders(coverages, known, instances, now),
        lost=lost,
    )


def state_of(runway: Runway, limits: Limits) -> str:
    """Where nothing was ever deleted there is nothing to warn of."""
    if runway.lost is not None:
        return LOST
    if runway.at_least or runway.hours_left is None:
        return ENOUGH
    few_bytes = limits.warn_below_bytes is not None and runway.bytes_left < limits.warn_below_bytes
    return LOW if few_bytes or runway.hours_left < limits.warn_below_hours else ENOUGH


def thread_runway(known: ThreadLogs, coverage: Coverage, instance: str | None, now: datetime) -> ThreadRunway:
    if isinstance(coverage.behind, Lost):
        return ThreadRunway(known.thread, instance, None, False, (), True, 0.0, coverage.logs, coverage.behind.error)
    if not coverage.logs and coverage.covered_to is None:
        return ThreadRunway(known.thread, instance, None, False, (), False, None, ())
    is_archived = bool(coverage.logs)
    needed = coverage.logs[0] if is_archived else next_log(known, coverage.behind)
    sequence = known.newest + 1 if needed is None else needed.sequence
    kept = kept_before(known, sequence, needed.first_scn if needed is not None else coverage.covered_to or Scn(0))
    deleted_before = (kept[0].sequence if kept else sequence) > 1  # each incarnation counts from 1
    logs = [*kept, *([] if needed is None else [needed])]
    # The oldest log may go at any moment, so the time that it covers is not counted.
    counted = logs[1:] if deleted_before else logs
    # An archived log was last written when the next one began; one that is online is younger still: it is not finished.
    hours = hours_between(counted[0].first_at if counted else None, logs[-1].first_at if is_archived else now)
    return ThreadRunway(known.thread, instance, needed, is_archived, tuple(kept), deleted_before, hours, coverage.logs)


def next_log(known: ThreadLogs, behind: Current | Wait | Lost | None) -> LogFile | None:
    sequence = behind.sequence if isinstance(behind, Current | Wait) else None
    return None if sequence is None else known.known(sequence)


def kept_before(known: ThreadLogs, sequence: int, begins: Scn) -> list[LogFile]:
    """Archived logs in front of `sequence`, oldest first, back to the first that is a hole or that the gate would refuse."""
    kept: list[LogFile] = []
    log = known.archived.get(sequence - 1)
    while log is not None and is_minable(log, known) and log.next_scn is not None and log.next_scn <= begins:
        kept.append(log)
        begins = log.first_scn
        log = known.archived.get(log.sequence - 1)
    return kept[::-1]


def hours_between(start: datetime | None, end: datetime | None) -> float:
    """Not below 0, which a host clock that was set back would give."""
    if start is None or end is None:
        return 0.0
    return max(0.0, (end - start).total_seconds() / 3600)


def least_hours(threads: Sequence[ThreadRunway]) -> tuple[float | None, bool]:
    """The first thread to lose redo sets the limit; threads whose logs nobody deletes set none."""
    limited = [t.hours_left for t in threads if t.hours_left is not None and t.deleted_before]
    if limited:
        return min(limited), False
    free = [t.hours_left for t in threads if t.hours_left is not None]
    return (min(free), True) if free else (None, False)


def bytes_left(threads: Sequence[ThreadRunway]) -> int:
    """What goes before the first needed log does, where the oldest goes first, whatever its thread."""
    needed = [t.needed.first_at for t in threads if t.is_archived and t.needed is not None and t.needed.first_at is not None]
    kept = [log for t in threads for log in t.kept]
    return sum(log.bytes for log in kept if not needed or (log.first_at is not None and log.first_at < min(needed)))


def behind_hours(threads: Sequence[ThreadRunway], position: Scn, now: datetime) -> float | None:
    """Every log that holds the position began before it, so the youngest of them tells best."""
    began = [t.needed.first_at for t in threads if t.needed is not None and t.needed.first_scn <= position]
    known = [at for at in began if at is not None]
    return hours_between(max(known), now) if known else None


def bytes_per_hour(logs: Sequence[LogFile], now: datetime) -> float | None:
    """Of the last day, deleted logs included; None where there are too few to say."""
    recent = [log for log in logs if log.first_at is not None and now - log.first_at <= RATE_OVER]
    hours = hours_between(min((log.first_at for log in recent if log.first_at is not None), default=None), now)
    return sum(log.bytes for log in recent) / hours if hours >= LEAST_HOURS_OF_A_RATE else None


def holders(
    coverages: Sequence[Coverage], known: Mapping[int, ThreadLogs], instances: Mapping[int, str | None], now: datetime
) -> tuple[HeldBack, ...]:
    """The threads that reach least far, when whole logs of others are archived beyond that: no two threads end at one SCN."""
    ends = [c.covered_to for c in coverages if c.covered_to is not None]
    if not ends:
        return ()
    reach = min(ends)
    waiting = [log for c in coverages for log in c.logs if log.first_scn >= reach]
    found = []
    for c in coverages:
        if waiting and c.covered_to == reach and isinstance(c.behind, Current | Wait):
            log = next_log(known[c.thread], c.behind)
            hours = None if log is None or log.first_at is None else hours_between(log.first_at, now)
            is_open = isinstance(c.behind, Current)
            size = sum(g.bytes for g in waiting)
            found.append(
                HeldBack(c.thread, instances.get(c.thread), c.behind.sequence, reach, hours, is_open, len(waiting), size)
            )
    return tuple(found)
