"""Rebuild tables and versions of a ledger that was lost, or is an older copy, from handover, snapshot loads and windows."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.context import Workplace, owner
from pipelines.land import captured_since, layout
from pipelines.ledger import Lease, TableEntry
from pipelines.reconcile.batches import REPLACES, Void, loaded_at, loaded_tasks, scn_of, superseded
from pipelines.reconcile.table_versions import concerns, known_versions
from pipelines.records.codec import to_body
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.handover import FirstPosition
from pipelines.records.window_manifest import WindowManifest
from pipelines.schema import derive
from pipelines.scn import Scn
from pipelines.table import TableId, TableVersion

LOAD = "load"  # the kind of decision recorded for a load that set tables back


def rebuild_tables(work: Workplace) -> None:
    """Add captured tables and snapshot loads that the ledger does not know. The batches say how far each
    table is applied since."""
    if work.landing.files.read_record(FirstPosition, layout.HANDOVER) is None:
        return
    known = {entry.table for entry in work.ledger.tables()}
    missing = [table.id for table in work.pipeline.tables if table.id not in known]
    if missing:
        for table in missing:
            since = captured_from(work, table)
            if since is not None:
                work.ledger.add_table(table, since)
    unknown = unknown_loads(work)
    void = superseded(work) if unknown else {}
    for name in unknown:
        take_up(work, name, void)


def captured_from(work: Workplace, table: TableId) -> Scn | None:
    """Return the SCN from which a table's redo is landed without a declared gap, or will be.

    None if the newest window omits the table, or before the first snapshot. After a gap every configured table is captured.
    """
    windows = work.landing.windows.after()
    for gap in work.landing.gaps.all()[-1:]:
        end = gap.end
        if end == work.landing.chain_end():
            return end.scn
        windows = [w for w in windows if w.start_position >= end.chain_position]
    if not windows:
        start = work.landing.files.read_record(FirstPosition, layout.HANDOVER)
        return None if start is None else Scn(start.scn)
    since = captured_since(windows, table)
    return None if since is None else Scn(since)


def unknown_loads(work: Workplace) -> list[str]:
    """Return the names of loads that may be unknown, oldest first: of an SCN that some table is not complete to, and those
    that set tables back."""
    known = heard_of(work)
    loads = [name for name in work.landing.files.names(layout.LOADS) if name not in known]
    reached, position = [entry.position for entry in work.ledger.tables()], work.ledger.position()
    incarnations = {p.resetlogs_id for p in reached} | ({position.resetlogs_id} if position else set())
    if len(incarnations) > 1:  # SCNs of several incarnations do not compare
        return loads
    return [name for name in loads if reached and (name.endswith(REPLACES) or scn_of(name) > min(reached).scn)]


def heard_of(work: Workplace) -> set[str]:
    return {decision.body["name"] for decision in work.ledger.decisions(LOAD)}


def take_up(work: Workplace, name: str, void: Void) -> None:
    """Restore tables in the ledger as they were after a load, with the column ids it was written under."""
    tasks = loaded_tasks(work, name)
    if tasks is None:
        return
    for task in tasks:
        entry = work.ledger.table(task.table)
        position = loaded_at(task, name)
        if entry is None or name in void.get(task.table, ()) or (entry.position >= position and not task.supersedes):
            continue
        record_ddl(work, task.table, work.landing.windows.after(), below=task.version.from_scn)
        begin_anew(work, task.version)
        if entry.state != "snapshotting":
            work.ledger.move_table(task.table, (entry.state,), "snapshotting")
        work.ledger.move_table(task.table, ("snapshotting",), "live", snapshot_scn=Scn(position.scn))
        work.ledger.record_complete_to(task.table, Scn(position.scn), position.resetlogs_id)
    record_load(work, name)


def record_load(work: Workplace, name: str) -> None:
    """Record a load that set tables back once: from then on their batches advance them again."""
    if name.endswith(REPLACES) and name not in heard_of(work):
        work.ledger.record_decision(LOAD, {"name": name}, owner())


def begin_anew(work: Workplace, version: TableVersion, lease: Lease | None = None) -> None:
    """Record the version a table was loaded under, and forget later ones: a RESETLOGS took them back, or the redo contains them
    again."""
    work.ledger.forget_versions_above(version.table, version.from_scn, lease)
    body = to_body(version)
    work.ledger.record_version(version.table, version.from_scn, body, "baseline")


def rebuild_versions(work: Workplace) -> None:
    """Record the versions that landed DDL made of the tables, as far as it is applied; apply derives later ones itself."""
    windows, breaks = work.landing.windows.after(), work.landing.gaps.all()
    for entry in work.ledger.tables():
        if entry.complete_to_scn is not None:
            record_ddl(work, entry.table, telling(windows, breaks, entry), below=entry.complete_to_scn + 1)


def telling(windows: Sequence[WindowManifest], breaks: Sequence[DeclaredGap], entry: TableEntry) -> list[WindowManifest]:
    """Return the windows whose DDL can be in the table's contents: none from before SCNs were set back, once the table was read
    again."""
    passed = [b.end for b in breaks if b.end.scn < b.start.scn and not b.concerns(entry.table, entry.snapshot_scn)]
    return [m for m in windows if not passed or m.start_position >= passed[-1].chain_position]


def record_ddl(work: Workplace, table: TableId, windows: Sequence[WindowManifest], below: int) -> None:
    known = known_versions(work, table)
    if not known:
        return
    ids = {version.object_id for version in known}
    rows = [row for m in windows for row in m.ddl if row.scn < below and concerns(row, table, ids)]
    for version in derive(known[-1:], rows).versions[1:]:
        work.ledger.record_version(table, version.from_scn, to_body(version), "ddl")
