"""A backfill from archived logs: of a range that was pruned, that lies in a declared gap, or that is to be read once more.

The range is mined beside the chain (mine_range.py). Where a batch of the chain ends at its start, that batch's carry-over has
the transactions that began earlier; elsewhere no transaction may have begun earlier.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redolake.context import Run, open_pipeline_source
from redolake.errors import ConfigurationError, Finding
from redolake.reconcile.ledger import last_batch
from redolake.reconcile.table_versions import object_ids
from redolake.records.batches.spec import BatchSpec
from redolake.records.windows import WindowManifest
from redolake.source import ConnectParams
from redolake.steps.ranges.mine_range import RangePlan, RangeToMine, files_of, mine_range, plan_range
from redolake.steps.ranges.replay import missing_files
from redolake.steps.ranges.touched_keys import TouchedRows, TouchedTable, Xid, bounds_of, read_window
from redolake.steps.shared.same_container import read_same_container
from redolake.values.redo import Operation, Position
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId
from redolake.window.recovery_options import in_incarnation


@dataclass(frozen=True, slots=True)
class LogsToRead:
    """`logs` are files, or folders of files, that the database can read; without any, those that V$ARCHIVED_LOG lists."""

    logs: tuple[str, ...] = ()
    source: ConnectParams | None = None


def logs_to_read(from_logs: bool, logs: Sequence[str], source: ConnectParams | None = None) -> LogsToRead | None:
    """Return which archived logs are to be mined; None where the landing is read. Raises ConfigurationError for logs that would
    not be read."""
    if logs and not from_logs:
        cure = "add --from-logs, in Airflow the field From logs, or leave the logs out"
        raise ConfigurationError([Finding("--logs", "are given, and the landing is read", cure)])
    return LogsToRead(tuple(logs), source) if from_logs else None


@dataclass(frozen=True, slots=True)
class PlannedLogs:
    """What is mined of the range `scns`, and of the redo after it that proves its tables."""

    scns: ScnRange
    task: RangeToMine
    plan: RangePlan

    @property
    def lines(self) -> tuple[str, ...]:
        logs = f"{self.plan.logs} archived log(s), {self.plan.log_bytes:,} bytes"
        mined = len(self.task.side.windows.names())
        return (f"mines {len(self.plan.windows)} window(s) from {logs}; {mined} are mined",)


def plan_logs(
    context: Run,
    scns: ScnRange,
    tables: Sequence[TableId],
    given: LogsToRead,
    until: int | None = None,
) -> PlannedLogs:
    """Return what is mined of a range, and of the redo after it up to `until`. Raises RedoLost where a log of any redo thread
    is missing, ConfigurationError for a range that no incarnation has."""
    asked, scns = scns, ScnRange(scns.start, max(scns.end, Scn(until or 0)))
    offered = files_of(context.pipeline, given.logs)
    with open_pipeline_source(context.pipeline, given.source) as oracle:
        read_same_container(context, oracle)
        nowhere = Position(0, 0, Scn(0))
        task = RangeToMine(context, given.source, context.landing, nowhere, nowhere, tuple(tables), offered)
        facts = task.facts(oracle)
    start, end = (in_incarnation(int(scn), facts) for scn in (scns.start, Scn(scns.end - 1)))
    if start is None or end is None:
        raise ConfigurationError(
            [Finding("range", f"{scns} begins before every incarnation of the database", "begin it later")]
        )
    if start.resetlogs_id != end.resetlogs_id:
        at = next(one.resetlogs_scn for one in facts.incarnations if one.resetlogs_id == end.resetlogs_id)
        cure = f"end the range at SCN {at}, or begin it at SCN {at}"
        raise ConfigurationError([Finding("range", f"{scns} crosses a RESETLOGS", cure)])
    names = hashlib.sha256(" ".join(sorted(map(str, tables))).encode()).hexdigest()[:8]
    side = context.landing.side_landing(f"{start.chain_position.name}-{scns.end}-{names}")
    task = replace(task, side=side, start=start, end=replace(end, scn=scns.end))
    found = plan_range(task, facts)
    found.check()
    return PlannedLogs(asked, task, found)


def mine_logs(planned: PlannedLogs) -> Run:
    """Mine the range, and return the context in which its windows are those of the landing."""
    mine_range(planned.task)
    context = planned.task.context
    return context.with_landing(context.landing.with_chain_of(planned.task.side))


def objections_to_logs(beside: Run, spec: BatchSpec, windows: Sequence[WindowManifest], scns: ScnRange) -> Iterator[Finding]:
    """Yield why a batch over windows mined now would not be right."""
    for task in spec.tables:
        if any(delivery.rereads for delivery in task.course.deliveries):
            what = "its values are read again AS OF the ends of windows, which the database no longer shows"
            yield Finding(str(task.table), what, "backfill it from landed windows, or leave it out")
    yield from cut_transactions(beside, spec, windows, scns)


@dataclass(frozen=True, slots=True)
class Committed:
    """A transaction that commits in a range; `begun` is None where its START is not in it."""

    name: Xid
    begun: int | None
    committed: int


def cut_transactions(beside: Run, spec: BatchSpec, windows: Sequence[WindowManifest], scns: ScnRange) -> Iterator[Finding]:
    """Yield the first transaction that commits in the range, and whose changes from before the windows are not known."""
    known = {(one.con_id, one.xid) for one in spec.redo.open_in}
    found = [one for one in find_committed(beside, windows, scns) if one.begun is not None or one.name not in known]
    cut = next((one for one in found if one.begun is None), None)
    if cut is None:
        return
    name = f"a transaction that commits at SCN {cut.committed} ({cut.name[1]})"
    what = f"{name} began before the range, and its changes are not known"
    last = last_batch(beside, windows[0].start_position)
    ends = "the start of a declared gap" if last is None else last.end
    cure = f"begin the range at an SCN where a batch has ended, such as {ends}"
    start = first_uncut(found, int(scns.start))
    yield Finding("range", what, f"{cure}, or at SCN {start}, which cuts none" if start < scns.end else cure)


def rows_without_transaction(
    context: Run, beside: Run, spec: BatchSpec, windows: Sequence[WindowManifest], scns: ScnRange
) -> Iterator[Finding]:
    """Yield the tables with changes from before the range that may be of a transaction which commits in it: LogMiner has not
    shown of which they are. `context` has the chain of the pipeline, `beside` the windows."""
    cut = [one for one in find_committed(beside, windows, scns) if one.begun is None or one.begun < scns.start]
    if not cut:
        return
    known = dict[Xid, int](((one.con_id, one.xid), int(one.start_scn)) for one in spec.redo.open_in)
    since = min(known.get(one.name, int(spec.start) if one.begun is None else one.begun) for one in cut)
    older = context.landing.windows.after(ChainPosition(spec.resetlogs_id, Scn(since)))
    there = [one for one in older if one.start < scns.start and not any(missing_files(context, [one]))]
    into = TouchedRows({task.table: TouchedTable(task.course.versions[0]) for task in spec.tables}, object_ids(context, {}))
    for window in there:
        read_window(context, context.landing, window, into, (), ScnRange(Scn(0), scns.start))
    for table, found in into.tables.items():
        if found.why_not:
            cure = f"begin the range at SCN {max(one.committed for one in cut) + 1} or later, or use --target live"
            yield Finding(str(table), f"{found.why_not}: perhaps of one that commits in the range", cure)


def first_uncut(found: Sequence[Committed], start: int) -> int:
    """Return the first SCN from `start` on that no transaction has its START before and its commit after."""
    while cut := [one.committed for one in found if (one.begun or 0) < start <= one.committed]:
        start = max(cut) + 1
    return start


def find_committed(beside: Run, windows: Sequence[WindowManifest], scns: ScnRange) -> Iterator[Committed]:
    """Yield the transactions that commit in the range, as far as the windows show them."""
    begun = dict[Xid, int]()
    for window in windows:
        for scn, code, name in bounds_of(beside.landing, window):
            if code == Operation.START:
                begun[name] = scn
                continue
            start = begun.pop(name, None)
            if code == Operation.COMMIT and scn in scns:
                yield Committed(name, start, scn)
