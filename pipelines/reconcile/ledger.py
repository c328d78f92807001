"""Correct the ledger from files: manifests prove what has landed, batch manifests what is applied."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import datetime

from pipelines import crash
from pipelines.context import Workplace
from pipelines.errors import RedoLost
from pipelines.land import layout
from pipelines.ledger import TableEntry
from pipelines.reconcile.batches import Void, batch_result, end_of, is_of_the_chain, superseded
from pipelines.reconcile.holds import NOT_LOADED
from pipelines.reconcile.tables import rebuild_tables, rebuild_versions
from pipelines.records.batch_result import BatchResult, RowAccount, TableResult
from pipelines.records.codec import to_body
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.dropped_transaction import DroppedTransaction
from pipelines.records.handover import FirstPosition
from pipelines.redo import Position
from pipelines.scn import ChainPosition, Scn, ScnRange
from pipelines.table import TableId

log = logging.getLogger(__name__)

DROP = "drop transaction"


@crash.writer
def correct_ledger(work: Workplace) -> None:
    """Bring the ledger into agreement with the files in the landing, reading only those it does not know. This also rebuilds a
    ledger that was lost or replaced by an older copy."""
    if news := work.landing.windows.other_than(work.ledger.landed_names()):
        log.info("recording %s landed window(s) that the ledger does not know", len(news))
        with work.ledger.at_once():
            for manifest in news:
                work.ledger.record_landed(manifest)
    position = proven_position(work)
    if position is not None and work.ledger.position() != position:
        work.ledger.correct_position(position)
    rebuild_tables(work)
    if correct_batches(work):
        rebuild_versions(work)
    correct_breaks(work)  # after the batches: one from before a gap would release tables that the gap holds
    correct_drops(work)


def proven_position(work: Workplace) -> Position | None:
    """Return the end of the chain, or where its first window will begin; None before the first snapshot."""
    end = work.landing.chain_end()
    if end is not None:
        return end
    start = work.landing.files.read_record(FirstPosition, layout.HANDOVER)
    return None if start is None else start.position


def correct_breaks(work: Workplace) -> None:
    """Record declared gaps that the ledger does not know, and hold tables that must be read again after one.

    Tables are held each time: a batch or load from before the gap may have ended since and released them.
    """
    known = work.ledger.gaps()
    for found in work.landing.gaps.all():
        for entry in work.ledger.tables() if found.kind == "snapshot" else ():
            if entry.state not in ("new", "held") and is_from_before(entry, found):
                work.ledger.hold(entry.table, not_read(found, entry.table).as_dict())
        if found.name not in known:
            work.ledger.record_gap(found.name, to_body(found))


def is_from_before(entry: TableEntry, found: DeclaredGap) -> bool:
    """Return whether the table's contents lack the changes in the gap.

    The gap names the snapshot of the contents at that time. A snapshot in progress then may never have been loaded, so the
    table's position counts too.
    """
    lies_before = entry.state != "snapshotting" and entry.position < found.end.chain_position.plus(-1)
    return lies_before or found.concerns(entry.table, entry.snapshot_scn)


def correct_drops(work: Workplace) -> None:
    known = {decision.body["name"] for decision in work.ledger.decisions(DROP)}
    for found in drops(work):
        if found.name not in known:
            body = {"name": found.name, **to_body(found)}
            work.ledger.record_decision(DROP, body, found.by, datetime.fromisoformat(found.at))


def drops(work: Workplace) -> list[DroppedTransaction]:
    """Return the dropped transactions."""
    files = [f"{layout.DROPS}/{name}" for name in work.landing.files.names(layout.DROPS)]
    return [found for file in files if (found := work.landing.files.read_record(DroppedTransaction, file)) is not None]


def not_read(found: DeclaredGap, table: TableId) -> RedoLost:
    return RedoLost(
        f"changes from SCN {found.start.scn} to {found.end.scn} were never read",
        cure=f"`redolake snapshot {table} --replace` reads the table again",
        table=table,
        reason=found.reason,
    )


@crash.writer
def correct_batches(work: Workplace) -> int:
    """Record the batches that the ledger does not know, in the order they were applied; return their number."""
    known = work.ledger.applied_names()
    found = [(name, batch_result(work, name)) for name in work.landing.files.names(layout.BATCHES) if name not in known]
    unknown = [(result, name) for name, result in found if result is not None]
    if unknown:
        log.info("recording %s batch(es) that the ledger does not know", len(unknown))
        void = superseded(work)
        with work.ledger.at_once():
            for result, name in sorted(unknown, key=lambda u: (u[0].start_position, u[0].end)):
                write_down(work, result, name, void)
    return len(unknown)


def last_batch(work: Workplace, until: ChainPosition | None = None) -> BatchResult | None:
    """Return the newest batch of the chain, or the newest that does not end after `until`. Catch-ups are not of the chain."""
    for name in reversed(work.landing.files.names(layout.BATCHES)):
        if is_of_the_chain(name) and (until is None or end_of(name) <= until):
            result = batch_result(work, name)
            if result is not None:
                return result
    return None


def chain_of_batches(work: Workplace) -> list[BatchResult]:
    """Return the batches of the chain, oldest first, without catch-ups of single tables."""
    found = (batch_result(work, name) for name in work.landing.files.names(layout.BATCHES) if is_of_the_chain(name))
    return [result for result in found if result is not None]


def catch_up_of(result: BatchResult) -> TableId | None:
    """Return the table of a catch-up, whose token is `<table>:<random>`; None for a batch of the chain."""
    return TableId.parse(result.token.rpartition(":")[0]) if ":" in result.token else None


def is_made_good(done: TableResult, entry: TableEntry, result: BatchResult) -> bool:
    """Return whether a late recorded hold is obsolete: the table had no contents then, or a newer snapshot has passed the
    batch's end since."""
    no_contents = (done.error or {}).get("code") == NOT_LOADED["code"]
    return no_contents or entry.position >= result.end_position.plus(-1)


def is_held_since(work: Workplace, entry: TableEntry, batch: str) -> bool:
    """Return whether the table was held after the batch was prepared."""
    prepared = work.ledger.batch(batch)
    return prepared is not None and entry.held_at is not None and entry.held_at > prepared.created_at


def write_down(work: Workplace, result: BatchResult, name: str, void: Void) -> None:
    """Record a batch's result in the ledger, except for tables that a load has set back since."""
    for done in result.tables:
        entry = work.ledger.table(done.table)
        if entry is None or name in void.get(done.table, ()):
            continue
        stands = entry.state == "new" or (done.state == "held" and entry.state == "held")
        if (
            done.complete_to is not None
            and not stands
            and ChainPosition(result.resetlogs_id, done.complete_to) >= entry.position
        ):
            work.ledger.record_complete_to(done.table, Scn(done.complete_to), result.resetlogs_id)
        if done.state == "applied" and entry.state == "held" and not is_held_since(work, entry, name):
            work.ledger.release(done.table)  # it was resumed before the batch; a rebuilt ledger does not know that
        if done.state == "held" and entry.state == "live" and not is_made_good(done, entry, result):
            work.ledger.hold(done.table, dict(done.error or {}))
    if catch_up_of(result) is None:
        for window in result.windows:
            work.ledger.move_window(window, ("landed",), "applied")
        work.ledger.replace_open_transactions(name, result.open_transactions)
    scns = ScnRange(Scn(result.start), Scn(result.end))
    summary = {
        "tables": {str(t.table): t.complete_to for t in result.tables},
        "balances": {str(t.table): account_to_json(t.balance) for t in result.tables},
        "accounts": {window: account_to_json(account) for window, account in result.accounts.items()},
        "dropped": [asdict(met) for met in result.dropped],
    }
    work.ledger.record_applied(name, scns, work.landing.files.location(layout.batch_folder(name)), summary)


def account_to_json(account: RowAccount) -> dict[str, int]:
    """Return the terms of a row account that are not 0."""
    return {term: rows for term, rows in asdict(account).items() if rows}
