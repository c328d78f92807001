"""The ends of a range, as SCNs: by an SCN, a time, an edge of what has landed, or a window."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipelines.records.windows import WindowManifest
from pipelines.steps.range_ends import RangeEnd, scn_of
from pipelines.values.moment import parse_moment

WINDOWS = [WindowManifest(7, 1, start, start + 100, (), (), {}, "", (), ()) for start in (100, 200, 300)]
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
