"""The gate where Oracle's views are unusual, or where it is not certain how they behave; drawn as in test_window_cases.py.

Each case is safe under every reading of the views that docs/verified-on.md lists for it.
"""

from __future__ import annotations

import pytest

from redolake.values.redo import Incarnation, LogFile, Position, RedoThread
from redolake.values.scn import OPEN_ENDS, Scn, ScnRange, known_end
from redolake.window import Lost, NothingNew, Sealed, Wait, missing_logs, next_complete_scn, plan_window
from redolake.window.end import End
from redolake.window.gate import FullCoverage, cover_all
from redolake.window.incarnation import Branch
from tests.unit.window.drawn import (
    CURRENT,
    DBID,
    GONE,
    INC,
    Limits,
    closed,
    copy,
    facts,
    log,
    online,
    opened,
    plan,
    trace,
)

ONE = [log(1, 1, 50, 200), log(1, 2, 200, 300), log(1, 3, 300, 400)]
ON_1 = online(1, 4, 400)
OLD = Incarnation(INC, Scn(1), "PARENT", Scn(0))
NEW = 12
# Of the incarnation before: V$LOG_HISTORY still shows every log that was switched since.
BEFORE = trace(1, 40, 20, 45, inc=INC - 1)


def thread(number, *, is_open=False, enabled="PUBLIC", checkpoint=None, enable=None, disable=None):
    scns = (None if scn is None else Scn(scn) for scn in (checkpoint, enable, disable))
    return RedoThread(number, is_open, enabled, *scns)


def turned(at, archived, threads, history=(), online=()):
    line = (OLD, Incarnation(NEW, Scn(at), "CURRENT", Scn(1)))
    return facts(archived, online, threads, incarnations=line, history=history)


def sequences(answer):
    assert isinstance(answer, Sealed), answer
    return [(g.thread, g.sequence) for s in answer.window.slices for g in s.logs]


# -- an old incarnation without a trace


RUNS_SINCE_RESETLOGS = thread(1, is_open=True, enable=250)
NEW_LOG = log(1, 1, 250, 400, inc=NEW)


def test_an_old_incarnation_without_any_log_is_lost():
    # incarnation 11, position 100, ... R=250 |--1--|
    control_file = turned(250, [NEW_LOG], [RUNS_SINCE_RESETLOGS])

    answer = plan(control_file)

    assert isinstance(answer, Lost), answer
    assert "no view shows a log of the thread in incarnation 11" in str(answer.error)
    assert (answer.error.where["thread"], answer.error.where["sequence"]) == (1, 1)
    assert missing_logs(Position(DBID, INC, Scn(100)), control_file)
    assert next_complete_scn(Position(DBID, INC, Scn(100)), control_file) == 250


def test_a_middle_incarnation_without_any_log_is_lost():
    # 11 |--1--|--2--| R=250: 12, no log, R=260: 13 |--1--|
    line = (OLD, Incarnation(12, Scn(250), "PARENT", Scn(1)), Incarnation(13, Scn(260), "CURRENT", Scn(250)))
    logs = [log(1, 1, 50, 200), log(1, 2, 200, 250), log(1, 1, 260, 400, inc=13)]
    control_file = facts(logs, [], [thread(1, is_open=True, enable=260)], incarnations=line)

    assert isinstance(plan(control_file, start=250, inc=12), Lost)
    assert next_complete_scn(Position(DBID, INC, Scn(100)), control_file) == 260


def test_an_old_incarnation_is_lost_even_if_v_thread_is_empty():
    answer = plan(turned(250, [NEW_LOG], []))

    assert isinstance(answer, Lost)
    assert answer.error.where["thread"] == 1


TWO_RUN = [RUNS_SINCE_RESETLOGS, thread(2, is_open=True, enable=250)]


def test_a_thread_without_a_trace_in_the_old_incarnation_is_lost_if_old_rows_are_gone():
    # archived 1  --1-----|--2---R              V$LOG_HISTORY begins after the position
    control_file = turned(250, [ONE[0], log(1, 2, 200, 250), NEW_LOG], TWO_RUN, [trace(1, 2, 200, 250)])

    answer = plan(control_file)

    assert isinstance(answer, Lost), answer
    assert answer.error.where["thread"] == 2


def test_a_thread_without_a_trace_in_the_old_incarnation_wrote_nothing_if_the_history_reaches_back():
    control_file = turned(250, [ONE[0], log(1, 2, 200, 250), NEW_LOG], TWO_RUN, [BEFORE])

    assert sequences(plan(control_file)) == [(1, 1), (1, 2)]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(thread(2, is_open=True, enable=20), id="open, and enabled before the RESETLOGS"),
        pytest.param(thread(2, is_open=True, enable=249), id="open, and enabled right before the RESETLOGS"),
    ],
)
def test_a_thread_that_ran_in_the_old_incarnation_needs_its_logs_whatever_the_history_shows(second):
    control_file = turned(250, [ONE[0], log(1, 2, 200, 250)], [RUNS_SINCE_RESETLOGS, second], [BEFORE])

    answer = plan(control_file)

    assert isinstance(answer, Lost), answer
    assert answer.error.where["thread"] == 2


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(thread(2, enabled="DISABLED", enable=20, disable=101), id="disabled after the position"),
        pytest.param(thread(2, enabled="DISABLED", enable=20), id="disabled, and V$THREAD does not show when"),
    ],
)
def test_a_thread_that_may_have_written_in_the_old_incarnation_needs_its_logs_if_old_rows_are_gone(second):
    logs = [ONE[0], log(1, 2, 200, 250)]

    answer = plan(turned(250, logs, [RUNS_SINCE_RESETLOGS, second]))

    assert isinstance(answer, Lost), answer
    assert answer.error.where["thread"] == 2
    assert isinstance(plan(turned(250, logs, [RUNS_SINCE_RESETLOGS, second], [BEFORE])), Sealed)


def test_a_thread_that_was_disabled_in_the_old_incarnation_needs_no_log_after_that():
    # archived 1  --1-----|--2---R
    # archived 2  --7-|                         disabled at 180, and open at no time since
    logs = [ONE[0], log(1, 2, 200, 250), log(2, 7, 50, 180)]
    disabled = thread(2, enabled="DISABLED", checkpoint=250, enable=20, disable=180)

    assert sequences(plan(turned(250, logs, [RUNS_SINCE_RESETLOGS, disabled]))) == [(1, 1), (1, 2), (2, 7)]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(thread(2, is_open=True, enable=300), id="enabled after the RESETLOGS"),
        pytest.param(thread(2, enabled="DISABLED", checkpoint=250), id="never enabled"),
        pytest.param(thread(2, enabled="DISABLED", checkpoint=250, enable=20, disable=90), id="disabled before the position"),
        pytest.param(thread(2, enabled="DISABLED", checkpoint=250, enable=20, disable=100), id="disabled at the position"),
    ],
)
def test_a_thread_that_was_not_enabled_in_the_old_incarnation_needs_no_log_of_it(second):
    control_file = turned(250, [ONE[0], log(1, 2, 200, 250)], [RUNS_SINCE_RESETLOGS, second])

    assert sequences(plan(control_file)) == [(1, 1), (1, 2)]


# -- where the redo of the old incarnation ends: at RESETLOGS_CHANGE#, or one SCN before


@pytest.mark.parametrize("end", [249, 250])
@pytest.mark.parametrize("is_open", [True, False])
def test_the_last_log_before_a_resetlogs_may_end_at_its_scn_or_one_before(end, is_open):
    # archived 1  --1-----|--2---|              R=250, and there never was a log 3
    runs = thread(1, is_open=is_open, enable=250, checkpoint=250)
    control_file = turned(250, [ONE[0], log(1, 2, 200, end)], [runs])

    answer = plan(control_file)

    assert sequences(answer) == [(1, 1), (1, 2)]
    assert answer.window.scns == ScnRange(Scn(100), Scn(250))
    assert missing_logs(Position(DBID, INC, Scn(100)), control_file) == ()


def test_a_last_log_that_ends_two_scns_before_a_resetlogs_is_not_the_last():
    answer = plan(turned(250, [ONE[0], log(1, 2, 200, 248)], [RUNS_SINCE_RESETLOGS]), start=248)

    assert isinstance(answer, Lost), answer
    assert answer.error.where["sequence"] == 3
    assert "the database was opened with RESETLOGS later, at SCN 250" in str(answer.error)


@pytest.mark.parametrize(("end", "doubtful"), [(249, None), (250, None), (251, 249), (400, 249)])
def test_the_last_scn_before_a_resetlogs_is_doubtful_if_a_log_goes_on_after_it(end, doubtful):
    # Redo at 249 counts if it ends at RESETLOGS_CHANGE#, and was undone if it ends one SCN before.
    answer = plan(turned(250, [ONE[0], log(1, 2, 200, end)], [RUNS_SINCE_RESETLOGS]))

    assert isinstance(answer, Sealed), answer
    assert answer.window.doubtful_scn == doubtful
    assert plan(facts(ONE, [ON_1])).window.doubtful_scn is None


def test_a_position_one_scn_before_a_resetlogs_continues_after_it():
    # The redo up to 249 had landed when the database was opened with RESETLOGS at 250.
    control_file = turned(250, [ONE[0], log(1, 2, 200, 249), NEW_LOG], [RUNS_SINCE_RESETLOGS])

    answer = plan(control_file, start=249)

    assert isinstance(answer, Sealed), answer
    assert (answer.window.scns, answer.window.slices) == (ScnRange(Scn(249), Scn(250)), ())


@pytest.mark.parametrize(("last", "kind"), [(log(1, 3, 249, 250), Sealed), (log(1, 3, 249, 250, GONE), Lost)])
def test_a_log_of_the_last_scn_before_a_resetlogs_is_needed_if_a_view_shows_it(last, kind):
    answer = plan(turned(250, [ONE[0], log(1, 2, 200, 249), last], [RUNS_SINCE_RESETLOGS]), start=249)

    assert isinstance(answer, kind), answer


def test_a_position_one_scn_before_a_resetlogs_is_lost_if_no_log_is_known():
    assert isinstance(plan(turned(250, [NEW_LOG], [RUNS_SINCE_RESETLOGS]), start=249), Lost)


# -- the end of a log that is still open


@pytest.mark.parametrize("next_change", [None, *sorted(OPEN_ENDS), 9_295_429_630_892_703_743, 2**63, 2**64 - 2])
def test_a_log_with_the_end_of_an_open_log_is_open(next_change):
    assert known_end(next_change) is None


def test_a_copy_with_the_third_sentinel_as_its_end_is_not_mined():
    partial_copy = log(1, 1, 50, known_end(9_295_429_630_892_703_743))

    assert isinstance(plan(facts([partial_copy, log(1, 2, 300, 400)], [online(1, 3, 400)])), Lost)


# -- one sequence, two ranges


def test_copies_of_one_log_that_begin_at_different_scns_are_refused():
    # archived 1  two rows of log 2: [200, 300) and [250, 400): which one is the log?
    rows = [ONE[0], log(1, 2, 200, 300, copy(1)), log(1, 2, 250, 400, copy(2)), log(1, 3, 400, 500)]

    answer = plan(facts(rows, [online(1, 4, 500)]), start=200)

    assert isinstance(answer, Lost), answer
    assert "SCN [200, 300) and SCN [250, 400)" in str(answer.error)
    assert "UNCATALOG" in str(answer.error)


@pytest.mark.parametrize("shown", ["V$LOG_HISTORY", "V$LOG"])
def test_the_row_that_another_view_confirms_is_mined(shown):
    rows = [ONE[0], log(1, 2, 200, 300, copy(1)), log(1, 2, 250, 400, copy(2)), log(1, 3, 300, 400)]
    history = [trace(1, 2, 200, 300)] if shown == "V$LOG_HISTORY" else []
    shown_online = [online(1, 2, 200, 300, is_archived=True)] if shown == "V$LOG" else []

    answer = plan(facts(rows, [*shown_online, ON_1], history=history), start=200)

    assert sequences(answer) == [(1, 2), (1, 3)]
    assert [c.dest_id for s in answer.window.slices for g in s.logs[:1] for c in g.claimed] == [1]


def test_a_catalogued_log_of_an_abandoned_future_is_not_mined_in_place_of_the_true_one():
    # The storage was set back; V$LOG_HISTORY shows the true log 3, a script catalogued the file of the other one.
    rows = [*ONE[:2], log(1, 3, 300, 400, copy(1)), log(1, 3, 300, 600, copy(1, name="/arch/void"))]

    answer = plan(facts(rows, [ON_1], history=[trace(1, 3, 300, 400)]), start=300)

    assert isinstance(answer, Sealed), answer
    assert answer.window.scns.end == 400
    assert [c.name for s in answer.window.slices for g in s.logs for c in g.claimed] == ["/arch/x"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        pytest.param(
            log(1, 3, 300, 600), "lists SCN [300, 600), which is another log: its own is SCN [300, 400)", id="ends later"
        ),
        pytest.param(
            log(1, 3, 350, 400), "lists SCN [350, 400), which is another log: its own is SCN [300, 400)", id="begins later"
        ),
    ],
)
def test_a_row_that_contradicts_the_log_history_is_not_mined(row, why):
    answer = plan(facts([*ONE[:2], row], [ON_1], history=[trace(1, 3, 300, 400)]), start=300)

    assert isinstance(answer, Lost), answer
    assert why in str(answer.error)


# -- a standby: V$THREAD shows CLOSED, V$LOG only UNUSED groups

STANDBY_THREADS = [closed(1, 240), closed(2, 240)]


def test_a_closed_thread_of_a_standby_may_have_redo_without_end():
    # archived 1  --1-----|--2---|              both CLOSED, checkpoint 240
    # archived 2  ----7-----|                   ends at 250; its next log is on its way
    control_file = facts([*ONE[:2], log(2, 7, 50, 250)], [], STANDBY_THREADS, current=390, is_standby=True)

    answer = plan(control_file)

    assert isinstance(answer, Sealed), answer
    assert answer.window.scns.end == 250
    stands = plan(control_file, start=250)
    assert isinstance(stands, NothingNew)
    assert "redo thread 2: no view shows its next log yet" in stands.reason


def test_a_disabled_thread_of_a_standby_has_no_redo():
    disabled = thread(2, enabled="DISABLED", checkpoint=90, enable=20, disable=90)
    control_file = facts(ONE, [], [closed(1, 240), disabled], current=390, is_standby=True)

    assert sequences(plan(control_file)) == [(1, 1), (1, 2)]


def test_a_gap_in_the_transport_to_a_standby_is_lost_with_the_standbys_cure():
    control_file = facts([ONE[0], ONE[2]], [], [closed(1, 240)], current=390, is_standby=True)

    answer = plan(control_file, start=200)

    assert isinstance(answer, Lost), answer
    assert "V$ARCHIVE_GAP" in answer.error.cure


# -- closed and disabled threads


@pytest.mark.parametrize("start", [100, 200, 300])
def test_logs_after_a_closed_threads_checkpoint_are_mined_if_they_are_there(start):
    # archived 2  --7--|--8-----|--9---|        closed, checkpoint 180
    logs = [*ONE, log(2, 7, 50, 150), log(2, 8, 150, 300), log(2, 9, 300, 400)]

    answer = plan(facts(logs, [ON_1], [opened(1), closed(2, 180)]), start)

    assert isinstance(answer, Sealed), answer
    assert answer.window.scns.end == 400
    assert [n for t, n in sequences(answer) if t == 2] == [n for n in (7, 8, 9) if n >= {100: 7, 200: 8, 300: 9}[start]]


def test_logs_after_a_closed_threads_checkpoint_are_not_needed():
    logs = [*ONE, log(2, 7, 50, 150), log(2, 8, 150, 300), log(2, 9, 300, 400, GONE)]

    assert sequences(plan(facts(logs, [ON_1], [opened(1), closed(2, 180)]))) == [(1, 1), (1, 2), (1, 3), (2, 7), (2, 8)]


DISABLED = thread(2, enabled="DISABLED", checkpoint=180, enable=20)


def test_a_disabled_thread_without_disable_scn_needs_its_logs_up_to_the_checkpoint():
    answer = plan(facts([*ONE, log(2, 7, 50, 150)], [ON_1], [opened(1), DISABLED]), start=150)

    assert isinstance(answer, Lost), answer
    assert "up to SCN 180" in str(answer.error)
    assert sequences(plan(facts([*ONE, log(2, 7, 50, 180)], [ON_1], [opened(1), DISABLED])))[-1] == (2, 7)


def test_a_thread_that_was_never_enabled_needs_no_log_whatever_its_checkpoint():
    never_enabled = thread(2, enabled="DISABLED", checkpoint=250)

    assert sequences(plan(facts(ONE, [ON_1], [opened(1), never_enabled]))) == [(1, 1), (1, 2), (1, 3)]


def test_a_thread_without_enable_scn_that_has_logs_needs_them_up_to_its_checkpoint():
    disabled = thread(2, enabled="DISABLED", checkpoint=250)

    assert isinstance(plan(facts([*ONE, log(2, 7, 50, 150)], [ON_1], [opened(1), disabled]), start=150), Lost)


def test_the_redo_of_a_dropped_thread_is_covered_whole():
    branch, dropped = Branch(CURRENT, Scn(100), End.OPEN), log(2, 3, 50, 220)

    first, second = cover_all(branch, facts([*ONE, dropped], [ON_1]))

    assert (first.thread, first.covered_to) == (1, 400)
    assert second == FullCoverage(2, (dropped,))


def test_a_dropped_threads_log_without_an_end_is_needed():
    # archived 2  ----3----|--4...               neither V$THREAD nor V$LOG shows it; a copy of log 4 was made while it was open
    answer = plan(facts([*ONE, log(2, 3, 50, 220), log(2, 4, 220, None)], [ON_1]), start=220)

    assert isinstance(answer, Lost), answer
    assert (answer.error.where["thread"], answer.error.where["sequence"]) == (2, 4)


def test_a_closed_thread_without_a_checkpoint_ends_with_its_last_log():
    control_file = facts([*ONE, log(2, 7, 50, 150)], [ON_1], [opened(1), thread(2)])

    assert sequences(plan(control_file)) == [(1, 1), (1, 2), (1, 3), (2, 7)]


def test_a_closed_thread_that_was_disabled_once_and_enabled_again_needs_its_logs_up_to_the_checkpoint():
    again = thread(2, checkpoint=350, enable=160, disable=150)

    answer = plan(facts([*ONE, log(2, 7, 50, 200)], [ON_1], [opened(1), again]), start=200)

    assert isinstance(answer, Lost), answer
    assert (answer.error.where["thread"], answer.error.where["sequence"]) == (2, 8)


def test_a_hole_ends_where_the_next_log_or_the_thread_does():
    # archived 2  x7  |--8-----|                 closed, checkpoint 180: log 8 begins after it
    logs = [*ONE, log(2, 7, 50, 150, GONE), log(2, 8, 190, 300)]
    control_file = facts(logs, [ON_1], [opened(1), closed(2, 180)])

    missing = missing_logs(Position(DBID, INC, Scn(100)), control_file)

    assert [(one.thread, one.sequence, one.scns) for one in missing] == [(2, 7, ScnRange(Scn(50), Scn(150)))]
    assert next_complete_scn(Position(DBID, INC, Scn(100)), control_file) == 150


# -- a newly enabled thread whose first log is not 1


def test_a_newly_enabled_thread_may_begin_at_any_sequence_if_the_history_reaches_back():
    # archived 1  --1-----|--2---|--3---|
    # archived 2              |--9------|       enabled at 250; an older log would be in V$LOG_HISTORY
    logs, shown = [*ONE, log(2, 9, 250, 400)], [ON_1, online(2, 10, 400)]
    threads = [opened(1), opened(2, enable=250)]

    for reaching_back in (BEFORE, trace(1, 1, 20, 100)):
        assert sequences(plan(facts(logs, shown, threads, history=[reaching_back])))[-1] == (2, 9)
    lost = plan(facts(logs, shown, threads, history=[trace(1, 1, 50, 200)]))
    assert isinstance(lost, Lost)
    assert lost.error.where["why"] == "no view shows it or any older log of the thread"
    assert isinstance(plan(facts(logs, shown, threads, history=[LogFile(1, 7, 0, Scn(20), Scn(45))])), Lost)


# -- a row that has not come yet


def test_a_log_that_v_log_reports_as_archived_is_looked_for_once_more():
    answer = plan(facts(ONE[1:], [online(1, 1, 50, 200, is_archived=True), ON_1]))

    assert isinstance(answer, Lost)
    assert answer.may_appear
    assert not plan(facts([log(1, 1, 50, 200, GONE), *ONE[1:]], [ON_1])).may_appear


# -- each has an answer


def test_a_closed_threads_unswitched_log_below_its_checkpoint_is_named():
    answer = plan(facts(ONE, [ON_1, online(2, 1, 90)], [opened(1), closed(2, 300)]))

    assert isinstance(answer, NothingNew)
    assert "redo thread 2: log 1 is not switched, although the thread is closed" in answer.reason


def test_an_open_thread_without_a_log_in_any_view_is_named():
    answer = plan(facts(ONE, [ON_1], [opened(1), opened(2)]))

    assert isinstance(answer, NothingNew)
    assert "redo thread 2: no view shows its next log yet" in answer.reason
    assert answer.held_back_by == (2,)


def test_a_log_that_is_never_archived_is_waited_for_up_to_the_deadline():
    answer = plan(facts(ONE[1:], [online(1, 1, 50, 200), ON_1]))

    assert isinstance(answer, Wait)  # steps/shared/wait.py reports LogOverdue at the deadline
    assert (answer.thread, answer.sequence) == (1, 1)


def test_the_gate_answers_for_two_threads_that_were_closed_at_the_resetlogs():
    # archived 1  --1-----|--2---R              archived 2 --7--|, closed then, open now, and log 8 might be lost
    logs = [ONE[0], log(1, 2, 200, 250), log(2, 7, 50, 150)]
    answer = plan_window(Position(DBID, INC, Scn(150)), turned(250, logs, TWO_RUN, [trace(2, 7, 50, 150), BEFORE]), Limits())

    assert isinstance(answer, Lost)
    assert (answer.error.where["thread"], answer.error.where["sequence"]) == (2, 8)
