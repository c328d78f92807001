"""The choices after lost redo. Each case draws the logs of its threads over SCNs; x is a lost log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.errors import RedoLost, Terminal
from redolake.values.redo import Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window import Lost, missing_logs, plan_window
from redolake.window.recovery_options import checked_position, choices, gap_end, is_rewound, rman_commands, without

DBID = 7


def log(thread: int, sequence: int, first: int, end: int, gone: bool = False, resetlogs_id: int = 1) -> LogFile:
    status = "D" if gone else "A"
    copy = LogCopy(1, None if gone else f"/arch/{thread}_{sequence}.arc", status, deleted=gone)
    return LogFile(thread, sequence, resetlogs_id, Scn(first), Scn(end), (copy,), 10)


def online(thread: int, sequence: int, first: int, resetlogs_id: int = 1) -> LogFile:
    return LogFile(thread, sequence, resetlogs_id, Scn(first), None, (), 10)


def facts(*archived: LogFile, incarnations: tuple[Incarnation, ...] | None = None, current: int = 600) -> RedoFacts:
    line = incarnations or (Incarnation(1, Scn(1), "CURRENT", Scn(0)),)
    newest = line[-1].resetlogs_id
    numbers = sorted({g.thread for g in archived if g.resetlogs_id == newest})
    threads = tuple(RedoThread(n, True, "PUBLIC", None, None, None) for n in numbers)
    last = {
        n: max((g for g in archived if g.thread == n and g.resetlogs_id == newest), key=lambda g: g.sequence) for n in numbers
    }
    now = tuple(online(n, g.sequence + 1, int(g.next_scn or 0), newest) for n, g in last.items())
    return RedoFacts(DBID, Scn(current), threads, archived, now, line)


def at(scn: int, resetlogs_id: int = 1, dbid: int = DBID) -> Position:
    return Position(dbid, resetlogs_id, Scn(scn))


# thread 1  |-1-100|-2-200|x3-300|x4-400|-5-500|
# thread 2  |-1-150|x2-350|-3-500|
TWO_THREADS = facts(
    log(1, 1, 1, 100),
    log(1, 2, 100, 200),
    log(1, 3, 200, 300, gone=True),
    log(1, 4, 300, 400, gone=True),
    log(1, 5, 400, 500),
    log(2, 1, 1, 150),
    log(2, 2, 150, 350, gone=True),
    log(2, 3, 350, 500),
)
# incarnation 1  |-1-100|-2-200|-3-300| landed up to 300; RESETLOGS at 120: incarnation 2  |-1-120..250|-2-400|
REWOUND = facts(
    log(1, 1, 1, 100),
    log(1, 2, 100, 200),
    log(1, 3, 200, 300),
    log(1, 1, 120, 250, resetlogs_id=2),
    log(1, 2, 250, 400, resetlogs_id=2),
    incarnations=(Incarnation(1, Scn(1), "PARENT", Scn(0)), Incarnation(2, Scn(120), "CURRENT", Scn(1))),
    current=450,
)


def names(position: Position, known: RedoFacts) -> list[str]:
    return [c.name for c in choices("shop", position, known, missing_logs(position, known), gap_end(position, known))]


@pytest.mark.parametrize(
    ("position", "known", "offered"),
    [
        pytest.param(at(150), TWO_THREADS, ["restore", "snapshot", "gap", "position"], id="logs of both threads are lost"),
        pytest.param(at(300), REWOUND, ["snapshot", "gap", "position"], id="rewound: no log would help"),
        pytest.param(at(150, dbid=8), TWO_THREADS, ["connection", "new-pipeline"], id="another database"),
        pytest.param(
            at(9_000),
            TWO_THREADS,
            ["connection", "new-pipeline"],
            id="restored without RESETLOGS: it assigns the same SCNs again",
        ),
        pytest.param(
            at(150, 9), TWO_THREADS, ["connection", "new-pipeline"], id="restored to an older incarnation, without RESETLOGS"
        ),
    ],
)
def test_only_possible_choices_are_listed(position: Position, known: RedoFacts, offered: list[str]) -> None:
    assert isinstance(plan_window(position, known, Limits()), Lost)

    assert names(position, known) == offered


class Limits:
    max_bytes = slice_bytes = 1_000_000


def test_every_choice_has_a_cost_and_a_command() -> None:
    offered = choices("shop", at(150), TWO_THREADS, missing_logs(at(150), TWO_THREADS), at(400))

    assert all(c.costs and c.command.startswith("redolake recover -p shop ") for c in offered)


def test_the_choices_for_another_database_name_both_databases() -> None:
    found = choices("shop", at(150, dbid=8), TWO_THREADS, (), None)

    assert "to database 8" in found[0].what
    assert "with this database (7)" in found[1].what


def test_after_a_resetlogs_the_snapshot_is_advised_and_the_gap_names_the_rows_that_stay() -> None:
    by_name = {c.name: c for c in choices("shop", at(300), REWOUND, (), gap_end(at(300), REWOUND))}

    assert "advised" in by_name["snapshot"].what
    assert "stay in the tables" in by_name["gap"].costs
    assert "incarnation 2" in by_name["gap"].what


@pytest.mark.parametrize(
    ("position", "known", "window_end", "end"),
    [
        pytest.param(at(150), TWO_THREADS, None, at(400), id="after the last lost log of any thread"),
        pytest.param(at(150), TWO_THREADS, 450, at(450), id="and after the window that could not be mined"),
        pytest.param(at(300), REWOUND, None, at(120, 2), id="undone by RESETLOGS: from there on"),
        pytest.param(
            at(300), REWOUND, 320, at(120, 2), id="undone by RESETLOGS: a window of the old incarnation does not matter"
        ),
    ],
)
def test_a_gap_ends_where_the_redo_is_complete_again(
    position: Position, known: RedoFacts, window_end: int | None, end: Position
) -> None:
    assert gap_end(position, known, window_end) == end


@pytest.mark.parametrize(
    ("position", "scn", "known", "found"),
    [
        pytest.param(at(150), 400, TWO_THREADS, at(400), id="where the redo is complete"),
        pytest.param(at(150), 599, TWO_THREADS, at(599), id="after that"),
        pytest.param(at(300), 120, REWOUND, at(120, 2), id="below the landed SCN, in the incarnation that undid it"),
        pytest.param(at(300), 310, REWOUND, at(310, 2), id="in the new incarnation"),
    ],
)
def test_a_position_by_hand_gets_the_incarnation_that_continues_there(
    position: Position, scn: int, known: RedoFacts, found: Position
) -> None:
    assert checked_position(position, scn, known) == found


@pytest.mark.parametrize(
    ("position", "scn", "known", "error", "why"),
    [
        pytest.param(at(150), 150, TWO_THREADS, Terminal, "landed already", id="the position itself"),
        pytest.param(at(150), 90, TWO_THREADS, Terminal, "landed already", id="below the landed SCN"),
        pytest.param(at(300), 110, REWOUND, Terminal, "landed already", id="below the RESETLOGS: in the landed incarnation"),
        pytest.param(at(150), 350, TWO_THREADS, RedoLost, r"1 log\(s\) are missing", id="thread 1 still lacks a log there"),
        pytest.param(at(150), 601, TWO_THREADS, Terminal, "in the future", id="not written yet"),
        pytest.param(at(150, dbid=8), 400, TWO_THREADS, Terminal, "of database 8", id="another database"),
        pytest.param(at(9_000), 400, TWO_THREADS, Terminal, "has no redo after", id="restored without RESETLOGS"),
        pytest.param(at(120), 120, REWOUND, Terminal, "landed already", id="at a RESETLOGS, in the new incarnation"),
    ],
)
def test_a_position_before_the_landed_redo_or_before_lost_redo_is_refused(
    position: Position, scn: int, known: RedoFacts, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        checked_position(position, scn, known)


def test_a_refused_position_names_the_first_possible_scn() -> None:
    with pytest.raises(RedoLost) as refused:
        checked_position(at(150), 250, TWO_THREADS)

    assert "choose SCN 400" in refused.value.cure


def test_rman_restores_exactly_the_missing_logs_in_few_commands() -> None:
    assert rman_commands(missing_logs(at(150), TWO_THREADS), TWO_THREADS) == [
        "RESTORE ARCHIVELOG FROM SEQUENCE 3 UNTIL SEQUENCE 4 THREAD 1;",
        "RESTORE ARCHIVELOG SEQUENCE 2 THREAD 2;",
    ]


def test_logs_whose_records_aged_out_are_catalogued_first() -> None:
    aged = replace(
        TWO_THREADS,
        archived=tuple(g for g in TWO_THREADS.archived if (g.thread, g.sequence) not in ((1, 3), (1, 4), (2, 2))),
    )

    commands = rman_commands(missing_logs(at(150), aged), aged)

    assert commands[0].startswith("CATALOG START WITH '/arch/';")
    assert any(line.startswith("RESTORE ARCHIVELOG") and line.endswith("THREAD 2;") for line in commands)


def test_a_log_of_an_older_incarnation_is_restored_with_incarnation_all() -> None:
    # incarnation 1 |-1-100|x2-200| RESETLOGS at 200, incarnation 2 |-1-400|
    known = facts(
        log(1, 1, 1, 100),
        log(1, 2, 100, 200, gone=True),
        log(1, 1, 200, 400, resetlogs_id=2),
        incarnations=(Incarnation(1, Scn(1), "PARENT", Scn(0)), Incarnation(2, Scn(200), "CURRENT", Scn(1))),
    )

    assert rman_commands(missing_logs(at(100), known), known) == ["RESTORE ARCHIVELOG SEQUENCE 2 THREAD 1 INCARNATION ALL;"]
    assert gap_end(at(100), known) == at(200, 2)
    assert [is_rewound(at(scn), known) for scn in (100, 200, 201)] == [False, False, True]


def test_a_listed_log_whose_file_failed_counts_as_lost() -> None:
    # thread 1 |-1-100|-2-200|-3-300|, and no file of log 2 could be read
    known = facts(log(1, 1, 1, 100), log(1, 2, 100, 200), log(1, 3, 200, 300))

    assert [(m.thread, m.sequence) for m in missing_logs(at(100), without(known, [(1, 1, 2)]))] == [(1, 2)]
    assert gap_end(at(100), without(known, [(1, 1, 2)])) == at(200)
    assert missing_logs(at(100), known) == ()
