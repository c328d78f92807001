"""How far the history of each table is, for the page, the metrics and `status`. The histories themselves are in the lake."""

from __future__ import annotations

from redolake.context import Run
from redolake.records.batches.manifest import BatchResult
from redolake.records.codec import to_body


def record_histories(context: Run, result: BatchResult) -> None:
    """Record what a batch has left of its tables' histories."""
    found = {str(done.table): done.history for done in result.tables if done.history is not None}
    if found:
        context.ledger.record_facts({("history", table): to_body(one) for table, one in found.items()})
