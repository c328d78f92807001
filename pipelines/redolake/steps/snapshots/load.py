"""Load tables that were read AS OF an SCN into Delta, so that no transaction is lost or applied twice."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from redolake.context import Run, read_result, read_spec, step
from redolake.errors import TableHeld, Terminal
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import Lease
from redolake.ledger.states import TableState
from redolake.reconcile.batches import beyond, is_loaded, load_name
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import proven_position, reconcile_once
from redolake.reconcile.lost_masks import check_masks
from redolake.reconcile.mappings import with_mapping
from redolake.reconcile.pushed_filter import pushed_for, read_by_another_filter
from redolake.reconcile.quarantine import record_open_keys
from redolake.reconcile.snapshot_start import (
    check_chain_epoch,
)
from redolake.reconcile.table_versions import app_id, incarnation_of, known_versions, origin, rules
from redolake.reconcile.tables import record_load, restart_versions
from redolake.records.codec import decode
from redolake.records.file_digest import FileDigest
from redolake.records.loads import SnapshotResult, SnapshotSpec, SnapshotTask
from redolake.records.shown_facts import SnapshotFact
from redolake.records.snapshots import SnapshotManifest
from redolake.schema import baseline
from redolake.steps.apply.batch import finding_of
from redolake.steps.shared.leases import LOAD, apply_lease, lease_for_job, renew_lease
from redolake.steps.shared.scn_times import snapshot_time
from redolake.steps.shared.shown_facts import record_snapshot
from redolake.steps.snapshots.read import TableSnapshot, dictionary_of
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """`scn` is None if there was nothing to load."""

    scn: int | None
    tables: tuple[TableSnapshot, ...]


@step
def prepare_snapshot_load(context: Run, reads: Mapping[str, int], *, replace: bool = False) -> str:
    """Write the spec that loads tables, each with the SCN that it was read at, into Delta. Return its location."""
    # No batch is under way; those that begin later leave these tables alone.
    with lease_for_job(context, LOAD) as lease, apply_lease(context):
        return write_load(context, lease, reads, replace=replace)


@crash.writer
def write_load(context: Run, lease: Lease, reads: Mapping[str, int], *, replace: bool) -> str:
    reconcile_once(context)
    position = proven_position(context)
    assert position is not None, "snapshot_begin has set it"
    chosen = {TableId.parse(table): scn for table, scn in reads.items()}
    newest = max(chosen.values())
    chosen = {table: scn for table, scn in chosen.items() if not was_loaded_by_others(context, table, scn)}
    for table, scn in chosen.items():
        check_chain_epoch(context, table, scn)
    passed = {scn: beyond(context, ChainPosition(position.resetlogs_id, scn)) for scn in set(chosen.values())}
    tasks = [load_task(context, table, scn, position.resetlogs_id, passed[scn].get(table, ())) for table, scn in chosen.items()]
    token = uuid.uuid4().hex
    name = load_name(token, newest, tasks)
    spec = SnapshotSpec(
        pipeline=context.name,
        scn=newest,
        token=token,
        tables=tuple(tasks),
        manifest=context.landing.files.location(layout.load_manifest(name)),
        replace=replace,
        lease=lease.token,
        lake=lake_place(context),
        origin=origin(context),
        digests={file: one for task in tasks for file, one in digests_of(context, task).items()},
    )
    for task in tasks:
        context.ledger.move_table(
            task.table, states_before_load(context, task.table), "snapshotting", snapshot_scn=Scn(task.scn)
        )
    return context.landing.files.write_new_record(layout.load_spec(name), spec)


def was_loaded_by_others(context: Run, table: TableId, scn: int) -> bool:
    """Return whether another process that read chunks of the same snapshot has loaded it meanwhile."""
    return context.landing.chunks.plan(table, scn) is not None and is_loaded(context, table, scn)


def digests_of(context: Run, task: SnapshotTask) -> dict[str, FileDigest]:
    there = context.landing.snapshots.manifest(task.table, task.scn)
    return {} if there is None else context.landing.snapshots.digests_of(task.table, task.scn, there)


def states_before_load(context: Run, table: TableId) -> tuple[TableState, ...]:
    """Return the states a load may start from. `begin_snapshot` lets `held` and `live` tables through only with `replace`."""
    entry = context.ledger.table(table)
    return ("new",) if entry is None or entry.state == "snapshotting" else (entry.state,)


def load_task(context: Run, table: TableId, scn: int, resetlogs_id: int, supersedes: tuple[str, ...]) -> SnapshotTask:
    there = context.landing.snapshots.manifest(table, scn)
    if there is None:
        raise Terminal("the table was not read AS OF this SCN", cure="clear its read task", table=table, scn=scn)
    found = dictionary_of(context, table, scn)
    known = known_versions(context, table)
    policy, choice = context.pipeline.table(table).key_policy, context.pipeline.choice(table)
    version = baseline(found, found.scn_before, known[-1] if known else None, policy, choice)
    check_masks(context.pipeline, known, version)
    version = with_mapping(context.pipeline, version)
    check_filter(context, there, found)
    files = context.landing.snapshots.files_of(table, scn, there)
    folder = files[0].rpartition("/")[0]
    return SnapshotTask(
        table=table,
        target=context.pipeline.target(table),
        app_id=app_id(context, table, resetlogs_id),
        version=version,
        files=files,
        rules=rules(context, table, (version,)),
        rows=there.row_count,
        supersedes=supersedes,
        options=context.pipeline.target_options(table),
        comment=found.comment,
        comments=tuple(
            (column.id, described.comment)
            for column in version.columns
            for described in found.columns
            if described.name == column.name and described.comment
        ),
        scn=scn,
        scns={f"{folder}/{name}": later for name, later in there.scns.items()},
    )


def check_filter(context: Run, there: SnapshotManifest, found: DictionaryTable) -> None:
    """Raise SchemaConflict for rows that Oracle chose by another filter: others that the lake shall have were not read."""
    pushed = pushed_for(context.pipeline, found) if there.filter else None
    if there.filter and (pushed is None or pushed.record != there.filter):
        raise read_by_another_filter(found.table, there.scn)


@step
def record_snapshot_load(context: Run, batch: str) -> LoadedSnapshot:
    """Make the loaded tables live from the snapshot's SCN on. Raises TableHeld for those that could not be loaded."""
    spec = read_spec(context, batch)
    result = decode(SnapshotResult, read_result(context, spec), spec.manifest)
    lease = renew_lease(context, spec)
    reconcile_once(context)
    failed = []
    tasks = {task.table: task for task in spec.tables if isinstance(task, SnapshotTask)}
    for loaded in result.tables:
        if loaded.state == "held":
            context.ledger.hold(loaded.table, dict(loaded.error or {}))
            failed.append(finding_of(loaded.table, loaded.error))
            continue
        # Not earlier: until the new contents are loaded, DDL of the old contents still applies and may hold the table.
        task, entry = tasks[loaded.table], context.ledger.table(loaded.table)
        record_snapshot(
            context, [loaded.table], SnapshotFact("loaded", task.scn, loaded.rows, nulled=sum(loaded.nulled.values()))
        )
        record_open_keys(context, loaded.table, 0)  # what was in quarantine is of the contents before
        if entry is not None and entry.state == "live" and entry.snapshot_scn == task.scn:
            continue  # a batch that was prepared meanwhile has found the load, and may have gone on from it
        restart_versions(context, task.version, lease)
        incarnation = incarnation_of(task.app_id)
        context.ledger.record_complete_to(loaded.table, Scn(task.scn), incarnation, loaded.delta_version)
        context.ledger.move_table(loaded.table, ("snapshotting",), "live", snapshot_scn=Scn(task.scn))
    record_load(context, layout.name_of(spec.manifest))
    context.ledger.release_lease(lease)
    if failed:
        raise TableHeld(failed)
    scns = ((loaded, tasks[loaded.table].scn) for loaded in result.tables)
    found = (TableSnapshot(str(t.table), scn, t.rows, snapshot_time(context, t.table, scn), nulled=t.nulled) for t, scn in scns)
    return LoadedSnapshot(result.scn, tuple(found))
