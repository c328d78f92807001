"""Open transactions, and those that a person has dropped: who, why, which rows, and what became of them.

A drop is written once beside the landing. From then on every batch is told of it until one has seen the transaction's end; its
rows are counted and not applied. Where it commits, its tables lack it until they are read anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from pipelines import crash
from pipelines.apply.delta.log import last_txn
from pipelines.config import Pipeline
from pipelines.context import Workplace, now, workplace
from pipelines.errors import InvariantBroken, Terminal
from pipelines.land import layout
from pipelines.land.carried import CarriedRows, read_carried
from pipelines.ledger import TableEntry
from pipelines.reconcile.batches import is_of_the_chain
from pipelines.reconcile.ledger import correct_ledger, drops, last_batch
from pipelines.reconcile.table_versions import app_id, known_versions
from pipelines.records.batch_result import BatchResult, DroppedRows
from pipelines.records.batch_spec import DroppedXid
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.dropped_transaction import DroppedTransaction
from pipelines.records.open_transaction import OpenTransaction
from pipelines.scn import ChainPosition
from pipelines.steps.leases import take_apply_lease

Key = tuple[int, str, int]  # container, xid, start SCN


# --- Which drops a batch is told of ----------------------------------------------------------------------------------


def in_force(
    found: Sequence[DroppedTransaction],
    breaks: Sequence[DeclaredGap],
    before: BatchResult | None,
    start: ChainPosition,
    end: int,
) -> tuple[DroppedXid, ...]:
    """Of a batch from `start` on, behind the batch `before`: the drops of transactions that have not ended there yet."""
    return tuple(drop.dropped_xid for drop in found if is_in_force(drop, breaks, before, start, end))


def is_in_force(
    drop: DroppedTransaction, breaks: Sequence[DeclaredGap], before: BatchResult | None, start: ChainPosition, end: int
) -> bool:
    if drop.resetlogs_id == start.resetlogs_id and drop.transaction.start_scn >= end:
        return False
    if any(drop.position <= b.start.chain_position and b.end.chain_position <= start and is_rewind(b) for b in breaks):
        return False  # no transaction outlives a RESETLOGS, and behind it SCNs may come again
    if (start if before is None else before.end_position) <= drop.position:
        return True  # it was open when it was dropped, so it is open there already, or begins later
    return before is not None and any(key_of(met) == drop.key and met.end_scn is None for met in before.dropped)


def is_rewind(found: DeclaredGap) -> bool:
    return found.start.resetlogs_id != found.end.resetlogs_id


def key_of(told: DroppedRows | OpenTransaction) -> Key:
    return told.con_id, told.xid, told.start_scn


# --- What became of a dropped transaction ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fate:
    """`rows` by table, as far as batches have met them. `end_scn` is that of its end; for one that is unknown, of the last
    break, in which its end may lie."""

    state: Literal["open", "committed", "rolled back", "unknown"]
    end_scn: int | None
    rows: Mapping[str, int]

    def lacking(self, entries: Iterable[TableEntry]) -> list[str]:
        """The tables that lack what it did: those whose contents are from before its end."""
        if self.state not in ("committed", "unknown") or self.end_scn is None:
            return []
        return [str(e.table) for e in entries if self.rows.get(str(e.table)) and (e.snapshot_scn or -1) < self.end_scn]


def fate_of(drop: DroppedTransaction, met: Sequence[DroppedRows], breaks: Sequence[DeclaredGap]) -> Fate:
    rows: Counter[str] = Counter()
    for told in met:
        rows.update(told.rows)
    counted = dict(sorted(rows.items())) if met else dict(drop.rows)
    for told in met:
        if told.end_scn is not None:
            return Fate("committed" if told.committed else "rolled back", told.end_scn, counted)
    passed = [found for found in breaks if found.start.chain_position >= drop.position]
    if passed:
        return Fate("unknown", int(passed[-1].end.scn), counted)
    return Fate("open", None, counted)


def met_by_batches(work: Workplace) -> dict[Key, list[DroppedRows]]:
    """Of the chain alone: what a single table catches up was met there already."""
    found: dict[Key, list[DroppedRows]] = {}
    for entry in reversed(work.ledger.batches("applied")):
        if is_of_the_chain(entry.name):
            for body in (entry.result or {}).get("dropped", ()):
                met = DroppedRows(**body)
                found.setdefault(key_of(met), []).append(met)
    return found


def told_drops(work: Workplace) -> list[dict[str, Any]]:
    """All that were ever dropped, oldest first, as status and `tx list` tell them."""
    found = drops(work)
    if not found:
        return []
    met, breaks, entries = met_by_batches(work), work.landing.gaps.all(), work.ledger.tables()
    told = []
    for drop in sorted(found, key=lambda d: (d.position, d.key)):
        fate = fate_of(drop, met.get(drop.key, []), breaks)
        told.append(
            {
                **asdict(drop.transaction),
                "reason": drop.reason,
                "by": drop.by,
                "at": drop.at,
                "state": fate.state,
                "end_scn": fate.end_scn,
                "rows": sum(fate.rows.values()),
                "tables": dict(fate.rows),
                "lacking": fate.lacking(entries),
            }
        )
    return told


def open_drops(work: Workplace) -> list[dict[str, Any]]:
    """Those that still matter: not ended yet, or some table lacks them."""
    return [told for told in told_drops(work) if told["state"] == "open" or told["lacking"]]


# --- The steps -------------------------------------------------------------------------------------------------------


def list_transactions(pipeline: Pipeline) -> dict[str, Any]:
    """Those open at the end of the last batch, oldest first, and those that were dropped. `age_seconds` ends with the newest
    redo that batch has read: both times are of the database host's clock."""
    with workplace(pipeline) as work:
        correct_ledger(work)
        last = last_batch(work)
        dropped = told_drops(work)
        gone = {(d["con_id"], d["xid"], d["start_scn"]) for d in dropped}
        still = [] if last is None else [t for t in last.open_transactions if key_of(t) not in gone]
        read_to = None if last is None else last.read_to
        return {
            "read_to": read_to,
            "open": [{**asdict(t), "age_seconds": age(t.first_at, read_to)} for t in still],
            "dropped": dropped,
        }


def age(first_at: str | None, read_to: str | None) -> int | None:
    if first_at is None or read_to is None:
        return None
    return max(0, int((datetime.fromisoformat(read_to) - datetime.fromisoformat(first_at)).total_seconds()))


def look_up_transaction(pipeline: Pipeline, xid: str, con_id: int | None = None) -> dict[str, Any]:
    """The one open transaction of that xid, with its carried rows by table: what dropping it would cost. Raises Terminal for
    one that is not open, was dropped before, or is open in several containers."""
    with workplace(pipeline) as work:
        correct_ledger(work)
        transaction, carried = carried_by(work, xid, con_id)
        return {**asdict(transaction), "tables": rows_by_table(work, carried)}


@crash.writer
def drop_transaction(pipeline: Pipeline, xid: str, con_id: int | None = None, *, reason: str, by: str) -> dict[str, Any]:
    """Write down that it is dropped; the next batch goes by it. Raises LeaseHeld while a batch is applied, and Terminal where
    one was applied in part: some tables might have the transaction already and others not."""
    if not reason.strip():
        raise Terminal("a reason is wanted: it is kept with the drop", cure="say --reason TEXT")
    with workplace(pipeline) as work:
        lease = take_apply_lease(work)
        try:
            correct_ledger(work)
            transaction, carried = carried_by(work, xid, con_id)
            last = last_batch(work)
            assert last is not None, "it carries the transaction"
            check_settled(work, last)
            made = DroppedTransaction(
                transaction=transaction,
                resetlogs_id=last.resetlogs_id,
                scn=last.end,
                reason=reason.strip(),
                by=by,
                at=now().isoformat(timespec="seconds"),
                rows=rows_by_table(work, carried),
                servers=tuple(sorted(carried.servers)),
            )
            work.landing.files.write_record_once(layout.drop_file(made.name), made)
            correct_ledger(work)
        finally:
            work.ledger.release_lease(lease)
        return next(told for told in told_drops(work) if (told["con_id"], told["xid"], told["start_scn"]) == made.key)


def carried_by(work: Workplace, xid: str, con_id: int | None) -> tuple[OpenTransaction, CarriedRows]:
    last = last_batch(work)
    transaction = the_open_one(() if last is None else last.open_transactions, drops(work), xid, con_id)
    assert last is not None
    carried = read_carried(last.carry_files, transaction.con_id, xid)
    if carried.rows.total() != transaction.rows:
        raise InvariantBroken(
            f"{carried.rows.total()} rows are carried for the transaction, the batch's manifest says {transaction.rows}",
            cure="nothing was dropped; report it with the batch's manifest",
            xid=xid,
            container=transaction.con_id,
        )
    return transaction, carried


def the_open_one(
    listed: Sequence[OpenTransaction], dropped: Sequence[DroppedTransaction], xid: str, con_id: int | None
) -> OpenTransaction:
    named = [t for t in listed if t.xid == xid and con_id in (None, t.con_id)]
    before = {drop.key: drop for drop in dropped}
    found = [t for t in named if key_of(t) not in before]
    if len(found) > 1:
        containers = ", ".join(str(t.con_id) for t in found)
        raise Terminal(
            f"transaction {xid} is open in several containers: {containers}", cure="say which one with --container N", xid=xid
        )
    if found:
        return found[0]
    latest = [drop for drop in dropped if drop.transaction.xid == xid and con_id in (None, drop.transaction.con_id)]
    told = f"; one of that name was dropped by {latest[-1].by} at {latest[-1].at}: {latest[-1].reason}" if latest else ""
    raise Terminal(
        f"no transaction {xid} is open at the end of the last batch{told}",
        cure="`redolake tx list` shows those that are",
        xid=xid,
        container=con_id,
    )


def rows_by_table(work: Workplace, carried: CarriedRows) -> dict[str, int]:
    """An object whose name LogMiner could not tell goes by its id."""
    tables = {str(table.id): table.id for table in work.pipeline.tables}
    by_id = {version.object_id: name for name, table in tables.items() for version in known_versions(work, table)}
    rows: Counter[str] = Counter()
    for (owner, name, object_id), count in carried.rows.items():
        named = next((text for text, t in tables.items() if (t.owner, t.name) == (owner, name)), None)
        rows[named or by_id.get(object_id or -1) or f"object {object_id}"] += count
    return dict(sorted(rows.items()))


def check_settled(work: Workplace, last: BatchResult) -> None:
    """Raises Terminal where a table is further than the ledger knows: a job was killed, or its outcome is not recorded."""
    ahead = work.landing.windows.after(last.end_position)[:1]
    for entry in work.ledger.tables():
        if all(table.id != entry.table for table in work.pipeline.tables):
            continue
        for resetlogs_id in {last.resetlogs_id, *(window.resetlogs_id for window in ahead)}:
            scn = last_txn(work.pipeline.target(entry.table), app_id(work, entry.table, resetlogs_id))
            if scn is not None and ChainPosition(resetlogs_id, scn) > entry.position:
                raise Terminal(
                    "a batch or a snapshot was applied in part: what is dropped must be dropped from all tables or none",
                    cure=f"let {work.name}_apply run to its end, or `redolake run {work.name}`, then see `redolake tx list`",
                    table=entry.table,
                    complete_to=scn,
                )
