"""Decisions of a person that are stored with their reason."""

from __future__ import annotations

from pipelines.errors import Terminal


def check_reason(decision: str, reason: str) -> None:
    """Raise Terminal for an empty reason."""
    if not reason.strip():
        cure = "add --reason TEXT, or in Airflow fill in the field Reason"
        raise Terminal(f"{decision} needs a reason, which is stored with it", cure=cure)
