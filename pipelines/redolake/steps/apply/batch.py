"""Apply: prepare the spec of a batch, record its result, release held tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redolake.context import Run, read_result, read_spec, reader, step
from redolake.errors import Finding, InvariantBroken, TableHeld, Terminal, report_with
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import Lease, TableEntry
from redolake.reconcile.approvals import NEW_HISTORY, record_approval
from redolake.reconcile.batches import attempt_of, find_superseded
from redolake.reconcile.dropped_transactions import record_drops
from redolake.reconcile.holds import NOT_LOADED
from redolake.reconcile.ledger import (
    catch_up_of,
    lacks_gap,
    last_batch,
    never_read,
    reconcile_ledger,
    reconcile_once,
    record_results,
)
from redolake.reconcile.newest_batches import is_in_chain
from redolake.reconcile.next_batch import catch_up, next_batch
from redolake.records.approvals import Approval
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import decode
from redolake.steps.shared.events import due_events, record_failure
from redolake.steps.shared.leases import APPLY, lease_for_job, renew_lease
from redolake.steps.shared.named_tables import named_table, named_tables
from redolake.steps.shared.scn_times import end_time
from redolake.values.ddl_policies import ANSWERS, Answers
from redolake.values.scn import BEFORE_ALL, ChainPosition
from redolake.values.table import TableId
from redolake.values.terms import ReportedCounts


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """`batch` is the location of the spec, None if there is nothing to apply; `tables` are those that are not held. `ends_at`
    is when the source wrote `end`, in UTC."""

    batch: str | None
    reason: str
    tables: tuple[str, ...] = ()
    start_scn: int = 0
    end_scn: int = 0
    ends_at: str | None = None


@dataclass(frozen=True, slots=True)
class AppliedTable(ReportedCounts):
    """What a batch reports of a table."""

    state: str
    complete_to_scn: int | None


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    tables: Mapping[str, AppliedTable]  # by OWNER.NAME
    held: tuple[str, ...]
    start_scn: int
    end_scn: int
    more: bool = False  # landed windows wait for another batch
    ends_at: str | None = None  # when the source wrote `end`, in UTC


@step
def prepare_batch(context: Run) -> PreparedBatch:
    """Write the spec of the next batch: first the catch-up of a resumed table, else the landed windows not yet applied, as many
    as `batch.max_rows` allows."""
    with lease_for_job(context, APPLY) as lease:
        return write_batch(context, lease)


@crash.writer
def write_batch(context: Run, lease: Lease) -> PreparedBatch:
    reconcile_once(context)
    last = last_batch(context)
    spec = catch_up(context, last) or next_batch(context, last)
    if spec is None:
        context.ledger.release_lease(lease)
        return PreparedBatch(None, "every landed window is applied")
    spec = replace(spec, lease=lease.token, events=due_events(context))
    name = layout.name_of(spec.manifest)
    context.landing.continued.note_prepared(BEFORE_ALL if last is None else last.end_position, name)
    location = context.landing.files.write_new_record(layout.batch_spec(name, attempt_of(spec.token)), spec)
    context.ledger.prepare_batch(name, spec.scns, location, lease=lease)
    tables = tuple(str(task.table) for task in spec.tables if task.hold is None or task.hold.at_scn > spec.start)
    ends_at = end_time(context, ChainPosition(spec.resetlogs_id, spec.end))
    return PreparedBatch(location, f"{len(spec.redo.windows)} window(s)", tables, spec.start, spec.end, ends_at)


@step
@crash.writer
def record_batch(context: Run, batch: str) -> RecordedBatch:
    """Record in the ledger what the batch's manifest says. Raises TableHeld, after that, if this batch held a table."""
    spec = read_spec(context, batch)
    result = decode(BatchResult, read_result(context, spec), spec.manifest)
    name = layout.name_of(spec.manifest)
    entry = context.ledger.batch(name)
    if entry is None or entry.state != "applied":
        lease = renew_lease(context, spec)
        with context.ledger.at_once():
            record_results(context, [(result, name)], find_superseded(context))
        if isinstance(spec, BatchSpec) and spec.events:
            record_failure(context, result.events_error)
        context.ledger.release_lease(lease)
    record_drops(context)
    check_goes_on(context, result, name)
    tables = {str(done.table): applied_table(done) for done in result.tables}
    held = tuple(name for name, table in tables.items() if table.state == "held")
    more = any(True for _ in context.landing.windows.each_after(result.end_position))
    ends_at = end_time(context, result.end_position)
    recorded = RecordedBatch(tables, held, result.start, result.end, more, ends_at)
    newly = newly_held(result, last_batch(context, result.start_position))
    if newly:
        raise TableHeld([finding_of(done.table, done.error) for done in newly], recorded)
    return recorded


def applied_table(done: TableResult) -> AppliedTable:
    return AppliedTable(done.state, done.complete_to, **done.reported)


def check_goes_on(context: Run, result: BatchResult, name: str) -> None:
    """Raise InvariantBroken if a recorded batch would be prepared again: the same windows would be applied for ever."""
    last, table = last_batch(context), catch_up_of(result)
    entry = None if table is None else context.ledger.table(table)
    lags = entry is not None and entry.state == "live" and entry.position < result.end_position.plus(-1)
    if lags or (is_in_chain(name) and (last is None or last.end_position < result.end_position)):
        raise InvariantBroken(
            f"the batch of SCN [{result.start}, {result.end}) is applied, and does not count",
            cure=f"{report_with('the names in the folder batches/ of the landing')}; nothing is applied until then, and landed "
            "redo is kept",
            table=table,
        )


def newly_held(result: BatchResult, before: BatchResult | None) -> list[TableResult]:
    """Return the tables that this batch held, from manifests alone: the ledger may already be at this batch."""
    held_before = {t.table for t in before.tables if t.state == "held"} if before else set()
    return [
        t
        for t in result.tables
        if t.state == "held" and t.table not in held_before and (t.error or {}).get("code") != NOT_LOADED["code"]
    ]


def finding_of(table: TableId, error: Mapping[str, Any] | None) -> Finding:
    """Return a finding for a held table; `error` is that of RedolakeError.as_dict()."""
    known = error or {}
    what = f"{known.get('code')}: {known.get('what')} {known.get('where') or ''}".strip()
    return Finding(str(table), what, str(known.get("cure", "")))


@step
def resume_tables(context: Run, tables: Sequence[str], *, new_history: bool = False) -> tuple[str, ...]:
    """Release held tables; the next apply catches each up from its own position. With `new_history`, the histories of the
    tables begin again if they are gone.

    Raises Terminal for a table not held; a new history needs a reason."""
    if new_history:
        context.decision("to let a history begin again")
    reconcile_ledger(context)
    resumed, policy = [], NEW_HISTORY if new_history else ""
    for table in named_tables(context, tables):
        check_contents(context, table)
        entry = held_entry(context, table)
        record_approval(
            context, "resume", table, entry.stopped_at, by=context.decided_by, reason=context.reason, policy=policy
        )  # fmt: skip
        context.ledger.release(table)
        resumed.append(str(table))
    return tuple(resumed)


@dataclass(frozen=True, slots=True)
class HeldTable:
    """What holds a table, and with a choice for a DDL, the name by which it was asked for and the statement's address."""

    table: str
    text: str
    address: str | None = None


@reader
def look_up_held(context: Run, tables: Sequence[str], choice: str | None = None) -> tuple[HeldTable, ...]:
    """Return what holds the tables. Raises Terminal for a table that is not held, or not by a statement that `choice`
    answers."""
    if choice:
        found = {name: holding_statement(context, named_table(context, name), choice) for name in tables}
        return tuple(
            HeldTable(name, f"would {choice} the statement of SCN {one.scn}: {one.what}", one.address)
            for name, one in found.items()
        )
    held = []
    for table in named_tables(context, tables):
        check_contents(context, table)
        entry = held_entry(context, table)
        why = (entry.error or {}).get("what", "")
        held.append(HeldTable(str(table), f"would continue from SCN {entry.complete_to_scn}; it is held: {why}"))
    return tuple(held)


def held_entry(context: Run, table: TableId) -> TableEntry:
    """Return a table's entry. Raise Terminal for a table that is not held."""
    entry = context.ledger.table(table)
    if entry is None or entry.state != "held":
        raise Terminal("the table is not held", cure="`redolake status` shows which are", table=table)
    return entry


@dataclass(frozen=True, slots=True)
class HoldingStatement:
    """The DDL statement that holds a table: its address in the redo, and the policy that answers it."""

    table: TableId
    policy: str
    scn: int
    thread: int
    rs_id: str
    what: str

    @property
    def address(self) -> str:
        return f"{self.table} thread {self.thread} SCN {self.scn} {self.rs_id}"


def holding_statement(context: Run, table: TableId, choice: str) -> HoldingStatement:
    """Return the DDL statement that holds a table. Raise Terminal for a table that none holds which `choice` answers."""
    entry = context.ledger.table(table)
    error = {} if entry is None or entry.state != "held" else dict(entry.error or {})
    where = error.get("where", {})
    policy, known = where.get("policy", ""), where.get("ddl_choice")
    values = tuple(known.split(", ")) if known else ANSWERS.get(policy, Answers()).once
    if "rs_id" not in where or choice not in values:
        raise Terminal(
            f"the table is not held by a DDL statement that {choice!r} answers",
            cure=f"write {' or '.join(values)}"
            if values not in ((), ("none",)) and "rs_id" in where
            else "`redolake status` shows what holds it",
            table=table,
        )
    return HoldingStatement(table, policy, where["scn"], where["thread"], where["rs_id"], error.get("what", ""))


@step
def approve_ddl(context: Run, table_name: str, choice: str, *, address: str | None = None) -> Approval:
    """Release a table held by a DDL statement, and treat that statement as `choice` says, once. Raises Terminal for a
    table that no such statement holds, or another one than that at `address`."""
    by, reason = context.decision("to approve a DDL")
    reconcile_ledger(context)
    table = named_table(context, table_name)
    found = holding_statement(context, table, choice)
    if address not in (None, found.address):
        what = f"another statement holds the table than the one that was approved: {found.what}"
        raise Terminal(
            what,
            cure="see `redolake status`, and choose again for this statement; nothing was done",
            table=table,
            scn=found.scn,
        )
    made = record_approval(
        context, "ddl", table, found.scn, by=by, policy=found.policy, choice=choice, reason=reason,
        rs_id=found.rs_id, thread=found.thread,
    )  # fmt: skip
    context.ledger.release(table)
    return made


def check_contents(context: Run, table: TableId) -> None:
    """Raise RedoLost for a table that must be read again after a declared gap and was not yet."""
    entry = context.ledger.table(table)
    for gap in context.landing.gaps.all():
        if gap.kind == "snapshot" and entry is not None and lacks_gap(entry, gap):
            raise never_read(gap, table)
