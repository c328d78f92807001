"""How snapshots read large tables: in chunks, with so many sessions, and in these hours."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from redolake.config.resnapshot import checked_hours, is_within
from redolake.config.values import Bytes, Settings


class SnapshotSettings(Settings):
    """A table's settings count before the pipeline's."""

    sessions: int = Field(4, ge=1, le=64, description="sessions that read the chunks of one table side by side")
    chunk_bytes: Bytes = Field(
        256 * 2**20, description="a table that is larger in Oracle is read in chunks of about this size, a file each"
    )
    rows_per_second: int | None = Field(
        None, ge=1, description="most rows a second that all sessions of one process read of a table; default: no limit"
    )
    hours_utc: Annotated[str, AfterValidator(checked_hours)] | None = Field(
        None, description='hours of the day in UTC in which a chunk may begin, e.g. `"22-05"`; default: any'
    )

    def begins_at(self, hour: int) -> bool:
        """Return whether a chunk may begin in this hour of the day."""
        return is_within(self.hours_utc, hour)
