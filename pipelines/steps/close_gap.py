"""Close a declared gap: mine its range from logs that were restored, and read the rows again that its changes touch.

The windows of the gap are proved by the gate as any others, and land in a chain of their own beside the first one. Each row
whose key one of their changes names is then read AS OF the table's own position, and merged in a commit that leaves the
position as it is, as a repair does. So a row that changed later has its later state, a deleted row stays deleted, and the table
has what it would have had without the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from pipelines.config import Pipeline
from pipelines.context import PipelineContext, Report, now, open_context, open_pipeline_source, owner, silent
from pipelines.errors import InvariantBroken, RedoLost, Terminal, Transient, report_with
from pipelines.host.progress import Progress
from pipelines.land import layout
from pipelines.land.landing import Landing
from pipelines.ledger import TableEntry
from pipelines.reconcile.ledger import last_batch, reconcile_ledger
from pipelines.reconcile.redo_loss import MissingLogReport, missing_log_report
from pipelines.reconcile.table_versions import known_versions, object_ids
from pipelines.records.closed import ClosedTable
from pipelines.records.gaps import DeclaredGap
from pipelines.records.windows import SliceRecord, WindowManifest, WindowPlan
from pipelines.schema import valid_at
from pipelines.source import ConnectParams, Source, read_log_headers, read_redo_facts, read_tables
from pipelines.steps.capture import mine
from pipelines.steps.decisions import check_reason
from pipelines.steps.redo_dictionary import with_its_dictionary
from pipelines.steps.repair import RepairedTable, repair_table
from pipelines.steps.run import make_retry, spark_when_needed
from pipelines.steps.same_container import read_same_container
from pipelines.steps.scn_times import time_written
from pipelines.steps.touched_keys import Key, TouchedRows, TouchedTable, Xid, read_ends, read_window, why_not_by_key
from pipelines.values.redo import Position, RedoFacts
from pipelines.values.scn import ChainPosition, Scn
from pipelines.values.table import TableId
from pipelines.values.utc import beside
from pipelines.window import Lost, Sealed
from pipelines.window.recovery_options import is_rewound, rman_commands
from pipelines.window.until import end_of, has_reached, missing_until, plan_all, plan_until, with_offered

KEYS_AT_ONCE = 50_000  # of one commit


@dataclass(frozen=True, slots=True)
class ClosingTable:
    """A table that lacks what the gap has. `why_not` says why it stays so; the counts are those of the rows read again."""

    table: str
    is_closed: bool = False
    why_not: str = ""
    changes: int = 0
    keys: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    applied_scn: int | None = None

    def __str__(self) -> str:
        if self.why_not:
            return f"{self.table}: cannot be closed: {self.why_not}"
        if not self.is_closed:
            return f"{self.table}: its rows that change in the gap are read again AS OF its position, SCN {self.applied_scn}"
        counts = f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted"
        return f"{self.table}: {self.changes} changes of {self.keys} keys: {counts}; it lacks nothing of the gap any more"


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
    tables: tuple[ClosingTable, ...] = ()
    executed: bool = False
    done: bool = False
    from_at: str | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        head = f"declared gap: SCN {self.from_scn}{beside(self.from_at)} to {self.to_scn}"
        if self.missing:
            names = (f"redo thread {log.thread} log {log.sequence}: {log.why}" for log in self.missing)
            return (head, *(f"missing: {name}" for name in names), *(f"RMAN> {line}" for line in self.rman))
        reads = (
            f"{self.windows} window(s) to mine from {self.logs} archived log(s), {self.log_bytes:,} bytes; {self.mined} mined"
        )
        return (head, "" if self.executed else reads, *map(str, self.tables))


@dataclass(frozen=True, slots=True)
class Task:
    """What one run works on."""

    context: PipelineContext
    source: ConnectParams | None
    gap: DeclaredGap
    side: Landing
    offered: tuple[str, ...]
    report: Report

    @property
    def position(self) -> Position:
        """Where the gap's own chain continues."""
        return self.side.chain_end() or self.gap.start

    def facts(self, oracle: Source) -> RedoFacts:
        found = read_redo_facts(oracle)
        return with_offered(found, read_log_headers(oracle, self.offered, found)) if self.offered else found


def close_gap(
    pipeline: Pipeline,
    gap: int | None = None,
    tables: Sequence[str] | None = None,
    *,
    logs: Sequence[str] = (),
    execute: bool = False,
    reason: str = "",
    by: str = "",
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> GapClosing:
    """Show what closing a declared gap takes, or carry it out. `gap` is an SCN in it, None for the only one; `logs` are files,
    or folders of files, that the database can read.

    A killed run is repeated: mined windows stay, and tables that are closed are left alone. Raises RedoLost where logs of
    the gap are still missing.
    """
    if execute:
        check_reason("closing a gap", reason)
    with open_context(pipeline) as context:
        reconcile_ledger(context)
        found = find_gap(context, gap)
        task = Task(context, source, found, context.landing.gap_landing(found.name), files_of(logs), report)
        chosen = lacking(context, found, tables)
        planned = plan(task, chosen)
        if not execute:
            return planned
        check_complete(planned)
        mine_gap(task)
        touched = read_touched(task, chosen)
        with spark_when_needed(pipeline, spark, opens) as opened:
            close = partial(close_table, task, reason=reason.strip(), by=by or owner(), spark=opened.session)
            done = tuple(close(entry, touched) for entry in chosen)
        reconcile_ledger(context)
        is_done = not any(lacking(context, found, None))
        windows = task.side.windows.after()
        return replace(planned, windows=0, mined=len(windows), tables=done, executed=True, done=is_done)


# --- What is to be done -----------------------------------------------------------------------------------------------


def find_gap(context: PipelineContext, scn: int | None) -> DeclaredGap:
    gaps = context.landing.gaps.all()
    found = [one for one in gaps if scn is None or one.start.scn <= scn < one.end.scn or one.start.scn == scn]
    if scn is None:
        found = [one for one in found if any(lacking(context, one, None))] or found[-1:]
    if len(found) != 1:
        there = ", ".join(f"SCN {one.start.scn} to {one.end.scn}" for one in gaps) or "none"
        what = "no declared gap has this SCN" if scn is not None else f"{len(found)} declared gaps are open"
        raise Terminal(what, cure=f"name an SCN inside one of the declared gaps: {there}")
    return found[0]


def lacking(context: PipelineContext, gap: DeclaredGap, names: Sequence[str] | None) -> list[TableEntry]:
    """Return the tables that lack what the gap has, or those of them with these names."""
    known = {one.table: one.snapshot_scn for one in context.landing.closings.of(gap.name)}
    present = gap.without(known)
    entries = [
        e for e in context.ledger.tables() if present.concerns(e.table, e.snapshot_scn) and e.table in context.pipeline.by_id
    ]
    if not names:
        return entries
    wanted = {str(TableId.parse(name)) for name in names}
    return [entry for entry in entries if str(entry.table) in wanted]


def files_of(logs: Sequence[str]) -> tuple[str, ...]:
    """Return the files, those in folders too. A path that is no folder here is taken as a file that the database knows."""
    found = list[str]()
    for name in logs:
        folder = Path(name)
        found += sorted(str(one) for one in folder.iterdir() if one.is_file()) if folder.is_dir() else [name]
    return tuple(dict.fromkeys(found))


def plan(task: Task, chosen: Sequence[TableEntry]) -> GapClosing:
    context, gap = task.context, task.gap
    with open_pipeline_source(context.pipeline, task.source) as oracle:
        facts = task.facts(oracle)
        if is_rewound(gap.start, facts):
            raise Terminal(
                f"a RESETLOGS has undone changes from before the gap, SCN {gap.start.scn}: its logs cannot show which rows",
                cure="run `redolake snapshot OWNER.TABLE --replace` for each table",
            )
        read_same_container(context, oracle)
    decisions = list(plan_all(task.position, gap.end, facts, context.pipeline.window))
    windows = [one.window for one in decisions if isinstance(one, Sealed)]
    missing = missing_until(task.position, gap.end, facts)
    obstacle = next((one for one in decisions if not isinstance(one, Sealed)), None)
    if obstacle is not None and not missing:
        raise obstacle.error if isinstance(obstacle, Lost) else Transient(obstacle.reason, cure="run it again")
    logs = {log for window in windows for piece in window.slices for log in piece.logs}
    return GapClosing(
        pipeline=context.name,
        from_scn=int(gap.start.scn),
        to_scn=int(gap.end.scn),
        windows=len(windows),
        mined=len(task.side.windows.names()),
        logs=len(logs),
        log_bytes=sum(log.bytes for log in logs),
        missing=tuple(map(missing_log_report, missing)),
        rman=tuple(rman_commands(missing, facts)),
        tables=tuple(planned_table(context, gap, entry) for entry in chosen),
        done=not any(lacking(context, gap, None)),
        from_at=time_written(context, int(gap.start.scn)),
    )


def planned_table(context: PipelineContext, gap: DeclaredGap, entry: TableEntry) -> ClosingTable:
    applied = None if entry.complete_to_scn is None else int(entry.complete_to_scn)
    return ClosingTable(str(entry.table), why_not=why_not(context, gap, entry), applied_scn=applied)


def why_not(context: PipelineContext, gap: DeclaredGap, entry: TableEntry) -> str:
    """Return why a table cannot be closed, as far as is known before the logs are read."""
    again = snapshot_of(entry)
    versions = known_versions(context, entry.table)
    if entry.state == "snapshotting" or entry.complete_to_scn is None or not versions:
        return "its snapshot is being read: let it end"
    if entry.position < gap.end.chain_position.plus(-1) and not stands_at(gap, entry):
        state = "is held before the gap" if entry.state == "held" else "has not been applied past the gap"
        return f"it {state}: " + (again if entry.state == "held" else "let apply run first")
    last = last_batch(context)
    if stands_at(gap, entry) and (last is None or last.end_position <= gap.end.chain_position):
        return "no window after the gap is applied: let apply run first"
    reason = why_not_by_key(context, valid_at([versions[0].since(Scn(0)), *versions[1:]], entry.complete_to_scn))
    return f"{reason}: {again}" if reason else ""


def snapshot_of(entry: TableEntry) -> str:
    return f"run `redolake snapshot {entry.table} --replace`"


def stands_at(gap: DeclaredGap, entry: TableEntry) -> bool:
    """Return whether the table is held at the gap: the first changes after it did not fit without it."""
    return entry.state == "held" and gap.kind != "snapshot" and entry.position == gap.start.chain_position.plus(-1)


def check_complete(planned: GapClosing) -> None:
    """Raise RedoLost unless every log of every redo thread is there."""
    if planned.missing:
        first = planned.missing[0]
        raise RedoLost(
            f"{len(planned.missing)} log(s) of the gap are still missing, first redo thread {first.thread} log "
            f"{first.sequence}: {first.why}",
            cure="restore them: " + " ".join(planned.rman) + " Or name the restored files by --logs",
            thread=first.thread,
            sequence=first.sequence,
        )


# --- The gap's windows ------------------------------------------------------------------------------------------------


def mine_gap(task: Task) -> None:
    """Mine the windows that are not there yet, in their order, each with several sessions."""
    retried = make_retry(task.context.pipeline)
    while retried(lambda: mine_next(task)):
        pass


def mine_next(task: Task) -> bool:
    """Mine and land one window. Return False where none is left."""
    context, side = task.context, task.side
    with open_pipeline_source(context.pipeline, task.source) as oracle:
        facts = task.facts(oracle)
        if has_reached(task.position, task.gap.end, facts):
            return False
        found = plan_until(task.position, task.gap.end, facts, context.pipeline.window)
        if isinstance(found, Lost):
            raise found.error
        if not isinstance(found, Sealed):
            raise Transient(found.reason, cure="run it again")
        window = with_its_dictionary(context.pipeline, oracle, found.window)
        ids = tuple(TableId.parse(name) for name in task.gap.tables if TableId.parse(name) in context.pipeline.by_id)
        dictionary = read_tables(oracle, ids, context.pipeline.source.container, context.pipeline.renamed)
        container = read_same_container(context, oracle)
    made = WindowPlan(window, ids, object_ids(context, dictionary), int(facts.current_scn), container)
    land(task, made)
    landed = side.chain_end()
    if landed is None or landed.chain_position < end_of(window).chain_position:
        raise InvariantBroken(
            f"the window {window.name} of the gap has landed, and the gap's chain ends before it",
            cure=report_with(f"the names in {layout.restored_landing(task.gap.name)}"),
        )
    task.report(f"mined SCN {window.scns} of the gap")
    return True


def land(task: Task, made: WindowPlan) -> None:
    """Mine a window's slices side by side, and publish it in the gap's chain."""
    beside_it, slices = replace(task.context, landing=task.side), made.window.slices
    records = list[SliceRecord]()
    with ThreadPoolExecutor(task.context.pipeline.parallel_sessions, "gap") as threads:
        for record in threads.map(lambda s: mine(beside_it, task.source, made, s.number), slices):
            records.append(record)
            task.report(Progress("", "mining slices of the gap", len(records), len(slices)))
    end = task.side.chain_end()
    task.side.windows.publish(made.window, made.tables, records, None if end is None else int(end.scn))


# --- The rows of the gap ----------------------------------------------------------------------------------------------


def read_touched(task: Task, chosen: Sequence[TableEntry]) -> TouchedRows:
    """Read which keys the gap's changes name, and those of the transactions that were open at its start."""
    context, gap = task.context, task.gap
    tables = dict[TableId, TouchedTable]()
    for entry in chosen:
        versions = known_versions(context, entry.table)
        if versions and entry.complete_to_scn is not None:
            tables[entry.table] = TouchedTable(valid_at([versions[0].since(Scn(0)), *versions[1:]], entry.complete_to_scn))
    touched = TouchedRows(tables, object_ids(context, {}))
    read_dropped(task, touched)
    windows = task.side.windows.after()
    for number, window in enumerate(windows):
        task.report(Progress("", "reading the keys of windows", number, len(windows)))
        read_window(context, task.side, window, touched)
    later = list(later_windows(context.landing, gap))
    if touched.transactions.open and (not later or later[0].start > gap.end.scn) and context.landing.pruned is not None:
        for one in touched.tables.values():
            one.refuse("the windows after the gap were pruned, which show whether its transactions have ended")
    read_ends(context.landing, later, touched)
    return touched


def later_windows(landing: Landing, gap: DeclaredGap) -> Iterator[WindowManifest]:
    """Yield the windows after the gap, in its incarnation: no transaction outlives a RESETLOGS."""
    of_it = (window for window in landing.windows.each_after(gap.end.chain_position) if window.start >= gap.end.scn)
    return takewhile(lambda window: window.resetlogs_id == gap.end.resetlogs_id, of_it)


def read_dropped(task: Task, touched: TouchedRows) -> None:
    """Read the rows from before the gap of transactions that were open at its start: the gap has dropped them."""
    gap, landing = task.gap, task.context.landing
    if not gap.dropped:
        return
    first = ChainPosition(gap.start.resetlogs_id, min(one.start_scn for one in gap.dropped))
    windows = [w for w in landing.windows.after(first) if w.end_position <= gap.start.chain_position]
    reached = first.scn
    for window in windows:
        reached = window.end if window.start <= reached else reached
    if not windows or reached < gap.start.scn:
        for one in touched.tables.values():
            one.refuse(f"the windows since SCN {first.scn} are gone, in which transactions open at the gap's start began")
        return
    names: set[Xid] = {(one.con_id, one.xid) for one in gap.dropped}
    for window in windows:
        read_window(task.context, landing, window, touched, names)


# --- The tables -------------------------------------------------------------------------------------------------------


def close_table(
    task: Task, entry: TableEntry, touched: TouchedRows, *, reason: str, by: str, spark: Callable[[], Any]
) -> ClosingTable:
    """Read the table's touched rows again, and record that it lacks nothing any more."""
    planned = planned_table(task.context, task.gap, entry)
    one = touched.tables.get(entry.table)
    if planned.why_not or one is None:
        return planned
    up_to = None
    if stands_at(task.gap, entry):
        last = last_batch(task.context)
        assert last is not None, "planned_table has looked"
        up_to = last.end_position.plus(-1)
        one = with_later_keys(task, touched, entry, up_to)
    problem = one.why_not or open_transactions_of(touched, entry, entry.complete_to_scn if up_to is None else up_to.scn)
    if not problem and up_to is not None and len(one.keys) > KEYS_AT_ONCE:
        problem = (
            f"{len(one.keys)} rows have changed since it is held, and {KEYS_AT_ONCE} are read again at once: "
            + snapshot_of(entry)
        )
    if problem:
        return replace(planned, why_not=problem, changes=one.changes, keys=len(one.keys))
    if up_to is not None and not one.keys:
        return replace(planned, why_not=f"no change of it is known since it is held: run `redolake resume {entry.table}`")
    repaired = [repair_part(task, entry.table, one, part, reason, by, spark, up_to) for part in parts_of(sorted(one.keys))]
    if not all(found.equal for found in repaired):
        return replace(planned, why_not="some of the rows that were read again still differ: run it again")
    closed = closed_table(task, entry, one, repaired, reason, by)
    task.context.landing.closings.record_closed(closed)
    return replace(
        planned,
        is_closed=True,
        changes=one.changes,
        keys=len(one.keys),
        inserted=closed.inserted,
        updated=closed.updated,
        deleted=closed.deleted,
        applied_scn=max(closed.scns, default=planned.applied_scn),
    )


def open_transactions_of(touched: TouchedRows, entry: TableEntry, scn: int | None) -> str:
    """Return why a transaction of the gap keeps the table open: AS OF its position, nobody sees its changes."""
    assert scn is not None
    found = touched.transactions.open_at(entry.table, int(scn))
    if not found:
        return ""
    name = min(name for _, name in found[0].names)
    return f"transaction {name} began in the gap, and has not ended by SCN {scn}: run it again after it has"


def with_later_keys(task: Task, touched: TouchedRows, entry: TableEntry, up_to: ChainPosition) -> TouchedTable:
    """Return what the table lacks that is held at the gap: the gap, and all that has landed since, up to a batch's end."""
    known = touched.tables[entry.table]
    later = TouchedRows({entry.table: TouchedTable(known.version)}, touched.ids)
    for window in later_windows(task.context.landing, task.gap):
        if window.end_position <= up_to.plus(1):
            read_window(task.context, task.context.landing, window, later)
    found = later.tables[entry.table]
    return replace(
        known,
        keys=known.keys | found.keys,
        changes=known.changes + found.changes,
        why_not=known.why_not or found.why_not,
    )


def parts_of(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    for start in range(0, len(keys), KEYS_AT_ONCE):
        yield keys[start : start + KEYS_AT_ONCE]


def repair_part(
    task: Task,
    table: TableId,
    one: TouchedTable,
    keys: Sequence[Key],
    reason: str,
    by: str,
    spark: Callable[[], Any],
    up_to: ChainPosition | None,
) -> RepairedTable:
    named = [dict(zip(one.key_names, key, strict=True)) for key in keys]
    task.report(f"{table}: reading {len(named)} rows of the gap again")
    return repair_table(
        task.context.pipeline,
        str(table),
        reason=reason,
        by=by,
        keys=named,
        cause=f"the declared gap {task.gap.name}",
        up_to=up_to,
        source=task.source,
        spark=spark(),
        report=task.report,
    )


def closed_table(
    task: Task, entry: TableEntry, one: TouchedTable, repaired: Sequence[RepairedTable], reason: str, by: str
) -> ClosedTable:
    windows = task.side.windows.after()
    return ClosedTable(
        gap=task.gap.name,
        table=str(entry.table),
        snapshot_scn=None if entry.snapshot_scn is None else int(entry.snapshot_scn),
        windows=tuple(window.name for window in windows),
        logs=len({log for window in windows for log in window.logs}),
        changes=one.changes,
        keys=len(one.keys),
        inserted=sum(found.inserted for found in repaired),
        updated=sum(found.updated for found in repaired),
        deleted=sum(found.deleted for found in repaired),
        scns=tuple(found.applied_scn for found in repaired),
        delta_versions=tuple(found.delta_version for found in repaired),
        reason=reason,
        by=by,
        at=now().isoformat(timespec="seconds"),
    )
