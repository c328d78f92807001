"""One log per sequence, from what V$ARCHIVED_LOG, V$LOG and V$LOG_HISTORY show of it."""

from __future__ import annotations

import pytest

from redolake.values.redo import Incarnation
from redolake.values.scn import Scn
from redolake.window.end import End
from redolake.window.incarnation import Branch
from redolake.window.thread_logs import logs_of
from tests.unit.window.drawn import CURRENT, GONE, STANDBY, copy, facts, log, online, trace

BRANCH = Branch(CURRENT, Scn(100), End.OPEN)
OLD_BRANCH = Branch(Incarnation(CURRENT.resetlogs_id, Scn(1), "PARENT", Scn(0)), Scn(100), Scn(300))


def known(archived=(), online=(), history=(), branch=BRANCH, **more):
    return logs_of(1, branch, facts(archived, online, history=history, **more))


def test_a_log_is_its_archived_one_and_else_its_online_one():
    archived, shown = log(1, 2, 200, 300), online(1, 3, 300)
    logs = known([archived], [online(1, 2, 200, 300), shown])

    assert (logs.log(2), logs.log(3), logs.log(4)) == (archived, shown, None)


@pytest.mark.parametrize(("history", "is_listed"), [((), False), ((trace(1, 2, 200, 300),), True)])
def test_a_row_of_a_log_that_is_still_written_is_another_log_unless_the_history_shows_its_end(history, is_listed):
    assert (2 in known([log(1, 1, 50, 200), log(1, 2, 200, 300)], [online(1, 2, 200)], history).archived) is is_listed


def test_rows_of_other_logs_are_listed_beside_the_one_that_is_still_written():
    assert list(known([log(1, 1, 50, 200), log(1, 2, 200, 900)], [online(1, 2, 200)]).archived) == [1]


def test_a_standby_lists_the_row_of_a_log_that_its_v_log_shows_as_current():
    assert list(known([log(1, 2, 200, 300)], [online(1, 2, 200)], is_standby=True).archived) == [2]


@pytest.mark.parametrize(("first", "end"), [(299, 300), (300, None), (301, None)])
def test_the_last_log_before_a_resetlogs_ends_there_if_it_began_before(first, end):
    assert known([log(1, 2, first, None)], branch=OLD_BRANCH).archived[2].next_scn == end


def test_the_longest_row_of_a_sequence_is_the_log():
    rows = [log(1, 2, 200, 300, copy(2)), log(1, 2, 180, 300, copy(3)), log(1, 2, 180, 250, copy(1)), log(1, 2, 180, None)]

    assert known(rows, history=[trace(1, 2, 200, 300)]).archived[2] == rows[1]


def test_a_sequence_with_a_foreign_row_leaves_the_later_ones_as_they_are():
    logs = known([log(1, 2, 250, 300), log(1, 3, 300, 400)], history=[trace(1, 2, 200, 300)])

    assert (list(logs.archived), list(logs.conflicts)) == ([3], [2])


def test_a_foreign_row_is_named_with_the_range_of_the_log_itself():
    logs = known([log(1, 2, 250, 300)], [online(1, 2, 200, 301)], [trace(1, 2, 200, 300)])

    assert logs.conflicts[2] == ("V$ARCHIVED_LOG lists SCN [250, 300), which is another log: its own is SCN [200, 300)")


def test_a_log_with_rows_that_contradict_each_other_begins_where_the_first_of_them_does():
    logs = known([log(1, 2, 200, 300), log(1, 2, 250, 400)])

    assert (logs.archived[2].first_scn, logs.archived[2].next_scn) == (200, 400)
    assert 2 in logs.conflicts


@pytest.mark.parametrize(("end", "is_listed"), [(300, True), (301, True), (302, False)])
def test_v_log_history_may_show_a_logs_last_scn_as_its_end(end, is_listed):
    assert (2 in known([log(1, 2, 200, end)], history=[trace(1, 2, 200, 300)]).archived) is is_listed


def test_copies_that_cannot_be_read_are_kept_for_the_message_and_shorter_ones_are_not_read():
    short, whole = copy(1, name="/arch/short"), copy(2, name="/arch/whole")
    rows = [log(1, 2, 200, 250, short, GONE), log(1, 2, 200, 300, STANDBY), log(1, 2, 200, 310, whole)]

    found = known(rows).archived[2]

    assert (found.next_scn, found.copies) == (310, (whole, GONE, STANDBY))
