"""Property test of the gate: every window is complete, and no complete window is held back.

redo_history.py plays a history and records the truth: which redo records count, and which log contains each. The gate sees
the views only, and its answer is compared with the one that follows from the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from redolake.values.redo import Position
from redolake.values.scn import Scn
from redolake.window import Lost, NothingNew, Sealed, incarnation_at, missing_logs, next_complete_scn, plan_window
from tests.unit.window.redo_history import DBID, START, History, Readings, read


@dataclass(frozen=True)
class Limits:
    max_bytes: int
    slice_bytes: int = 25


EXAMPLES = 400
REDO = ["work", "work", "write", "tick", "switch", "switch", "switch", "archive", "archive", "archive"]
THREADS = ["open", "open", "close", "close", "enable", "enable", "disable", "retire", "kick"]
LOSSES = ["damage", "damage", "hide", "restore", "catalogue"]
READINGS = st.builds(Readings, st.booleans(), st.booleans())


def events_of(*names, most, least=0):
    one = st.tuples(st.sampled_from([n for group in names for n in group]), st.integers(1, 3), st.integers(0, 11))
    return st.lists(one, min_size=least, max_size=most)


HISTORIES = st.tuples(
    events_of(REDO, REDO, THREADS, LOSSES, ["resetlogs"], least=4, most=50), events_of(LOSSES, most=4), events_of(REDO, most=3)
).map(lambda parts: [one for part in parts for one in part])


def start_of(history, share):
    """Return a position in the lineage, anywhere between its start and now."""
    line = history.line()
    scn = START + (history.scn - START) * share // 100
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


def assert_complete(windows, history, facts, unnoticeable=frozenset()):
    """Assert that each window has the log of every record, and only logs as they were written."""
    written = {log.key: (log.first, log.next) for log in history.logs}
    for window in windows:
        logs = {(g.thread, g.sequence, g.resetlogs_id): g for s in window.slices for g in s.logs}
        needed = {log for scn, log in history.records() if scn in window.scns and (log[0], log[2]) not in unnoticeable}
        assert needed <= set(logs), f"{window.scns} lacks {needed - set(logs)}"
        assert all(g.claimed and g.next_scn is not None for g in logs.values())
        assert all((g.first_scn, g.next_scn) == written[key] for key, g in logs.items())
        assert window.scns.end <= facts.current_scn


def missing(history, start, doubtful=False):
    """Return the lost logs from `start` on, each with its end."""
    return {
        log.key: end
        for log, _, end in history.spans(doubtful)
        if end > start and log.next is not None and not log.is_pending and not log.is_available
    }


def held_at(history, start, doubtful=False):
    """Return the SCN that no window may pass: the start of the first log that is lost, not archived or not switched."""
    spans = history.spans(doubtful)
    return min((max(first, start) for log, first, end in spans if end > start and not log.is_available), default=10**9)


def is_ambiguous(history):
    """Return whether a running thread ended before a RESETLOGS. The views do not show that it did, so the gate stops."""
    line = history.line()
    for old, new in pairwise(line):
        for thread in (t for t in history.threads.values() if t.is_open):
            ends = [g.next or new.first for g in history.logs if g.thread == thread.number and g.inc == old.id]
            if (ends or thread.enable < new.first) and max(ends, default=0) < new.first - 1:
                return True
    return False


def unnoticeable_threads(history, facts, start):
    """Return the threads that no view can show in an incarnation of which other threads are known: one that was dropped, or
    enabled again without a DISABLE_CHANGE#, after V$LOG_HISTORY forgot its logs (docs/architecture/gate.md)."""
    seen = {(g.thread, g.resetlogs_id) for g in (*facts.archived, *facts.online)}
    seen |= {(h.thread, h.resetlogs_id) for h in facts.history}
    current = history.lines[-1]
    new = {t.number for t in facts.threads if t.enable_scn > current.first and (t.disable_scn or 0) <= start.scn}
    gone = {log[0] for _, log in history.records()} - {t.number for t in facts.threads} | new
    known = {inc for _, inc in seen} | {current.id}
    return {(thread, inc) for thread in gone for inc in known if (thread, inc) not in seen}


@settings(max_examples=EXAMPLES)
@given(HISTORIES, READINGS, st.integers(0, 100), st.integers(10, 60))
def test_the_gates_answer_follows_from_the_written_redo(events, readings, share, budget):
    history = History(readings)
    history.play(events)
    history.scn += 1
    start, facts = start_of(history, share), read(history)

    windows, stopped, answer = walk(start, facts, Limits(budget))

    assert_complete(windows, history, facts)
    lost, bound = missing(history, start.scn), min(held_at(history, start.scn), facts.current_scn)
    assert stopped.scn <= bound
    if is_ambiguous(history):
        event("ambiguous")
        assert set(lost) <= {(m.thread, m.sequence, m.resetlogs_id) for m in missing_logs(start, facts)}
        return  # the gate may say lost of redo that was never written
    maybe, doubt = missing(history, start.scn, doubtful=True), held_at(history, start.scn, doubtful=True)
    edges = [end for log, _, end in history.spans() if log.is_available and end <= min(bound, doubt)]
    event(type(answer).__name__)
    assert max([start.scn, *edges]) <= stopped.scn
    assert set(lost) <= {(m.thread, m.sequence, m.resetlogs_id) for m in missing_logs(start, facts)} <= set(maybe)
    blocking = [log.key for log, first, end in history.spans(doubtful=True) if first <= stopped.scn < end and log.key in maybe]
    assert isinstance(answer, Lost) or not set(blocking) & set(lost)
    assert blocking or not isinstance(answer, Lost)
    if isinstance(answer, NothingNew):
        current = {g.thread for g, first, end in history.spans() if g.next is None and first <= stopped.scn < end}
        assert set(answer.held_back_by) == current

    complete_from = next_complete_scn(start, facts)
    assert max([start.scn, *lost.values()]) <= complete_from <= max([start.scn, *maybe.values()])
    assert not isinstance(
        walk(Position(DBID, incarnation_at(complete_from, facts).resetlogs_id, complete_from), facts, Limits(budget))[2], Lost
    )


@settings(max_examples=EXAMPLES)
@given(
    HISTORIES,
    READINGS,
    st.lists(events_of(REDO, THREADS, LOSSES, most=5), min_size=4, max_size=4),
    st.integers(0, 100),
)
def test_windows_are_complete_although_the_views_are_read_at_different_times(events, readings, between, share):
    history = History(readings)
    history.play(events)
    start = start_of(history, share)
    facts = read(history, between)

    windows, _, answer = walk(start, facts, Limits(30))

    assert_complete(windows, history, facts)
    untouched = not any(name in LOSSES for part in between for name, _, _ in part)
    if untouched and not is_ambiguous(history) and all(g.is_available or g.is_pending for g in history.logs):
        assert not isinstance(answer, Lost)


@settings(max_examples=EXAMPLES)
@given(HISTORIES, READINGS, events_of(["forget"] * 12, REDO, THREADS, least=1, most=6), st.integers(0, 100))
def test_windows_are_complete_although_views_drop_old_rows(events, readings, later, share):
    history = History(readings)
    history.play([*(one for one in events if one[0] != "catalogue"), *later])
    start, facts = start_of(history, share), read(history)

    windows, _, _ = walk(start, facts, Limits(30))

    assert_complete(windows, history, facts, unnoticeable_threads(history, facts, start))


@settings(max_examples=EXAMPLES)
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


def newest_ended_and_later(logs, since):
    """Return what read_redo_facts reads with `since` (sql/oracle/logs.sql)."""
    ended = {}
    for log in logs:
        if log.next_scn is not None and log.next_scn <= since:
            of = (log.thread, log.resetlogs_id)
            ended[of] = max(ended.get(of, 0), log.sequence)
    return tuple(
        log
        for log in logs
        if log.next_scn is None or log.next_scn > since or log.sequence >= ended[log.thread, log.resetlogs_id]
    )


@settings(max_examples=EXAMPLES)
@given(HISTORIES, READINGS, st.integers(0, 100), st.integers(10, 60))
def test_a_plan_needs_no_logs_before_the_newest_that_had_ended_at_its_position(events, readings, share, budget):
    """Lost redo alone may be reported too often: steps/capture/read_and_plan.py then reads all logs."""
    history = History(readings)
    history.play(events)
    history.scn += 1
    position, facts = start_of(history, share), read(history)
    for _ in range(500):
        few = replace(
            facts,
            archived=newest_ended_and_later(facts.archived, position.scn),
            history=newest_ended_and_later(facts.history, position.scn),
        )
        expected, found = plan_window(position, facts, Limits(budget)), plan_window(position, few, Limits(budget))
        event(f"{type(found).__name__}, {'fewer' if few != facts else 'the same'} logs")
        assert found == expected or isinstance(found, Lost)
        if not isinstance(expected, Sealed):
            return
        position = Position(DBID, expected.window.resetlogs_id, expected.window.scns.end)
