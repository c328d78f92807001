"""List open and dropped transactions, and drop one: it is then not applied, however it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice

from redolake.apply.lake_tables import read_log
from redolake.apply.owner import damage_of
from redolake.context import Run, now, reader, step
from redolake.errors import OF_BATCH, InvariantBroken, Terminal, plain_lines, report_with
from redolake.host import crash
from redolake.land import layout
from redolake.land.carried import CarriedRows, read_carried
from redolake.reconcile.dropped_transactions import DropReport, OpenTransactionReport, key_of, read_drops
from redolake.reconcile.ledger import drops, landed_position, last_batch, reconcile_ledger
from redolake.reconcile.table_versions import app_id, known_versions
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult
from redolake.records.drops import DroppedTransaction
from redolake.steps.shared.leases import apply_lease
from redolake.values.scn import ChainPosition


@dataclass(frozen=True, slots=True)
class TransactionList:
    """`open` are those open at the end of the last batch, oldest first; `read_to_at` is the time of its newest redo."""

    read_to_at: str | None
    open: tuple[OpenTransactionReport, ...]
    dropped: tuple[DropReport, ...]


@dataclass(frozen=True, slots=True)
class DropCost(OpenTransaction):
    """What dropping an open transaction would leave out: its carried change rows by table."""

    tables: Mapping[str, int]

    @property
    def lines(self) -> tuple[str, ...]:
        lines = (
            f"Transaction {self.xid} of container {self.con_id}, open since SCN {self.start_scn} "
            f"({self.first_at}, thread {self.thread}, user {self.username or 'unknown'}), has so far changed",
            *(f"  {table}: {count} row(s)" for table, count in self.tables.items()),
            "None of these rows, and no later change of this transaction, will be applied. If it commits, or has committed "
            "meanwhile, these tables lack its changes until `redolake snapshot OWNER.TABLE --replace`, and a later change to "
            "one of its rows may hold its table.",
        )
        return plain_lines(lines)


@reader
def list_transactions(context: Run) -> TransactionList:
    """Return the transactions open at the end of the last batch, and the dropped ones."""
    landed_position(context)  # raises for a landing that is not there
    last = last_batch(context)
    dropped = read_drops(context)
    dropped_keys = {drop.key for drop in dropped}
    still_open = [] if last is None else [t for t in last.open_transactions if key_of(t) not in dropped_keys]
    read_to = None if last is None else last.read_to
    return TransactionList(read_to, tuple(open_report(t, read_to) for t in still_open), dropped)


def open_report(found: OpenTransaction, read_to: str | None) -> OpenTransactionReport:
    return OpenTransactionReport(**asdict(found), age_seconds=age(found.first_at, read_to))


def age(first_at: str | None, read_to: str | None) -> int | None:
    if first_at is None or read_to is None:
        return None
    return max(0, int((datetime.fromisoformat(read_to) - datetime.fromisoformat(first_at)).total_seconds()))


@reader
def look_up_transaction(context: Run, xid: str, con_id: int | None = None) -> DropCost:
    """Return the one open transaction of that xid with its carried rows. Raises Terminal for one that is not open, is already
    dropped, or is open in several containers."""
    found, carried = read_carried_transaction(context, xid, con_id)
    return DropCost(**asdict(found), tables=rows_by_table(context, carried))


@step
@crash.writer
def drop_transaction(context: Run, xid: str, con_id: int | None = None, *, start_scn: int | None = None) -> DropReport:
    """Record that a transaction is dropped; the next batch leaves out its rows. Raises LeaseHeld while a batch is applied, and
    Terminal after one was applied in part: some tables might already have the transaction and others not.

    With `start_scn`, only the transaction that began there is dropped: Oracle may have given its xid to another one since."""
    by, reason = context.decision("dropping a transaction")
    with apply_lease(context):
        reconcile_ledger(context)
        transaction, carried = read_carried_transaction(context, xid, con_id)
        if start_scn not in (None, transaction.start_scn):
            what = f"the transaction that began at SCN {start_scn} has ended; {xid} is now another one"
            raise Terminal(
                what, cure="see both with `redolake tx list`, and drop the one that is meant; nothing was dropped", xid=xid
            )
        last = last_batch(context)
        assert last is not None, "it carries the transaction"
        check_settled(context, last)
        drop = DroppedTransaction(
            transaction=transaction,
            resetlogs_id=last.resetlogs_id,
            scn=last.end,
            reason=reason,
            by=by,
            at=now().isoformat(timespec="seconds"),
            rows=rows_by_table(context, carried),
            servers=tuple(sorted(carried.servers)),
        )
        context.landing.files.write_record_once(layout.drop_file(drop.name), drop)
        reconcile_ledger(context)
    return next(found for found in read_drops(context) if found.key == drop.key)


def read_carried_transaction(context: Run, xid: str, con_id: int | None) -> tuple[OpenTransaction, CarriedRows]:
    """Return the open transaction and its carried rows. Raises InvariantBroken if their number is not that of the manifest."""
    last = last_batch(context)
    transaction = find_open(() if last is None else last.open_transactions, drops(context), xid, con_id)
    assert last is not None, "it lists the transaction"
    carried = read_carried(last.carried, transaction.con_id, xid, last.digests)
    if carried.rows.total() != transaction.rows:
        raise InvariantBroken(
            f"{carried.rows.total()} rows are carried for the transaction, the batch's manifest says {transaction.rows}",
            cure=f"{report_with(OF_BATCH)}; nothing was dropped",
            xid=xid,
            container=transaction.con_id,
        )
    return transaction, carried


def find_open(
    listed: Sequence[OpenTransaction], dropped: Sequence[DroppedTransaction], xid: str, con_id: int | None
) -> OpenTransaction:
    """Return the one open transaction of that xid, and container if given, that is not dropped. Raises Terminal otherwise."""
    named = [t for t in listed if t.xid == xid and con_id in (None, t.con_id)]
    dropped_keys = {drop.key for drop in dropped}
    found = [t for t in named if key_of(t) not in dropped_keys]
    if len(found) > 1:
        containers = ", ".join(str(t.con_id) for t in found)
        what = f"transaction {xid} is open in several containers: {containers}"
        raise Terminal(what, cure="name one with --container N", xid=xid)
    if found:
        return found[0]
    latest = [drop for drop in dropped if drop.transaction.xid == xid and con_id in (None, drop.transaction.con_id)]
    history = f"; one with this xid was dropped by {latest[-1].by} at {latest[-1].at}: {latest[-1].reason}" if latest else ""
    raise Terminal(
        f"no transaction {xid} is open at the end of the last batch{history}",
        cure="`redolake tx list` shows the open ones",
        xid=xid,
        container=con_id,
    )


def rows_by_table(context: Run, carried: CarriedRows) -> dict[str, int]:
    """Return carried rows by table; an object whose name LogMiner could not resolve is shown by its id."""
    tables = {str(table.id): table.id for table in context.pipeline.tables}
    by_id = {version.object_id: name for name, table in tables.items() for version in known_versions(context, table)}
    rows: Counter[str] = Counter()
    for (owner, name, object_id), count in carried.rows.items():
        named = next((text for text, t in tables.items() if (t.owner, t.name) == (owner, name)), None)
        rows[named or by_id.get(object_id or -1) or f"object {object_id}"] += count
    return dict(sorted(rows.items()))


def check_settled(context: Run, last: BatchResult) -> None:
    """Raise Terminal if a table is further than the ledger knows: a job was killed, or its result is not recorded."""
    ahead = list(islice(context.landing.windows.each_after(last.end_position), 1))
    for entry in context.ledger.tables():
        if entry.table not in context.pipeline.by_id:
            continue
        for resetlogs_id in {last.resetlogs_id, *(window.resetlogs_id for window in ahead)}:
            app = app_id(context, entry.table, resetlogs_id)
            log = read_log(context.pipeline.target(entry.table), damage_of(app))
            scn = None if log is None else log.position(app)
            if scn is not None and ChainPosition(resetlogs_id, scn) > entry.position:
                raise Terminal(
                    "a batch or a snapshot was applied in part: a transaction must be dropped from all tables or none",
                    cure=f"let {context.name}_apply run to its end, or `redolake run -p {context.name}`; "
                    "then `redolake tx list`",
                    table=entry.table,
                    complete_to=scn,
                )
