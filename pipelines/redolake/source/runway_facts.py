"""Read how long the database keeps redo: its clock, ARCHIVE_LAG_TARGET, the recovery area."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from redolake.errors import Finding, SourceRefused
from redolake.source.facts import read_active_transactions, read_current_scn, read_parameters, read_redo_facts
from redolake.source.handover import first_window_start
from redolake.source.oracle import Source
from redolake.source.standby import check_shows
from redolake.values.redo import Position, RedoFacts


@dataclass(frozen=True, slots=True)
class RecoveryArea:
    """A row of V$RECOVERY_FILE_DEST. Oracle deletes reclaimable files when it needs space, mined or not.
    `hours_until_full` is at the redo rate of the last day; None where that is unknown."""

    name: str
    limit_bytes: int
    used_bytes: int
    reclaimable_bytes: int
    hours_until_full: float | None = None

    @property
    def free_bytes(self) -> int:
        return max(0, self.limit_bytes - self.used_bytes)


@dataclass(frozen=True, slots=True)
class RetentionFacts:
    """`recovery_area` is None where the database has none, or where `refused` says that it is not readable."""

    now: datetime
    lag_seconds: int | None
    recovery_area: RecoveryArea | None
    refused: Finding | None


def read_retention(source: Source) -> RetentionFacts:
    """Read retention facts. Call it before reading the logs, so that the time left is underestimated, never overestimated."""
    source.use_container(None)
    now = source.query("database_clock")[0].now_at
    lag = read_parameters(source).get("archive_lag_target")
    lag_seconds = None if lag is None else int(lag)
    try:
        rows = [row for row in source.query("recovery_area") if row.name and row.space_limit]
    except SourceRefused as error:
        return RetentionFacts(now, lag_seconds, None, Finding("recovery area", error.what, error.cure, "note"))
    return RetentionFacts(now, lag_seconds, _recovery_area(rows[0]) if rows else None, None)


def _recovery_area(row: Any) -> RecoveryArea:
    return RecoveryArea(row.name, int(row.space_limit), int(row.space_used or 0), int(row.space_reclaimable or 0))


def read_snapshot_position(source: Source, container: str | None) -> tuple[Position, RedoFacts]:
    """Return the position at which redo must begin for a snapshot taken now, before every open transaction. A standby's are
    those of the primary that it names."""
    source.use_container(None)
    scn, facts = read_current_scn(source), read_redo_facts(source)
    with source.primary() if facts.is_standby and source.names_primary else nullcontext(source) as asked:
        if asked is not source:
            check_shows(asked, container)
        listed, _ = read_active_transactions(asked)
    oldest = min([scn, *(t.start_scn for t in listed)])
    by_redo = facts.is_standby and not source.names_primary
    current = facts.current_incarnation.resetlogs_id
    return Position(facts.dbid, current, first_window_start(facts, oldest, as_old_as_kept=by_redo)), facts
