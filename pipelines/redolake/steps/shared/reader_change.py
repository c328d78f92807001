"""Hand over from LogMiner to OpenLogReplicator and back, at a landed SCN, without a snapshot.

A transaction that is open there is read whole by the reader that goes on, from its begin; what the other one had landed of it
is not carried on. So the one that goes on begins where the oldest such transaction may have begun. That SCN is read beside each
window: whatever is open at a later SCN began after the oldest transaction that was open at the reading.

LogMiner gives windows of one reader more rows than it must: those of transactions that had committed before. They are at or
below the position of every table then, because a batch ends where one reader hands over to the other.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError, Terminal
from redolake.reconcile.chosen_columns import chosen_columns
from redolake.records.readers import HANDED_OVER, OPEN, OpenTransactions, is_received, open_at
from redolake.records.windows import SliceRecord, WindowManifest
from redolake.source import Source, first_window_start, read_current_scn, read_open_transactions, read_redo_facts, read_tables
from redolake.source.olr import table_findings
from redolake.values.redo import Position, RedoFacts
from redolake.values.scn import Scn, ScnRange
from redolake.window import Lost, NothingNew, Sealed, WindowDecision, plan_window

OLDER_WINDOWS = 50  # that are searched for a reading of the open transactions; each window has one


def last_window(context: Run, position: Position) -> WindowManifest | None:
    """Return the window that ends at the position; None at the beginning, and after a declared gap."""
    return next((one for one in context.landing.windows.last(1) if one.end_position == position.chain_position), None)


def known_open(context: Run, position: Position) -> OpenTransactions | None:
    """Return what is known of the transactions that were open at the position."""
    newest = islice(context.landing.windows.newest_first(), OLDER_WINDOWS)
    own = (one for one in newest if one.resetlogs_id == position.resetlogs_id)
    return open_at(own, int(position.scn))


def with_open(record: SliceRecord, found: OpenTransactions | None) -> SliceRecord:
    """Return the record with what was read of the open transactions."""
    if found is None:
        return record
    return replace(record, circumstance={**record.circumstance, OPEN: {"at": found.at, "oldest": found.oldest}})


def read_open(oracle: Source, facts: RedoFacts) -> OpenTransactions | None:
    """Read since when transactions are open; None where V$TRANSACTION does not show it of all. It holds from the SCN on that is
    current after the reading: a transaction that was open at the facts' SCN may have committed meanwhile."""
    oldest = None if facts.is_standby else read_open_transactions(oracle, facts.current_scn)
    return None if oldest is None else OpenTransactions(int(read_current_scn(oracle)), int(oldest))


def handed_over(record: SliceRecord) -> SliceRecord:
    return replace(record, circumstance={**record.circumstance, HANDED_OVER: True})


def check_given(context: Run, oracle: Source) -> None:
    """Raise ConfigurationError where OpenLogReplicator would not give a captured table as LogMiner does."""
    pipeline = context.pipeline
    ids = tuple(table.id for table in pipeline.tables)
    described = read_tables(oracle, ids, pipeline.source.container, pipeline.renamed)
    findings = [finding for table in chosen_columns(pipeline, described).values() for finding in table_findings(table)]
    if findings:
        raise ConfigurationError(findings)


def handover_text(context: Run) -> str:
    """Return how another reader will go on, from what has landed; empty where the same one does."""
    position = context.ledger.position()
    last = None if position is None else last_window(context, position)
    if position is None or last is None or is_received(last) == context.pipeline.source.is_stream:
        return ""
    known, no_snapshot = known_open(context, position), "no snapshot is needed"
    if context.pipeline.source.is_stream:
        when = (
            f"at SCN {position.scn}"
            if known is not None
            else f"at the end of a window after SCN {position.scn}: LogMiner reads on until it has passed all that is open, "
            "which takes two log switches or more"
        )
        return (
            f"OpenLogReplicator goes on after LogMiner {when}; start it without checkpoint files, with the logs of all open "
            f"transactions still there; {no_snapshot}"
        )
    if known is None:
        return f"LogMiner cannot go on after OpenLogReplicator at SCN {position.scn} yet: {not_known(last).cure}"
    return (
        f"LogMiner goes on after OpenLogReplicator at SCN {position.scn}, once a log has ended after it. It reads the redo "
        f"since SCN {known.begins}, where a transaction may have begun that is open there; {no_snapshot}"
    )


# --- From OpenLogReplicator to LogMiner --------------------------------------------------------------------------------


def plan_first_mined(
    context: Run, oracle: Source, position: Position, last: WindowManifest
) -> tuple[RedoFacts, WindowDecision]:
    """Plan the first window of LogMiner after OpenLogReplicator: up to a log's end after the position, with all redo since
    before the oldest transaction that may be open there. Raises Terminal where that redo is gone."""
    known = known_open(context, position)
    if known is None:
        raise not_known(last)
    begin = begin_of(read_redo_facts(oracle, Scn(known.begins)), known, position)
    facts = read_redo_facts(oracle, begin)
    found = plan_window(replace(position, scn=begin), facts, Unlimited(context.pipeline))
    if isinstance(found, Lost):
        raise Terminal(
            f"LogMiner needs the redo since SCN {begin}, where a transaction may have begun that is open where it goes on: "
            f"{found.error.what}",
            cure="restore that log; or set `kind: openlogreplicator` under `source` again; or run "
            f"`redolake recover -p {context.name} snapshot --execute --yes --reason TEXT`",
            window=last.name,
        )
    if not isinstance(found, Sealed):
        return facts, found
    if found.window.scns.end <= position.scn:
        return facts, NothingNew(f"LogMiner goes on where a log ends after SCN {position.scn}, and none has ended there yet")
    scns = ScnRange(position.scn, found.window.scns.end)
    return facts, Sealed(replace(found.window, scns=scns, reads_from=begin))


def begin_of(facts: RedoFacts, known: OpenTransactions, position: Position) -> Scn:
    """Return where the reader that goes on must begin to have every transaction whole that is open at the position."""
    oldest = Scn(known.begins)
    return min(first_window_start(facts, oldest), oldest, position.scn)


class Unlimited:
    """No limit of a window's redo: it must reach from the oldest transaction's begin past the position."""

    max_bytes = 2**62

    def __init__(self, pipeline: Pipeline) -> None:
        self.slice_bytes = pipeline.window.slice_bytes


def not_known(last: WindowManifest) -> Terminal:
    return Terminal(
        "it is not known since when transactions are open that were open at the end of the last received window",
        cure="set `kind: openlogreplicator` under `source` again, with a connection to the primary, and let one more window "
        "land; then change to LogMiner",
        window=last.name,
    )


def check_was_mined(manifest: WindowManifest) -> None:
    """Raise Terminal for a window that was received: its redo cannot be mined again."""
    if is_received(manifest):
        raise Terminal(
            "the window was received from OpenLogReplicator, and LogMiner does not read the same rows",
            cure="restore its files from a copy, or read the tables again: `redolake snapshot OWNER.TABLE --replace`",
            window=manifest.name,
        )
