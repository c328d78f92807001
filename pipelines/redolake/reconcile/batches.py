"""The history of batches and snapshot loads, from their manifests, and which of them are superseded.

A table keeps being applied while its new snapshot is read, so loading the snapshot may set it back. The batches and loads that
had brought it beyond are superseded from then on. Their own manifests cannot say so, and a rebuilt ledger has nothing else.
So the spec of the load names them, and the load's own name ends in REPLACES, so that only few specs need to be read. That of
a load which adds columns at the table's position does too: its SCN alone would not show that it is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from redolake.context import Run
from redolake.errors import LandingDamaged, Terminal
from redolake.land import layout
from redolake.land.cures import apply_again, load_again
from redolake.land.files import Files
from redolake.reconcile.holds import NOT_LOADED
from redolake.reconcile.newest_batches import batch_name, names_from
from redolake.reconcile.table_versions import incarnation_of
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.loads import SnapshotResult, SnapshotSpec, SnapshotTask
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

REPLACES = "-replaces"

Void = Mapping[TableId, set[str]]


def load_name(token: str, scn: int, tasks: Sequence[SnapshotTask]) -> str:
    return f"{scn:020d}-{token}{REPLACES if any(task.supersedes or task.joins for task in tasks) else ''}"


def scn_of(load: str) -> int:
    """Return the highest SCN of a load's tables."""
    return int(load.partition("-")[0])


def attempt_of(token: str) -> str:
    """Return the random part of a spec's token, which fits every path; a catch-up's token begins with its table."""
    return token.rpartition(":")[2]


def beyond(context: Run, position: ChainPosition) -> dict[TableId, tuple[str, ...]]:
    """Return the batches and loads that brought a table beyond that position."""
    batches = names_from(context, position.plus(2))
    loads = [name for name in context.landing.files.names(layout.LOADS) if scn_of(name) > position.scn]
    brought = [(name, positions_applied(context, name)) for name in batches] + [
        (name, positions_loaded(context, name)) for name in loads
    ]
    found: dict[TableId, tuple[str, ...]] = defaultdict(tuple)
    for name, places in brought:
        for table, reached in places.items():
            if reached > position:
                found[table] += (name,)
    return found


def check_supersedes(context: Run, spec: SnapshotSpec) -> None:
    """Raise Terminal for a load that would set a table back behind a batch its spec does not name.

    That batch came later, and a rebuilt ledger would count it. The lease prevents this too, except with an older copy of the
    ledger.
    """
    positions = {task.table: position_loaded(task) for task in spec.tables}
    passed = {position: beyond(context, position) for position in set(positions.values())}
    for task in spec.tables:
        since = set(passed[positions[task.table]].get(task.table, ())) - set(task.supersedes)
        if since:
            raise Terminal(
                f"{', '.join(sorted(since))} brought the table beyond SCN {task.scn} after this load was prepared",
                cure="clear the `prepare` task of the snapshot's run, or take a new snapshot; nothing was changed",
                table=task.table,
            )


def positions_applied(context: Run, name: str) -> dict[TableId, ChainPosition]:
    """Return the positions to which a batch brought its tables; none for a batch without a manifest."""
    result = batch_result(context, name)
    if result is None:
        return {}
    return {
        done.table: ChainPosition(result.resetlogs_id, done.complete_to)
        for done in result.tables
        if done.complete_to is not None and not left_alone(done)
    }


def left_alone(done: TableResult) -> bool:
    """Return whether a batch left a table alone whose contents a load was replacing, or that waits for redo: what it found
    there are not its contents since."""
    return (done.error or {}).get("code") == NOT_LOADED["code"]


def positions_loaded(context: Run, name: str) -> dict[TableId, ChainPosition]:
    """Return the tables that a load filled, with the position of their contents."""
    return {task.table: position_loaded(task) for task, _ in loaded_tasks(context, name) or ()}


def is_loaded(context: Run, table: TableId, scn: int) -> bool:
    """Return whether some load has filled the table with its snapshot AS OF this SCN."""
    return snapshot_position(context, table, scn) is not None


def snapshot_position(context: Run, table: TableId, scn: int) -> ChainPosition | None:
    """Return where the newest load has filled the table with a snapshot AS OF this SCN; None if none has."""
    names = [name for name in context.landing.files.names(layout.LOADS) if scn_of(name) >= scn]
    tasks = (task for name in reversed(names) for task, _ in loaded_tasks(context, name) or ())
    return next((position_loaded(task) for task in tasks if (task.table, task.scn, task.joins) == (table, scn, ())), None)


def position_loaded(task: SnapshotTask) -> ChainPosition:
    return ChainPosition(incarnation_of(task.app_id), task.scn)


def find_superseded(context: Run) -> Void:
    """Return for each table that was set back the batches and loads that no longer count."""
    void: dict[TableId, set[str]] = defaultdict(set)
    for name in context.landing.files.names(layout.LOADS):
        for task, _ in (loaded_tasks(context, name) or ()) if name.endswith(REPLACES) else ():
            void[task.table].update(task.supersedes)
    return void


def batch_result(context: Run, name: str) -> BatchResult | None:
    """Return a batch's result; None if it has no manifest yet. Raises LandingDamaged for that of another batch."""
    file = layout.batch_manifest(name)
    result = context.landing.files.read_record(BatchResult, file, apply_again(file))
    if result is not None and batch_name(result.resetlogs_id, result.start, result.end) != "-".join(name.split("-")[:3]):
        what = f"the file is the manifest of another batch: SCN [{result.start}, {result.end})"
        raise LandingDamaged(what, cure=apply_again(file), path=context.landing.files.path_text(file))
    return None if result is None else result.with_carried(partial(carried_now, context.landing.files))


def carried_now(files: Files, written_at: str) -> str:
    """Return where a file with carried rows is now."""
    path = layout.place_of_carried(written_at)
    return written_at if path is None else files.location(path)


def loaded_tasks(context: Run, name: str) -> list[tuple[SnapshotTask, int | None]] | None:
    """Return the tasks of the tables that a load filled, each with the Delta version it left; None for a load without a
    manifest."""
    manifest = layout.load_manifest(name)
    try:
        result = context.landing.files.read_record(SnapshotResult, manifest)
    except LandingDamaged as error:
        raise LandingDamaged(
            error.what, cure=load_again(manifest, tables_of_load(context, name)), path=error.where.get("path")
        ) from error
    if result is None:
        return None
    loaded = {done.table: done.delta_version for done in result.tables if done.state == "applied"}
    cure = load_again(manifest, loaded)
    spec = context.landing.files.read_record(SnapshotSpec, layout.load_spec(name), cure)
    if spec is None:
        raise LandingDamaged("the file is gone", cure=cure, path=context.landing.files.path_text(layout.load_spec(name)))
    return [(task, loaded[task.table]) for task in spec.tables if task.table in loaded]


def loads_until(context: Run, scn: int) -> Iterator[tuple[str, SnapshotTask, int]]:
    """Yield what loads have filled AS OF the SCN or an older one, newest first: the load's name, the task, and the version of
    the Delta table that it left."""
    for name in reversed([name for name in context.landing.files.names(layout.LOADS) if scn_of(name) <= scn]):
        for task, version in loaded_tasks(context, name) or ():
            if version is not None:
                yield name, task, version


def tables_of_load(context: Run, name: str) -> list[TableId]:
    """Return the tables that a load was to fill; none where its spec is damaged too."""
    try:
        spec = context.landing.files.read_record(SnapshotSpec, layout.load_spec(name))
    except LandingDamaged:
        return []
    return [] if spec is None else [task.table for task in spec.tables]
