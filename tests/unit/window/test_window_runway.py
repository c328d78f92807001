"""The runway over drawn control files.

In the drawings a log is `sequence@hour`, the hour when it began; one hour is 100 SCNs, `x` is deleted, `~` a copy cut short,
`..` still open. Each archived log has 10 bytes. Now is hour 100, so `99..` has been open for an hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.values.redo import Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window.runway import ENOUGH, LOST, LOW, measure, state_of
from redolake.window.runway_findings import findings, headline

RESETLOGS = 11
BEGIN = datetime(2026, 11, 1)
NOW = 100


@dataclass(frozen=True)
class Limits:
    warn_below_hours: float = 12
    warn_below_bytes: int | None = None


def at(hour):
    return BEGIN + timedelta(hours=hour)


def redo(thread, drawing):
    """`5@10x 6@20~ 7@30..` -> (archived logs, online logs, V$LOG_HISTORY of those cut short)."""
    archived, online, history = [], [], []
    words = drawing.split()
    parsed = [(word.rstrip("x~."), word) for word in words]
    begins = [float(text.split("@")[1]) for text, _ in parsed]
    for n, (text, word) in enumerate(parsed):
        sequence, scn = int(text.split("@")[0]), Scn(int(begins[n] * 100))
        if word.endswith(".."):
            online.append(LogFile(thread, sequence, RESETLOGS, scn, None, (), 0, at(begins[n])))
            continue
        end = Scn(int(begins[n + 1] * 100))
        gone = word.endswith("x")
        if word.endswith("~"):
            history.append(LogFile(thread, sequence, RESETLOGS, scn, end))
            end = Scn(end - 1)
        copies = (LogCopy(1, None if gone else "/arch/x", "D" if gone else "A", gone),)
        archived.append(LogFile(thread, sequence, RESETLOGS, scn, end, copies, 10, at(begins[n])))
    return archived, online, history


def facts(*drawings, threads=None, current=NOW * 100):
    drawn = [redo(n, drawing) for n, drawing in enumerate(drawings, 1)]
    opened = threads or tuple(RedoThread(n, True, "PUBLIC", Scn(1), None, None, f"I{n}") for n in range(1, len(drawn) + 1))
    archived, online, history = (tuple(log for one in drawn for log in one[part]) for part in range(3))
    incarnations = (Incarnation(RESETLOGS, Scn(1), "CURRENT", Scn(0)),)
    return RedoFacts(7, Scn(current), opened, archived, online, incarnations, history)


def runway(hour, *drawings, **more):
    return measure(Position(7, RESETLOGS, Scn(int(hour * 100))), facts(*drawings, **more), at(NOW))


CASES = {
    # the position (hour) and the threads: hours left, of no limit, bytes left, state
    "caught up, the oldest log may be deleted at any moment": (90, ["5@10x 6@20 7@30 8@90.."], (70, False, 20, ENOUGH)),
    "behind: the needed log began ten hours after the second oldest": (
        41,
        ["5@10x 6@20 7@30 8@40 9@90.."],
        (10, False, 20, LOW),
    ),
    "the needed log is the next to be deleted": (31, ["5@10x 6@20 7@30 8@40 9@90.."], (0, False, 10, LOW)),
    "the needed log is the oldest": (21, ["5@10x 6@20 7@30 8@40 9@90.."], (0, False, 0, LOW)),
    "the needed log is deleted": (11, ["5@10x 6@20 7@30 8@40 9@90.."], (0, False, 0, LOST)),
    "a later log is deleted": (21, ["5@10x 6@20 7@30x 8@40 9@90.."], (0, False, 0, LOST)),
    "older logs before a hole do not count": (81, ["5@10 6@20x 7@30 8@60 9@80 10@90.."], (20, False, 20, ENOUGH)),
    "older logs before an incomplete copy do not count": (
        81,
        ["5@10 6@20~ 7@30 8@60 9@80 10@90.."],
        (20, False, 20, ENOUGH),
    ),
    "nothing was ever deleted": (31, ["1@10 2@20 3@30 4@90.."], (20, True, 20, ENOUGH)),
    "nothing was ever archived": (1, ["1@0.."], (100, True, 0, ENOUGH)),
    "caught up, and every archived log is deleted": (99, ["5@10x 6@20x 7@99.."], (0, False, 0, LOW)),
    "the thread that loses redo first counts": (
        81,
        ["5@10x 6@20 7@30 8@80 9@90..", "5@10x 6@70 7@75 8@80 9@90.."],
        (5, False, 40, LOW),
    ),
    "a thread from which nothing was deleted sets no limit": (
        81,
        ["5@10x 6@20 7@30 8@80 9@90..", "1@79 2@80 3@90.."],
        (50, False, 30, ENOUGH),
    ),
    "bytes count as far as the oldest log that any thread needs": (
        85,
        ["5@10x 6@20 7@30 8@90..", "5@10x 6@20 7@40 8@80 9@90.."],
        (0, False, 20, LOW),
    ),
    "a log that is only online cannot be deleted": (
        50,
        ["5@10x 6@20 7@30 8@50 9@90..", "5@10x 6@20 7@40 8@50.."],
        (20, False, 40, ENOUGH),
    ),
}


@pytest.mark.parametrize(("case", "expected"), [(c[:2], c[2]) for c in CASES.values()], ids=CASES)
def test_the_time_and_bytes_left(case, expected):
    found = runway(case[0], *case[1])

    assert expected == (found.hours_left, found.at_least, found.bytes_left, state_of(found, Limits()))


@pytest.mark.parametrize(("case", "verdict"), [(0, "long enough: 70.0 hours"), (1, "too short: 10.0 hours")])
def test_the_line_begins_with_whether_that_is_enough(case, verdict):
    hour, drawings, _ = list(CASES.values())[case]

    assert headline(runway(hour, *drawings), Limits()).startswith(f"the runway is {verdict} and 20 bytes of redo are left")


def test_a_position_ahead_of_the_database_is_lost():
    found = runway(NOW + 1, "5@10x 6@20 7@30 8@90..")

    assert state_of(found, Limits()) == LOST
    assert "is ahead of all" in found.lost.what


def test_a_closed_thread_that_is_fully_read_needs_nothing():
    threads = (RedoThread(1, True, "PUBLIC", Scn(1), None, None), RedoThread(2, False, "PUBLIC", Scn(4000), None, None))

    found = runway(90, "5@10x 6@20 7@30 8@90..", "5@10x 6@20x 7@40..", threads=threads)

    assert (found.hours_left, found.threads[1].hours_left) == (70, None)
    assert found.threads[1].needed is None


def test_too_few_bytes_are_a_warning_even_with_enough_hours():
    found = runway(90, "5@10x 6@20 7@30 8@90..")

    states = [state_of(found, Limits(12, size)) for size in (20, 21)]

    assert states == [ENOUGH, LOW]


def test_the_age_of_the_redo_at_the_position():
    found = runway(35, "5@10x 6@20 7@30 8@40 9@90..")

    assert (found.behind_hours, found.unread_bytes) == (70, 20)


def test_the_youngest_log_at_the_position_decides_its_age():
    assert runway(85, "5@10x 6@20 7@30 8@90..", "5@10x 6@20 7@40 8@80 9@90..").behind_hours == 20


def test_an_idle_thread_is_a_warning_while_redo_of_others_waits():
    found = runway(50, "5@10x 6@20 7@30 8@50 9@90..", "5@10x 6@20 7@40 8@50..")

    (held,) = found.blocking_threads
    (finding,) = findings(found, Limits(), 0, "shop")

    assert (held.thread, held.sequence, held.scn, held.hours, held.waiting_logs, held.waiting_bytes) == (2, 8, 5000, 50, 1, 10)
    assert (finding.severity, finding.subject) == ("warning", "redo thread 2")
    assert "its log 8, begun 50.0 hours ago, is still open, while 1 archived log(s) of other threads wait" in finding.what
    assert "ARCHIVE_LAG_TARGET = 300" in finding.cure


def test_an_open_log_that_archive_lag_target_will_switch_is_only_a_note():
    found = runway(90, "5@10x 6@20 7@90 8@99.5..", "5@10x 6@20 7@90..")

    severities = [findings(found, Limits(0), lag, "shop")[0].severity for lag in (0, None, 1800, 1801)]

    assert severities == ["warning", "warning", "note", "warning"]


def test_a_recently_switched_thread_is_not_idle():
    found = runway(99, "5@10x 6@20 7@99 8@99.8 9@99.9..", "5@10x 6@20 7@99 8@99.6..")

    assert [f.severity for f in findings(found, Limits(0), 0, "shop")] == ["note"]


def test_a_log_that_is_not_archived_holds_the_window_back():
    control = facts("5@10x 6@20 7@90 8@99..", "5@10x 6@20 7@90 8@99..")
    stuck = next(log for log in control.archived if (log.thread, log.sequence) == (2, 7))
    online = (*control.online, LogFile(2, 7, RESETLOGS, stuck.first_scn, stuck.next_scn, (), 0, stuck.first_at))
    late = RedoFacts(
        7, control.current_scn, control.threads, tuple(g for g in control.archived if g != stuck), online, control.incarnations
    )

    found = measure(Position(7, RESETLOGS, Scn(9000)), late, at(NOW))

    (finding,) = findings(found, Limits(0), 300, "shop")
    assert "its log 7, begun 10.0 hours ago, is switched but not archived" in finding.what
    assert "archiver" in finding.cure


def test_threads_that_reach_the_same_scn_hold_nothing_back():
    assert runway(90, "5@10x 6@20 7@30 8@90..", "5@10x 6@20 7@40 8@90..").blocking_threads == ()


def test_a_lost_log_is_reported_with_its_cure():
    found = runway(11, "5@10x 6@20 7@30 8@90..")

    (finding, *_) = findings(found, Limits(), 300, "shop")

    line = headline(found, Limits())
    assert line.startswith("redo is lost: ")
    assert "sequence 5 is not available" in line
    assert (finding.severity, "RESTORE ARCHIVELOG SEQUENCE 5 THREAD 1" in finding.cure) == ("error", True)


def test_the_lost_log_of_every_thread_is_reported():
    found = runway(11, "5@10x 6@20 7@30 8@90..", "4@10x 6@20 7@90..")

    texts = [finding.what for finding in findings(found, Limits(), 300, "shop")]

    assert [f"Redo Thread {n} is inconsistent" in what for n, what in enumerate(texts, 1)] == [True, True]


def test_a_position_undone_by_resetlogs_is_lost():
    control = facts("1@10 2@90..")
    line = (Incarnation(RESETLOGS, Scn(1), "PARENT", Scn(0)), Incarnation(12, Scn(500), "CURRENT", Scn(1)))
    found = measure(
        Position(7, RESETLOGS, Scn(9000)), RedoFacts(7, control.current_scn, control.threads, (), (), line), at(NOW)
    )

    assert (state_of(found, Limits()), found.hours_left) == (LOST, 0)


def test_a_warning_names_the_log_the_time_and_the_threshold():
    found = runway(41, "5@10x 6@20 7@30 8@40 9@90..")

    (finding,) = findings(found, Limits(12, 2048), 300, "shop")

    assert finding.what == (
        "log 8 is needed, and may be deleted in 10.0 hours, after 20 bytes of older redo (warns below 12 hours or 2.0 KiB)"
    )
    assert "shop_capture" in finding.cure


def test_the_rate_counts_deleted_logs_and_only_the_last_day():
    assert runway(99, "5@10x 6@80x 7@90 8@99..").bytes_per_hour == 20 / 20


def test_a_host_clock_that_was_set_back_gives_no_time():
    found = runway(110, "5@10x 6@95 7@120 8@110..", current=20_000)

    assert all((t.hours_left or 0) >= 0 for t in found.threads)


SPANS = st.lists(st.floats(0.1, 30), min_size=1, max_size=12)


@settings(max_examples=300)
@given(st.lists(SPANS, min_size=1, max_size=3), st.floats(0, 120), st.floats(0, 150))
def test_deletion_by_age_deletes_no_needed_log_within_the_time_left(spans, age, hour):
    """Logs are deleted by age of completion, like RMAN's COMPLETED BEFORE. The test knows the age, the runway does not."""
    drawings = []
    for of_thread in spans:
        total = sum(of_thread)
        begins = [NOW - total + sum(of_thread[:n]) for n in range(len(of_thread))]
        ends = [*begins[1:], NOW]
        # The last one is the current log; the first sequence is 2, so that an older one was there.
        words = [f"{n + 2}@{b + 1000}{'x' if e < NOW - age else ''}" for n, (b, e) in enumerate(zip(begins, ends, strict=True))]
        drawings.append(" ".join([*words[:-1], words[-1].rstrip("x") + ".."]))
    now = NOW + 1000
    position = Scn(int((now - hour) * 100))
    found = measure(Position(7, RESETLOGS, position), facts(*drawings, current=now * 100), at(now))
    if found.lost is not None or found.hours_left is None:
        return

    for thread, drawing in zip(found.threads, drawings, strict=True):
        archived, online, _ = redo(thread.thread, drawing)
        logs = [*archived, *online]
        for log, after in zip(logs, [*logs[1:], None], strict=True):
            is_needed = log.next_scn is None or log.next_scn > position
            completed = at(now) if after is None else after.first_at  # a current log is completed now at the earliest
            deleted_at = completed + timedelta(hours=age)
            if is_needed:
                assert deleted_at >= at(now) + timedelta(hours=found.hours_left) - timedelta(seconds=1)
            elif not log.copies or log.claimed:
                assert deleted_at >= at(now) - timedelta(seconds=1)  # the drawing is right


@settings(max_examples=200)
@given(SPANS, st.sets(st.integers(2, 13)), st.floats(0, 150))
def test_the_runway_never_exceeds_the_complete_redo(spans, gone, hour):
    total = sum(spans)
    begins = [NOW + 1000 - total + sum(spans[:n]) for n in range(len(spans))]
    words = [f"{n + 2}@{b}{'x' if n + 2 in gone else ''}" for n, b in enumerate(begins)]
    drawing = " ".join([*words[:-1], words[-1].rstrip("x") + ".."])
    now = NOW + 1000
    position = int((now - hour) * 100)
    found = measure(Position(7, RESETLOGS, Scn(position)), facts(drawing, current=now * 100), at(now))

    archived, (current,), _ = redo(1, drawing)
    whole = [current]
    for log in reversed(archived):
        if not log.claimed:
            break
        whole.insert(0, log)
    needed = [log for log in (*archived, current) if log.next_scn is None or log.next_scn > position]
    if position < needed[0].first_scn or needed[0] not in whole:
        assert (found.lost is None, found.hours_left, found.bytes_left) == (False, 0, 0)
    else:
        assert found.lost is None
        assert found.hours_left <= (at(now) - whole[0].first_at).total_seconds() / 3600
        assert found.bytes_left == 10 * (len(whole) - len(needed))
