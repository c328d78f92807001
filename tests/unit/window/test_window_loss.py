"""A missing log: the error with its cure, and how far the loss reaches."""

from __future__ import annotations

import pytest

from redolake.values.redo import Position
from redolake.values.scn import Scn, ScnRange
from redolake.window import missing_logs, next_complete_scn
from redolake.window.loss import Hole, loss_of, state_of_copy
from redolake.window.thread_logs import ThreadLogs
from tests.unit.window.drawn import DBID, GONE, INC, closed, copy, facts, log, online, opened

ONE = [log(1, n, 100 * n, 100 * n + 100) for n in (1, 2, 3)]
HOLE = Hole(4, Scn(400), "it has no copy")


def known(*archived, is_standby=False):
    return ThreadLogs(1, {one.sequence: one for one in archived}, {}, {}, is_standby=is_standby)


def test_a_log_with_a_row_of_v_archived_log_is_restored():
    cure = loss_of(HOLE, known(log(1, 4, 400, 500, GONE))).cure

    assert cure.startswith("restore the archived log with RMAN (RESTORE ARCHIVELOG SEQUENCE 4 THREAD 1) and run again")


def test_a_log_without_a_row_may_be_catalogued_first():
    assert loss_of(HOLE, known()).cure.startswith("if the file still exists, catalogue it")


def test_a_log_that_a_standby_lacks_may_come_with_the_next_transport():
    cure = loss_of(HOLE, known(log(1, 4, 400, 500, GONE), is_standby=True)).cure

    assert cure.startswith("if the redo transport to this standby has a gap")
    assert "; else restore the archived log" in cure


def test_copies_whose_names_are_cleared_are_shown_by_their_destinations():
    third = copy(3, "D", deleted=True, name=None)

    assert loss_of(HOLE, known(log(1, 4, 400, 500, GONE, third))).where["destination"] == "1, 3"
    assert loss_of(HOLE, known()).where.get("destination") is None


def test_the_nearest_log_shows_where_the_file_was():
    logs = [log(1, n, 100 * n, 100 * n + 100, copy(2, name=f"/arch/{n}")) for n in (1, 5, 9)]

    assert loss_of(HOLE, known(*logs)).where["last_file"] == "unknown; sequence 5 is /arch/5 in destination 2"


@pytest.mark.parametrize(
    ("one", "state"),
    [
        (copy(1, "D", name="/arch/x"), "destination 1: deleted, was /arch/x"),
        (copy(1, "A", deleted=True, name=None), "destination 1: deleted"),
        (copy(2, "X", name="/arch/x"), "destination 2: /arch/x has status X"),
        (copy(2, "A", name=None), "destination 2: its name was cleared"),
        (copy(2, "A", archived=False), "destination 2: archiving did not complete"),
    ],
)
def test_a_copy_that_cannot_be_mined_says_why(one, state):
    assert state_of_copy(one) == state


def lost(archived, online=(), threads=None):
    position, control_file = Position(DBID, INC, Scn(100)), facts(archived, online, threads)
    return [(m.sequence, m.scns) for m in missing_logs(position, control_file)], next_complete_scn(position, control_file)


def test_a_log_without_an_end_is_lost_up_to_the_next_one():
    assert lost([ONE[0], log(1, 2, 200, None), ONE[2]], [online(1, 4, 400)]) == ([(2, ScnRange(Scn(200), Scn(300)))], 300)


def test_the_end_of_a_newest_log_without_an_end_is_not_known():
    assert lost([*ONE, log(1, 4, 400, None)]) == ([(4, None)], 400)


def test_a_log_that_goes_on_after_its_thread_was_closed_is_missing_whole():
    whole = (7, ScnRange(Scn(50), Scn(300)))

    assert lost([*ONE, log(2, 7, 50, 300, GONE)], [online(1, 4, 400)], [opened(1), closed(2, 180)]) == ([whole], 180)
