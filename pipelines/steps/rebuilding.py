"""A ledger that was lost, made anew from what lies written beside the data: handover, snapshots, manifests, batches."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.batch import SnapshotResult, snapshot_result_from_json
from pipelines.manifest import Manifest
from pipelines.schema import baseline, derive, version_to_json
from pipelines.scn import Scn
from pipelines.steps.plans import dictionary_from_json
from pipelines.steps.versions import concerns, known_versions
from pipelines.steps.workplace import HANDOVER, Workplace, now
from pipelines.table import TableId


def rebuild_tables(work: Workplace, manifests: Sequence[Manifest]) -> None:
    """Only where the ledger knows no table although a snapshot was begun. How far each is applied, the batches tell."""
    start = work.landing.read_json(HANDOVER)
    if start is None or work.ledger.tables(work.name):
        return
    loads = loaded_snapshots(work)
    for table in (t.id for t in work.pipeline.tables):
        captured = [m.start for m in manifests if str(table) in m.tables]
        if captured or not manifests:
            work.ledger.add_table(work.name, table, Scn(captured[0] if captured else start["scn"]), now())
        for load in loads:
            if any(t.table == table and t.state == "applied" for t in load.tables):
                take_up(work, table, load.scn, manifests)
        record_ddl(work, table, manifests, manifests[-1].end if manifests else 0)


def loaded_snapshots(work: Workplace) -> list[SnapshotResult]:
    results = []
    for name in work.landing.names("snapshots/loads"):
        path = work.landing.location(f"snapshots/loads/{name}/manifest.json")
        text = work.landing.read_text(path)
        if text is not None:
            results.append(snapshot_result_from_json(text, path))
    return sorted(results, key=lambda r: r.scn)


def take_up(work: Workplace, table: TableId, scn: int, manifests: Sequence[Manifest]) -> None:
    """The table as it was after that snapshot; its columns get the ids they had, being named in the same order."""
    body = work.landing.read_json(f"snapshots/{table}/{scn:020d}/dictionary.json")
    if body is None:
        return
    found = dictionary_from_json(body)
    record_ddl(work, table, manifests, int(found.scn_before))
    known = known_versions(work, table)
    version = baseline(found, found.scn_before, known[-1] if known else None)
    work.ledger.record_version(work.name, table, version.from_scn, version_to_json(version), "baseline", now=now())
    entry = work.ledger.table(work.name, table)
    if entry is not None and entry.state == "new":
        work.ledger.move_table(work.name, table, ("new",), "snapshotting", now=now(), snapshot_scn=Scn(scn))
        work.ledger.move_table(work.name, table, ("snapshotting",), "live", now=now(), snapshot_scn=Scn(scn))
    work.ledger.complete_as(work.name, table, Scn(scn), now())


def record_ddl(work: Workplace, table: TableId, manifests: Sequence[Manifest], below: int) -> None:
    known = known_versions(work, table)
    if not known:
        return
    ids = {version.object_id for version in known}
    rows = [row for m in manifests for row in m.ddl if row.scn < below and concerns(row, table, ids)]
    for version in derive(known[-1:], rows).versions[1:]:
        work.ledger.record_version(work.name, table, version.from_scn, version_to_json(version), "ddl", now=now())
