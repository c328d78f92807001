"""What stands where, from the ledger and the landing alone: neither Oracle nor Spark is asked."""

from __future__ import annotations

from typing import Any

from pipelines.config import Pipeline
from pipelines.manifest import Manifest
from pipelines.steps.correcting import correct_ledger
from pipelines.steps.workplace import workplace


def status(pipeline: Pipeline) -> dict[str, Any]:
    with workplace(pipeline) as work:
        correct_ledger(work)
        position = work.ledger.position(pipeline.name)
        latest = [(w, work.landing.read_manifest(w.name)) for w in reversed(work.ledger.windows(pipeline.name, limit=10))]
        windows = [
            {"name": w.name, "state": w.state, "logs": logs_in(manifest), "rows": rows_in(manifest)} for w, manifest in latest
        ]
        tables = [
            {
                "table": str(t.table),
                "state": t.state,
                "complete_to": t.complete_to_scn,
                "error": None if t.error is None else t.error.get("what"),
            }
            for t in work.ledger.tables(pipeline.name)
        ]
        return {
            "pipeline": pipeline.name,
            "landed_to": None if position is None else int(position.scn),
            "windows": windows,
            "tables": tables,
            "open_transactions": len(work.ledger.open_transactions(pipeline.name)),
        }


def rows_in(manifest: Manifest | None) -> int | None:
    if manifest is None:
        return None
    return sum(count for what, count in manifest.counts.items() if not what.startswith("* "))


def logs_in(manifest: Manifest | None) -> int | None:
    return None if manifest is None else len(manifest.logs)


def landed_windows(pipeline: Pipeline, limit: int = 20) -> list[dict[str, Any]]:
    with workplace(pipeline) as work:
        return [
            {
                "name": m.name,
                "start": m.start,
                "end": m.end,
                "logs": len(m.logs),
                "threads": len({log.thread for log in m.logs}),
                "rows": rows_in(m),
                "hash": m.row_hash,
            }
            for m in work.landing.windows()[-limit:]
        ]


def open_transactions(pipeline: Pipeline) -> list[dict[str, Any]]:
    with workplace(pipeline) as work:
        return [
            {
                "con_id": t.con_id,
                "xid": t.xid,
                "thread": t.thread,
                "start_scn": t.start_scn,
                "rows": t.row_count,
                "bytes": t.bytes,
                "username": t.username,
            }
            for t in work.ledger.open_transactions(pipeline.name)
        ]
