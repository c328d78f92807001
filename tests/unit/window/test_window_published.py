"""Rows of V$THREAD, V$ARCHIVED_LOG and V$LOG that others published from real databases, through the gate."""

from __future__ import annotations

from typing import Any

import pytest

from redolake.values.redo import Incarnation, LogFile, Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window import NothingNew, Sealed, plan_window
from tests.unit.window.drawn import DBID, INC, Limits, copy, facts, log, online, plan

# A two-node cluster of 19c whose first instance is shut down and started again: Debezium's test of DBZ-8724, whose rows are a
# user's. The closed thread's checkpoint is where its last but one log ends; a log of two SCNs was archived after that.
ENABLED = 6637653211188
RUNNING = RedoThread(1, True, "PUBLIC", Scn(6642813012960), Scn(ENABLED), None)
CLOSED = RedoThread(1, False, "PUBLIC", Scn(6642814020839), Scn(ENABLED), None)
REOPENED = RedoThread(1, True, "PUBLIC", Scn(6642815622350), Scn(ENABLED), None)
SECOND = RedoThread(2, True, "PUBLIC", Scn(6642813832998), Scn(ENABLED), None)
FIRST_LOGS = [
    log(1, 16546, 6642813012960, 6642813833063),
    log(1, 16547, 6642813833063, 6642814020839),
    log(1, 16548, 6642814020839, 6642814020841),
    log(1, 16549, 6642815622343, 6642815622349),
]
SECOND_LOGS = [log(2, 14690, 6642813791980, 6642813832998), log(2, 14691, 6642813832998, 6642814021033)]
SHUTDOWN: dict[str, tuple[Any, int, int, list[tuple[int, int]]]] = {
    "both instances run": (
        facts(
            [FIRST_LOGS[0], SECOND_LOGS[0]], [online(1, 16547, 6642813833063), online(2, 14691, 6642813832998)],
            [RUNNING, SECOND], current=6642813838620,
        ),
        6642813791980, 6642813832998, [(1, 16546), (2, 14690)],
    ),
    "the first is shut down": (
        facts([*FIRST_LOGS[:3], *SECOND_LOGS], [online(2, 14692, 6642814021033)], [CLOSED, SECOND], current=6642814022373),
        6642813832998, 6642814021033, [(1, 16546), (1, 16547), (1, 16548), (2, 14691)],
    ),
    "the first runs again": (
        facts(
            [*FIRST_LOGS, *SECOND_LOGS], [online(1, 16550, 6642815622349), online(2, 14692, 6642814021033)],
            [REOPENED, SECOND], current=6642815624060,
        ),
        6642813832998, 6642814021033, [(1, 16546), (1, 16547), (1, 16548), (2, 14691)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("control_file", "position", "end", "logs"), SHUTDOWN.values(), ids=SHUTDOWN)
def test_redo_of_an_instance_that_stops_and_starts_is_sealed_whole(
    control_file: RedoFacts, position: int, end: int, logs: list[tuple[int, int]]
) -> None:
    found = plan(control_file, position, Limits(10**9, 10**9))

    assert isinstance(found, Sealed)
    assert int(found.window.scns.end) == end
    assert [(one.thread, one.sequence) for piece in found.window.slices for one in piece.logs] == logs


def test_nothing_is_sealed_while_the_other_instance_has_not_archived() -> None:
    control_file = SHUTDOWN["the first runs again"][0]

    assert isinstance(plan(control_file, 6642814021033, Limits(10**9, 10**9)), NothingNew)


# The headers of two archived logs of Free 23 (rophy/OpenLogReplicator, arch1_15_1224959854.dbf and arch1_16_1224959854.dbf) and
# the incarnations of that database: sequence, FIRST_CHANGE#, NEXT_CHANGE#, blocks of 512 bytes.
RESETLOGS_ID, RESETLOGS_SCN = 1224959854, 2061806
FREE_23 = [(15, 2266630, 2267717, 598), (16, 2267717, 2267723, 10)]
INCARNATIONS = (
    Incarnation(1222743579, Scn(1), "PARENT", Scn(0)),
    Incarnation(RESETLOGS_ID, Scn(RESETLOGS_SCN), "CURRENT", Scn(1)),
)


def test_the_logs_of_a_fresh_database_are_sealed() -> None:
    archived = [
        LogFile(1, sequence, RESETLOGS_ID, Scn(first), Scn(end), (copy(),), blocks * 512)
        for sequence, first, end, blocks in FREE_23
    ]
    current = LogFile(1, 17, RESETLOGS_ID, Scn(2267723), None)
    thread = RedoThread(1, True, "PUBLIC", Scn(2266630), Scn(RESETLOGS_SCN), None)
    control_file = RedoFacts(DBID, Scn(2267730), (thread,), tuple(archived), (current,), INCARNATIONS)
    found = plan_window(Position(DBID, RESETLOGS_ID, Scn(2266634)), control_file, Limits(10**9, 10**9))

    assert isinstance(found, Sealed)
    assert (int(found.window.scns.start), int(found.window.scns.end)) == (2266634, 2267723)
    assert [one.sequence for piece in found.window.slices for one in piece.logs] == [15, 16]
    assert INC != RESETLOGS_ID


# An instance was restarted in production (estuary/connectors, commit 7803fedbb): sequences go on, SCNs have a gap.
def test_a_gap_of_scns_between_consecutive_sequences_is_no_hole() -> None:
    logs = [log(1, 7, 1000, 2000), log(1, 8, 2050, 3000)]
    found = plan(facts(logs, [online(1, 9, 3000)]), 1500, Limits(10**9, 10**9))

    assert isinstance(found, Sealed)
    assert (int(found.window.scns.end), [one.sequence for piece in found.window.slices for one in piece.logs]) == (3000, [7, 8])
