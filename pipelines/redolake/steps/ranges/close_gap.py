"""Close a declared gap: mine its range from logs that were restored, and read the rows again that its changes touch.

The windows of the gap are proved by the gate as any others, and land in a chain of their own beside the first one. Each row
whose key one of their changes names is then read AS OF the table's own position, and merged in a commit that leaves the
position as it is, as a repair does. So a row that changed later has its later state, a deleted row stays deleted, and the table
has what it would have had without the gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from redolake.context import Run, now, open_pipeline_source, step
from redolake.errors import RedoNotUnderstood, Terminal, plain_lines
from redolake.host.progress import Progress
from redolake.land.landing import Landing
from redolake.ledger import TableEntry
from redolake.reconcile.batches import snapshot_position
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.reconcile.redo_loss import MissingLogReport, missing_log_report
from redolake.reconcile.table_versions import known_versions, object_ids, owners_of_unknown
from redolake.records.closed import ClosedTable
from redolake.records.gaps import DeclaredGap
from redolake.records.windows import WindowManifest
from redolake.schema import version_as_of
from redolake.steps.proof.repair import KEYS_AT_ONCE, ReadAgain, read_again
from redolake.steps.ranges.mine_range import RangePlan, RangeToMine, files_of, mine_range, plan_range
from redolake.steps.ranges.touched_keys import (
    TouchedRows,
    TouchedTable,
    read_beginnings,
    read_ends,
    read_window,
    refuse_older,
    why_not_by_key,
)
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.same_container import read_same_container
from redolake.steps.shared.scn_times import time_written
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from redolake.values.utc import beside
from redolake.window.recovery_options import is_rewound

CLOSING = "closing a gap"


@dataclass(frozen=True, slots=True)
class GapClosing:
    """What closing a gap reads and does. `windows` are not mined yet, from `logs` archived logs with `log_bytes`; `mined` are.
    `missing` are the logs that must be restored first, by the commands of `rman`. It is `done` once no table lacks the gap."""

    pipeline: str
    from_scn: int
    to_scn: int
    windows: int
    mined: int
    logs: int
    log_bytes: int
    missing: tuple[MissingLogReport, ...] = ()
    rman: tuple[str, ...] = ()
    tables: tuple[ReadAgain, ...] = ()
    executed: bool = False
    done: bool = False
    from_at: str | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        head = f"declared gap: SCN {self.from_scn}{beside(self.from_at)} to {self.to_scn - 1}"
        if self.missing:
            names = (f"redo thread {log.thread} log {log.sequence}: {log.why}" for log in self.missing)
            return plain_lines((head, *(f"missing: {name}" for name in names), *(f"RMAN> {line}" for line in self.rman)))
        logs = f"{self.logs} archived log(s), {self.log_bytes:,} bytes"
        reads = f"{self.windows} window(s) to mine from {logs}; {self.mined} are mined"
        tables = (line for table in self.tables for line in table.lines)
        return plain_lines((head, "" if self.executed else reads, *tables))


@dataclass(frozen=True, slots=True)
class Task(RangeToMine):
    """What one run works on."""

    gap: DeclaredGap


@step
def close_gap(run: Run, gap: int | None = None, tables: Sequence[str] | None = None, *, logs: Sequence[str] = ()) -> GapClosing:
    """Show what closing a declared gap takes, or carry it out. `gap` is an SCN in it, None for the only one; `logs` are files,
    or folders of files, that the database can read.

    A killed run is repeated: mined windows stay, and tables that are closed are left alone. Raises RedoLost where logs of
    the gap are still missing.
    """
    if run.execute:
        run.decision(CLOSING)
    reconcile_ledger(run)
    named_tables(run, tables)
    found = find_gap(run, gap)
    ids = tuple(table for table in map(TableId.parse, found.tables) if table in run.pipeline.by_id)
    side = run.landing.side_landing(found.name)
    task = Task(run, run.source, side, found.start, found.end, ids, files_of(run.pipeline, logs), found)
    chosen = lacking(run, found, tables)
    planned, to_mine = plan(task, chosen)
    if not run.execute:
        return planned
    to_mine.check()
    mine_range(task)
    touched = read_touched(task, chosen)
    done = tuple(close_table(task, entry, touched) for entry in chosen)
    reconcile_ledger(run)
    is_done = not any(lacking(run, found, None))
    windows = task.side.windows.after()
    return replace(planned, windows=0, mined=len(windows), tables=done, executed=True, done=is_done)


# --- What is to be done -----------------------------------------------------------------------------------------------


def find_gap(context: Run, scn: int | None) -> DeclaredGap:
    gaps = context.landing.gaps.all()
    found = [one for one in gaps if scn is None or one.start.scn <= scn < one.end.scn or one.start.scn == scn]
    if scn is None:
        found = [one for one in found if any(lacking(context, one, None))] or found[-1:]
    if not gaps:
        raise Terminal("no gap is declared, so there is nothing to close", cure="`redolake status` shows what a table lacks")
    if len(found) != 1:
        there = ", ".join(f"SCN {one.start.scn} to {one.last_position.scn}" for one in gaps) or "none"
        what = "no declared gap has this SCN" if scn is not None else f"{len(found)} declared gaps are open"
        raise Terminal(what, cure=f"name an SCN inside one of the declared gaps: {there}")
    return found[0]


def lacking(context: Run, gap: DeclaredGap, names: Sequence[str] | None) -> list[TableEntry]:
    """Return the tables that lack what the gap has, or those of them with these names."""
    known = {one.table: one.snapshot_scn for one in context.landing.closings.of(gap.name)}
    present = gap.without(known)
    entries = [
        e for e in context.ledger.tables() if present.concerns(e.table, e.snapshot_scn) and e.table in context.pipeline.by_id
    ]
    if not names:
        return entries
    wanted = named_tables(context, names)
    return [entry for entry in entries if entry.table in wanted]


def plan(task: Task, chosen: Sequence[TableEntry]) -> tuple[GapClosing, RangePlan]:
    context, gap = task.context, task.gap
    with open_pipeline_source(context.pipeline, task.source) as oracle:
        facts = task.facts(oracle)
        if is_rewound(gap.start, facts):
            raise Terminal(
                f"a RESETLOGS has undone changes from before the gap, SCN {gap.start.scn}: its logs cannot show which rows",
                cure="run `redolake snapshot OWNER.TABLE --replace` for each table",
            )
        read_same_container(context, oracle)
    found = plan_range(task, facts)
    closing = GapClosing(
        pipeline=context.name,
        from_scn=int(gap.start.scn),
        to_scn=int(gap.end.scn),
        windows=len(found.windows),
        mined=len(task.side.windows.names()),
        logs=found.logs,
        log_bytes=found.log_bytes,
        missing=tuple(map(missing_log_report, found.missing)),
        rman=found.rman,
        tables=tuple(planned_table(context, gap, entry) for entry in chosen),
        done=not any(lacking(context, gap, None)),
        from_at=time_written(context, int(gap.start.scn)),
    )
    return closing, found


def planned_table(context: Run, gap: DeclaredGap, entry: TableEntry) -> ReadAgain:
    why, cause = why_not(context, gap, entry), f"the declared gap {gap.name}"
    return ReadAgain(str(entry.table), entry.complete_to_scn, None, cause, why_not=why)


def why_not(context: Run, gap: DeclaredGap, entry: TableEntry) -> str:
    """Return why a table cannot be closed, as far as is known before the logs are read."""
    again = snapshot_of(entry)
    versions = known_versions(context, entry.table)
    if entry.state == "snapshotting" or entry.complete_to_scn is None or not versions:
        return "its snapshot is being read: let it end"
    if entry.position < gap.last_position and not is_held_at(gap, entry):
        state = "is held before the gap" if entry.state == "held" else "has not been applied past the gap"
        return f"it {state}: " + (again if entry.state == "held" else "let apply run first")
    last = last_batch(context)
    if is_held_at(gap, entry) and (last is None or last.end_position <= gap.end.chain_position):
        return "no window after the gap is applied: let apply run first"
    reason = why_not_by_key(context, version_as_of(versions, entry.complete_to_scn))
    return f"{reason}: {again}" if reason else ""


def snapshot_of(entry: TableEntry) -> str:
    return f"run `redolake snapshot {entry.table.in_command} --replace`"


def is_held_at(gap: DeclaredGap, entry: TableEntry) -> bool:
    """Return whether changes after the gap do not fit the table, most likely because it lacks the gap."""
    does_not_fit = entry.state == "held" and (entry.error or {}).get("code") == RedoNotUnderstood.__name__
    return does_not_fit and gap.kind != "snapshot" and entry.position >= gap.start.chain_position.plus(-1)


# --- The rows of the gap ----------------------------------------------------------------------------------------------


def read_touched(task: Task, chosen: Sequence[TableEntry]) -> TouchedRows:
    """Read which keys the gap's changes name, and those of the transactions that were open at its start."""
    context, gap = task.context, task.gap
    tables = dict[TableId, TouchedTable]()
    for entry in chosen:
        versions = known_versions(context, entry.table)
        if versions and entry.complete_to_scn is not None:
            version, since = version_as_of(versions, entry.complete_to_scn), snapshot_of_incarnation(context, gap, entry)
            tables[entry.table] = TouchedTable(version, since=since)
    touched = TouchedRows(tables, object_ids(context, {}))
    read_dropped(task, touched)
    windows = task.side.windows.after()
    for number, window in enumerate(windows):
        context.report(Progress("", "reading the keys of windows", number, len(windows)))
        read_window(context, task.side, window, touched)
    refuse_unknown(context, touched, windows)
    later = list(later_windows(context.landing, gap))
    if touched.transactions.open and (not later or later[0].start > gap.end.scn) and context.landing.pruned is not None:
        for one in touched.tables.values():
            one.refuse("the windows after the gap were pruned, which show whether its transactions have ended")
    read_ends(context.landing, later, touched)
    refuse_older(touched)
    return touched


def refuse_unknown(context: Run, touched: TouchedRows, windows: Sequence[WindowManifest]) -> None:
    """Refuse the tables that may own changes which LogMiner resolved to no table."""
    known = {table: known_versions(context, table) for table in touched.tables}
    for table, why in owners_of_unknown(context, known, windows):
        touched.tables[table].refuse(why)


def snapshot_of_incarnation(context: Run, gap: DeclaredGap, entry: TableEntry) -> int:
    """Return the SCN of the table's snapshot, if it is of the gap's incarnation: SCNs of others do not compare. Else -1."""
    scn = entry.snapshot_scn
    position = None if scn is None else snapshot_position(context, entry.table, int(scn))
    return position.scn if position is not None and position.resetlogs_id == gap.start.resetlogs_id else -1


def later_windows(landing: Landing, gap: DeclaredGap) -> Iterator[WindowManifest]:
    """Yield the windows after the gap, in its incarnation: no transaction outlives a RESETLOGS."""
    of_it = (window for window in landing.windows.each_after(gap.end.chain_position) if window.start >= gap.end.scn)
    return takewhile(lambda window: window.resetlogs_id == gap.end.resetlogs_id, of_it)


def read_dropped(task: Task, touched: TouchedRows) -> None:
    """Read the rows from before the gap of transactions that were open at its start: the gap has dropped them."""
    names, gap = {(one.con_id, one.xid) for one in task.gap.dropped}, task.gap
    since = min((one.start_scn for one in gap.dropped), default=None)
    left, _ = read_beginnings(task.context, gap.start.chain_position, names, touched, since)
    if left:
        for one in touched.tables.values():
            one.refuse(f"the windows since SCN {since} are gone, in which transactions open at the gap's start began")


# --- The tables -------------------------------------------------------------------------------------------------------


def close_table(task: Task, entry: TableEntry, touched: TouchedRows) -> ReadAgain:
    """Read the table's touched rows again, and record that it lacks nothing any more."""
    run, planned = task.context, planned_table(task.context, task.gap, entry)
    one = touched.tables.get(entry.table)
    if planned.why_not or one is None:
        return planned
    up_to, problem = None, one.why_not
    if is_held_at(task.gap, entry) and not problem:
        further, end = with_later_keys(task, touched, entry)
        problem = why_not_further(touched, further, entry, end)
        if not problem or entry.position < task.gap.last_position:
            up_to, one = end, further
        else:
            problem = ""  # its rows of the gap can be read AS OF its own position, and it stays held
    if not problem and up_to is None:
        problem = open_transactions_of(touched, entry, entry.complete_to_scn)
    by, reason = run.decision(CLOSING)
    asked = replace(planned, why_not=problem, changes=one.changes, rows=len(one.keys), by=by, reason=reason)
    if problem:
        return asked
    done = read_again(run, asked, one.named_keys, up_to)
    if done.equal:
        run.landing.closings.record_closed(closed_table(task, entry, done))
    return done


def open_transactions_of(touched: TouchedRows, entry: TableEntry, scn: int | None) -> str:
    """Return why a transaction of the gap keeps the table open: AS OF its position, nobody sees its changes."""
    assert scn is not None
    found = touched.transactions.open_at(entry.table, int(scn))
    if not found:
        return ""
    name = min(name for _, name in found[0].names)
    return f"transaction {name} began in the gap, and has not ended by SCN {scn}: run it again after it has"


def with_later_keys(task: Task, touched: TouchedRows, entry: TableEntry) -> tuple[TouchedTable, ChainPosition]:
    """Return what a table lacks that is held since the gap: that, and all that has landed since, up to the last batch's end."""
    last = last_batch(task.context)
    assert last is not None, "planned_table has looked"
    known = touched.tables[entry.table]
    later = TouchedRows({entry.table: TouchedTable(known.version, since=known.since)}, touched.ids)
    windows = [w for w in later_windows(task.context.landing, task.gap) if w.end_position <= last.end_position]
    for window in windows:
        read_window(task.context, task.context.landing, window, later)
    refuse_unknown(task.context, later, windows)
    found = later.tables[entry.table]
    keys, changes = known.keys | found.keys, known.changes + found.changes
    return replace(known, keys=keys, changes=changes, why_not=found.why_not), last.end_position.plus(-1)


def why_not_further(touched: TouchedRows, one: TouchedTable, entry: TableEntry, up_to: ChainPosition) -> str:
    """Return why a held table cannot be brought to the end of the last batch; empty where it can."""
    if one.why_not:
        return one.why_not
    if len(one.keys) > KEYS_AT_ONCE:
        many = f"{len(one.keys)} rows have changed since it is held, and {KEYS_AT_ONCE} are read again at once"
        return f"{many}: {snapshot_of(entry)}"
    if not one.keys:
        return f"no change of it is known since it is held: run `redolake resume {entry.table.in_command}`"
    return open_transactions_of(touched, entry, up_to.scn)


def closed_table(task: Task, entry: TableEntry, done: ReadAgain) -> ClosedTable:
    windows, version = task.side.windows.after(), done.delta_version
    return ClosedTable(
        gap=task.gap.name,
        table=str(entry.table),
        snapshot_scn=None if entry.snapshot_scn is None else int(entry.snapshot_scn),
        windows=tuple(window.name for window in windows),
        logs=len({log for window in windows for log in window.logs}),
        changes=done.changes,
        keys=done.rows or 0,
        scns=() if version is None or done.applied_scn is None else (done.applied_scn,),
        delta_versions=() if version is None else (version,),
        reason=done.reason,
        by=done.by,
        at=now().isoformat(timespec="seconds"),
        **done.counts,
    )
