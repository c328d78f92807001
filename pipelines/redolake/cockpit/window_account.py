"""The row account of a window: what became of the change rows that came in. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from redolake.cockpit.values import AccountPart

PARTS = {
    "applied": "applied",
    "filtered": "filtered",
    "quarantined": "in quarantine",
    "left_out": "left out",
    "undone": "undone",
    "rolled_back": "rolled back",
    "carried_out": "still open",
    "before_position": "before the snapshot",
    "held": "held",
    "dropped": "dropped",
}


def account_parts(account: Mapping[str, int] | None) -> tuple[tuple[AccountPart, ...], int]:
    """Return the terms of the row account with their shares, and by how much they miss the rows that came in."""
    if account is None:
        return (), 0
    rows = account.get("landed", 0) + account.get("carried_in", 0)
    parts = tuple(AccountPart(PARTS[term], account[term], account[term] / (rows or 1)) for term in PARTS if account.get(term))
    return parts, rows - sum(part.rows for part in parts)


def account_difference(account: Mapping[str, int]) -> int:
    """Return how many of the rows that came in are not accounted for."""
    return account_parts(account)[1]
