"""How many keys of each table are in quarantine, for the page and the metrics. The quarantine itself is in the lake."""

from __future__ import annotations

from redolake.context import Run
from redolake.records.batches.manifest import BatchResult
from redolake.records.codec import from_body, to_body
from redolake.records.shown_facts import QuarantineFact
from redolake.values.table import TableId


def record_open_keys(context: Run, table: TableId, keys: int) -> None:
    context.ledger.record_fact("quarantine", to_body(QuarantineFact(keys)), str(table))


def open_keys_of(context: Run, table: TableId) -> int:
    """Return how many keys are in quarantine and not worked off, by the last batch or command that looked."""
    body = context.ledger.fact("quarantine", str(table))
    return 0 if body is None else from_body(QuarantineFact, body, f"the quarantine of {table}").keys


def record_quarantined(context: Run, result: BatchResult) -> None:
    """Record what a batch has left in quarantine, of the tables of which it looked."""
    known = {str(done.table): done.quarantined_keys for done in result.tables if done.quarantined_keys is not None}
    if known:
        context.ledger.record_facts({("quarantine", table): to_body(QuarantineFact(n)) for table, n in known.items()})
