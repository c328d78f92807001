"""The row account of a window: what became of the change rows that came in. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from redolake.cockpit.values import AccountPart
from redolake.values.terms import OF_ACCOUNT, came_in


def account_parts(account: Mapping[str, int] | None) -> tuple[tuple[AccountPart, ...], int]:
    """Return the terms of the row account with their shares, and by how much they miss the rows that came in."""
    if account is None:
        return (), 0
    rows = came_in(account)
    parts = tuple(
        AccountPart(term.text, account[term.name], account[term.name] / (rows or 1))
        for term in OF_ACCOUNT
        if account.get(term.name)
    )
    return parts, rows - sum(part.rows for part in parts)


def account_difference(account: Mapping[str, int]) -> int:
    """Return how many of the rows that came in are not accounted for."""
    return account_parts(account)[1]
