"""What stands where, from the ledger and the landing alone: neither Oracle nor Spark is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipelines.config import Pipeline
from pipelines.context import Workplace, workplace
from pipelines.ledger import Loss
from pipelines.reconcile.batches import is_of_the_chain
from pipelines.reconcile.dropped_transactions import read_open_drops
from pipelines.reconcile.ledger import correct_ledger
from pipelines.records.codec import from_body
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.window_manifest import WindowManifest


def read_status(pipeline: Pipeline) -> dict[str, Any]:
    with workplace(pipeline) as work:
        correct_ledger(work)
        position = work.ledger.position()
        latest = [(w, work.landing.windows.manifest(w.name)) for w in reversed(work.ledger.windows(limit=10))]
        windows = [
            {"name": w.name, "state": w.state, "logs": logs_in(manifest), "rows": rows_in(manifest)} for w, manifest in latest
        ]
        tables = [
            {
                "table": str(t.table),
                "state": t.state,
                "complete_to": t.complete_to_scn,
                "error": None if t.error is None else t.error.get("what"),
                **({} if t.error is None else {name: t.error.get(name) for name in ("code", "where", "cure")}),
            }
            for t in work.ledger.tables()
        ]
        return {
            "pipeline": pipeline.name,
            "landed_to": None if position is None else int(position.scn),
            "windows": windows,
            "tables": tables,
            "lost": loss_to_json(work.ledger.loss()),
            "breaks": open_breaks(work),
            "dropped": [asdict(drop) for drop in read_open_drops(work)],
            "open_transactions": len(work.ledger.open_transactions()),
        }


def loss_to_json(loss: Loss | None) -> dict[str, Any] | None:
    if loss is None:
        return None
    return {**loss.error, "step": loss.step, "since": loss.since.isoformat(timespec="seconds"), "missing": len(loss.missing)}


def rows_in(manifest: WindowManifest | None) -> int | None:
    if manifest is None:
        return None
    return sum(count for what, count in manifest.counts.items() if not what.startswith("* "))


def logs_in(manifest: WindowManifest | None) -> int | None:
    return None if manifest is None else len(manifest.logs)


def list_windows(pipeline: Pipeline, limit: int = 20) -> list[dict[str, Any]]:
    """`account` says what the batch that applied the window made of its change rows (see RowAccount); None before that."""
    with workplace(pipeline) as work:
        correct_ledger(work)
        accounts = accounts_of_windows(work)
        return [
            {
                "name": m.name,
                "start": m.start,
                "end": m.end,
                "logs": len(m.logs),
                "threads": len({log.thread for log in m.logs}),
                "rows": rows_in(m),
                "hash": m.row_hash,
                "account": accounts.get(m.name),
            }
            for m in work.landing.windows.last(limit)
        ]


def accounts_of_windows(work: Workplace) -> dict[str, dict[str, int]]:
    chain = (entry for entry in work.ledger.batches("applied") if is_of_the_chain(entry.name))
    return {name: account for entry in chain for name, account in ((entry.result or {}).get("accounts") or {}).items()}


def break_to_json(found: DeclaredGap, tables: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "from_scn": int(found.start.scn),
        "to_scn": int(found.end.scn),
        "to_incarnation": found.end.resetlogs_id,
        "reason": found.reason,
        "by": found.by,
        "at": found.at,
        "lost": found.lost,
        "tables": list(tables),
        "dropped_rows": found.dropped_rows,
        "dropped": [
            {"con_id": t.con_id, "xid": t.xid, "thread": t.thread, "start_scn": t.start_scn, "rows": t.rows}
            for t in found.dropped
        ],
    }


def open_breaks(work: Workplace) -> list[dict[str, Any]]:
    """The breaks that some table still has in it, each with those tables."""
    entries = {str(entry.table): entry for entry in work.ledger.tables()}
    told = []
    for name, body in work.ledger.gaps().items():
        found = from_body(DeclaredGap, body, name)
        tables = [text for text, entry in entries.items() if found.concerns(text, entry.snapshot_scn)]
        if tables:
            told.append({**break_to_json(found, tables), "split": split_transactions(work, found)})
    return told


def split_transactions(work: Workplace, gap: DeclaredGap) -> list[dict[str, Any]] | None:
    """Return the transactions that the gap has split; None while no window follows it."""
    found = work.landing.gaps.split_by(gap)
    return None if found is None else [asdict(transaction) for transaction in found]
