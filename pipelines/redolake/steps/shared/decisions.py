"""Decisions of a person, which are stored with their reason."""

from __future__ import annotations

from redolake.context import Run, step


@step
def record_rejection(run: Run, choice: str) -> None:
    """Record that a person has rejected a choice; nothing else is done."""
    run.ledger.record_decision("rejected", {"choice": choice, "reason": run.reason}, run.by)
