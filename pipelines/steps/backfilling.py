"""Backfill: fold the landed changes that committed in an old SCN range into shadow tables beside the live ones.

The same job over the same landing. A shadow holds, for every key that changed in the range, its state at the range's end.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipelines.batch import BatchSpec, batch_result_from_json, to_json
from pipelines.config import Pipeline
from pipelines.errors import Terminal
from pipelines.manifest import Manifest
from pipelines.steps.applying import batch_of
from pipelines.steps.correcting import chain_of_batches, correct_ledger
from pipelines.steps.sparking import open_spark, run_spark
from pipelines.steps.workplace import Report, Workplace, read_order, read_outcome, silent, workplace
from pipelines.table import TableId


def backfill_prepare(
    pipeline: Pipeline, from_scn: int, to_scn: int, tables: Sequence[str] | None = None, dry_run: bool = True
) -> dict[str, Any]:
    """Say what would be folded, and unless it is a dry run write the order for it."""
    if not 0 <= from_scn < to_scn:
        raise Terminal("the range is empty", cure="give a from-SCN below the to-SCN", from_scn=from_scn, to_scn=to_scn)
    with workplace(pipeline) as work:
        chosen = [TableId.parse(text) for text in tables] if tables else [table.id for table in pipeline.tables]
        correct_ledger(work)
        manifests = work.landing.windows()
        windows = covering(manifests, from_scn, to_scn)
        before = [b for b in chain_of_batches(work) if b.end <= from_scn]
        ahead = covering(manifests, before[-1].end if before else manifests[0].start, to_scn)
        rows = sum(n for m in windows for what, n in m.counts.items() if any(what.startswith(f"{t} ") for t in chosen))
        where = shadow_folder(pipeline, from_scn, to_scn)
        plan = f"{len(windows)} landed window(s), {rows} change rows, {len(chosen)} table(s) into {where}"
        order = {"plan": plan, "batch": None, "tables": [str(t) for t in chosen]}
        if dry_run:
            return order
        entries = [e for e in (work.ledger.table(work.name, t) for t in chosen) if e is not None]
        spec = batch_of(work, ahead, before[-1] if before else None, [replace(e, state="live") for e in entries], None)
        name = f"backfill-{from_scn:020d}-{to_scn:020d}-{uuid.uuid4().hex}"
        shadow = shadowed(work, spec, name, from_scn, to_scn)
        return {**order, "batch": work.landing.write_text(f"backfills/{name}/spec.json", to_json(shadow))}


def covering(manifests: Sequence[Manifest], from_scn: int, to_scn: int) -> list[Manifest]:
    """The landed windows of the range. It must be landed from end to end, and end at a window's end."""
    found = [m for m in manifests if m.end > from_scn and m.start < to_scn]
    whole = bool(found) and found[0].start <= from_scn and found[-1].end >= to_scn
    if not whole:
        landed = f"landed is [{manifests[0].start}, {manifests[-1].end})" if manifests else "nothing is landed"
        raise Terminal(f"the range is not landed: {landed}", cure="choose a range inside it", from_scn=from_scn, to_scn=to_scn)
    return found


def shadow_folder(pipeline: Pipeline, from_scn: int, to_scn: int) -> str:
    return f"{pipeline.lake.rstrip('/')}/_shadow/{from_scn}-{to_scn}"


def shadowed(work: Workplace, spec: BatchSpec, name: str, from_scn: int, to_scn: int) -> BatchSpec:
    """The batch turned to shadow tables; what commits at or above `to_scn` is not decided by it."""
    folder = work.landing.location(f"backfills/{name}")
    base = shadow_folder(work.pipeline, from_scn, to_scn)
    tasks = tuple(
        replace(
            task,
            target=f"{base}/{work.pipeline.table(task.table).path}",
            app_id=f"{task.app_id}/shadow/{from_scn}-{to_scn}",
            shadow_from=from_scn,
        )
        for task in spec.tables
    )
    return replace(
        spec, tables=tasks, end=min(spec.end, to_scn), manifest=f"{folder}/manifest.json", carry_out=f"{folder}/carry"
    )


def backfill_record(pipeline: Pipeline, batch: str) -> dict[str, Any]:
    """What the shadows hold. The ledger's live tables are not touched."""
    with workplace(pipeline) as work:
        spec = read_order(work, batch)
        result = batch_result_from_json(read_outcome(work, spec), spec.manifest)
        targets = {task.table: task.target for task in spec.tables}
        tables = [
            {"table": str(t.table), "state": t.state, "target": targets[t.table], "rows": t.inserted + t.updated}
            for t in result.tables
        ]
        return {"from": spec.start if isinstance(spec, BatchSpec) else None, "to": result.end, "tables": tables}


def backfill(
    pipeline: Pipeline,
    from_scn: int,
    to_scn: int,
    tables: Sequence[str] | None = None,
    *,
    execute: bool = False,
    spark: Any = None,
    report: Report = silent,
) -> dict[str, Any]:
    """All of it in one process."""
    order = backfill_prepare(pipeline, from_scn, to_scn, tables, dry_run=not execute)
    report(order["plan"])
    if not execute:
        return order
    session = spark or open_spark(pipeline)
    try:
        run_spark(pipeline, order["batch"], session)
    finally:
        if spark is None:
            session.stop()
    return {**order, **backfill_record(pipeline, order["batch"])}
