"""The ends of a range, as SCNs: by an SCN, a time, an edge of what has landed, or a window."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from redolake.records.windows import LogIdentity, WindowManifest
from redolake.steps.ranges.range_ends import RangeEnd, end_of, scn_of
from redolake.values.moment import parse_moment

WINDOWS = [
    WindowManifest(7, 1, start, start + 100, (LogIdentity(1, start // 100, 1, start, start + 100),), (), {}, "", (), ())
    for start in (100, 200, 300)
]
TIMES = {
    window.end_position: datetime(2026, 11, 20, hour, tzinfo=UTC) for window, hour in zip(WINDOWS, (8, 9, 10), strict=True)
}


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [
        ("150", 150, 150),
        ("first", 100, 100),
        ("now", 400, 400),
        (WINDOWS[1].name, 200, 300),
        ("2026-11-20 08:00 UTC", 200, 200),
        ("2026-11-20 08:30 UTC", 200, 300),
        ("2026-11-20 10:30+01:00", 300, 400),
    ],
)
def test_a_range_by_time_has_every_window_in_which_it_begins_and_ends(asked, first, end):
    moment = parse_moment(asked)

    assert [scn_of(moment, WINDOWS, TIMES, is_last=is_last) for is_last in (False, True)] == [first, end]


def test_a_range_by_time_begins_early_enough_where_no_log_begins_at_the_end_of_a_window():
    """The time of such an end is that of an older log: the window ended later than it says."""
    cut = [
        replace(WINDOWS[0], logs=(LogIdentity(1, 1, 1, 100, 150), LogIdentity(1, 2, 1, 150, 230))),
        replace(WINDOWS[1], logs=(LogIdentity(1, 2, 1, 150, 230), LogIdentity(1, 3, 1, 230, 300))),
        WINDOWS[2],
    ]
    times = ["2026-11-20 08:30 UTC", "2026-11-20 09:30 UTC", "2026-11-20 10:30 UTC"]
    begins = [scn_of(parse_moment(time), cut, TIMES, is_last=False) for time in times]

    assert begins == [150, 300, 300], "by the last time nothing tells that more than the last log had begun"


@pytest.mark.parametrize(
    ("asked", "windows", "times", "is_last", "said"),
    [
        ("first", [], {}, False, "nothing has landed yet"),
        ("0000000001-00000000000000000100-00000000000000000900", WINDOWS, TIMES, True, "no window .* has landed"),
        ("2026-11-20 07:00 UTC", WINDOWS, TIMES, False, "before the end of the first window, 2026-11-20 08:00:00 UTC"),
        ("2026-11-20 11:00 UTC", WINDOWS, TIMES, True, "has not landed yet: the last window ended at 2026-11-20 10:00:00 UTC"),
        ("2026-11-20 09:00 UTC", WINDOWS, {}, True, "no time of a landed window is known"),
    ],
)
def test_an_end_that_the_landed_windows_do_not_show_is_refused(asked, windows, times, is_last, said):
    with pytest.raises(ValueError, match=said):
        scn_of(parse_moment(asked), windows, times, is_last=is_last)


def test_an_end_is_shown_as_scn_and_time_and_as_it_was_asked_for():
    assert str(RangeEnd("2026-11-20 09:00 Europe/Berlin", 200, "2026-11-20T08:00:00+00:00")) == (
        "SCN 200 (by 2026-11-20 08:00:00 UTC), for 2026-11-20 09:00 Europe/Berlin"
    )
    assert str(RangeEnd("200", 200)) == "SCN 200"


def asked(scn, *, at="2026-11-20 09:30 UTC", why=None):
    """Return both ends of a range from and to a time, for which the database answers `scn`."""
    heard, findings = [], []

    def clock(time):
        heard.append(time)
        return why if why is not None else (scn, time)

    context = SimpleNamespace(
        ledger=SimpleNamespace(end_times=lambda _: TIMES, time_written=lambda _: None), landing=SimpleNamespace(pruned=None)
    )
    ends = [end_of(context, WINDOWS, at, is_last, findings, clock) for is_last in (False, True)]
    return ends, heard, findings


def test_the_database_is_asked_for_times_around_the_range_so_that_it_has_every_commit_of_its_time():
    (first, last), heard, _ = asked(350)

    assert (first.scn, first.by, last.scn, last.by) == (350, "database", 350, "database")
    assert [time.strftime("%H:%M:%S") for time in heard] == ["09:29:57", "09:30:03"]
    assert str(first) == "SCN 350 (2026-11-20 09:29:57 UTC by the database), for 2026-11-20 09:30 UTC"


@pytest.mark.parametrize("scn", [299, 401])
def test_an_scn_that_has_landed_with_another_time_is_not_believed_and_whole_windows_are_taken(scn):
    (first, last), _, _ = asked(scn)

    assert (first.scn, first.by, last.scn, last.by) == (300, "windows", 400, "windows")


def test_a_time_that_the_database_no_longer_knows_takes_whole_windows_and_says_why():
    (first, last), _, _ = asked(0, why="the database does not know its SCN any more")

    assert (first.scn, last.scn) == (300, 400)
    assert str(first).endswith("for 2026-11-20 09:30 UTC (by the landed windows: the database does not know its SCN any more)")


def test_a_time_that_neither_the_database_nor_a_window_knows_is_refused_with_both_reasons():
    _, _, findings = asked(0, at="2026-11-20 07:00 UTC", why="the database could not be asked: no listener")

    assert "before the end of the first window" in findings[0].what
    assert findings[0].what.endswith("; the database could not be asked: no listener")


def test_a_time_in_the_future_is_refused_before_the_database_is_asked():
    ends, heard, findings = asked(250, at="2199-11-20 07:00 UTC")

    assert (ends, heard) == ([None, None], [])
    assert "2199-11-20 07:00:00 UTC is in the future: it is " in findings[0].what
