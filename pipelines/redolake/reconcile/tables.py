"""Rebuild tables and versions of a ledger that was lost, or is an older copy, from handover, snapshot loads and windows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import dropwhile, islice, takewhile

from redolake.context import Run, owner
from redolake.host import crash
from redolake.land import layout
from redolake.land.chain_rules import capture_starts
from redolake.land.dictionary import Readings
from redolake.ledger import Lease, TableEntry
from redolake.reconcile.batches import REPLACES, Void, find_superseded, loaded_tasks, position_loaded, scn_of
from redolake.reconcile.table_versions import derived_versions, known_versions
from redolake.records.codec import to_body
from redolake.records.gaps import DeclaredGap
from redolake.records.pruned import Pruned
from redolake.records.windows import WindowManifest
from redolake.values.scn import BEFORE_ALL, ChainPosition, Scn
from redolake.values.table import TableId, TableVersion

LOAD = "load"  # the kind of decision recorded for a load that set tables back


def rebuild_tables(context: Run) -> None:
    """Add captured tables and snapshot loads that the ledger does not know. The batches say how far each
    table is applied since."""
    if context.landing.handover.start() is None:
        return
    known = {entry.table for entry in context.ledger.tables()}
    missing = [table.id for table in context.pipeline.tables if table.id not in known]
    if missing:
        add_tables(context, capture_scns(context, missing))
    unknown = unknown_loads(context)
    if unknown:
        void, with_ddl = find_superseded(context), context.landing.windows.with_ddl()
        for name in unknown:
            restore_load(context, name, void, with_ddl)


@crash.writer
def add_tables(context: Run, captured_from_scn: Mapping[TableId, Scn]) -> None:
    """Add tables to the ledger in one transaction."""
    with context.ledger.at_once():
        for table, scn in captured_from_scn.items():
            context.ledger.add_table(table, scn)


def capture_scn(context: Run, table: TableId, enough: ChainPosition = BEFORE_ALL) -> Scn | None:
    """Return what `capture_scns` does of one table; None if that leaves it out."""
    return capture_scns(context, [table], enough).get(table)


def capture_scns(context: Run, tables: Collection[TableId], enough: ChainPosition = BEFORE_ALL) -> dict[TableId, Scn]:
    """Return by table the SCN from which its redo is landed without a declared gap, or will be; where that is before `enough`,
    perhaps a later one that is too.

    A table that the newest window omits is left out, and all are before the first snapshot. After a gap every configured table
    is captured.
    """
    newest, gaps = context.landing.windows.last(1), context.landing.gaps.all()
    after = gaps[-1].end.chain_position if gaps else BEFORE_ALL
    if gaps and (not newest or newest[0].end_position <= after):
        return dict.fromkeys(tables, gaps[-1].end.scn)
    if not newest:
        start = context.landing.handover.start()
        return {} if start is None else dict.fromkeys(tables, Scn(start.scn))
    unbroken = takewhile(lambda window: window.start_position >= after, context.landing.windows.newest_first())
    pruned = context.landing.pruned
    found = dict[TableId, Scn]()
    for table, since in capture_starts(unbroken, tables, enough).items():
        is_cut = pruned is not None and since == pruned.position.scn and after <= pruned.position
        before = capture_before(pruned, table, after) if pruned is not None and is_cut else None
        found[table] = Scn(before or since)
    return found


def capture_before(pruned: Pruned, table: TableId, after: ChainPosition) -> int | None:
    """Return the SCN from which all pruned windows after a position had the table; None where the last one lacked it."""
    known = pruned.tables.get(str(table))
    if known is None or known.captured_from is None:
        return None
    return max(ChainPosition.parse(known.captured_from), after).scn


def unknown_loads(context: Run) -> list[str]:
    """Return the names of loads that may be unknown, oldest first: of an SCN that some table is not complete to, and those
    that set tables back."""
    known = recorded_loads(context)
    loads = [name for name in context.landing.files.names(layout.LOADS) if name not in known]
    reached, position = [entry.position for entry in context.ledger.tables()], context.ledger.position()
    incarnations = {p.resetlogs_id for p in reached} | ({position.resetlogs_id} if position else set())
    if len(incarnations) > 1:  # SCNs of several incarnations do not compare
        return loads
    return [name for name in loads if reached and (name.endswith(REPLACES) or scn_of(name) > min(reached).scn)]


def recorded_loads(context: Run) -> set[str]:
    return {decision.body["name"] for decision in context.ledger.decisions(LOAD)}


def restore_load(context: Run, name: str, void: Void, with_ddl: Sequence[WindowManifest]) -> None:
    """Restore tables in the ledger as they were after a load, with the column ids it was written under."""
    tasks = loaded_tasks(context, name)
    if tasks is None:
        return
    for task, delta_version in tasks:
        entry = context.ledger.table(task.table)
        position = position_loaded(task)
        is_old = entry is not None and entry.position >= position and not (task.supersedes or task.joins)
        if entry is None or name in void.get(task.table, ()) or is_old:
            continue
        record_ddl(context, task.table, with_ddl, below=task.version.from_scn)
        restart_versions(context, task.version)
        restore_pruned_versions(context, task.version)
        if entry.state != "snapshotting":
            context.ledger.move_table(task.table, (entry.state,), "snapshotting")
        snapshot_scn = None if task.joins else Scn(position.scn)  # the other columns are those of the snapshot before
        context.ledger.move_table(task.table, ("snapshotting",), "live", snapshot_scn=snapshot_scn)
        context.ledger.record_complete_to(task.table, Scn(position.scn), position.resetlogs_id, delta_version)
    record_load(context, name)


def record_load(context: Run, name: str) -> None:
    """Record a load that set tables back once: from then on their batches advance them again."""
    if name.endswith(REPLACES) and name not in recorded_loads(context):
        context.ledger.record_decision(LOAD, {"name": name}, owner())


def restart_versions(context: Run, version: TableVersion, lease: Lease | None = None) -> None:
    """Record the version a table was loaded under, and forget later ones: a RESETLOGS took them back, or the redo contains them
    again."""
    context.ledger.forget_versions_above(version.table, version.from_scn, lease)
    body = to_body(version)
    context.ledger.record_version(version.table, version.from_scn, body, "baseline")


def restore_pruned_versions(context: Run, loaded: TableVersion) -> None:
    """Record the versions that DDL of pruned windows had made of a table since it was loaded under `loaded`."""
    pruned = context.landing.pruned
    known = None if pruned is None else pruned.tables.get(str(loaded.table))
    later = dropwhile(lambda version: version.body != to_body(loaded), () if known is None else known.versions)
    for version in takewhile(lambda version: version.source == "ddl", islice(later, 1, None)):
        context.ledger.record_version(loaded.table, Scn(version.from_scn), version.body, version.source, ddl=version.ddl)


def rebuild_versions(context: Run) -> None:
    """Record the versions that landed DDL made of the tables, as far as it is applied; apply derives later ones itself."""
    windows, breaks = context.landing.windows.with_ddl(), context.landing.gaps.all()
    for entry in context.ledger.tables():
        if entry.complete_to_scn is not None:
            record_ddl(context, entry.table, windows_with_ddl(windows, breaks, entry), below=entry.complete_to_scn + 1)


def windows_with_ddl(
    windows: Sequence[WindowManifest], breaks: Sequence[DeclaredGap], entry: TableEntry
) -> list[WindowManifest]:
    """Return the windows whose DDL can be in the table's contents: none from before SCNs were set back, once the table was read
    again."""
    passed = [b.end for b in breaks if b.end.scn < b.start.scn and not b.concerns(entry.table, entry.snapshot_scn)]
    return [m for m in windows if not passed or m.start_position >= passed[-1].chain_position]


def record_ddl(context: Run, table: TableId, windows: Sequence[WindowManifest], below: int) -> None:
    known = known_versions(context, table)
    if not known:
        return
    ids = {version.object_id for version in known}
    rows = [row for m in windows for row in m.ddl if row.scn < below]
    described = partial(Readings(context.landing.dictionary).first_after, table, windows[0].resetlogs_id) if rows else None
    derived = derived_versions(context, known[-1:], rows, described, ids)
    for version in derived.versions[1:]:
        statement = derived.statements.get(version.from_scn)
        context.ledger.record_version(table, version.from_scn, to_body(version), "ddl", ddl=statement)
