"""Who has paused a table's snapshots."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SnapshotPause:
    """Whether chunks of the table's snapshots may be read, as `by` decided."""

    is_paused: bool
    by: str
    at: str
