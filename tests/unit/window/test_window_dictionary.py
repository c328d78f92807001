"""A window mined with a dictionary in the redo needs all logs from that dictionary on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.errors import NoDictionaryInRedo
from redolake.steps.shared import redo_dictionary
from redolake.values.redo import RedoDictionary, Window
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.window import newest_before, with_dictionary
from tests.unit.window.drawn import DBID, GONE, INC, closed, facts, log, online, opened, plan

ONE = [log(1, n, 100 * n, 100 * n + 100) for n in (1, 2, 3, 4)]
ON_1 = online(1, 5, 500)


def dictionary(begin, end, inc=INC):
    return RedoDictionary(1, inc, begin // 100, end // 100 - 1, Scn(begin), Scn(end))


def test_the_newest_dictionary_that_ends_before_the_window_is_chosen():
    found = [dictionary(100, 200), dictionary(200, 300), dictionary(300, 400), dictionary(250, 290, inc=INC + 1)]

    assert newest_before(found, ChainPosition(INC, Scn(300))) == found[1]
    assert newest_before(found[::-1], ChainPosition(INC, Scn(399))) == found[1]
    assert newest_before(found, ChainPosition(INC + 1, Scn(300))) == found[3]


def test_no_dictionary_before_the_window_is_an_error():
    with pytest.raises(NoDictionaryInRedo, match="no archived log before the window contains a complete dictionary") as none:
        newest_before([dictionary(200, 300)], ChainPosition(INC, Scn(299)))

    assert none.value.where == {"scn": 299}
    assert "DBMS_LOGMNR_D.BUILD" in none.value.cure


def test_where_a_window_reads_older_redo_the_dictionary_is_from_before_that(monkeypatch):
    """As LogMiner's first window after another reader does. LogMiner shows no row from before its dictionary."""
    begins = []
    monkeypatch.setattr(redo_dictionary, "dictionary_for", lambda pipeline, oracle, position: begins.append(position))
    window = Window(DBID, INC, ScnRange(Scn(300), Scn(400)), ())

    redo_dictionary.with_its_dictionary(None, None, window)
    redo_dictionary.with_its_dictionary(None, None, replace(window, reads_from=Scn(150)))

    assert begins == [ChainPosition(INC, Scn(300)), ChainPosition(INC, Scn(150))]


def test_a_window_has_the_logs_of_all_threads_from_its_dictionary_to_its_end():
    # archived 1  |--1--|--2--|--3--|--4--|      the dictionary is in log 2, the window is [300, 400)
    # archived 2  |--6-----|----7-----|          log 7 ends at the window's end
    logs = [*ONE, log(2, 6, 100, 250), log(2, 7, 250, 400), log(2, 8, 400, 500)]
    control_file = facts(logs, [ON_1, online(2, 9, 500)], [opened(1), opened(2)])
    window = plan(facts([*logs[:3], *logs[4:6]], [online(1, 4, 400), online(2, 8, 400)], [opened(1), opened(2)]), 300).window
    assert window.scns.end == 400

    found = with_dictionary(window, dictionary(200, 300), control_file)

    assert [(g.thread, g.sequence) for g in found.dictionary_logs] == [(1, 2), (1, 3), (2, 6), (2, 7)]
    of_other = with_dictionary(window, replace(dictionary(100, 250), thread=2), control_file)
    assert [(g.thread, g.sequence) for g in of_other.dictionary_logs] == [(2, 6), (2, 7), (1, 1), (1, 2), (1, 3)]
    assert (found.scns, found.slices, found.dbid) == (window.scns, window.slices, DBID)


LACKING = {
    "lost": (
        [ONE[0], log(1, 2, 200, 300, GONE), *ONE[2:]],
        "Redo Thread 1 is inconsistent; an archive log with sequence 2 is not available",
    ),
    "not archived yet": ([ONE[0], *ONE[2:]], "redo thread 1: log 2 is switched but not archived yet"),
}


@pytest.mark.parametrize(("logs", "why"), LACKING.values(), ids=LACKING)
def test_each_log_since_the_dictionary_must_be_there(logs, why):
    shown = [online(1, 2, 200, 300), ON_1] if len(logs) == 3 else [ON_1]
    window = plan(facts(logs, shown), 300).window

    with pytest.raises(NoDictionaryInRedo) as lacking:
        with_dictionary(window, dictionary(200, 300), facts(logs, shown))

    assert (
        lacking.value.what == f"LogMiner needs all redo from log 2 of redo thread 1, with the dictionary, to the window: {why}"
    )
    assert lacking.value.where == {"thread": 1, "sequence": 2, "scn": 200}
    assert lacking.value.cure.startswith("restore the missing logs, or run BEGIN DBMS_LOGMNR_D.BUILD")


def test_a_thread_that_was_not_switched_since_the_dictionary_is_named():
    control_file = facts(ONE, [ON_1, online(2, 1, 90)], [opened(1), closed(2, 250)])
    window = plan(facts(ONE, [ON_1]), 300).window

    with pytest.raises(NoDictionaryInRedo, match="redo thread 2: log 1 is not switched, although the thread is closed"):
        with_dictionary(window, dictionary(200, 300), control_file)


def test_a_dictionary_of_another_database_leads_to_no_window():
    window = plan(facts(ONE, [ON_1]), 300).window

    with pytest.raises(NoDictionaryInRedo, match="the connection reaches database 8"):
        with_dictionary(window, dictionary(200, 300), facts(ONE, [ON_1], dbid=DBID + 1))
