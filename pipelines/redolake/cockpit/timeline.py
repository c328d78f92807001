"""Arrange windows as the columns of a chart: when each ends, its rows by what became of them, its latency. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redolake.cockpit.values import WindowLine
from redolake.values.terms import OF_ACCOUNT

# Each colour of the chart, and the parts of the row account that it shows.
COLOURS = {
    colour: tuple(term.text for term in OF_ACCOUNT if term.colour == colour)
    for colour in ("applied", "undone", "open", "before", "held")
}
WAITING = "waiting"


def timeline_of(windows: Sequence[WindowLine], account: Callable[[WindowLine], str]) -> dict[str, Any]:
    """Return the columns, the oldest window first; `windows` begin with the newest. The rows of a window's colours add up to
    those of its row account. A window without an account has all its rows as waiting."""
    shown = [window for window in reversed(windows) if window.ends_at is not None]
    rows: dict[str, list[int]] = {colour: [rows_of(window, parts) for window in shown] for colour, parts in COLOURS.items()}
    rows[WAITING] = [0 if window.parts else window.rows or 0 for window in shown]
    return {
        "ends": [window.ends_at.timestamp() for window in shown if window.ends_at is not None],
        "rows": rows,
        "latency": [window.age_seconds for window in shown],
        "ids": [window.anchor for window in shown],
        "accounts": [account(window) for window in shown],
    }


def rows_of(window: WindowLine, parts: Sequence[str]) -> int:
    return sum(part.rows for part in window.parts if part.name in parts)
