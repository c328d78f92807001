"""What is in doubt after the hand-over on a standby alone: transactions that may have begun before all redo that was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redolake.context import Run
from redolake.ledger import TableEntry
from redolake.ledger.entries import Json
from redolake.ledger.reading import LedgerReading
from redolake.ledger.shown_facts import Facts
from redolake.reconcile.omitted_tables import begins_at
from redolake.reconcile.table_state import one
from redolake.records.codec import from_body
from redolake.records.readers import OpenTransactions
from redolake.records.shown_facts import DoubtFact
from redolake.records.split import SplitTransactions
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn

MOST_NAMED = 5


def recorded_doubt(ledger: Facts) -> DoubtFact | None:
    return to_doubt(ledger.fact("doubt"))


def doubt_in(reading: LedgerReading) -> DoubtFact | None:
    found = one(reading, "doubt")
    return None if found is None else to_doubt(found.body)


def to_doubt(body: Json | None) -> DoubtFact | None:
    return None if body is None else from_body(DoubtFact, body, "the last doubt in the ledger")


def doubt_at(context: Run, position: Position, before: DoubtFact | None) -> DoubtFact | None:
    """Return what is in doubt at a position; None where each table was read when it was known what is open. `before` is the
    doubt that was recorded last."""
    if not context.landing.gaps.keeps_without_start:  # asked first, and once: the next asks for each table
        return None
    begin = begins_at(context, position.chain_position)
    if begin is None:
        return None
    gone = before.gone_scn if before is not None and begin_of(before) == begin[1] else None
    if not is_doubtful(context, context.ledger.tables(), gone):  # before landed files are read
        return None
    state = context.landing.gaps.without_start(*begin)
    return None if state is None else doubt_of(state, begin[1], gone)


def begin_of(doubt: DoubtFact) -> ChainPosition:
    return ChainPosition(doubt.resetlogs_id, Scn(doubt.read_from_scn))


def doubt_of(state: SplitTransactions, begin: ChainPosition, gone: int | None) -> DoubtFact:
    ended = [int(at.scn) for one in state.transactions if (at := one.committed_at) is not None]
    still = tuple(one.xid for one in state.transactions if one.committed is None and gone is None)
    return DoubtFact(begin.resetlogs_id, int(begin.scn), len(ended), max(ended, default=None), still, gone)


def is_doubtful(context: Run, tables: Sequence[TableEntry], gone: int | None) -> bool:
    """Return whether a table was read before the doubt had gone, and nobody showed what was open then."""
    read = [one for one in tables if one.snapshot_scn is not None and (gone is None or one.snapshot_scn < gone)]
    return any(not context.landing.snapshots.is_listed(one.table, one.snapshot_scn or 0) for one in read)


def settle(doubt: DoubtFact, listed: OpenTransactions | None) -> DoubtFact:
    """Return the doubt after a listing of all open transactions; it has gone if none of them is older than the redo."""
    if doubt.gone_scn is not None or listed is None or listed.oldest < doubt.read_from_scn:
        return doubt
    return replace(doubt, gone_scn=listed.at, open=())


def doubt_text(doubt: DoubtFact) -> str:
    named = ", ".join(doubt.open[:MOST_NAMED]) + (" and others" if len(doubt.open) > MOST_NAMED else "")
    last = "" if doubt.last_scn is None else f", the last at SCN {doubt.last_scn}"
    begun = (
        "nobody was asked which transactions were open when tables were read. Of those that began before SCN "
        f"{doubt.read_from_scn}, where the redo begins, {doubt.committed} have committed{last}"
    )
    if doubt.gone_scn is not None:
        return f"{begun}. None is open since SCN {doubt.gone_scn}: once tables are complete to it, no doubt is left"
    also = f", and {named} may be open" if doubt.open else ""
    return f"{begun}{also}. Whether others are open is not known: one that commits holds the tables that were read before"


DOUBT_CURE = (
    "go on; `redolake doctor` finds the SCN at which the last doubt goes once `primary` below `source` in pipelines.yml names "
    "the connection of the primary, and no older transaction is open there. After a switchover this connection shows it"
)
