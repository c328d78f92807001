"""What a person sees while something takes long."""

from __future__ import annotations

import threading
import time

import pytest

from redolake.cli import output
from redolake.host import progress
from redolake.host.progress import Progress, count_rows
from tests.support.waiting import wait_until

DEADLINE_SECONDS = 20


class Rows:
    def __init__(self, number):
        self.number = number

    def num_rows(self):
        return self.number


def test_rows_are_said_with_their_rate_and_the_time_left_each_ten_seconds(monkeypatch):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    said, recorded = [], []

    for _ in count_rows([Rows(100)] * 5, "rows of SHOP.T", said.append, 1000, recorded.append):
        pass

    lines = [line for line in said if line]
    assert lines == recorded
    assert len(lines) == 2
    assert all(line.startswith("rows of SHOP.T: ") for line in lines)
    assert lines[-1].total == 1000
    assert " of some 1,000 (" in lines[-1]
    assert " a second, some " in lines[-1]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Progress("", "rows", 120_000, 500_000, 30.0), "120,000 of some 500,000 (24 %), 4,000 a second, some 1 min 35 s left"),
        (Progress("", "rows", 7, None, 2.0), "7, 4 a second"),
        (Progress("", "rows", 0, 10, 0.0), "0 of some 10 (0 %)"),
    ],
)
def test_amounts(found, text):
    assert found.amounts == text


def test_ten_seconds_of_silence_end_in_a_line_that_says_what_is_going_on(monkeypatch, capsys):
    monkeypatch.setattr(output, "SILENT_SECONDS", 0.01)
    seen = ""

    with output.progress() as report:
        report("merging SHOP.T")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while seen.count(" since: merging SHOP.T\n") < 2:
            assert time.monotonic() < deadline, seen
            seen += capsys.readouterr().err
            report("")  # work that is counted says nothing

    monkeypatch.setattr(output, "SILENT_SECONDS", 1000)
    with output.progress() as report:
        report("merged")
    assert capsys.readouterr().err.splitlines()[-1] == "merged"


def test_a_log_of_a_long_wait_gets_fewer_lines_the_longer_it_lasts_and_soon_one_again_after_news(monkeypatch, capsys):
    """`redolake run --follow` writes for days into a log."""
    waited, news = [], iter([False] * 9 + [True, False, False])

    class Event(threading.Event):
        def wait(self, seconds=None):
            waited.append(seconds)
            is_news = next(news, None)
            return super().wait() if is_news is None else is_news

    monkeypatch.setattr(output, "Event", Event)
    with output.broken_silence():
        wait_until(lambda: len(waited) >= 13, DEADLINE_SECONDS, 0.001, "thirteen waits")

    assert waited == [10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 10, 20, 40]
    assert capsys.readouterr().err.count(" since: the beginning\n") == 11
