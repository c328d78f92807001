"""Record what is in doubt after the hand-over on a standby alone, as status, doctor and the page show it."""

from __future__ import annotations

from redolake.context import Run
from redolake.reconcile.doubt import doubt_at, recorded_doubt, settle
from redolake.records.codec import to_body
from redolake.source import Source
from redolake.source.handover import read_open_on_primary
from redolake.steps.shared.reader_change import read_open
from redolake.values.redo import Position, RedoFacts


def record_doubt(context: Run, oracle: Source, position: Position, facts: RedoFacts) -> None:
    """Record what is in doubt. While something is, the primary is asked what is open, if this connection or `primary` leads to
    it."""
    found = doubt_at(context, position)
    if found is not None and found.gone_scn is None:
        container = context.pipeline.source.container
        found = settle(found, read_open_on_primary(oracle, container) if facts.is_standby else read_open(oracle, facts))
    if found == recorded_doubt(context.ledger):
        return
    if found is None:
        context.ledger.record_facts({}, forget=["doubt"])
    else:
        context.ledger.record_fact("doubt", to_body(found))
