"""The ledger brought to what lies written: landed is what manifests say, applied what batch manifests say."""

from __future__ import annotations

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

DROP = "drop transaction"


@crash.writer
def correct_ledger(work: Workplace) -> None:
    """Bring the ledger to what lies written beside the data; only what it does not know is read. A ledger that was lost, or is
    an older copy, is made good by this."""
    if news := work.landing.windows.other_than(work.ledger.landed_names()):
        with work.ledger.at_once():
            for manifest in news:
                work.ledger.record_landed(manifest)
    position = proven_position(work)
    if position is not None and work.ledger.position() != position:
        work.ledger.correct_position(position)
    rebuild_tables(work)
    if correct_batches(work):
        rebuild_versions(work)
    correct_breaks(work)  # after the batches: one from before a break would let go of the tables it holds
    correct_drops(work)


def proven_position(work: Workplace) -> Position | None:
    """The end of the chain, or where its first window shall begin, or None before the first snapshot."""
    end = work.landing.chain_end()
    if end is not None:
        return end
    start = work.landing.files.read_record(FirstPosition, layout.HANDOVER)
    return None if start is None else start.position


def correct_breaks(work: Workplace) -> None:
    """Write down the breaks the ledger does not know. Where tables were to be read anew, those that were not are held: each
    time, for a batch or a load from before the break may have ended since, and let go of them."""
    known = work.ledger.gaps()
    for found in work.landing.gaps.all():
        for entry in work.ledger.tables() if found.kind == "snapshot" else ():
            if entry.state not in ("new", "held") and is_from_before(entry, found):
                work.ledger.hold(entry.table, not_read(found, entry.table).as_dict())
        if found.name not in known:
            work.ledger.record_gap(found.name, to_body(found))


def is_from_before(entry: TableEntry, found: DeclaredGap) -> bool:
    """Whether what the break skips is not in the table's contents. The break names the snapshot they were to come from, and one
    that was under way may never have been loaded: then their position tells it."""
    lies_before = entry.state != "snapshotting" and entry.position < found.end.chain.plus(-1)
    return lies_before or found.concerns(entry.table, entry.snapshot_scn)


def correct_drops(work: Workplace) -> None:
    known = {decision.body["name"] for decision in work.ledger.decisions(DROP)}
    for found in drops(work):
        if found.name not in known:
            body = {"name": found.name, **to_body(found)}
            work.ledger.record_decision(DROP, body, found.by, datetime.fromisoformat(found.at))


def drops(work: Workplace) -> list[DroppedTransaction]:
    """The transactions that people have dropped."""
    files = [f"{layout.DROPS}/{name}" for name in work.landing.files.names(layout.DROPS)]
    return [found for file in files if (found := work.landing.files.read_record(DroppedTransaction, file)) is not None]


def not_read(found: DeclaredGap, table: TableId) -> RedoLost:
    return RedoLost(
        f"changes from SCN {found.start.scn} to {found.end.scn} were never read",
        cure=f"`redolake snapshot {table} --replace` reads the table anew",
        table=table,
        reason=found.reason,
    )


@crash.writer
def correct_batches(work: Workplace) -> int:
    """Write down, in the order in which they were applied, the batches the ledger does not know; how many there were."""
    known = work.ledger.applied_names()
    found = [(name, batch_result(work, name)) for name in work.landing.files.names(layout.BATCHES) if name not in known]
    unknown = [(result, name) for name, result in found if result is not None]
    if unknown:
        void = superseded(work)
        with work.ledger.at_once():
            for result, name in sorted(unknown, key=lambda u: (u[0].start_position, u[0].end)):
                write_down(work, result, name, void)
    return len(unknown)


def last_batch(work: Workplace, until: ChainPosition | None = None) -> BatchResult | None:
    """The newest of the chain (catch-ups of single tables stand beside it), or the newest that ends by a place in it:
    incarnation and SCN."""
    for name in reversed(work.landing.files.names(layout.BATCHES)):
        if is_of_the_chain(name) and (until is None or end_of(name) <= until):
            result = batch_result(work, name)
            if result is not None:
                return result
    return None


def chain_of_batches(work: Workplace) -> list[BatchResult]:
    """Oldest first, without the catch-ups of single tables that stand beside it."""
    found = (batch_result(work, name) for name in work.landing.files.names(layout.BATCHES) if is_of_the_chain(name))
    return [result for result in found if result is not None]


def catch_up_of(result: BatchResult) -> TableId | None:
    """A catch-up says so in its token: `<table>:<random>`."""
    return TableId.parse(result.token.rpartition(":")[0]) if ":" in result.token else None


def is_made_good(done: TableResult, entry: TableEntry, result: BatchResult) -> bool:
    """A batch written down late: the table had no contents then, or has passed the batch's end since, by a newer snapshot."""
    no_contents = (done.error or {}).get("code") == NOT_LOADED["code"]
    return no_contents or entry.position >= result.end_position.plus(-1)


def is_held_since(work: Workplace, entry: TableEntry, batch: str) -> bool:
    """Whether the table was held while the batch was under way, which knew nothing of it."""
    prepared = work.ledger.batch(batch)
    return prepared is not None and entry.held_at is not None and entry.held_at > prepared.created_at


def write_down(work: Workplace, result: BatchResult, name: str, void: Void) -> None:
    """Bring the ledger to a batch's manifest, but for the tables that were set back since."""
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
            work.ledger.release(done.table)  # resumed before the batch: seen when a lost ledger is rebuilt
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
    """The invariant's terms, without those that are 0."""
    return {term: rows for term, rows in asdict(account).items() if rows}
