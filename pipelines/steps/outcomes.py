"""What the manifests of ended batches and loads say, and which of it is void since.

A table that is read anew goes on being applied, so it may be beyond the SCN of its new contents when they are loaded, which
sets it back. What brought it there is void from then on. No manifest of a batch can say so, and a ledger that was lost has
nothing else: the load's order names them, and the load's own name ends in ANEW, so that few orders have to be looked through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pipelines.batch import (
    BatchResult,
    SnapshotResult,
    SnapshotTask,
    batch_result_from_json,
    snapshot_result_from_json,
    spec_from_json,
)
from pipelines.steps.versions import incarnation_of
from pipelines.steps.workplace import Workplace
from pipelines.table import TableId

LOADS, BATCHES = "snapshots/loads", "batches"
ANEW = "-anew"

Place = tuple[int, int]  # incarnation and SCN
Void = Mapping[TableId, set[str]]


def load_name(scn: int, token: str, tasks: Sequence[SnapshotTask]) -> str:
    return f"{scn:020d}-{token}{ANEW if any(task.supersedes for task in tasks) else ''}"


def scn_of(load: str) -> int:
    return int(load.partition("-")[0])


def range_of(batch: str) -> tuple[Place, Place]:
    """Where a batch begins and ends, by its name."""
    resetlogs_id, start, end = (int(number) for number in batch.split("-")[:3])
    return (resetlogs_id, start), (resetlogs_id, end)


def beyond(work: Workplace, table: TableId, place: Place) -> tuple[str, ...]:
    """The batches and loads that have brought the table beyond that place."""
    resetlogs_id, scn = place
    batches = [name for name in work.landing.names(BATCHES) if range_of(name)[1] > (resetlogs_id, scn + 1)]
    loads = [name for name in work.landing.names(LOADS) if scn_of(name) > scn]
    found = [name for name in batches if applied_as(work, name).get(table, place) > place]
    return (*found, *(name for name in loads if loaded_as(work, name).get(table, place) > place))


def applied_as(work: Workplace, name: str) -> dict[TableId, Place]:
    """The places that a batch has brought tables to; none for a batch that has not ended."""
    result = batch_result(work, name)
    if result is None:
        return {}
    return {done.table: (result.resetlogs_id, done.complete_to) for done in result.tables if done.complete_to is not None}


def loaded_as(work: Workplace, name: str) -> dict[TableId, Place]:
    """The tables that a load has given contents, and of which place; none for a load that has not ended."""
    result = load_result(work, name)
    if result is None:
        return {}
    loaded = {done.table for done in result.tables if done.state == "applied"}
    return {task.table: (incarnation_of(task.app_id), result.scn) for task in load_tasks(work, name) if task.table in loaded}


def superseded(work: Workplace) -> Void:
    """Of each table that was set back, the batches and loads that count for it no more."""
    void: dict[TableId, set[str]] = defaultdict(set)
    for name in work.landing.names(LOADS):
        if name.endswith(ANEW) and (loaded := loaded_as(work, name)):
            for task in load_tasks(work, name):
                if task.table in loaded:
                    void[task.table].update(task.supersedes)
    return void


def batch_result(work: Workplace, name: str) -> BatchResult | None:
    """None for a batch that has no manifest yet."""
    path = work.landing.location(f"{BATCHES}/{name}/manifest.json")
    text = work.landing.read_text(path)
    return None if text is None else batch_result_from_json(text, path)


def load_result(work: Workplace, name: str) -> SnapshotResult | None:
    path = work.landing.location(f"{LOADS}/{name}/manifest.json")
    text = work.landing.read_text(path)
    return None if text is None else snapshot_result_from_json(text, path)


def load_tasks(work: Workplace, name: str) -> tuple[SnapshotTask, ...]:
    path = work.landing.location(f"{LOADS}/{name}/spec.json")
    spec = spec_from_json(work.landing.read_text(path) or "", path)
    return spec.tables  # type: ignore[return-value]
