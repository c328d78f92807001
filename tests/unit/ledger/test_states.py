"""The moves between states."""

from __future__ import annotations

from typing import get_args

import pytest

from redolake.ledger.states import (
    BATCH,
    LANDED,
    TABLE,
    WINDOW,
    BatchState,
    TableState,
    WindowState,
    check_moves,
)

MACHINES = [(WINDOW, WindowState), (TABLE, TableState), (BATCH, BatchState)]


@pytest.mark.parametrize(("moves", "states"), MACHINES, ids=["window", "table", "batch"])
def test_moves_begin_and_end_in_known_states(moves, states):
    assert set(moves) == set(get_args(states))
    assert {to for targets in moves.values() for to in targets} <= set(moves)


def test_a_landed_window_is_never_planned_or_abandoned_again():
    reached, open_ = set(), set(LANDED)
    while open_:
        state = open_.pop()
        reached.add(state)
        open_ |= WINDOW[state] - reached

    assert reached == LANDED
    assert "planned" not in reached


def test_an_applied_batch_stays_applied():
    assert BATCH["applied"] == frozenset()


@pytest.mark.parametrize(
    ("from_states", "to"),
    [
        (("planned",), "applied"),
        (("landed",), "planned"),
        (("landed",), "abandoned"),
        (("planned", "applied"), "landed"),
        ((), "landed"),
        (("x",), "landed"),
    ],
)
def test_a_move_outside_the_table_is_an_error(from_states, to):
    with pytest.raises(ValueError, match="move"):
        check_moves(WINDOW, from_states, to)
