"""What one log is: mined, still written, waited for or lost; each answer follows from what the views show of this log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.values.scn import Scn
from redolake.window.log_state import Current, Wait, state_of_log
from redolake.window.loss import Hole
from redolake.window.thread_logs import ThreadLogs
from tests.unit.window.drawn import STANDBY, closed, copy, log, online, opened, trace

THREAD = opened(1)
AT_WORK = copy(archived=False)


def known(archived=(), online=(), history=(), conflicts=None):
    views = ({one.sequence: one for one in view} for view in (archived, online, history))
    return ThreadLogs(1, *views, conflicts or {})


def state(logs, sequence=2, *, is_last=False, thread=THREAD):
    return state_of_log(logs, sequence, Scn(200), thread, is_last=is_last)


WAIT = Wait("redo thread 1: log 2 is switched but not archived yet", 1, 2, Scn(200))
CUT_SHORT = "its copy ends at SCN 280, the log itself at 300"
NEWEST = "the newest log, switched and in V$LOG"
WAITED_FOR = {
    NEWEST: known(online=[online(1, 2, 200, 300)]),
    "a copy that is cut short, of a log that V$LOG shows as not archived": known(
        [log(1, 2, 200, 280)], [online(1, 2, 200, 300)]
    ),
    "a log whose archiver is at work, although V$LOG no longer shows it": known(
        [log(1, 2, 200, 300, AT_WORK)], [online(1, 4, 400)]
    ),
    "a log that began after V$LOG was read, with a later one": known([], [online(1, 1, 50, 200)], [trace(1, 2, 200, 300)]),
    "a log with a cleared row, and an archiver at work at another destination": known(
        [log(1, 2, 200, 300, copy(archived=False, name=None), copy(3, archived=False))], [online(1, 4, 400)]
    ),
    "a log with a cleared row that V$LOG still shows as not archived": known(
        [log(1, 2, 200, 300, copy(archived=False, name=None))], [online(1, 2, 200, 300)]
    ),
    "a log in V$LOG with copies for other hosts only": known([log(1, 2, 200, 300, STANDBY)], [online(1, 2, 200, 300)]),
}


@pytest.mark.parametrize("name", WAITED_FOR)
def test_a_log_whose_copy_still_comes_is_waited_for(name):
    assert state(WAITED_FOR[name], is_last=name == NEWEST) == WAIT


LOST = {
    "a copy that is cut short, of a log that V$LOG shows as archived": (
        known([log(1, 2, 200, 280)], [online(1, 2, 200, 300, is_archived=True)]),
        CUT_SHORT,
    ),
    "a copy that is cut short, of a log that V$LOG no longer shows": (
        known([log(1, 2, 200, 280)], history=[trace(1, 2, 200, 300)]),
        CUT_SHORT,
    ),
    "a copy that begins before the previous log ended": (
        known([log(1, 1, 50, 210), log(1, 2, 200, 300)]),
        "it begins at SCN 200, before the previous log ended",
    ),
    "a log of which each copy is unusable": (
        known([log(1, 2, 200, 300, copy(1, deleted=True, name=None), copy(3, "X"))]),
        "destination 1: deleted; destination 3: /arch/x has status X",
    ),
    "a log that was cleared before it was archived": (
        known([log(1, 2, 200, 300, copy(archived=False, name=None))], [online(1, 4, 400)]),
        "destination 1: the log was cleared before it was archived (ALTER DATABASE CLEAR UNARCHIVED LOGFILE)",
    ),
    "a cleared log, with a copy for another host": (
        known([log(1, 2, 200, 300, copy(archived=False, name=None), STANDBY)], history=[trace(1, 2, 200, 300)]),
        "destination 1: the log was cleared before it was archived (ALTER DATABASE CLEAR UNARCHIVED LOGFILE); "
        "destination 2: sent to /arch/x, not a file on this host",
    ),
    "a log without a copy": (known([replace(log(1, 2, 200, 300), copies=())]), "it has no copy"),
    "a copy that an archiver did not complete, and that was deleted": (
        known([log(1, 2, 200, 300, copy(archived=False, deleted=True, name=None))]),
        "destination 1: deleted",
    ),
    "a copy for another host that an archiver did not complete": (
        known([log(1, 2, 200, 300, copy(2, standby=True, archived=False, name="there"))]),
        "destination 2: sent to there, not a file on this host",
    ),
}


@pytest.mark.parametrize(("logs", "why"), LOST.values(), ids=LOST)
def test_a_log_that_no_copy_of_its_row_can_give_is_lost(logs, why):
    assert state(logs) == Hole(2, Scn(200), why)


WITHOUT_ROW = {
    "V$LOG reports it as archived, and V$ARCHIVED_LOG shows no copy": known(online=[online(1, 2, 200, 300, is_archived=True)]),
    "V$LOG_HISTORY shows that it existed": known(history=[trace(1, 2, 200, 300)]),
    "no view shows it": known([log(1, 3, 300, 400)]),
    "another log; remove that row (RMAN: CHANGE ARCHIVELOG 'file' UNCATALOG)": known(conflicts={2: "another log"}),
}


@pytest.mark.parametrize("why", WITHOUT_ROW)
def test_a_lost_log_without_a_row_of_v_archived_log_may_still_get_one(why):
    assert state(WITHOUT_ROW[why]) == Hole(2, Scn(200), why, may_appear=True)


def test_the_newest_log_of_v_log_history_is_not_waited_for_although_v_log_was_read_before_it():
    logs = known([], [online(1, 1, 50, 200)], [trace(1, 2, 200, 300)])

    assert isinstance(state(logs, is_last=True), Hole)


@pytest.mark.parametrize(("thread", "is_open"), [(THREAD, True), (None, True), (closed(1, 300), False)])
def test_the_newest_log_without_an_end_is_current(thread, is_open):
    assert state(known(online=[online(1, 2, 200)]), is_last=True, thread=thread) == Current(1, 2, Scn(200), is_open)
