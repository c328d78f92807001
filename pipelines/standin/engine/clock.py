"""The SCN and the time of the database. Whoever calls `next_scn` holds the database's lock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pipelines.standin.engine.options import utc_now


class Clock:
    """`scn` is the last one given out: V$DATABASE.CURRENT_SCN."""

    def __init__(self, scn: int, now: Callable[[], datetime] = utc_now) -> None:
        self.scn = scn
        self._now = now

    def next_scn(self) -> int:
        self.scn += 1
        return self.scn

    def advance(self, scns: int) -> None:
        """The heartbeat: SCNs pass while nothing happens."""
        self.scn += scns

    def now(self) -> datetime:
        return self._now()

    def second(self) -> datetime:
        """A DATE has no fraction."""
        return self._now().replace(microsecond=0)
