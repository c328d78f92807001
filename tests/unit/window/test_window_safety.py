"""A sealed window contains the log of every redo record in its range, whatever the control file shows.

Histories of up to three threads are generated: opened, switched, closed, reopened; then logs stay unarchived or are deleted.
The planner never sees which records exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.values.redo import Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window import Lost, Sealed, Wait, plan_window

RESETLOGS = 11


@dataclass(frozen=True)
class Limits:
    max_bytes: int
    slice_bytes: int


@dataclass
class GeneratedThread:
    """One thread: its logs as [first, next], whether it is open, and the SCNs of its records."""

    number: int
    logs: list[list[int | None]] = field(default_factory=list)
    is_open: bool = False
    ended_at: int = 0
    began_at: int = 0
    records: list[tuple[int, int]] = field(default_factory=list)  # (scn, sequence)


EVENTS = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["write", "write", "switch", "close", "open"])), max_size=60)


def history(events):
    """Play the events one SCN apart. Thread 1 is open from the start."""
    threads = {n: GeneratedThread(n) for n in (1, 2, 3)}
    scn = 10
    opened(threads[1], scn)
    for number, event in events:
        scn += 1
        thread = threads[number]
        if event == "open" and not thread.is_open:
            opened(thread, scn)
        elif thread.is_open and event == "write":
            thread.records.append((scn, len(thread.logs)))
        elif thread.is_open and event == "switch":
            thread.logs[-1][1] = scn
            thread.logs.append([scn, None])
        elif thread.is_open and event == "close":
            thread.is_open, thread.ended_at = False, scn
            thread.logs[-1][1] = scn
    return [t for t in threads.values() if t.logs], scn + 1


def opened(thread, scn):
    thread.is_open = True
    thread.began_at = thread.began_at or scn
    thread.logs.append([scn, None])


def control_file(threads, scn, unarchived, deleted):
    archived, online = [], []
    for thread in threads:
        for sequence, (first, end) in enumerate(thread.logs, 1):
            key = (thread.number, sequence)
            copies = (LogCopy(1, None if key in deleted else "/arch", "D" if key in deleted else "A", key in deleted),)
            log = LogFile(thread.number, sequence, RESETLOGS, Scn(first), None if end is None else Scn(end), copies, 10)
            if end is not None and key not in unarchived:
                archived.append(log)
            else:
                online.append(replace(log, copies=()))
    rows = tuple(
        RedoThread(
            t.number, t.is_open, "PUBLIC", Scn(t.ended_at or t.began_at), Scn(t.began_at) if t.number > 1 else None, None
        )
        for t in threads
    )
    line = (Incarnation(RESETLOGS, Scn(1), "CURRENT", Scn(0)),)
    return RedoFacts(7, Scn(scn), rows, tuple(archived), tuple(online), line)


@settings(max_examples=250)
@given(
    EVENTS,
    st.sets(st.tuples(st.integers(1, 3), st.integers(1, 12)), max_size=3),
    st.sets(st.tuples(st.integers(1, 3), st.integers(1, 12)), max_size=2),
    st.integers(10, 40),
    st.integers(10, 80),
)
def test_a_sealed_window_contains_the_log_of_every_record(events, unarchived, deleted, start, budget):
    threads, scn = history(events)
    start = min(start, scn)
    facts = control_file(threads, scn, unarchived, deleted - unarchived)

    position, found = start, None
    for _ in range(200):
        found = plan_window(Position(7, RESETLOGS, Scn(position)), facts, Limits(budget, 30))
        if not isinstance(found, Sealed):
            break
        scns, slices = found.window.scns, found.window.slices
        logs = {(g.thread, g.sequence): g for s in slices for g in s.logs}
        records = {(t.number, sequence) for t in threads for at, sequence in t.records if at in scns}
        assert records <= set(logs)
        assert all(g.claimed and g.next_scn is not None for g in logs.values())
        assert scns.start == position
        position = scns.end

    assert not isinstance(found, Sealed)
    if not unarchived and not deleted:
        # Without faults nothing is lost or awaited, and the windows reach the SCN that every open thread has archived.
        assert not isinstance(found, Lost | Wait)
        reach = min([scn, *(t.logs[-1][0] for t in threads if t.is_open)])
        last = max((end for t in threads for _, end in t.logs if end is not None and end <= reach), default=0)
        assert position >= max(start, last)
