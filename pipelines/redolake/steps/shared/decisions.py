"""Decisions of a person, which are stored with their reason."""

from __future__ import annotations

from redolake.config import Pipeline
from redolake.context import Run


def record_rejection(pipeline: Pipeline, choice: str, *, reason: str, by: str) -> None:
    """Record that a person has rejected a choice; nothing else is done."""
    with Run(pipeline) as context:
        context.ledger.record_decision("rejected", {"choice": choice, "reason": reason}, by)
