"""Measure the time left before needed redo may be deleted, and find the redo thread that holds the window back.

Oracle does not know the readers of its redo: archived logs are deleted by age, oldest first. The logs between the oldest
available one and the oldest needed one are deleted first. Each number is a lower bound. Values in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from redolake.errors import RedoLost
from redolake.values.redo import LogFile, Position, RedoFacts
from redolake.values.scn import Scn
from redolake.window.gate import Coverage, FullCoverage, Lost, PartialCoverage, cover_all
from redolake.window.incarnation import Branch, locate
from redolake.window.log_state import Current, Wait, is_minable
from redolake.window.thread_logs import ThreadLogs, logs_of

ENOUGH, LOW, LOST = "enough", "low", "lost"
RATE_PERIOD = timedelta(hours=24)
MIN_RATE_HOURS = 1 / 6


class WarningLimits(Protocol):
    """The part of config.RunwayLimits that warnings use."""

    @property
    def warn_below_hours(self) -> float: ...
    @property
    def warn_below_bytes(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class ThreadRunway:
    """The runway of one redo thread. `needed` is its first unread log, None if no view shows one."""

    thread: int
    instance: str | None
    needed: LogFile | None
    is_archived: bool  # a log that is only online cannot be deleted
    kept: tuple[LogFile, ...]  # archived logs right before `needed`, without a hole, that are not needed any more
    deleted_before: bool  # an older log existed, so logs are being deleted
    hours_left: float | None  # None: the thread needs nothing
    unread: tuple[LogFile, ...]  # archived from `needed` on
    lost: RedoLost | None = None

    @property
    def oldest(self) -> LogFile | None:
        """The first log of the complete redo; None where redo is lost or no log is archived."""
        logs = (*self.kept, *self.unread)
        return logs[0] if logs and self.lost is None else None

    @property
    def kept_bytes(self) -> int:
        return sum(log.bytes for log in self.kept)


@dataclass(frozen=True, slots=True)
class BlockingThread:
    """A thread that the others wait for: its next log is still open, or not archived yet, while theirs are archived."""

    thread: int
    instance: str | None
    sequence: int | None
    scn: Scn
    hours: float | None  # since that log began
    reason: Literal["open", "not archived"]
    waiting_logs: int
    waiting_bytes: int


@dataclass(frozen=True, slots=True)
class Runway:
    """`hours_left` is None where no thread needs a log; `at_least` means that no log was ever deleted, so no limit is known."""

    needed_scn: Scn
    threads: tuple[ThreadRunway, ...]
    hours_left: float | None
    at_least: bool
    bytes_left: int
    behind_hours: float | None  # age of the redo at the position, at most
    unread_bytes: int
    bytes_per_hour: float | None
    blocking_threads: tuple[BlockingThread, ...]
    lost: RedoLost | None = None


def measure(position: Position, facts: RedoFacts, now: datetime) -> Runway:
    """Measure the runway of every thread. `now` is the time of the database host, like FIRST_TIME."""
    branch = locate(position, facts)
    if not isinstance(branch, Branch):
        return Runway(position.scn, (), 0.0, False, 0, None, 0, None, (), branch)
    coverages = cover_all(branch, facts)
    known = {c.thread: logs_of(c.thread, branch, facts) for c in coverages}
    instances = {t.number: t.instance for t in facts.threads}
    threads = tuple(thread_runway(known[c.thread], c, instances.get(c.thread), now) for c in coverages)
    hours, at_least = shortest_runway(threads)
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
        blocking_threads=find_blocking_threads(coverages, known, instances, now),
        lost=lost,
    )


def state_of(runway: Runway, limits: WarningLimits) -> str:
    """Return ENOUGH, LOW or LOST. Nothing is low where no log was ever deleted."""
    if runway.lost is not None:
        return LOST
    if runway.at_least or runway.hours_left is None:
        return ENOUGH
    few_bytes = limits.warn_below_bytes is not None and runway.bytes_left < limits.warn_below_bytes
    return LOW if few_bytes or runway.hours_left < limits.warn_below_hours else ENOUGH


def thread_runway(known: ThreadLogs, coverage: Coverage, instance: str | None, now: datetime) -> ThreadRunway:
    if isinstance(coverage, PartialCoverage) and isinstance(coverage.obstacle, Lost):
        return ThreadRunway(known.thread, instance, None, False, (), True, 0.0, coverage.logs, coverage.obstacle.error)
    if isinstance(coverage, FullCoverage) and not coverage.logs:
        return ThreadRunway(known.thread, instance, None, False, (), False, None, ())
    is_archived = bool(coverage.logs)
    needed = first_unread(known, coverage)
    sequence = known.newest + 1 if needed is None else needed.sequence
    reach = coverage.covered_to if isinstance(coverage, PartialCoverage) else Scn(0)
    kept = kept_logs(known, sequence, reach if needed is None else needed.first_scn)
    deleted_before = (kept[0].sequence if kept else sequence) > 1  # each incarnation counts from 1
    logs = [*kept, *([] if needed is None else [needed])]
    # The oldest log may be deleted at any moment, so its own time is not counted.
    counted = logs[1:] if deleted_before else logs
    # An archived log was last written when the next one began. An online log is younger: it is still being written.
    hours = hours_between(counted[0].first_at if counted else None, logs[-1].first_at if is_archived else now)
    return ThreadRunway(known.thread, instance, needed, is_archived, tuple(kept), deleted_before, hours, coverage.logs)


def first_unread(known: ThreadLogs, coverage: Coverage) -> LogFile | None:
    if coverage.logs:
        return coverage.logs[0]
    return next_log(known, coverage.obstacle) if isinstance(coverage, PartialCoverage) else None


def next_log(known: ThreadLogs, obstacle: Current | Wait | Lost) -> LogFile | None:
    """Return the log that the obstacle is about, None where no view shows it."""
    if isinstance(obstacle, Lost) or obstacle.sequence is None:
        return None
    return known.log(obstacle.sequence)


def kept_logs(known: ThreadLogs, sequence: int, begins: Scn) -> list[LogFile]:
    """Return the archived logs before `sequence`, oldest first, back to the first that is missing or that the gate refuses."""
    kept: list[LogFile] = []
    log = known.archived.get(sequence - 1)
    while log is not None and is_minable(log, known) and log.next_scn is not None and log.next_scn <= begins:
        kept.append(log)
        begins = log.first_scn
        log = known.archived.get(log.sequence - 1)
    return kept[::-1]


def hours_between(start: datetime | None, end: datetime | None) -> float:
    """Return the hours between, at least 0: the host's clock may have been set back."""
    if start is None or end is None:
        return 0.0
    return max(0.0, (end - start).total_seconds() / 3600)


def shortest_runway(threads: Sequence[ThreadRunway]) -> tuple[float | None, bool]:
    """Return the hours of the first thread to lose redo, and whether that is no limit because no log was ever deleted."""
    limited = [t.hours_left for t in threads if t.hours_left is not None and t.deleted_before]
    if limited:
        return min(limited), False
    free = [t.hours_left for t in threads if t.hours_left is not None]
    return (min(free), True) if free else (None, False)


def bytes_left(threads: Sequence[ThreadRunway]) -> int:
    """Return the bytes that are deleted before the first needed log, if the oldest log of any thread is deleted first."""
    needed = [t.needed.first_at for t in threads if t.is_archived and t.needed is not None and t.needed.first_at is not None]
    kept = [log for t in threads for log in t.kept]
    return sum(log.bytes for log in kept if not needed or (log.first_at is not None and log.first_at < min(needed)))


def behind_hours(threads: Sequence[ThreadRunway], position: Scn, now: datetime) -> float | None:
    """Return the greatest possible age of the redo at the position: the age of the youngest log that contains it."""
    began = [t.needed.first_at for t in threads if t.needed is not None and t.needed.first_scn <= position]
    known = [at for at in began if at is not None]
    return hours_between(max(known), now) if known else None


def bytes_per_hour(logs: Sequence[LogFile], now: datetime) -> float | None:
    """Return the redo rate of the last day, deleted logs included; None where too few logs are known."""
    recent = [log for log in logs if log.first_at is not None and now - log.first_at <= RATE_PERIOD]
    hours = hours_between(min((log.first_at for log in recent if log.first_at is not None), default=None), now)
    return sum(log.bytes for log in recent) / hours if hours >= MIN_RATE_HOURS else None


def find_blocking_threads(
    coverages: Sequence[Coverage], known: Mapping[int, ThreadLogs], instances: Mapping[int, str | None], now: datetime
) -> tuple[BlockingThread, ...]:
    """Return the threads that reach least far, while other threads have archived whole logs after that SCN."""
    limited = [c for c in coverages if isinstance(c, PartialCoverage)]
    if not limited:
        return ()
    reach = min(c.covered_to for c in limited)
    waiting = [log for c in coverages for log in c.logs if log.first_scn >= reach]
    size = sum(log.bytes for log in waiting)
    found = []
    for c in limited:
        if waiting and c.covered_to == reach and isinstance(c.obstacle, Current | Wait):
            log = next_log(known[c.thread], c.obstacle)
            hours = None if log is None or log.first_at is None else hours_between(log.first_at, now)
            reason: Literal["open", "not archived"] = "open" if isinstance(c.obstacle, Current) else "not archived"
            found.append(
                BlockingThread(c.thread, instances.get(c.thread), c.obstacle.sequence, reach, hours, reason, len(waiting), size)
            )
    return tuple(found)
