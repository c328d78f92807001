"""What the manifests of ended batches and loads say, and which of it is void since.

A table that is read anew goes on being applied, so it may be beyond the SCN of its new contents when they are loaded, which
sets it back. What brought it there is void from then on. No manifest of a batch can say so, and a ledger that was lost has
nothing else: the load's order names them, and the load's own name ends in ANEW, so that few orders have to be looked through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pipelines.context import Workplace
from pipelines.errors import Terminal
from pipelines.land import layout
from pipelines.reconcile.table_versions import incarnation_of
from pipelines.records.batch_result import BatchResult
from pipelines.records.snapshot_load import SnapshotResult, SnapshotSpec, SnapshotTask
from pipelines.scn import ChainPosition
from pipelines.table import TableId

ANEW = "-anew"

Void = Mapping[TableId, set[str]]


def load_name(scn: int, token: str, tasks: Sequence[SnapshotTask]) -> str:
    return f"{scn:020d}-{token}{ANEW if any(task.supersedes for task in tasks) else ''}"


def scn_of(load: str) -> int:
    return int(load.partition("-")[0])


def batch_name(resetlogs_id: int, start: int, end: int, catch_up: str = "") -> str:
    """A catch-up has its attempt in its name: the same range may be caught up again after another hold."""
    name = f"{resetlogs_id:010d}-{start:020d}-{end:020d}"
    return f"{name}-{catch_up}" if catch_up else name


def attempt_of(token: str) -> str:
    """What of an order's token is its own, and fits every path; a catch-up's begins with its table."""
    return token.rpartition(":")[2]


def is_of_the_chain(batch: str) -> bool:
    return batch.count("-") == 2


def end_of(batch: str) -> ChainPosition:
    resetlogs_id, _, end = batch.split("-")[:3]
    return ChainPosition(int(resetlogs_id), int(end))


def beyond(work: Workplace, position: ChainPosition) -> dict[TableId, tuple[str, ...]]:
    """Return the batches and loads that brought a table beyond that position."""
    batches = [name for name in work.landing.files.names(layout.BATCHES) if end_of(name) > position.plus(1)]
    loads = [name for name in work.landing.files.names(layout.LOADS) if scn_of(name) > position.scn]
    brought = [(name, applied_as(work, name)) for name in batches] + [(name, loaded_as(work, name)) for name in loads]
    found: dict[TableId, tuple[str, ...]] = defaultdict(tuple)
    for name, places in brought:
        for table, reached in places.items():
            if reached > position:
                found[table] += (name,)
    return found


def check_names_all(work: Workplace, spec: SnapshotSpec) -> None:
    """Raises Terminal for a load that would set a table back behind a batch its order does not name: it came since, and what is
    rebuilt from what lies written would count it. A lease tells that too, unless an older copy of the ledger was put back."""
    positions = {task.table: ChainPosition(incarnation_of(task.app_id), spec.scn) for task in spec.tables}
    passed = {position: beyond(work, position) for position in set(positions.values())}
    for task in spec.tables:
        since = set(passed[positions[task.table]].get(task.table, ())) - set(task.supersedes)
        if since:
            raise Terminal(
                f"{', '.join(sorted(since))} brought the table beyond SCN {spec.scn} after this load was prepared",
                cure="clear the `prepare` task of the snapshot's run, or take a new snapshot; nothing was changed",
                table=task.table,
            )


def applied_as(work: Workplace, name: str) -> dict[TableId, ChainPosition]:
    """The places that a batch has brought tables to; none for a batch that has not ended."""
    result = batch_result(work, name)
    if result is None:
        return {}
    return {
        done.table: ChainPosition(result.resetlogs_id, done.complete_to)
        for done in result.tables
        if done.complete_to is not None
    }


def loaded_as(work: Workplace, name: str) -> dict[TableId, ChainPosition]:
    """The tables that a load has given contents, and of which place."""
    return {task.table: loaded_at(task, name) for task in loaded_tasks(work, name) or ()}


def loaded_at(task: SnapshotTask, load: str) -> ChainPosition:
    return ChainPosition(incarnation_of(task.app_id), scn_of(load))


def superseded(work: Workplace) -> Void:
    """Of each table that was set back, the batches and loads that count for it no more."""
    void: dict[TableId, set[str]] = defaultdict(set)
    for name in work.landing.files.names(layout.LOADS):
        for task in (loaded_tasks(work, name) or ()) if name.endswith(ANEW) else ():
            void[task.table].update(task.supersedes)
    return void


def batch_result(work: Workplace, name: str) -> BatchResult | None:
    """None for a batch that has no manifest yet."""
    return work.landing.files.read_record(BatchResult, layout.batch_manifest(name))


def loaded_tasks(work: Workplace, name: str) -> list[SnapshotTask] | None:
    """Of the tables that a load has given contents; None for a load that has not ended."""
    result = work.landing.files.read_record(SnapshotResult, layout.load_manifest(name))
    if result is None:
        return None
    loaded = {done.table for done in result.tables if done.state == "applied"}
    spec = work.landing.files.read_record(SnapshotSpec, layout.load_spec(name))
    assert spec is not None, "it is written before the load's manifest"
    return [task for task in spec.tables if task.table in loaded]
