"""The window planner over constructed control files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.values.redo import Incarnation, LogFile
from redolake.values.scn import Scn, ScnRange
from redolake.window import Lost, NothingNew, Sealed, Wait
from redolake.window.plan import balance, find_overlapping, within, within_budget
from tests.unit.window.drawn import DBID, GONE, INC, Limits, closed, copy, disabled, facts, log, online, opened, plan, trace

ONE = [log(1, 1, 100, 200), log(1, 2, 200, 300)]
TWO = [log(2, 1, 100, 150), log(2, 2, 150, 250)]
SEALED = {
    "one thread, up to its last archived log": (facts(ONE, [online(1, 3, 300)]), (100, 300), [(1, 1), (1, 2)]),
    "a position inside a log": (facts([log(1, 1, 50, 200)], [online(1, 2, 200)]), (100, 200), [(1, 1)]),
    "the slowest of two threads": (
        facts(ONE + TWO, [online(1, 3, 300), online(2, 3, 250)], [opened(1), opened(2)]),
        (100, 250),
        [(1, 1), (1, 2), (2, 1), (2, 2)],
    ),
    "a private thread counts as well": (
        facts(ONE + TWO, [online(1, 3, 300), online(2, 3, 250)], [opened(1), opened(2, enabled="PRIVATE")]),
        (100, 250),
        [(1, 1), (1, 2), (2, 1), (2, 2)],
    ),
    "a closed thread up to its checkpoint": (
        facts(ONE + TWO, [online(1, 3, 300)], [opened(1), closed(2, 250)]),
        (100, 300),
        [(1, 1), (1, 2), (2, 1), (2, 2)],
    ),
    "a thread closed before the position needs no logs": (
        facts(ONE, [online(1, 3, 300)], [opened(1), closed(2, 90)]),
        (100, 300),
        [(1, 1), (1, 2)],
    ),
    "a disabled thread up to its disabling": (
        facts(ONE + TWO, [online(1, 3, 300)], [opened(1), disabled(2, 240)]),
        (100, 300),
        [(1, 1), (1, 2), (2, 1), (2, 2)],
    ),
    "a thread that V$THREAD no longer shows, up to its last log": (
        facts(ONE + TWO, [online(1, 3, 300)], [opened(1)]),
        (100, 300),
        [(1, 1), (1, 2), (2, 1), (2, 2)],
    ),
    "a thread enabled inside the range": (
        facts([*ONE, log(2, 1, 220, 280)], [online(1, 3, 300), online(2, 2, 280)], [opened(1), opened(2, enable=220)]),
        (100, 280),
        [(1, 1), (1, 2), (2, 1)],
    ),
    "a thread closed at the position and reopened, with unbroken sequences": (
        facts([*ONE, log(2, 5, 20, 60), log(2, 6, 220, 300)], [online(1, 3, 300), online(2, 7, 300)], [opened(1), opened(2)]),
        (100, 300),
        [(1, 1), (1, 2), (2, 6)],
    ),
    "a reopened thread whose next log is still open, up to where that begins": (
        facts([*ONE, log(2, 5, 20, 160)], [online(1, 3, 300), online(2, 6, 200)], [opened(1), opened(2)]),
        (100, 200),
        [(1, 1), (2, 5)],
    ),
    "up to a hole, and not past it": (
        facts([log(1, 1, 100, 200), log(1, 3, 300, 400)], [online(1, 4, 400)]),
        (100, 200),
        [(1, 1)],
    ),
    "never past the SCN that was read first": (facts(ONE, [online(1, 3, 300)], current=250), (100, 200), [(1, 1)]),
    "another destination's copy when one is deleted": (
        facts([log(1, 1, 100, 200, copy(1, "D", deleted=True, name=None), copy(2))], [online(1, 2, 200)]),
        (100, 200),
        [(1, 1)],
    ),
}


@pytest.mark.parametrize(("control_file", "scns", "logs"), SEALED.values(), ids=SEALED)
def test_the_window_has_the_expected_range_and_logs(control_file, scns, logs):
    answer = plan(control_file)

    assert isinstance(answer, Sealed), answer
    assert (answer.window.scns.start, answer.window.scns.end) == scns
    assert [(g.thread, g.sequence) for s in answer.window.slices for g in s.logs] == logs


IDLE = facts(ONE, [online(1, 3, 300), online(2, 9, 50)], [opened(1), opened(2)])
NOTHING = {
    "its only log is current": (facts([], [online(1, 1, 50)]), "redo thread 1: log 1 is still being written"),
    "an idle open thread has not switched": (IDLE, "redo thread 2: log 9 is still being written"),
    "the log ended after the SCN that was read first": (facts(ONE, [online(1, 3, 300)], current=150), "no log ended"),
}


@pytest.mark.parametrize(("control_file", "reason"), NOTHING.values(), ids=NOTHING)
def test_there_is_nothing_new(control_file, reason):
    answer = plan(control_file)

    assert isinstance(answer, NothingNew), answer
    assert reason in answer.reason


WAIT = {
    "a switched log is not archived yet": facts([], [online(1, 1, 50, 200), online(1, 2, 200)]),
    "the archiver is at work": facts([log(1, 1, 50, 200, copy(archived=False))], [online(1, 1, 50, 200), online(1, 2, 200)]),
    "only the standby has its copy yet": facts(
        [log(1, 1, 50, 200, copy(2, standby=True, name="stby"))], [online(1, 1, 50, 200), online(1, 2, 200)]
    ),
    "V$LOG of a standby is older than two quick switches": replace(
        facts([log(1, 0, 20, 100), log(1, 2, 200, 300)], [online(1, 0, 20)]), is_standby=True
    ),
}


@pytest.mark.parametrize("control_file", WAIT.values(), ids=WAIT)
def test_the_window_waits(control_file):
    answer = plan(control_file)

    assert isinstance(answer, Wait), answer
    assert (answer.thread, answer.sequence, answer.scn) == (1, 1, 100)


LOST = {
    "was deleted by RMAN": (
        facts([log(1, 1, 50, 200, GONE), log(1, 2, 200, 300)], [online(1, 3, 300)]),
        1,
        "destination 1: deleted",
    ),
    "is expired": (facts([log(1, 1, 50, 200, copy(status="X"))], [online(1, 2, 200)]), 1, "/arch/x has status X"),
    "went to a standby only": (
        facts([log(1, 1, 50, 200, copy(2, standby=True))], [online(1, 2, 200)]),
        1,
        "not a file on this host",
    ),
    "has aged out of the control file": (facts([log(1, 3, 150, 200)], [online(1, 4, 200)]), 2, "no view shows it"),
    "is known to the history only": (
        facts([log(1, 3, 150, 200)], [online(1, 4, 200)], history=[trace(1, 2, 80, 150), trace(1, 3, 150, 200)]),
        2,
        "V$LOG_HISTORY",
    ),
    "is missing before the oldest one": (facts([log(1, 7, 150, 200)], [online(1, 8, 200)]), 6, "no view shows it"),
    "is missing in the middle": (
        facts([log(1, 1, 50, 100), log(1, 3, 300, 400)], [online(1, 4, 400)]),
        2,
        "no view shows it",
    ),
}


@pytest.mark.parametrize(("control_file", "sequence", "why"), LOST.values(), ids=LOST)
def test_redo_is_lost_when_a_log(control_file, sequence, why):
    answer = plan(control_file)

    assert isinstance(answer, Lost), answer
    expected = f"Redo Thread 1 is inconsistent; an archive log with sequence {sequence} is not available"
    assert answer.error.what == expected
    assert why in str(answer.error.where["why"])
    assert answer.error.where["scn"] == 100


def test_a_lost_log_of_another_thread_is_reported_before_a_wait():
    control_file = facts(
        [log(2, 1, 50, 200, GONE)], [online(1, 1, 50, 200), online(1, 2, 200), online(2, 2, 200)], [opened(1), opened(2)]
    )

    assert isinstance(plan(control_file), Lost)


def test_another_database_is_lost_and_named():
    answer = plan(facts(ONE), dbid=8)

    assert isinstance(answer, Lost)
    assert "database 8" in answer.error.what


def after_resetlogs(at, *archived, online=(), threads=None):
    line = (Incarnation(INC, Scn(1), "PARENT", Scn(0)), Incarnation(12, Scn(at), "CURRENT", Scn(1)))
    return facts(archived, online, threads, incarnations=line)


NEW = LogFile(1, 1, 12, Scn(250), Scn(400), (copy(),), 10)


def test_a_resetlogs_before_the_position_is_a_loss():
    answer = plan(after_resetlogs(90, *ONE))

    assert isinstance(answer, Lost)
    assert "RESETLOGS at SCN 90" in answer.error.what


def test_the_old_incarnation_is_mined_to_the_scn_of_the_resetlogs():
    answer = plan(after_resetlogs(250, *ONE, NEW))

    assert isinstance(answer, Sealed)
    assert (answer.window.resetlogs_id, answer.window.scns.end) == (INC, 250)


def test_the_old_incarnation_is_lost_when_an_open_thread_does_not_reach_its_end():
    answer = plan(after_resetlogs(250, ONE[0], NEW), start=200)

    assert isinstance(answer, Lost)
    assert answer.error.where["sequence"] == 2


def test_the_new_incarnation_begins_where_the_old_one_ended():
    answer = plan(after_resetlogs(250, *ONE, NEW), start=250)

    assert isinstance(answer, Sealed)
    assert (answer.window.resetlogs_id, answer.window.scns.start, answer.window.scns.end) == (12, 250, 400)
    assert [g.resetlogs_id for s in answer.window.slices for g in s.logs] == [12]


def test_an_orphaned_incarnation_is_lost():
    line = (Incarnation(INC, Scn(1), "ORPHAN", Scn(0)), Incarnation(12, Scn(90), "CURRENT", Scn(0)))

    assert isinstance(plan(facts(ONE, incarnations=line)), Lost)


def test_a_window_stays_within_the_byte_budget():
    many = [log(1, n, n * 100, n * 100 + 100, size=10) for n in range(1, 9)]

    answer = plan(facts(many, [online(1, 9, 900)]), limits=Limits(max_bytes=35))

    assert isinstance(answer, Sealed)
    assert answer.window.scns.end == 400


def test_a_log_above_the_budget_is_a_window_alone():
    answer = plan(facts(ONE, [online(1, 3, 300)]), limits=Limits(max_bytes=1))

    assert isinstance(answer, Sealed)
    assert answer.window.scns.end == 200


def test_slices_are_runs_of_one_thread_within_the_slice_budget():
    many = [log(t, n, n * 100, n * 100 + 100, size=10) for t in (1, 2) for n in range(1, 6)]

    answer = plan(facts(many, [online(1, 6, 600), online(2, 6, 600)], [opened(1), opened(2)]), limits=Limits(slice_bytes=20))

    assert isinstance(answer, Sealed)
    assert [(s.number, s.thread, [g.sequence for g in s.logs]) for s in answer.window.slices] == [
        (0, 1, [1, 2]), (1, 1, [3, 4]), (2, 1, [5]), (3, 2, [1, 2]), (4, 2, [3, 4]), (5, 2, [5]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([10, 10, 10, 10], [[1, 2], [3, 4]]),  # not 30 and 10
        ([10, 10, 10, 10, 10, 10, 10], [[1, 2, 3], [4, 5, 6], [7]]),
        ([10, 5, 20, 5, 10], [[1, 2], [3], [4, 5]]),
        ([90, 10, 10], [[1], [2, 3]]),
        ([15, 15], [[1, 2]]),
        ([0, 0], [[1, 2]]),
    ],
    ids=["halves", "as few as the budget allows", "a large log", "a log above the budget", "one slice", "sizes unknown"],
)
def test_the_largest_slice_of_a_thread_is_as_small_as_possible(sizes, expected):
    logs = [log(1, n, n * 100, n * 100 + 100, size=size) for n, size in enumerate(sizes, 1)]
    end = len(sizes) + 1

    answer = plan(facts(logs, [online(1, end, end * 100)]), limits=Limits(slice_bytes=30))

    assert isinstance(answer, Sealed)
    assert [[g.sequence for g in s.logs] for s in answer.window.slices] == expected


@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8), most=st.integers(1, 60))
def test_no_smaller_budget_gives_as_few_slices(sizes, most):
    run = [log(1, n, n * 100, n * 100 + 100, size=size) for n, size in enumerate(sizes, 1)]
    fewest = len(within(run, most))

    smallest = next(budget for budget in range(most + 1) if len(within(run, budget)) <= fewest)

    assert balance(run, most) == within(run, smallest)


def test_a_slice_does_not_span_the_time_a_thread_was_closed():
    answer = plan(facts([log(1, 1, 100, 150), log(1, 2, 200, 300)], [online(1, 3, 300)]))

    assert isinstance(answer, Sealed)
    assert [len(s.logs) for s in answer.window.slices] == [1, 1]


def test_a_window_is_of_the_database_that_was_reached():
    answer = plan(facts([log(1, 1, 50, 200)], [online(1, 2, 200)]))

    assert (answer.window.dbid, answer.window.resetlogs_id) == (DBID, INC)


def test_a_window_fills_its_budget_to_the_last_byte():
    logs = [log(1, n, 100 * n, 100 * n + 100, size=10) for n in (1, 2, 3)]

    assert within_budget([Scn(200), Scn(300), Scn(400)], logs, 20) == 300


def test_logs_overlap_a_range_that_contains_one_of_their_scns():
    logs = [log(1, 1, 50, 100), log(1, 2, 100, 200), log(1, 3, 200, None), log(1, 4, 250, 300)]

    assert [g.sequence for g in find_overlapping(logs, ScnRange(Scn(100), Scn(250)))] == [2, 3]


def test_nothing_new_names_the_scns_between_which_no_log_ended():
    answer = plan(facts([log(1, 1, 50, 200)], [online(1, 2, 200)], current=150))

    assert isinstance(answer, NothingNew)
    assert answer.reason == "no log ended between SCN 100 and the current SCN 150"


def test_each_thread_that_holds_the_window_back_is_named_with_those_that_are_ahead():
    # archived 1  --1--|--2--|                   thread 2 idles since before the position, thread 3 ends at it
    logs = [log(1, 1, 50, 200), log(1, 2, 200, 300), log(3, 5, 50, 100)]
    answer = plan(facts(logs, [online(1, 3, 300), online(2, 9, 50), online(3, 6, 100)], [opened(1), opened(2), opened(3)]))

    assert isinstance(answer, NothingNew)
    assert answer.reason.startswith(
        "held back at SCN 100, though redo thread 1 is archived up to SCN 300: "
        "redo thread 2: log 9 is still being written; redo thread 3: log 6 is still being written"
    )
