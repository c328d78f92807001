"""What the database says about how long redo is kept: its clock, ARCHIVE_LAG_TARGET, the recovery area."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pipelines.errors import Finding, SourceRefused
from pipelines.redo import Position, RedoFacts
from pipelines.source.facts import read_active_transactions, read_current_scn, read_redo_facts
from pipelines.source.handover import first_window_start
from pipelines.source.oracle import Source


@dataclass(frozen=True, slots=True)
class RecoveryArea:
    """V$RECOVERY_FILE_DEST. What is reclaimable Oracle deletes when it needs the room, whether it was read or not."""

    name: str
    limit_bytes: int
    used_bytes: int
    reclaimable_bytes: int

    @property
    def free_bytes(self) -> int:
        return max(0, self.limit_bytes - self.used_bytes)


@dataclass(frozen=True, slots=True)
class RetentionFacts:
    """`recovery_area` None: there is none, or `refused` says that it may not be read."""

    now: datetime
    lag_seconds: int | None
    recovery_area: RecoveryArea | None
    refused: Finding | None


def read_retention(source: Source) -> RetentionFacts:
    """To be read before the logs: what happens in between makes time look shorter than it is, never longer."""
    source.use_container(None)
    now = source.query("database_clock")[0].now_at
    lag = {row.name: row.value for row in source.query("parameters")}.get("archive_lag_target")
    try:
        rows = [row for row in source.query("recovery_area") if row.name and row.space_limit]
    except SourceRefused as error:
        return RetentionFacts(
            now, None if lag is None else int(lag), None, Finding("recovery area", error.what, error.cure, "note")
        )
    area = None
    if rows:
        area = RecoveryArea(
            rows[0].name, int(rows[0].space_limit), int(rows[0].space_used or 0), int(rows[0].space_reclaimable or 0)
        )
    return RetentionFacts(now, None if lag is None else int(lag), area, None)


def read_snapshot_position(source: Source) -> tuple[Position, RedoFacts]:
    """Where redo would have to begin for a snapshot that is taken now: before every transaction that is open."""
    source.use_container(None)
    scn = read_current_scn(source)
    oldest = min([scn, *(t.start_scn for t in read_active_transactions(source))])
    facts = read_redo_facts(source)
    current = next(i.resetlogs_id for i in facts.incarnations if i.status == "CURRENT")
    return Position(facts.dbid, current, first_window_start(facts, oldest)), facts
