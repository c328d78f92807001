"""The SCN and the time of the database. Whoever calls `next_scn` holds the database's lock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """`scn` is the last one given out: V$DATABASE.CURRENT_SCN. The modelled host runs in UTC."""

    def __init__(self, scn: int) -> None:
        self.scn = scn
        self._tick, self._second = 0, datetime(1970, 1, 1)

    def next_scn(self) -> int:
        self.scn += 1
        return self.scn

    def advance(self, scns: int) -> None:
        """The heartbeat: SCNs pass while nothing happens."""
        self.scn += scns

    def now(self) -> datetime:
        """A DATE has no zone, and neither have our values of it."""
        return datetime.now(UTC).replace(tzinfo=None)

    def second(self) -> datetime:
        """Now without its fraction, as a DATE has it; asked for by every redo record, hence kept for the second."""
        tick = int(time.time())
        if tick != self._tick:
            self._tick, self._second = tick, datetime.fromtimestamp(tick, UTC).replace(tzinfo=None)
        return self._second
