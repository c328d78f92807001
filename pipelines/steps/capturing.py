"""Capture: plan the next sealed window, mine its slices, land it."""

from __future__ import annotations

import uuid
from typing import Any

from pipelines.config import Pipeline
from pipelines.crash import point
from pipelines.errors import RedolakeError, Terminal
from pipelines.land import SliceRecord
from pipelines.manifest import Manifest
from pipelines.mine import mine_slice
from pipelines.redo import Position, Window
from pipelines.scn import Scn
from pipelines.source import ConnectParams, Source, read_redo_facts, read_tables
from pipelines.steps.plans import Plan, dictionary_to_json
from pipelines.steps.versions import object_ids, record_baselines
from pipelines.steps.workplace import Report, Workplace, correct_ledger, now, opened_source, owner, silent, workplace
from pipelines.table import DictionaryTable, TableId
from pipelines.window import Lost, NothingNew, Wait, plan_window

LEASE_SECONDS = 60.0


def plan(pipeline: Pipeline, source: ConnectParams | None = None) -> dict[str, Any]:
    """The next window, or why there is none: outcome is window, nothing or wait. Raises RedoLost."""
    with workplace(pipeline) as work:
        correct_ledger(work)
        position = work.ledger.position(pipeline.name)
        if position is None:
            return nothing(f"no table has contents yet: run {pipeline.name}_snapshot, or `redolake snapshot`")
        with opened_source(pipeline, source) as oracle:
            found = plan_window(position, read_redo_facts(oracle), pipeline.window)
            if isinstance(found, Lost):
                raise found.error
            if isinstance(found, NothingNew):
                return nothing(found.reason)
            if isinstance(found, Wait):
                return {**nothing(str(found.reason)), "outcome": "wait"}
            return planned(work, oracle, found.window)


def nothing(reason: str) -> dict[str, Any]:
    return {"outcome": "nothing", "reason": reason, "window": None, "slices": [], "run": ""}


def planned(work: Workplace, oracle: Source, window: Window) -> dict[str, Any]:
    """Write the plan down. The dictionary is read now, after the window's redo, as LogMiner will read it."""
    ids = tuple(table.id for table in work.pipeline.tables)
    oracle.use_container(work.pipeline.source.container)
    dictionary = read_tables(oracle, ids)
    require_all(ids, dictionary, work)
    read_at = min(table.scn_before for table in dictionary.values()) if dictionary else window.scns.end
    for table in ids:
        work.ledger.add_table(work.name, table, window.scns.start, now())
    record_baselines(work, {t: d for t, d in dictionary.items() if not work.ledger.versions(work.name, t)})
    body = {"scn": read_at, "tables": [dictionary_to_json(table) for table in dictionary.values()]}
    work.landing.write_json_once(f"baselines/{read_at:020d}.json", body)
    made = Plan(window, ids, object_ids(work, dictionary), read_at)
    lease = work.ledger.lease(f"capture/{work.name}", owner(), LEASE_SECONDS, now())
    try:
        entry = work.ledger.plan_window(
            work.name, window.name, window.resetlogs_id, window.scns, made.to_json(), lease, now()
        )
    finally:
        work.ledger.release_lease(lease)
    slices = [s.number for s in window.slices]
    size = sum(log.bytes for s in window.slices for log in s.logs)
    logs = sum(len(s.logs) for s in window.slices)
    reason = f"SCN {window.scns}, {logs} log(s) of {len({s.thread for s in window.slices})} redo thread(s), {size:,} bytes"
    return {"outcome": "window", "reason": reason, "window": entry.name, "slices": slices, "run": uuid.uuid4().hex[:12]}


def require_all(ids: tuple[TableId, ...], dictionary: dict[TableId, DictionaryTable], work: Workplace) -> None:
    """A captured table that is gone is no reason to stop the others: its DROP in the redo holds it. One that was never there is."""
    for table in ids:
        if table not in dictionary and not work.ledger.versions(work.name, table):
            raise Terminal(
                "the table is not in the dictionary, or its rights are missing",
                cure="run `redolake doctor`; mend its name in pipelines.yml, or grant SELECT on it",
                table=table,
            )


def plan_of(work: Workplace, window: str) -> Plan:
    entry = work.ledger.window(work.name, window)
    if entry is None or not entry.plan:
        raise Terminal("the ledger has no plan of this window", cure="clear the plan task, or begin a new run", window=window)
    return Plan.from_json(dict(entry.plan))


def landed_manifest(work: Workplace, window: str) -> Manifest | None:
    return work.landing.manifest_of(window)


def mine(pipeline: Pipeline, source: ConnectParams | None, window: str, slice_number: int) -> dict[str, Any]:
    """Mine one slice into files of this attempt's own; what is returned names them. A window that has landed is left alone."""
    with workplace(pipeline) as work:
        if landed_manifest(work, window) is not None:
            return {"landed": True, "slice": slice_number}
        record = mined(work, source, plan_of(work, window), slice_number)
        point(f"mine.slice.{slice_number}")
        return record.to_json()


def mined(work: Workplace, source: ConnectParams | None, made: Plan, slice_number: int) -> SliceRecord:
    piece = next(s for s in made.window.slices if s.number == slice_number)
    settings = work.pipeline.source
    with opened_source(work.pipeline, source) as oracle:
        oracle.use_container(None)
        mining = mine_slice(
            oracle, piece, made.window, made.tables, made.object_ids, settings.container, settings.fetch_rows
        )
        token = uuid.uuid4().hex
        return work.landing.write_slice(made.window, slice_number, mining, token)


def land(pipeline: Pipeline, window: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Publish the manifest, then advance the position. A window whose place is taken by itself is done already."""
    with workplace(pipeline) as work:
        manifest = landed_manifest(work, window)
        if manifest is None or not any(record.get("landed") for record in records):
            made = plan_of(work, window)
            manifests = correct_ledger(work)
            position = work.ledger.position(pipeline.name)
            previous = previous_end(manifests, made, position)
            slices = [SliceRecord.from_json(record) for record in records]
            manifest = work.landing.publish(
                made.window, made.tables, slices, previous, circumstance={"dictionary_scn": made.dictionary_scn}
            )
        point("land.manifest")
        work.ledger.landed_as(pipeline.name, manifest, now())
        correct_ledger(work)
        rows = sum(count for what, count in manifest.counts.items() if not what.startswith("* "))
        path = work.landing.window_path(manifest.name)
        return {"window": manifest.name, "start": manifest.start, "end": manifest.end, "manifest": path, "rows": rows}


def previous_end(manifests: list[Manifest], made: Plan, position: Position | None) -> int | None:
    """Where the window must begin. A window that follows a RESETLOGS begins at it, which the gate has decided."""
    before = [m for m in manifests if m.name != made.window.name and m.end <= made.window.scns.start]
    if before:
        return before[-1].end
    return None if position is None else int(position.scn)


def remine(pipeline: Pipeline, window: str, source: ConnectParams | None = None, report: Report = silent) -> dict[str, Any]:
    """Mine a landed window again under a token of its own, compare the identities, and leave nothing behind."""
    with workplace(pipeline) as work:
        manifest = landed_manifest(work, window)
        if manifest is None:
            raise Terminal("no such window has landed", cure="`redolake windows` lists them", window=window)
        made = plan_of(work, window)
        records = []
        try:
            for piece in made.window.slices:
                report(f"mining slice {piece.number + 1} of {len(made.window.slices)}")
                records.append(mined(work, source, made, piece.number))
            again = work.landing.manifest_for(made.window, made.tables, records)
        finally:
            work.landing.discard(made.window, records)
        ours, theirs = manifest.identity(), again.identity()
        differs = sorted(key for key in ours if ours[key] != theirs[key])
        return {"window": window, "equal": not differs, "differs": differs, "row_hash": again.row_hash, "landed_row_hash": manifest.row_hash}


__all__ = ["Position", "RedolakeError", "Scn", "land", "mine", "plan", "remine"]
