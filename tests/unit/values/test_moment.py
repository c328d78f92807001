"""An end of a range, as people write it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from redolake.values.moment import AtWindow, parse_moment

WINDOW = "0000000001-00000000000000002000-00000000000000002100"
EIGHT = datetime(2026, 11, 20, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2000123", 2000123),
        (" 7 ", 7),
        ("first", "first"),
        ("now", "now"),
        (WINDOW, AtWindow(WINDOW)),
        ("2026-11-20 08:00 UTC", EIGHT),
        ("2026-11-20T08:00:00Z", EIGHT),
        ("2026-11-20 09:00 Europe/Berlin", EIGHT),
        ("2026-11-20T09:00+01:00", EIGHT),
        ("2026-11-20 03:00:00 -05:00", EIGHT),
        ("2026-10-25 02:30+02:00", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
    ],
)
def test_an_end_of_a_range_is_an_scn_a_time_an_edge_or_a_window(text, moment):
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", "is not an SCN, a time with its zone"),
        ("-5", "is not an SCN"),
        ("٣", "is not an SCN"),
        ("2026-11-20 08:00", "has no zone: write `2026-11-20 08:00 UTC`"),
        ("2026-11-20 25:00 UTC", "is no time"),
        ("0001-01-01 00:00 Europe/Berlin", "is no time: in UTC it is before the year 1"),
        ("9999-12-31 23:59-12:00", "is no time: in UTC it is before the year 1 or after 9999"),
        ("9223372036854775808", "is no SCN: they end at 9223372036854775807"),
        ("9" * 5000, "is no SCN"),
        ("2026-11-20 08:00 Europe/Nowhere", "no time zone 'Europe/Nowhere' is known here"),
        (
            "2026-10-25 02:30 Europe/Berlin",
            r"is there twice in Europe/Berlin, as 2026-10-25 00:30 UTC \(\+02:00\) and as 2026-10-25 01:30 UTC \(\+01:00\), "
            r".*: write `2026-10-25 02:30\+02:00` or `2026-10-25 02:30\+01:00`",
        ),
        (
            "2026-03-29 02:30 Europe/Berlin",
            r"does not exist in Europe/Berlin, .* write `2026-03-29 01:30\+01:00` or `2026-03-29 03:30\+02:00`",
        ),
        ("2026-11-01 01:30 America/New_York", r"as 2026-11-01 05:30 UTC \(-04:00\) and as 2026-11-01 06:30 UTC \(-05:00\)"),
    ],
)
def test_a_text_that_means_no_moment_or_two_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_moment(text)
