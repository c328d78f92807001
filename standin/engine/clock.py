"""The SCN and the time of the database. The caller of `next_scn` holds the database's lock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """The database's clock. `scn` is the last SCN given out (V$DATABASE.CURRENT_SCN); the modelled host runs in UTC."""

    def __init__(self, scn: int) -> None:
        self.scn = scn
        self._tick, self._second = 0, datetime(1970, 1, 1)

    def next_scn(self) -> int:
        self.scn += 1
        return self.scn

    def advance(self, scns: int) -> None:
        """Let SCNs pass while nothing happens, as the heartbeat does."""
        self.scn += scns

    def now(self) -> datetime:
        """Return the time as a DATE or TIMESTAMP has it, without a zone."""
        return datetime.now(UTC).replace(tzinfo=None)

    def second(self) -> datetime:
        """Return the time without its fraction. Every redo record needs it, so it is cached for the second."""
        tick = int(time.time())
        if tick != self._tick:
            self._tick, self._second = tick, datetime.fromtimestamp(tick, UTC).replace(tzinfo=None)
        return self._second
