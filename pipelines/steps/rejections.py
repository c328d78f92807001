"""Record that a person has rejected a choice: nothing else is done."""

from __future__ import annotations

from pipelines.config import Pipeline
from pipelines.context import open_context


def record_rejection(pipeline: Pipeline, choice: str, *, reason: str, by: str) -> None:
    with open_context(pipeline) as context:
        context.ledger.record_decision("rejected", {"choice": choice, "reason": reason}, by)
