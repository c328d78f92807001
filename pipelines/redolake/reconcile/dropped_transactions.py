"""Transactions that a person has dropped: which of them a batch must leave out, and what has become of each.

A drop is written once beside the landing. Every batch gets it until one has seen the transaction's end; its rows are counted
and not applied. If it commits, its tables lack its changes until they are read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from redolake.context import Run
from redolake.errors import one_line
from redolake.ledger import TableEntry
from redolake.reconcile.ledger import drops
from redolake.reconcile.newest_batches import BACK, end_of, is_in_chain, start_of
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, DroppedRows
from redolake.records.batches.spec import DroppedXid
from redolake.records.codec import to_body
from redolake.records.drops import DroppedTransaction
from redolake.records.gaps import DeclaredGap
from redolake.records.shown_facts import DropFact, DropsFact
from redolake.values.scn import ChainPosition

Key = tuple[int, str, int]  # container, xid, start SCN
State = Literal["open", "committed", "rolled back", "unknown"]


def key_of(found: DroppedRows | OpenTransaction) -> Key:
    return found.con_id, found.xid, found.start_scn


# --- Which drops a batch gets ----------------------------------------------------------------------------------------


def drops_in_effect(
    dropped: Sequence[DroppedTransaction],
    gaps: Sequence[DeclaredGap],
    before: BatchResult | None,
    start: ChainPosition,
    end: int,
) -> tuple[DroppedXid, ...]:
    """Return the drops for a batch over [start, end) after the batch `before`: those of transactions that have not ended."""
    return tuple(drop.dropped_xid for drop in dropped if is_in_effect(drop, gaps, before, start, end))


def is_in_effect(
    drop: DroppedTransaction, gaps: Sequence[DeclaredGap], before: BatchResult | None, start: ChainPosition, end: int
) -> bool:
    if drop.resetlogs_id == start.resetlogs_id and drop.transaction.start_scn >= end:
        return False
    if any(
        drop.position <= gap.start.chain_position and gap.end.chain_position <= start and crosses_resetlogs(gap) for gap in gaps
    ):
        return False  # no transaction outlives a RESETLOGS, and after it SCNs may repeat
    if (start if before is None else before.end_position) <= drop.position:
        return True  # it was open when it was dropped, so it is open there already, or begins later
    return before is not None and any(key_of(rows) == drop.key and rows.end_scn is None for rows in before.dropped)


def crosses_resetlogs(gap: DeclaredGap) -> bool:
    return gap.start.resetlogs_id != gap.end.resetlogs_id


# --- What has become of a drop ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenTransactionReport(OpenTransaction):
    """An open transaction; the list's `age_seconds` end with the newest redo that the last batch has read, by the database's
    clock, the page's now."""

    age_seconds: float | None

    def __str__(self) -> str:
        begun = f"open since SCN {self.start_scn} ({self.first_at}), {self.rows} rows"
        who = f"user {self.username or 'unknown'}, redo thread {self.thread}"
        return one_line(f"{self.xid} of container {self.con_id}: {begun}, {who}")


@dataclass(frozen=True, slots=True)
class DropOutcome:
    """`rows` by table, as far as batches have counted them. For an unknown end, `end_scn` is that of the last
    declared gap, in which it may lie."""

    state: State
    end_scn: int | None
    rows: Mapping[str, int]

    def lacking_tables(self, entries: Iterable[TableEntry]) -> tuple[str, ...]:
        """Return the tables that lack the transaction's changes: those whose contents are from before its end."""
        if self.state not in ("committed", "unknown") or self.end_scn is None:
            return ()
        return tuple(str(e.table) for e in entries if self.rows.get(str(e.table)) and (e.snapshot_scn or -1) < self.end_scn)


def outcome_of(drop: DroppedTransaction, counted: Sequence[DroppedRows], gaps: Sequence[DeclaredGap]) -> DropOutcome:
    """Return the outcome by what batches have counted of the transaction, oldest first."""
    total: Counter[str] = Counter()
    for part in counted:
        total.update(part.rows)
    rows = dict(sorted(total.items())) if counted else dict(drop.rows)
    for part in counted:
        if part.end_scn is not None:
            return DropOutcome("committed" if part.committed else "rolled back", part.end_scn, rows)
    later = [gap for gap in gaps if gap.start.chain_position >= drop.position]
    if later:
        return DropOutcome("unknown", int(later[-1].end.scn), rows)
    return DropOutcome("open", None, rows)


@dataclass(frozen=True, slots=True)
class DropReport:
    """A dropped transaction with its outcome; `tables` are its change rows by table, `lacking` the tables without them."""

    con_id: int
    xid: str
    thread: int
    start_scn: int
    first_at: str | None
    rows: int
    bytes: int
    username: str | None
    reason: str
    by: str
    at: str
    state: State
    end_scn: int | None
    tables: Mapping[str, int]
    lacking: tuple[str, ...]

    @property
    def key(self) -> Key:
        return self.con_id, self.xid, self.start_scn


def read_drops(context: Run) -> tuple[DropReport, ...]:
    """Return all dropped transactions, oldest first."""
    dropped = drops(context)
    if not dropped:
        return ()
    gaps, entries = context.landing.gaps.all(), context.ledger.tables()
    ordered = sorted(dropped, key=lambda drop: (drop.position, drop.key))
    return tuple(report_of(drop, outcome_of(drop, [*rows_of_drop(context, drop)], gaps), entries) for drop in ordered)


def read_open_drops(context: Run) -> tuple[DropReport, ...]:
    """Return the dropped transactions that still matter: not ended yet, or some table lacks their changes."""
    return tuple(found for found in read_drops(context) if found.state == "open" or found.lacking)


def record_drops(context: Run) -> None:
    """Record for the page, `status` and the metrics which tables lack the changes of dropped transactions."""
    dropped = read_drops(context)
    found = [DropFact(drop.xid, drop.end_scn, drop.lacking) for drop in dropped if drop.lacking and drop.end_scn is not None]
    if dropped:
        context.ledger.record_fact("drops", to_body(DropsFact(tuple(found))))


def report_of(drop: DroppedTransaction, outcome: DropOutcome, entries: Sequence[TableEntry]) -> DropReport:
    found = drop.transaction
    return DropReport(
        con_id=found.con_id,
        xid=found.xid,
        thread=found.thread,
        start_scn=found.start_scn,
        first_at=found.first_at,
        rows=sum(outcome.rows.values()),
        bytes=found.bytes,
        username=found.username,
        reason=drop.reason,
        by=drop.by,
        at=drop.at,
        state=outcome.state,
        end_scn=outcome.end_scn,
        tables=outcome.rows,
        lacking=outcome.lacking_tables(entries),
    )


def rows_of_drop(context: Run, drop: DroppedTransaction) -> Iterator[DroppedRows]:
    """Yield what the batches of the chain have counted of a drop, up to its end; catch-ups count the same rows again.

    Each batch that a drop was given to names it. So the first one that does not, after one that does, was given none, and no
    later one is.
    """
    pruned, was_named = context.landing.pruned, False
    for rows in () if pruned is None else pruned.dropped:
        if key_of(rows) == drop.key:
            was_named = True
            yield rows
            if rows.end_scn is not None:
                return
    first = drop.position if pruned is None else max(drop.position, pruned.position)
    for entry in context.ledger.each_applied_from(first.plus(1).name, BACK):
        if not is_in_chain(entry.name) or (pruned is not None and end_of(entry.name) < pruned.position):
            continue
        own = [rows for body in (entry.result or {}).get("dropped", ()) if key_of(rows := DroppedRows(**body)) == drop.key]
        yield from own
        begins = ChainPosition(end_of(entry.name).resetlogs_id, start_of(entry.name))
        if any(rows.end_scn is not None for rows in own) or (not own and (was_named or begins > first)):
            return
        was_named = was_named or bool(own)
