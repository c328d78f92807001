"""The gate, case by case, as drawings. One line per view of a thread; `|` is a log's edge, the number is its sequence.

    archived 1  |--1--|--2--|        a log with a readable copy            x  lost: deleted, expired, on a standby only
    online   1              |3...    still open                           ~  switched, not archived yet
    position    ^

The SCN axis is written above each drawing in hundreds: `1` is SCN 100.
"""

from __future__ import annotations

import pytest

from redolake.values.redo import Incarnation, Position, RedoThread
from redolake.values.scn import Scn, ScnRange
from redolake.window import (
    Lost,
    NothingNew,
    Sealed,
    Wait,
    follow_resetlogs,
    incarnation_at,
    missing_logs,
    next_complete_scn,
    plan_window,
)
from redolake.window.incarnation import SNAPSHOT_CURE
from tests.unit.window.drawn import (
    CURRENT,
    DBID,
    GONE,
    INC,
    STANDBY,
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
BOTH = [opened(1), opened(2)]


def reenabled(at, after):
    return RedoThread(2, True, "PUBLIC", Scn(at), Scn(at), Scn(after))


REACHES = {
    # SCN          1      2      3      4
    # archived 1  --1-----|--2---|--3---|        RAC: each thread has its own sequences
    # archived 2  --77-|--78--|---79----|
    "sequences are counted per thread": (
        facts([*ONE, log(2, 77, 50, 150), log(2, 78, 150, 250), log(2, 79, 250, 400)], [ON_1, online(2, 80, 400)], BOTH),
        400,
    ),
    # archived 1  --1-----|--2---|--3---|
    # archived 2  --7--|                         thread 2 lags: log 8 is not archived yet
    # online   2       |~~8~~|9...
    "a lagging archiver holds back the other threads": (
        facts([*ONE, log(2, 7, 50, 150)], [ON_1, online(2, 8, 150, 250), online(2, 9, 250)], BOTH),
        150,
    ),
    # archived 1  --1-----|--2---|--3---|
    # online   2                 |1...           thread 2 was enabled at 300 and has never switched
    "a thread enabled after the position counts from there": (
        facts(ONE, [ON_1, online(2, 1, 300)], [opened(1), opened(2, enable=300)]),
        300,
    ),
    # online   2             |1...               enabled, and never opened: its checkpoint is where it was enabled
    "a thread that was enabled and never opened has no redo": (
        facts(ONE, [ON_1, online(2, 1, 250)], [opened(1), RedoThread(2, False, "PUBLIC", Scn(250), Scn(250), None)]),
        400,
    ),
    "a thread enabled at CURRENT_SCN did not exist when the logs were read": (
        facts(ONE, [ON_1], [opened(1), opened(2, enable=10_000)], current=10_000),
        400,
    ),
    # archived 2  --7--|     |--8--|             closed at 150, open again from 250 on: no sequence is missing
    "the time a thread was closed is not a hole": (
        facts([*ONE, log(2, 7, 50, 150), log(2, 8, 250, 400)], [ON_1, online(2, 9, 400)], BOTH),
        400,
    ),
    # history  2  |-6-| (50 to 90)               log 6 is in V$LOG_HISTORY only; it ended before the position
    # archived 2             |--7-------|
    "V$LOG_HISTORY proves that a thread was closed": (
        facts([*ONE, log(2, 7, 250, 400)], [ON_1, online(2, 8, 400)], BOTH, history=[trace(2, 6, 50, 90)]),
        400,
    ),
    # archived 2  --7--|                         closed at 150, disabled at 180; its log ended when it was closed
    "a disabled thread needs no log after its checkpoint": (
        facts(
            [*ONE, log(2, 7, 50, 150)],
            [ON_1, online(2, 8, 150)],
            [opened(1), RedoThread(2, False, "DISABLED", Scn(150), None, Scn(180))],
        ),
        400,
    ),
    # archived 2              |--9------|        disabled at 90, enabled at 250: what came before 9 does not matter
    "a thread disabled before the position and enabled again": (
        facts([*ONE, log(2, 9, 250, 400)], [ON_1, online(2, 10, 400)], [opened(1), reenabled(250, after=90)]),
        400,
    ),
    "a thread disabled at the position and enabled again": (
        facts([*ONE, log(2, 9, 250, 400)], [ON_1, online(2, 10, 400)], [opened(1), reenabled(250, after=100)]),
        400,
    ),
    # online   2  --7--|                         V$LOG shows all groups, and none after 7
    "a closed thread without a later group has written nothing more": (
        facts([*ONE, log(2, 7, 50, 150)], [ON_1, online(2, 7, 50, 150)], [opened(1), closed(2, 390)]),
        400,
    ),
    # archived 2  ----3----|                     dropped: neither V$THREAD nor V$LOG shows it
    "a thread seen only in logs, up to the last of them": (facts([*ONE, log(2, 3, 50, 220)], [ON_1]), 400),
    # online   2       |1...                     V$THREAD does not show it, V$LOG does
    "a thread seen only in V$LOG, up to its open log": (facts(ONE, [ON_1, online(2, 1, 150)]), 150),
    # archived 1  --1-----|  x2  |--3---|        the position is after the hole
    "a hole before the position": (
        facts([log(1, 1, 50, 80), log(1, 2, 80, 95, GONE), log(1, 3, 95, 400)], [ON_1]),
        400,
    ),
    # archived 1  --1-----|--2...                archived, and still in V$LOG: one log, not two
    "an online log that is archived too": (facts(ONE, [online(1, 2, 200, 300), online(1, 3, 300, 400), ON_1]), 400),
    # archived 1  two rows of log 1: destination 1 has it up to 120, destination 2 complete
    "the longer of two copies": (
        facts([log(1, 1, 50, 120, copy(1)), log(1, 1, 50, 200, copy(2)), *ONE[1:]], [ON_1]),
        400,
    ),
    # archived 1  --1-----|--2---|  and log 9 of an older incarnation
    "logs of another incarnation": (
        facts([*ONE, log(1, 9, 120, 130, GONE, inc=9), log(3, 1, 90, 300, inc=9)], [ON_1], history=[trace(1, 8, 50, 900, 9)]),
        400,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("control_file", "end"), REACHES.values(), ids=REACHES)
def test_the_window_ends_at_the_expected_scn(control_file, end):
    answer = plan(control_file)

    assert isinstance(answer, Sealed), answer
    assert answer.window.scns == ScnRange(Scn(100), Scn(end))


def test_the_longer_of_two_copies_is_mined():
    answer = plan(facts([log(1, 1, 50, 120, copy(1)), log(1, 1, 50, 200, copy(2))], [online(1, 2, 200)]))

    assert isinstance(answer, Sealed)
    assert [c.dest_id for s in answer.window.slices for g in s.logs for c in g.claimed] == [2]


STANDS = {
    # online   1  |~~100~~|                      101 is archived before 100
    # archived 1          |--101--|
    "101 is archived before 100": (
        facts([log(1, 101, 200, 300)], [online(1, 100, 50, 200), online(1, 102, 300)], history=[trace(1, 100, 50, 200)]),
        Wait,
        "log 100 is switched but not archived yet",
    ),
    # archived 2  --7--|                         closed at 180; log 8 contains redo and is not switched
    # online   2  -----|8...
    "a closed thread's last log is not switched": (
        facts(ONE, [ON_1, online(2, 8, 90)], [opened(1), closed(2, 180)]),
        NothingNew,
        "redo thread 2: log 8 is not switched, although the thread is closed",
    ),
    # archived 1  --1-----|--2---|--3---|
    # online   2  9...                           idle
    "an idle thread, with the progress of the others": (
        facts(ONE, [ON_1, online(2, 9, 50)], BOTH),
        NothingNew,
        "held back at SCN 100, though redo thread 1 is archived up to SCN 400: redo thread 2: log 9 is still being written",
    ),
    "a copy cut short by a failover": (
        facts([log(1, 1, 50, 120), *ONE[1:]], [ON_1], history=[trace(1, 1, 50, 200)]),
        Lost,
        "its copy ends at SCN 120, the log itself at 200",
    ),
    "a copy made while the log was open": (
        facts([log(1, 1, 50, None), *ONE[1:]], [ON_1]),
        Lost,
        "was archived while the log was still open",
    ),
    # online   1  ---1----|                      its row aged out before its group was overwritten
    "a row that aged out while V$LOG still shows the log": (
        facts(ONE[1:], [online(1, 1, 50, 200, is_archived=True), ON_1]),
        Lost,
        "V$LOG reports it as archived, and V$ARCHIVED_LOG shows no copy",
    ),
    "an unavailable destination": (
        facts([log(1, 1, 50, 200, copy(1, "U")), *ONE[1:]], [ON_1]), Lost, "destination 1: /arch/x has status U"
    ),
    # history  2  |---1----| (50 to 220)         dropped, and V$LOG_HISTORY alone remembers it
    "a thread that only V$LOG_HISTORY remembers": (
        facts(ONE, [ON_1], history=[trace(2, 1, 50, 220)]),
        Lost,
        "V$LOG_HISTORY shows that it existed",
    ),
    # archived 2              |--9------|        enabled at 250, with a log 8 that may have ended at 249
    "a thread enabled again whose earlier logs no view shows": (
        facts([*ONE, log(2, 9, 250, 400)], [ON_1, online(2, 10, 400)], [opened(1), opened(2, enable=250)]),
        Lost,
        "or any older log of the thread",
    ),
    "a closed thread without a known log": (
        facts(ONE, [ON_1], [opened(1), closed(2, 300)]),
        Lost,
        "the thread was open up to SCN 300, and no view shows a later log",
    ),
    # archived 1              |--8--|            the position is older than every known log
    "a position before every known log": (facts([log(1, 8, 300, 400)], [online(1, 9, 400)]), Lost, "or any older log"),
}  # fmt: skip


@pytest.mark.parametrize(("control_file", "kind", "why"), STANDS.values(), ids=STANDS)
def test_there_is_no_window(control_file, kind, why):
    answer = plan(control_file)

    assert isinstance(answer, kind), answer
    assert why in (str(answer.error) if isinstance(answer, Lost) else answer.reason)


def test_the_log_that_no_view_shows_is_the_one_after_the_newest():
    # archived 2  --7--|                         closed, checkpoint 300
    answer = plan(facts([*ONE, log(2, 7, 50, 150)], [ON_1], [opened(1), closed(2, 300)]), start=150)

    assert isinstance(answer, Lost)
    assert (answer.error.where["thread"], answer.error.where["sequence"]) == (2, 8)


def test_nothing_new_names_the_threads_that_hold_the_window_back():
    answer = plan(facts(ONE, [ON_1, online(2, 9, 50), online(3, 4, 70)], [*BOTH, opened(3)]))

    assert isinstance(answer, NothingNew)
    assert answer.held_back_by == (2, 3)
    assert "ALTER SYSTEM ARCHIVE LOG CURRENT" in answer.reason


def test_a_loss_names_the_last_known_file_and_destination():
    lost = plan(facts([log(1, 1, 50, 200, copy(2, "X", name="/arch2/1_1.arc")), *ONE[1:]], [ON_1]))

    assert isinstance(lost, Lost)
    assert (lost.error.where["last_file"], lost.error.where["destination"]) == ("/arch2/1_1.arc", 2)


def test_a_deleted_log_without_a_name_is_reported_with_the_file_of_the_nearest_log():
    lost = plan(facts([log(1, 1, 50, 200, GONE), log(1, 2, 200, 300, copy(1, name="/arch/1_2.arc"))], [online(1, 3, 300)]))

    assert isinstance(lost, Lost)
    assert lost.error.where["last_file"] == "unknown; sequence 2 is /arch/1_2.arc in destination 1"
    assert "RESTORE ARCHIVELOG SEQUENCE 1 THREAD 1" in lost.error.cure


def test_a_log_that_aged_out_of_the_control_file_may_only_need_to_be_catalogued():
    lost = plan(facts(ONE[1:], [ON_1], history=[trace(1, 1, 50, 200)]))

    assert isinstance(lost, Lost)
    assert "CATALOG ARCHIVELOG" in lost.error.cure


# -- positions


@pytest.mark.parametrize(
    ("start", "reaches"),
    {
        "between two logs of a thread that was closed": (170, 300),
        "at a log's edge": (200, 300),
        "inside a log": (230, 300),
    }.values(),
)
def test_a_window_starts_at_any_position(start, reaches):
    answer = plan(facts([log(1, 1, 50, 150), log(1, 2, 200, 300)], [online(1, 3, 300)]), start)

    assert isinstance(answer, Sealed)
    assert answer.window.scns == ScnRange(Scn(start), Scn(reaches))


def test_a_position_ahead_of_the_database_is_lost():
    answer = plan(facts(ONE, [ON_1], current=450), start=451)

    assert isinstance(answer, Lost)
    assert "ahead of all redo of the database, which ends at SCN 450" in answer.error.what
    assert answer.error.where == {"scn": 451, "newest_scn": 450}
    assert "run `redolake recover`" in answer.error.cure


def test_logs_of_an_orphan_incarnation_do_not_extend_the_known_redo():
    line = (OLD, Incarnation(12, Scn(250), "ORPHAN", Scn(1)), Incarnation(13, Scn(250), "CURRENT", Scn(1)))
    control_file = facts([log(1, 1, 250, 900, inc=12)], current=400, incarnations=line, history=[trace(1, 1, 250, 900, 12)])

    answer = plan(control_file, start=500, inc=13)

    assert isinstance(answer, Lost)
    assert next_complete_scn(Position(DBID, 13, Scn(500)), control_file) is None


@pytest.mark.parametrize("archived", [ONE, []], ids=["V$ARCHIVED_LOG", "V$LOG_HISTORY"])
def test_a_position_above_a_lagging_current_scn_is_not_lost(archived):
    shown = facts(archived, current=390, history=[trace(1, 3, 300, 401)])

    assert isinstance(plan(shown, start=401), NothingNew)


# -- incarnations: 11 until RESETLOGS, then 12

OLD = Incarnation(INC, Scn(1), "PARENT", Scn(0))


def turned(at, archived, threads=None, history=()):
    return facts(archived, threads=threads, incarnations=(OLD, Incarnation(12, Scn(at), "CURRENT", Scn(1))), history=history)


TURNS = {
    # archived 1  --1-----|--2---|--3---|   R=250: the redo of logs 2 and 3 after it does not count
    "old redo after RESETLOGS may be missing": (turned(250, [*ONE[:2], log(1, 3, 300, 400, GONE)]), Sealed),
    # archived 2  --7--|              R    closed, and V$LOG_HISTORY shows no later log
    "a thread closed before RESETLOGS": (
        turned(250, [*ONE, log(2, 7, 50, 150)], [opened(1), closed(2, 250)], [trace(2, 7, 50, 150)]),
        Sealed,
    ),
    # archived 2  --7--|      R  |--8--    it wrote nothing until after R: the next sequence proves it
    "a thread whose next log begins after RESETLOGS": (
        turned(250, [*ONE, log(2, 7, 50, 150), log(2, 8, 290, 400)], BOTH),
        Sealed,
    ),
    # Oracle may leave the end of the last log open
    "a last log without an end": (turned(250, [ONE[0], log(1, 2, 200, None)]), Sealed),
    # archived 2  --7--|  ?           R    no view shows whether there was a log 8
    "a thread that runs today and ended early": (
        turned(250, [*ONE, log(2, 7, 50, 100)], BOTH, [trace(2, 7, 50, 100)]),
        Lost,
    ),
    "a thread that ended early, without a trace in V$LOG_HISTORY": (turned(250, [*ONE, log(2, 7, 50, 100)]), Lost),
}


@pytest.mark.parametrize(("control_file", "kind"), TURNS.values(), ids=TURNS)
def test_a_window_before_a_resetlogs(control_file, kind):
    answer = plan(control_file)

    assert isinstance(answer, kind), answer
    if isinstance(answer, Sealed):
        assert answer.window.scns.end == 250


def test_a_position_at_a_resetlogs_continues_in_the_incarnation_that_begins_there():
    control_file = turned(250, ONE)

    assert follow_resetlogs(Position(DBID, INC, Scn(250)), control_file) == Position(DBID, 12, Scn(250))
    for scn in (100, 251):  # 251 is lost, which only the plan reports
        assert follow_resetlogs(Position(DBID, INC, Scn(scn)), control_file) == Position(DBID, INC, Scn(scn))


def test_no_incarnation_is_its_own_ancestor():
    control_file = facts(ONE, incarnations=[Incarnation(INC, Scn(50), "CURRENT", Scn(50))])

    assert incarnation_at(Scn(100), control_file) == control_file.incarnations[0]
    assert incarnation_at(Scn(49), control_file) is None


FOREIGN_POSITIONS = {
    "of another database": (
        Position(DBID + 1, INC, Scn(100)),
        "the position belongs to database 8, but the connection reaches database 7",
        "connect to the database that was captured before",
        {"scn": 100},
    ),
    "of an incarnation that is no ancestor": (
        Position(DBID, 5, Scn(100)),
        "the position's incarnation (resetlogs id 5) is not an ancestor of the current one",
        SNAPSHOT_CURE,
        {"scn": 100},
    ),
    "before its incarnation began": (
        Position(DBID, 12, Scn(249)),
        "SCN 249 lies before incarnation 12 began at 250",
        SNAPSHOT_CURE,
        {"scn": 249},
    ),
    "after a RESETLOGS": (
        Position(DBID, INC, Scn(260)),
        "RESETLOGS at SCN 250, before the position 260, undid changes that were landed",
        SNAPSHOT_CURE,
        {"scn": 260, "resetlogs_scn": 250},
    ),
}


@pytest.mark.parametrize(("position", "what", "cure", "where"), FOREIGN_POSITIONS.values(), ids=FOREIGN_POSITIONS)
def test_a_position_that_no_redo_continues_is_lost(position, what, cure, where):
    answer = plan_window(position, turned(250, ONE), Limits())

    assert isinstance(answer, Lost), answer
    assert (answer.error.what, answer.error.where, answer.may_appear) == (what, where, False)
    assert answer.error.cure.startswith(cure)


def test_an_orphan_that_began_at_the_same_scn_as_the_current_incarnation_is_ignored():
    line = (OLD, Incarnation(12, Scn(250), "ORPHAN", Scn(1)), Incarnation(13, Scn(250), "CURRENT", Scn(1)))
    logs = [log(1, 1, 250, 300, GONE, inc=12), log(1, 1, 250, 400, inc=13)]
    control_file = facts(logs, incarnations=line, history=[trace(1, 5, 300, 900, inc=12)])

    answer = plan(control_file, start=250, inc=INC)

    assert isinstance(answer, Sealed)
    assert (answer.window.resetlogs_id, answer.window.scns.end) == (13, 400)
    assert isinstance(plan(control_file, start=260, inc=12), Lost)


def test_an_orphan_is_not_an_ancestor_of_a_later_incarnation():
    line = (OLD, Incarnation(12, Scn(250), "ORPHAN", Scn(1)), Incarnation(13, Scn(250), "PARENT", Scn(1)),
            Incarnation(14, Scn(300), "CURRENT", Scn(250)))  # fmt: skip

    found = incarnation_at(Scn(260), facts([], incarnations=line))

    assert found is not None
    assert found.resetlogs_id == 13


# -- missing logs

HOLED = facts(
    # SCN          1      2      3      4      5
    # archived 1  --1-----|--x2--|--3---|      |--5        4 is in V$LOG_HISTORY only
    # archived 2  --x7-|-----8------|  ?  ?    |--11       9 and 10 are in no view
    [log(1, 1, 50, 200), log(1, 2, 200, 300, GONE, STANDBY), log(1, 3, 300, 400), log(1, 5, 450, 550),
     log(2, 7, 50, 150, copy(1, "X")), log(2, 8, 150, 350), log(2, 11, 500, 550)],
    [online(1, 6, 550), online(2, 12, 550)],
    BOTH,
    history=[trace(1, 4, 400, 450)],
)  # fmt: skip


def test_every_missing_log_is_listed():
    found = missing_logs(Position(DBID, INC, Scn(100)), HOLED)

    assert [(m.thread, m.sequence, m.scns and (m.scns.start, m.scns.end)) for m in found] == [
        (1, 2, (200, 300)), (1, 4, (400, 450)), (2, 7, (50, 150)), (2, 9, (350, 500)), (2, 10, (350, 500)),
    ]  # fmt: skip
    assert [c.dest_id for c in found[0].copies] == [1, 2]
    assert "deleted" in found[0].why
    assert found[1].copies == ()


@pytest.mark.parametrize(("start", "left"), [(100, 5), (160, 4), (300, 3), (449, 3), (450, 2), (499, 2), (500, 0)])
def test_logs_before_the_position_are_not_missing(start, left):
    assert len(missing_logs(Position(DBID, INC, Scn(start)), HOLED)) == left


def test_the_next_complete_scn_is_after_the_last_missing_log():
    position = Position(DBID, INC, Scn(100))

    assert next_complete_scn(position, HOLED) == 500
    assert isinstance(plan_window(Position(DBID, INC, Scn(500)), HOLED, Limits()), Sealed)
    assert isinstance(plan_window(Position(DBID, INC, Scn(499)), HOLED, Limits()), Lost)


def test_the_next_complete_scn_is_the_position_if_nothing_is_missing():
    position = Position(DBID, INC, Scn(120))

    assert missing_logs(position, facts(ONE, [ON_1])) == ()
    assert next_complete_scn(position, facts(ONE, [ON_1])) == 120


def test_a_log_that_is_not_archived_yet_is_not_missing():
    control_file = facts([], [online(1, 1, 50, 200), online(1, 2, 200)])

    assert missing_logs(Position(DBID, INC, Scn(100)), control_file) == ()
    assert next_complete_scn(Position(DBID, INC, Scn(100)), control_file) == 100


def test_missing_logs_are_listed_across_a_resetlogs():
    control_file = turned(
        250, [ONE[0], log(1, 2, 200, 300, GONE), log(1, 1, 250, 400, GONE, inc=12), log(1, 2, 400, 500, inc=12)]
    )
    position = Position(DBID, INC, Scn(100))

    assert [(m.resetlogs_id, m.sequence) for m in missing_logs(position, control_file)] == [(INC, 2), (12, 1)]
    assert next_complete_scn(position, control_file) == 400
    assert incarnation_at(Scn(400), control_file).resetlogs_id == 12


def test_older_logs_that_no_view_shows_are_marked():
    (only,) = missing_logs(Position(DBID, INC, Scn(100)), facts([log(1, 8, 300, 400)], [online(1, 9, 400)]))

    assert (only.sequence, only.older_too, only.scns) == (7, True, None)


@pytest.mark.parametrize(
    ("dbid", "inc", "scn"),
    {"another database": (8, INC, 100), "undone by RESETLOGS": (DBID, 10, 100), "in the future": (DBID, INC, 99_999)}.values(),
)
def test_no_log_and_no_scn_helps_the_position(dbid, inc, scn):
    position = Position(dbid, inc, Scn(scn))
    control_file = facts(ONE, [ON_1], incarnations=(CURRENT, Incarnation(10, Scn(1), "ORPHAN", Scn(0))))

    assert next_complete_scn(position, control_file) is None
    assert missing_logs(position, control_file) == ()
