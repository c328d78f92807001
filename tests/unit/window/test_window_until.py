"""Windows that fill a declared gap, from logs that are back. Each case draws logs over SCNs; x is a lost log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from redolake.values.redo import Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window import Lost, Sealed
from redolake.window.until import end_of, has_reached, missing_until, plan_all, plan_until, with_offered

DBID = 7


@dataclass(frozen=True, slots=True)
class Limits:
    max_bytes: int = 1000
    slice_bytes: int = 1000


def log(thread: int, sequence: int, first: int, end: int, *, gone: bool = False, name: str = "/arch/x") -> LogFile:
    copy = LogCopy(1, None if gone else name, "D" if gone else "A", deleted=gone)
    return LogFile(thread, sequence, 1, Scn(first), Scn(end), (copy,), 10)


def facts(*archived: LogFile) -> RedoFacts:
    threads = tuple(RedoThread(n, True, "PUBLIC", None, None, None) for n in sorted({g.thread for g in archived}))
    last = {n.number: max((g for g in archived if g.thread == n.number), key=lambda g: g.sequence) for n in threads}
    now = tuple(LogFile(n, g.sequence + 1, 1, g.next_scn or Scn(0), None, (), 10) for n, g in last.items())
    return RedoFacts(DBID, Scn(900), threads, archived, now, (Incarnation(1, Scn(1), "CURRENT", Scn(0)),))


def at(scn: int) -> Position:
    return Position(DBID, 1, Scn(scn))


# thread 1  |-1-100|-2-200|-3-300|-4-400|x5-500|-6-600|
# thread 2  |-1-150|-2-350|-3-500|-4-600|
BACK = facts(
    log(1, 1, 1, 100),
    log(1, 2, 100, 200),
    log(1, 3, 200, 300),
    log(1, 4, 300, 400),
    log(1, 5, 400, 500, gone=True),
    log(1, 6, 500, 600),
    log(2, 1, 1, 150),
    log(2, 2, 150, 350),
    log(2, 3, 350, 500),
    log(2, 4, 500, 600),
)


def test_windows_fill_a_gap_exactly_and_a_log_that_is_lost_after_it_does_not_matter() -> None:
    found = [one.window for one in plan_all(at(100), at(330), BACK, Limits(max_bytes=30)) if isinstance(one, Sealed)]

    assert (found[0].scns.start, found[-1].scns.end) == (100, 330)
    assert all(before.scns.end == after.scns.start for before, after in pairwise(found))
    read = {(log.thread, log.sequence) for window in found for piece in window.slices for log in piece.logs}
    assert {(1, 2), (1, 3), (1, 4), (2, 1), (2, 2)} <= read
    assert (2, 3) not in read, "it begins after the gap"
    assert [piece.number for piece in found[-1].slices] == list(range(len(found[-1].slices)))
    assert has_reached(end_of(found[-1]), at(330), BACK)
    assert missing_until(at(100), at(330), BACK) == ()


def test_a_log_that_is_still_lost_in_the_gap_is_named_and_ends_the_plan() -> None:
    decisions = list(plan_all(at(300), at(600), BACK, Limits()))

    assert isinstance(decisions[-1], Lost)
    assert [(log.thread, log.sequence) for log in missing_until(at(300), at(600), BACK)] == [(1, 5)]
    assert missing_until(at(300), at(400), BACK) == ()


def test_a_file_that_no_view_lists_fills_the_hole() -> None:
    offered = log(1, 5, 400, 500, name="/tape/1_5.arc")
    known = with_offered(BACK, [offered])

    found = plan_until(at(400), at(500), known, Limits())

    assert isinstance(found, Sealed)
    names = {copy.name for piece in found.window.slices for one in piece.logs for copy in one.claimed}
    assert "/tape/1_5.arc" in names


def test_a_file_that_says_other_scns_than_a_log_that_is_there_is_left_out() -> None:
    other = replace(log(1, 6, 500, 600, name="/tape/other"), next_scn=Scn(700))

    known = with_offered(BACK, [other])

    assert known == replace(BACK, archived=tuple(sorted(BACK.archived, key=lambda g: (g.thread, g.sequence))))


# thread 1  |-1-100|-2-250|  RESETLOGS at 250  |-1-300|-2-400|
ACROSS = replace(
    BACK,
    threads=(RedoThread(1, True, "PUBLIC", None, None, None),),
    archived=(
        log(1, 1, 1, 100),
        log(1, 2, 100, 250),
        replace(log(1, 1, 250, 300), resetlogs_id=2),
        replace(log(1, 2, 300, 400), resetlogs_id=2),
    ),
    online=(LogFile(1, 3, 2, Scn(400), None, (), 10),),
    incarnations=(Incarnation(1, Scn(1), "PARENT", Scn(0)), Incarnation(2, Scn(250), "CURRENT", Scn(1))),
)


def test_a_gap_across_a_resetlogs_has_windows_of_both_incarnations_and_none_of_two() -> None:
    end = Position(DBID, 2, Scn(330))
    found = [one.window for one in plan_all(at(50), end, ACROSS, Limits()) if isinstance(one, Sealed)]

    shown = [(window.resetlogs_id, int(window.scns.start), int(window.scns.end)) for window in found]
    assert shown == [(1, 50, 250), (2, 250, 330)]
    assert all(g.resetlogs_id == window.resetlogs_id for window in found for piece in window.slices for g in piece.logs)
    assert has_reached(end_of(found[-1]), end, ACROSS)


def test_a_log_of_the_older_incarnation_that_is_lost_ends_the_plan_and_is_named() -> None:
    gone = tuple(replace(g, copies=log(1, 2, 100, 250, gone=True).copies) if g.first_scn == 100 else g for g in ACROSS.archived)
    end = Position(DBID, 2, Scn(330))
    lost = replace(ACROSS, archived=gone)

    assert isinstance(list(plan_all(at(100), end, lost, Limits()))[-1], Lost)
    assert [(g.resetlogs_id, g.sequence) for g in missing_until(at(100), end, lost)] == [(1, 2)]
