"""Place the logs of every redo thread on one axis of time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest

from redolake.cockpit.texts import clock
from redolake.cockpit.values import LogBar, RedoChart, ThreadBar
from redolake.records.shown_facts import LogFact, RedoFact, ThreadFact
from redolake.values.amounts import size

READ_SHOWN = 0.45  # the most that logs which are read may take of the width: the rest matters more
NICE_STEPS = (10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400)
NARROWEST = timedelta(seconds=60)


def redo_chart(
    fact: RedoFact,
    read_at: datetime,
    edge_at: datetime | None,
    now: datetime,
    missing: Collection[tuple[int, int]] = (),
) -> RedoChart:
    """`edge_at` is the time of the SCN up to which redo is landed, `missing` are threads and sequences that were lost."""
    begins = [at for thread in fact.threads for log in thread.logs if (at := time_of(log)) is not None]
    end = max(now, *begins) if begins else now
    start = min(axis_start(begins, edge_at, end), end - NARROWEST)
    width = (end - start).total_seconds()

    def share(moment: datetime) -> float:
        return min(1.0, max(0.0, (moment - start).total_seconds() / width))

    threads = tuple(thread_bar(thread, start, end, share, missing) for thread in fact.threads)
    edge = None if edge_at is None else share(edge_at)
    return RedoChart(threads, edge, edge_at, tuple((share(at), at) for at in ticks(start, end)), read_at)


def time_of(log: LogFact) -> datetime | None:
    return None if log.begins_at is None else datetime.fromisoformat(log.begins_at)


def axis_start(begins: Sequence[datetime], edge_at: datetime | None, end: datetime) -> datetime:
    """Return where the axis begins: at the oldest log, but logs that are read take no more than their part of it."""
    oldest = min(begins, default=end)
    if edge_at is None or edge_at >= end:
        return max(oldest, end - timedelta(hours=1))
    after = (end - edge_at).total_seconds()
    return max(oldest, edge_at - timedelta(seconds=max(after * READ_SHOWN / (1 - READ_SHOWN), 600)))


def thread_bar(
    thread: ThreadFact, start: datetime, end: datetime, share: Callable[[datetime], float], missing: Collection[tuple[int, int]]
) -> ThreadBar:
    """`share` places a time on the axis, whose ends are `start` and `end`."""
    bars = []
    for log, after in zip_longest(thread.logs, thread.logs[1:]):
        begins = time_of(log)
        ends = (end if after is None else time_of(after)) or end
        if begins is None or ends < start:
            continue
        is_missing = (thread.thread, log.sequence) in missing
        kind = "missing" if is_missing else log.kind
        bars.append(LogBar(kind, share(begins), share(max(begins, ends)), log_label(log, kind, begins, end)))
    unread = [log for log in thread.logs if log.kind in ("unread", "due")]
    oldest = time_of(thread.logs[0]) if thread.logs else None
    return ThreadBar(
        thread=thread.thread,
        instance=thread.instance,
        logs=tuple(bars),
        unread=len(unread),
        unread_bytes=sum(log.bytes for log in unread),
        kept_from=datetime.fromisoformat(thread.older_from) if thread.older_from else oldest,
        missing=tuple(sorted({seq for number, seq in missing if number == thread.thread})),
    )


WORDS = {
    "read": "read, still kept",
    "unread": "archived, not read yet",
    "online": "online, still being written",
    "due": "switched, not archived yet",
    "missing": "MISSING",
}


def log_label(log: LogFact, kind: str, begins: datetime, now: datetime) -> str:
    scns = f"SCN {log.first_scn:,}" + (f" to {log.next_scn - 1:,}" if log.next_scn is not None else " on")
    return f"log {log.sequence}: {WORDS[kind]}; {scns}; {size(log.bytes)}; from {clock(begins, now)}"


def ticks(start: datetime, end: datetime, most: int = 6) -> list[datetime]:
    """Return round times between the two."""
    width = (end - start).total_seconds()
    step = next((step for step in NICE_STEPS if width / step <= most), NICE_STEPS[-1] * 4)
    first = -(-start.timestamp() // step) * step
    marks = []
    while first <= end.timestamp():
        marks.append(datetime.fromtimestamp(first, tz=end.tzinfo))
        first += step
    return marks
