"""Property test of the gate: every window is complete, and no complete window is held back.

redo_history.py plays a history and records the truth: which redo records count, and which log contains each. The gate sees
the views only, and its answer is compared with the one that follows from the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from pipelines.redo import Position
from pipelines.scn import Scn
from pipelines.window import Lost, NothingNew, Sealed, incarnation_at, missing_logs, next_complete_scn, plan_window
from tests.unit.window.redo_history import DBID, History, read


@dataclass(frozen=True)
class Limits:
    max_bytes: int
    slice_bytes: int = 25


EXAMPLES = 400
REDO = ["work", "work", "write", "tick", "switch", "switch", "switch", "archive", "archive", "archive"]
THREADS = ["open", "open", "close", "close", "enable", "enable", "disable", "retire"]
LOSSES = ["damage", "damage", "hide", "restore"]


def events_of(*names, most, least=0):
    one = st.tuples(st.sampled_from([n for group in names for n in group]), st.integers(1, 3), st.integers(0, 11))
    return st.lists(one, min_size=least, max_size=most)


HISTORIES = st.tuples(
    events_of(REDO, REDO, THREADS, LOSSES, ["resetlogs"], least=4, most=50), events_of(LOSSES, most=4), events_of(REDO, most=3)
).map(lambda parts: [one for part in parts for one in part])


def start_of(history, share):
    """Return a position in the lineage, anywhere between its start and now."""
    line = history.line()
    scn = line[0].first + (history.scn - line[0].first) * share // 100
    at = max((i for i in line if i.first <= scn), key=lambda i: i.first)
    return Position(DBID, at.id, Scn(scn))


def walk(position, facts, limits):
    """Return all windows, the position after the last, and the answer there."""
    windows = []
    for _ in range(500):
        found = plan_window(position, facts, limits)
        if not isinstance(found, Sealed):
            return windows, position, found
        window = found.window
        assert (window.scns.start, window.resetlogs_id) == (position.scn, incarnation_at(position.scn, facts).resetlogs_id)
        windows.append(window)
        position = Position(DBID, window.resetlogs_id, window.scns.end)
    raise AssertionError("endless windows")


def assert_complete(windows, history, facts):
    for window in windows:
        logs = {(g.thread, g.sequence, g.resetlogs_id): g for s in window.slices for g in s.logs}
        needed = {log for scn, log in history.records() if scn in window.scns}
        assert needed <= set(logs), f"{window.scns} lacks {needed - set(logs)}"
        assert all(g.claimed and g.next_scn is not None for g in logs.values())
        assert window.scns.end <= facts.current_scn


def missing(history, start):
    """Return the lost logs from `start` on, each with its end."""
    return {
        log.key: end
        for log, _, end in history.spans()
        if end > start and log.next is not None and not log.is_pending and not log.is_available
    }


def held_at(history, start):
    """Return the SCN that no window may pass: the start of the first log that is lost, not archived or not switched."""
    return min(
        (max(first, start) for log, first, end in history.spans() if end > start and not log.is_available), default=10**9
    )


def is_ambiguous(history):
    """Return whether a running thread ended before a RESETLOGS. The views do not show that it did, so the gate stops."""
    line = history.line()
    for old, new in pairwise(line):
        for thread in (t for t in history.threads.values() if t.is_open):
            ends = [g.next or new.first for g in history.logs if g.thread == thread.number and g.inc == old.id]
            if ends and max(ends) < new.first:
                return True
    return False


def invisible_threads(history, facts):
    """Return the threads of which no view shows anything in one incarnation."""
    seen = {(g.thread, g.resetlogs_id) for g in (*facts.archived, *facts.online)}
    seen |= {(h.thread, h.resetlogs_id) for h in facts.history}
    seen |= {(t.number, history.lines[-1].id) for t in facts.threads}
    return {(log[0], log[2]) for _, log in history.records()} - seen


@settings(max_examples=EXAMPLES, deadline=None)
@given(HISTORIES, st.integers(0, 100), st.integers(10, 60))
def test_the_gates_answer_follows_from_the_written_redo(events, share, budget):
    history = History()
    history.play(events)
    history.scn += 1
    start, facts = start_of(history, share), read(history)
    assume(not is_ambiguous(history))

    windows, stopped, answer = walk(start, facts, Limits(budget))

    assert_complete(windows, history, facts)
    lost, bound = missing(history, start.scn), min(held_at(history, start.scn), facts.current_scn)
    edges = [end for log, _, end in history.spans() if log.is_available and end <= bound]
    event(type(answer).__name__)
    assert max([start.scn, *edges]) <= stopped.scn <= bound
    assert {(m.thread, m.sequence, m.resetlogs_id) for m in missing_logs(start, facts)} == set(lost)
    blocking = [log for log, first, end in history.spans() if first <= stopped.scn < end and log.key in lost]
    assert isinstance(answer, Lost) == bool(blocking)
    if isinstance(answer, NothingNew):
        current = {g.thread for g, first, end in history.spans() if g.next is None and first <= stopped.scn < end}
        assert set(answer.held_back_by) == current

    complete_from = next_complete_scn(start, facts)
    assert complete_from == max([start.scn, *lost.values()])
    assert not isinstance(
        walk(Position(DBID, incarnation_at(complete_from, facts).resetlogs_id, complete_from), facts, Limits(budget))[2], Lost
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    HISTORIES,
    st.lists(events_of(REDO, THREADS, LOSSES, most=5), min_size=4, max_size=4),
    st.integers(0, 100),
)
def test_windows_are_complete_although_the_views_are_read_at_different_times(events, between, share):
    history = History()
    history.play(events)
    start = start_of(history, share)
    facts = read(history, between)
    assume(not is_ambiguous(history))

    windows, _, answer = walk(start, facts, Limits(30))

    assert_complete(windows, history, facts)
    untouched = not any(name in LOSSES for part in between for name, _, _ in part)
    if untouched and all(g.is_available or g.is_pending for g in history.logs):
        assert not isinstance(answer, Lost)


@settings(max_examples=EXAMPLES, deadline=None)
@given(HISTORIES, events_of(["forget"] * 12, REDO, THREADS, least=1, most=6), st.integers(0, 100))
def test_windows_are_complete_although_views_drop_old_rows(events, later, share):
    history = History()
    history.play([*events, *later])
    start, facts = start_of(history, share), read(history)
    assume(not invisible_threads(history, facts))

    windows, _, _ = walk(start, facts, Limits(30))

    assert_complete(windows, history, facts)


@settings(max_examples=EXAMPLES, deadline=None)
@given(events_of(REDO, ["resetlogs", "resetlogs"], most=40), st.integers(0, 120), st.integers(0, 5))
def test_a_position_outside_the_lineage_is_lost(events, share, number):
    history = History()
    history.play(events)
    facts, line = read(history), history.line()
    scn, chosen = history.scn * share // 100, history.lines[number % len(history.lines)]
    at = next((n for n, i in enumerate(line) if i is chosen), None)
    ends = None if at is None else line[at + 1].first if at + 1 < len(line) else history.scn
    assume(at is None or not line[at].first <= scn <= ends)

    position = Position(DBID, chosen.id, Scn(scn))

    assert isinstance(plan_window(position, facts, Limits(30)), Lost)
    assert next_complete_scn(position, facts) is None
