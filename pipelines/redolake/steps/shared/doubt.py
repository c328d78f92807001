"""Record what is in doubt after the hand-over on a standby alone, as status, doctor and the page show it.

Nothing is decided by it, so that what cannot be read for it stops nothing.
"""

from __future__ import annotations

import logging

from redolake.config import Pipeline
from redolake.context import Run, open_to_read
from redolake.errors import RedolakeError
from redolake.reconcile.doubt import doubt_at, recorded_doubt, settle
from redolake.records.codec import to_body
from redolake.records.shown_facts import DoubtFact
from redolake.source import Source
from redolake.source.handover import read_open_on_primary
from redolake.steps.shared.reader_change import read_open
from redolake.values.redo import Position, RedoFacts

log = logging.getLogger(__name__)


def record_doubt(context: Run, oracle: Source, position: Position, facts: RedoFacts) -> None:
    """Record what is in doubt. Where this connection leads to the primary, that shows what is open."""
    try:
        before = recorded_doubt(context.ledger)
        found = doubt_at(context, position, before)
        if found is not None and found.gone_scn is None and not facts.is_standby:
            found = settle(found, read_open(oracle, facts))
        if found == before:
            return
        if found is None:
            context.ledger.record_facts({}, forget=["doubt"])
        else:
            context.ledger.record_fact("doubt", to_body(found))
    except RedolakeError as error:
        log.warning("what is in doubt after the hand-over is not known: %s", error)


def ask_primary(pipeline: Pipeline, oracle: Source) -> DoubtFact | None:
    """Return what is in doubt, and record whether the last doubt has gone: the primary says it that a standby names. Only
    doctor asks it, whom a person has called: a wrong password is not tried by each run."""
    with open_to_read(pipeline) as reading:
        doubt = recorded_doubt(reading.ledger)
    if doubt is None or doubt.gone_scn is not None:
        return doubt
    settled = settle(doubt, read_open_on_primary(oracle, pipeline.source.container))
    if settled != doubt:
        with Run(pipeline) as writing:
            writing.ledger.record_fact("doubt", to_body(settled))
    return settled
