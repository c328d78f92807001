"""Correct the ledger from files: manifests prove what has landed, batch manifests what is applied."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from redolake.context import Run, now, owner
from redolake.errors import LandingDamaged, RedoLost
from redolake.host import crash
from redolake.land import layout
from redolake.land.closings import still_open
from redolake.land.cures import drop_again
from redolake.ledger import TableEntry
from redolake.ledger.batches import AppliedBatch
from redolake.ledger.shown_facts import Changes
from redolake.reconcile.approvals import reconcile_approvals
from redolake.reconcile.batches import (
    Void,
    batch_result,
    find_superseded,
    left_alone,
    loads_until,
    position_loaded,
    snapshot_position,
)
from redolake.reconcile.histories import record_histories
from redolake.reconcile.lake_place import missing_landing
from redolake.reconcile.newest_batches import end_of, is_in_chain, names_from, newest_batches, newest_first, oldest_first
from redolake.reconcile.quarantine import record_quarantined
from redolake.reconcile.tables import rebuild_tables, rebuild_versions
from redolake.records.batches.manifest import BatchResult, RowAccount, TableResult
from redolake.records.codec import from_body, to_body
from redolake.records.drops import DroppedTransaction
from redolake.records.gaps import DeclaredGap
from redolake.values.parts import in_parts
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId
from redolake.values.terms import ChangeCounts

log = logging.getLogger(__name__)

DROP = "drop transaction"
BATCHES_AT_ONCE = 100  # in memory, each with what it did to all tables


def reconcile_once(context: Run) -> None:
    """Do what `reconcile_ledger` does, unless it was done in this turn and nobody else has held a lease since: then record only
    the windows that have landed meanwhile."""
    if context.leases_seen:
        record_landed(context)
    else:
        reconcile_ledger(context)


@crash.writer
def reconcile_ledger(context: Run) -> None:
    """Bring the ledger into agreement with the files in the landing, reading only those it does not know. This also rebuilds a
    ledger that was lost or replaced by an older copy."""
    seen = context.ledger.lease_tokens(owner())  # first: who takes one meanwhile is somebody else
    position = record_landed(context)
    reconcile_approvals(context)  # first: versions are derived as people approved
    rebuild_tables(context)
    reconcile_batches(context)
    reconcile_gaps(context)  # after the batches: one from before a gap would release tables that the gap holds
    reconcile_drops(context)
    check_positions(context, position)
    context.leases_seen.clear()
    context.leases_seen.update(seen)


@crash.writer
def record_landed(context: Run) -> Position | None:
    """Record the windows that the ledger does not know, and return where the chain ends."""
    if news := unknown_windows(context):
        log.info("recording %s landed window(s) that the ledger does not know", len(news))
        context.ledger.record_all_landed(context.landing.windows.each(news))
    context.landing.handover.copy_start()
    position = landed_position(context)
    if position is not None and context.ledger.position() != position:
        context.ledger.correct_position(position)
    return position


def check_positions(context: Run, position: Position | None) -> None:
    """Raise LedgerDamaged for a table that every batch would pass over: one that is complete to redo that has not landed, and
    that no snapshot has read, or a live one without a version."""
    described = context.ledger.described_tables()
    for entry in context.ledger.tables():
        if entry.complete_to_scn is None or position is None:
            continue
        by_snapshot = entry.resetlogs_id == position.resetlogs_id and entry.complete_to_scn <= (entry.snapshot_scn or 0)
        if entry.position >= position.chain_position and not by_snapshot:
            where = f"SCN {entry.complete_to_scn} of the incarnation with RESETLOGS_ID {entry.resetlogs_id}"
            end = f"SCN {position.scn} of that with RESETLOGS_ID {position.resetlogs_id}"
            raise context.ledger.damage_error(
                f"the ledger has {entry.table} complete to {where}, and the landing ends at {end}"
            )
        if entry.state == "live" and entry.table not in described:
            raise context.ledger.damage_error(f"the ledger has no version of {entry.table}, which has contents")


def check_explained(context: Run, entry: TableEntry, last: BatchResult) -> None:
    """Raise LedgerDamaged for a live table whose position no batch and no load has left, by their manifests: the redo before it
    would be passed over. `last` is the newest batch."""
    at = entry.position
    if leaves(last, entry):
        return
    if entry.complete_to_scn == entry.snapshot_scn and snapshot_position(context, entry.table, at.scn) in (None, at):
        return
    names = [name for name in names_from(context, at.plus(1)) if end_of(name).resetlogs_id == at.resetlogs_id]
    after = [result for name in names if (result := batch_result(context, name)) is not None]
    containing = [result for result in after if result.start <= at.scn]
    if any(leaves(result, entry) for result in containing) or (after and not containing and has_no_batch(context, at)):
        return
    closed = (one.table for gap in context.landing.gaps.all() for one in context.landing.closings.of(gap.name))
    if str(entry.table) in closed or any(
        task.table == entry.table and position_loaded(task) == at for _, task, _ in loads_until(context, at.scn)
    ):
        return
    raise context.ledger.damage_error(
        f"the ledger has {entry.table} complete to SCN {at.scn} of the incarnation with RESETLOGS_ID {at.resetlogs_id}, and no "
        "batch and no load has brought it there"
    )


def has_no_batch(context: Run, at: ChainPosition) -> bool:
    """Return whether no batch is left for a position: it is pruned, or in a declared gap."""
    pruned, gaps = context.landing.pruned, context.landing.gaps.all()
    is_pruned = pruned is not None and at < pruned.position
    return is_pruned or any(gap.start.chain_position.plus(-1) <= at < gap.end.chain_position for gap in gaps)


def leaves(result: BatchResult, entry: TableEntry) -> bool:
    """Return whether a batch left the table at the position that the ledger has."""
    return result.resetlogs_id == entry.resetlogs_id and any(
        done.table == entry.table and done.complete_to == entry.complete_to_scn for done in result.tables
    )


def unknown_windows(context: Run) -> list[str]:
    """Return the landed windows that the ledger does not know. It knows those before its position: they are recorded first."""
    position = context.ledger.position()
    if position is None:
        known = context.ledger.landed_names()
        return [name for name in context.landing.windows.names() if name not in known]
    return context.landing.windows.names_after(position.chain_position)


def landed_position(context: Run) -> Position | None:
    """Return what `proven_position` does. Raises LandingMissing for an empty landing of a pipeline that the ledger knows."""
    position = proven_position(context)
    if position is None and context.ledger.position() is not None:
        raise missing_landing(context)
    return position


def proven_position(context: Run) -> Position | None:
    """Return the end of the chain, or where its first window will begin; None before the first snapshot."""
    end = context.landing.chain_end()
    if end is not None:
        return end
    start = context.landing.handover.start()
    return None if start is None else start.position


def reconcile_gaps(context: Run) -> None:
    """Record declared gaps that the ledger does not know, and hold tables that must be read again after one.

    Tables are held each time: a batch or load from before the gap may have ended since and released them.
    """
    known = context.ledger.gaps()
    for declared in context.landing.gaps.all():
        found = still_open(declared, context.landing.closings.of)
        for entry in context.ledger.tables() if found.kind == "snapshot" else ():
            if entry.state not in ("new", "held") and lacks_gap(entry, found):
                context.ledger.hold(entry.table, never_read(found, entry.table).as_dict())
        if found.name not in known:
            context.ledger.record_gap(found.name, to_body(found))
        elif known[found.name] != (body := to_body(found)):
            context.ledger.change_gap(found.name, body)


def lacks_gap(entry: TableEntry, found: DeclaredGap) -> bool:
    """Return whether the table's contents lack the changes in the gap.

    The gap names the snapshot of the contents at that time. A snapshot in progress then may never have been loaded, so the
    table's position counts too.
    """
    lies_before = entry.state != "snapshotting" and entry.position < found.last_position
    return lies_before or found.concerns(entry.table, entry.snapshot_scn)


def reconcile_drops(context: Run) -> None:
    known = recorded_drops(context)
    there = drops(context)
    for found in there:
        if found.name not in known:
            body = {"name": found.name, **to_body(found)}
            context.ledger.record_decision(DROP, body, found.by, datetime.fromisoformat(found.at))
    restore_drops(context, [drop for name, drop in known.items() if name not in {found.name for found in there}])


@crash.writer
def restore_drops(context: Run, gone: Iterable[DroppedTransaction]) -> None:
    """Write again what only the ledger still knows: without its file, the next batch would apply a dropped transaction."""
    for drop in gone:
        log.warning("the dropped transaction %s is written again from the ledger", drop.name)
        context.landing.files.create_record(layout.drop_file(drop.name), drop)


def recorded_drops(context: Run) -> dict[str, DroppedTransaction]:
    """Return the dropped transactions that the ledger knows, by their names."""
    bodies = [dict(decision.body) for decision in context.ledger.decisions(DROP)]
    return {body.pop("name"): from_body(DroppedTransaction, body, "a drop in the ledger") for body in bodies}


def drops(context: Run) -> list[DroppedTransaction]:
    """Return the dropped transactions. Raises LandingDamaged for a file that is another one's."""
    files = [f"{layout.DROPS}/{name}" for name in context.landing.files.names(layout.DROPS)]
    known = {layout.drop_file(name) for name in recorded_drops(context)} if files else set()
    found = {file: read_drop(context, file, drop_again(file, is_known=file in known)) for file in files}
    return [drop for drop in found.values() if drop is not None]


def read_drop(context: Run, file: str, cure: str) -> DroppedTransaction | None:
    drop = context.landing.files.read_record(DroppedTransaction, file, cure)
    if drop is not None and file != layout.drop_file(drop.name):
        what = f"the file is about another transaction: {drop.name}"
        raise LandingDamaged(what, cure=cure, path=context.landing.files.path_text(file))
    return drop


def never_read(found: DeclaredGap, table: TableId) -> RedoLost:
    return RedoLost(
        f"changes from SCN {found.start.scn} to {found.last_position.scn} were never read",
        cure=f"`redolake snapshot {table} --replace` reads the table again",
        table=table,
        reason=found.reason,
    )


@crash.writer
def reconcile_batches(context: Run) -> None:
    """Record the batches that the ledger does not know, in the order they were applied, with the versions that their DDL made:
    in one transaction, since a recorded batch is never read again."""
    newest = newest_batches(context)
    if newest is None:
        names, known = context.landing.files.names(layout.BATCHES), context.ledger.applied_names()
    else:
        names, known = list(newest[1]), context.ledger.applied_of(newest[1])
    groups = results_in_groups(context, oldest_first(name for name in names if name not in known))
    if (first := next(groups, None)) is not None:
        void = find_superseded(context)
        with context.ledger.at_once():
            for found in itertools.chain([first], groups):
                log.info("recording %s batch(es) that the ledger does not know", len(found))
                record_results(context, found, void)
            rebuild_versions(context)


def results_in_groups(context: Run, names: Sequence[str]) -> Iterator[list[tuple[BatchResult, str]]]:
    """Return the results of batches that have one, each with its name, some at a time: those of years would fill the memory."""
    found = ((batch_result(context, name), name) for name in names)
    return in_parts(((result, name) for result, name in found if result is not None), BATCHES_AT_ONCE)


def last_batch(context: Run, until: ChainPosition | None = None) -> BatchResult | None:
    """Return the newest batch of the chain, or the newest that does not end after `until`. Catch-ups are not of the chain."""
    newest = newest_batches(context)
    found = newest_of(context, () if newest is None else newest[1], until)
    return found or newest_of(context, context.landing.files.names(layout.BATCHES), until)


def newest_of(context: Run, names: Iterable[str], until: ChainPosition | None) -> BatchResult | None:
    """Return the newest of the batches that is of the chain and does not end after `until`."""
    chain = newest_first(name for name in names if is_in_chain(name) and (until is None or end_of(name) <= until))
    return next((result for name in chain if (result := batch_result(context, name)) is not None), None)


def chain_names(context: Run) -> list[str]:
    """Return the names of the chain's batches, newest first."""
    return newest_first(name for name in context.landing.files.names(layout.BATCHES) if is_in_chain(name))


def chain_of_batches(context: Run) -> list[BatchResult]:
    """Return the batches of the chain, oldest first, without catch-ups of single tables."""
    found = (batch_result(context, name) for name in reversed(chain_names(context)))
    return [result for result in found if result is not None]


def catch_up_of(result: BatchResult) -> TableId | None:
    """Return the table of a catch-up, whose token is `<table>:<random>`; None for a batch of the chain."""
    return TableId.parse(result.token.rpartition(":")[0]) if ":" in result.token else None


def is_obsolete_hold(done: TableResult, entry: TableEntry, result: BatchResult) -> bool:
    """Return whether a late recorded hold is obsolete: a newer snapshot has passed the batch's end since."""
    return entry.position >= result.end_position.plus(-1)


def is_held_since(context: Run, entry: TableEntry, batch: str) -> bool:
    """Return whether the table was held after the batch was prepared."""
    prepared = context.ledger.batch(batch)
    return prepared is not None and entry.held_at is not None and entry.held_at > prepared.created_at


def record_results(context: Run, found: Sequence[tuple[BatchResult, str]], void: Void) -> None:
    """Record the results of batches, each with its name, in their order; what is written is what is left after the last. Tables
    that a load has set back since are left out."""
    before = {entry.table: entry for entry in context.ledger.tables()}
    after = dict(before)
    for result, name in found:
        for done in result.tables:
            if done.table in after and name not in void.get(done.table, ()):
                after[done.table] = entry_after(context, after[done.table], done, result, name)
    context.ledger.record_all_complete(
        entry for table, entry in after.items() if contents_of(entry) != contents_of(before[table])
    )
    for table, entry in after.items():
        move_entry(context, before[table], entry)
    chain = [(result, name) for result, name in found if catch_up_of(result) is None]
    context.ledger.record_windows_applied(
        (window, name, None if (account := result.accounts.get(window)) is None else account_to_json(account))
        for result, name in chain
        for window in result.windows
    )
    if chain:
        result, name = chain[-1]
        context.ledger.replace_open_transactions(name, result.open_transactions)
    context.ledger.record_all_applied([applied_batch(context, result, name) for result, name in found])
    for result, _ in found:
        record_quarantined(context, result)
        record_histories(context, result)


def entry_after(context: Run, entry: TableEntry, done: TableResult, result: BatchResult, name: str) -> TableEntry:
    """Return a table's entry after a batch."""
    if left_alone(done):
        return entry
    found, stands = entry, entry.state == "new" or (done.state == "held" and entry.state == "held")
    if done.complete_to is not None and not stands:
        reached = ChainPosition(result.resetlogs_id, done.complete_to)
        if reached >= entry.position:
            found = replace(
                found,
                complete_to_scn=Scn(done.complete_to),
                resetlogs_id=result.resetlogs_id,
                delta_version=done.delta_version,
            )
    if done.state == "applied" and entry.state == "held" and not is_held_since(context, entry, name):
        # It was resumed before the batch; a rebuilt ledger does not know that.
        found = replace(found, state=entry.held_from or "live", held_from=None, held_at=None, error=None)
    if done.state == "held" and entry.state == "live" and not is_obsolete_hold(done, entry, result):
        found = replace(found, state="held", held_from=entry.state, held_at=now(), error=dict(done.error or {}))
    return found


def contents_of(entry: TableEntry) -> tuple[Scn | None, int | None, int | None]:
    return entry.complete_to_scn, entry.resetlogs_id, entry.delta_version


def move_entry(context: Run, before: TableEntry, after: TableEntry) -> None:
    """Hold or release a table whose entry says so after a batch."""
    if after.state != "held" or after.held_at != before.held_at:
        if before.state == "held":
            context.ledger.release(after.table)
        if after.state == "held":
            context.ledger.hold(after.table, after.error or {})


def applied_batch(context: Run, result: BatchResult, name: str) -> AppliedBatch:
    return AppliedBatch(
        name,
        ScnRange(Scn(result.start), Scn(result.end)),
        context.landing.files.location(layout.batch_folder(name)),
        result={
            "tables": {str(t.table): t.complete_to for t in result.tables},
            "balances": {str(t.table): account_to_json(t.balance) for t in result.tables},
            "changes": {str(t.table): changes_to_json(t) for t in result.tables},
            "accounts": {window: account_to_json(account) for window, account in result.accounts.items()},
            "dropped": [asdict(met) for met in result.dropped],
            "seconds": {
                "assemble": result.assemble_seconds,
                "apply": result.apply_seconds,
                "tables": {str(t.table): t.seconds for t in result.tables},
            },
            "read_to": result.read_to,
        },
        changes={t.table: Changes(t.ddl, **t.counts) for t in result.tables},
        at=None if result.applied_at is None else datetime.fromisoformat(result.applied_at),
    )


def changes_to_json(done: TableResult) -> dict[str, Any]:
    """Return what `redolake stats` shows of a table in a batch, beside its row account."""
    times = {"first_commit_at": done.first_commit_at, "last_commit_at": done.last_commit_at}
    some = {name: count for name, count in ChangeCounts.sums([done]).items() if count}
    return {"state": done.state, **done.counts, **some, "ddl": dict(done.ddl), **times}


def account_to_json(account: RowAccount) -> dict[str, int]:
    """Return the terms of a row account that are not 0."""
    return {term: rows for term, rows in asdict(account).items() if rows}
