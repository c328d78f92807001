"""How much time is left: between the oldest redo still needed and the oldest redo still there."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipelines.config import Pipeline
from pipelines.context import opened_source, workplace
from pipelines.errors import Finding
from pipelines.reconcile.ledger import proven_position
from pipelines.redo import LogFile
from pipelines.source import ConnectParams, read_redo_facts
from pipelines.source.runway_facts import RecoveryArea, RetentionFacts, read_retention, read_snapshot_position
from pipelines.window.runway import BlockingThread, Runway, ThreadRunway, measure, state_of
from pipelines.window.runway_findings import findings, headline, in_hours, in_units


def measure_runway(pipeline: Pipeline, source: ConnectParams | None = None) -> dict[str, Any]:
    """`state` is enough, low or lost. Before the first snapshot it tells about the redo that a snapshot taken now needs."""
    with workplace(pipeline) as work:
        position = proven_position(work)  # and not the ledger's, which a step beside this one may be about to correct
    with opened_source(pipeline, source) as oracle:
        keeping = read_retention(oracle)
        if position is None:
            needed, facts = read_snapshot_position(oracle)
        else:
            needed, facts = position, read_redo_facts(oracle)
    found = measure(needed, facts, keeping.now)
    told = (
        *findings(found, pipeline.runway, keeping.lag_seconds, pipeline.name),
        *area_findings(keeping, found.bytes_per_hour),
    )
    return {
        "pipeline": pipeline.name,
        "state": state_of(found, pipeline.runway),
        "summary": f"{pipeline.name}: {headline(found)}",
        "standing": standing(found, position is not None),
        "needed_by": "snapshot" if position is None else "position",
        **as_json(found),
        "archive_lag_target_seconds": keeping.lag_seconds,
        "recovery_area": area_as_json(keeping.recovery_area, found.bytes_per_hour),
        "warn_below_hours": pipeline.runway.warn_below_hours,
        "warn_below_bytes": pipeline.runway.warn_below_bytes,
        "findings": [{"subject": f.subject, "what": f.what, "cure": f.cure, "severity": f.severity} for f in told],
    }


def standing(found: Runway, has_position: bool) -> str:
    """Where the reader stands, in a line."""
    what = "needed from SCN" if has_position else "no table has contents yet; a snapshot taken now needs redo from SCN"
    behind = "" if found.behind_hours is None else f", at most {in_hours(found.behind_hours)} old"
    return f"{what} {found.needed_scn}{behind}; archived and not read yet: {in_units(found.unread_bytes)}"


def area_findings(keeping: RetentionFacts, bytes_per_hour: float | None) -> list[Finding]:
    """A full recovery area deletes archived logs before their time, so its room is told beside the age."""
    if keeping.refused is not None:
        return [keeping.refused]
    area = keeping.recovery_area
    if area is None:
        return []
    used = f"{in_units(area.used_bytes)} of {in_units(area.limit_bytes)} used, {in_units(area.reclaimable_bytes)} reclaimable"
    full = "" if not bytes_per_hour else f"; full in {in_hours(area.free_bytes / bytes_per_hour)} at the pace of the last day"
    return [Finding("recovery area", f"{used}{full}: Oracle then deletes what is reclaimable, read or not", "", "note")]


def as_json(found: Runway) -> dict[str, Any]:
    return {
        "needed_scn": int(found.needed_scn),
        "hours_left": rounded(found.hours_left),
        "at_least": found.at_least,
        "bytes_left": found.bytes_left,
        "behind_hours": rounded(found.behind_hours),
        "unread_bytes": found.unread_bytes,
        "bytes_per_hour": None if found.bytes_per_hour is None else int(found.bytes_per_hour),
        "threads": [thread_as_json(t) for t in found.threads],
        "held_back_by": [held_as_json(held) for held in found.blocking_threads],
        "lost": None if found.lost is None else found.lost.as_dict(),
    }


def thread_as_json(thread: ThreadRunway) -> dict[str, Any]:
    return {
        "thread": thread.thread,
        "instance": thread.instance,
        "needed": log_as_json(thread.needed),
        "needed_is_archived": thread.is_archived,
        "oldest": log_as_json(thread.oldest),
        "hours_left": rounded(thread.hours_left),
        "at_least": not thread.deleted_before,
        "bytes_kept": thread.kept_bytes,
        "older_redo": in_units(thread.kept_bytes),
        "unread_logs": len(thread.unread),
        "lost": None if thread.lost is None else thread.lost.what,
    }


def log_as_json(log: LogFile | None) -> dict[str, Any] | None:
    return None if log is None else {"sequence": log.sequence, "first_scn": int(log.first_scn), "began_at": at(log.first_at)}


def held_as_json(held: BlockingThread) -> dict[str, Any]:
    return {
        "thread": held.thread,
        "instance": held.instance,
        "sequence": held.sequence,
        "scn": int(held.scn),
        "hours": rounded(held.hours),
        "reason": "open" if held.is_open else "not archived",
        "waiting_logs": held.waiting_logs,
        "waiting_bytes": held.waiting_bytes,
    }


def area_as_json(area: RecoveryArea | None, bytes_per_hour: float | None) -> dict[str, Any] | None:
    if area is None:
        return None
    return {
        "name": area.name,
        "limit_bytes": area.limit_bytes,
        "used_bytes": area.used_bytes,
        "reclaimable_bytes": area.reclaimable_bytes,
        "hours_until_full": rounded(area.free_bytes / bytes_per_hour) if bytes_per_hour else None,
    }


def rounded(hours: float | None) -> float | None:
    """Down, so that no more is promised than there is."""
    return None if hours is None else int(hours * 100) / 100


def at(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(sep=" ", timespec="seconds")
