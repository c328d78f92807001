"""Decisions of a person, which are stored with their reason."""

from __future__ import annotations

from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError, Finding


def check_reason(decision: str, reason: str) -> None:
    """Raise ConfigurationError for an empty reason."""
    if not reason.strip():
        cure = "add --reason TEXT, or in Airflow fill in the field Reason"
        raise ConfigurationError([Finding(decision, "needs a reason, which is stored with it", cure)])


def record_rejection(pipeline: Pipeline, choice: str, *, reason: str, by: str) -> None:
    """Record that a person has rejected a choice; nothing else is done."""
    with Run(pipeline) as context:
        context.ledger.record_decision("rejected", {"choice": choice, "reason": reason}, by)
