"""The states of windows, tables and batches, and every move between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

WindowState = Literal["planned", "landed", "applied", "abandoned"]
TableState = Literal["new", "snapshotting", "live", "held"]
BatchState = Literal["prepared", "applied"]

Moves = Mapping[str, frozenset[str]]

WINDOW: Moves = {
    "planned": frozenset({"landed", "abandoned"}),
    "landed": frozenset({"applied"}),
    "applied": frozenset(),
    "abandoned": frozenset({"planned", "landed"}),  # the run of an older plan may still be the one that lands
}
TABLE: Moves = {
    "new": frozenset({"snapshotting", "live", "held"}),
    "snapshotting": frozenset({"new", "live", "held"}),
    "live": frozenset({"snapshotting", "held"}),
    "held": frozenset({"new", "snapshotting", "live"}),
}
BATCH: Moves = {
    "prepared": frozenset({"applied"}),
    "applied": frozenset(),
}

LANDED: frozenset[str] = frozenset({"landed", "applied"})


def check_moves(moves: Moves, from_states: Iterable[str], to_state: str) -> tuple[str, ...]:
    """Return the states to compare with. Raises ValueError for a move that the table does not contain: the caller is wrong."""
    states = tuple(from_states)
    for state in states:
        if state not in moves or to_state not in moves[state]:
            raise ValueError(f"no move from {state} to {to_state}")
    if not states:
        raise ValueError(f"a move to {to_state} from no state")
    return states
