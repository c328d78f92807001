"""The SCN and the time of the database. The caller of `next_scn` holds the database's lock."""

from __future__ import annotations

import time
from bisect import bisect_right
from datetime import UTC, datetime, timedelta

_MARK_SECONDS = 3


class Clock:
    """The database's clock. `scn` is the last SCN given out (V$DATABASE.CURRENT_SCN); the modelled host runs in UTC.

    Every three seconds it notes the SCN of that time, as SMON does. SCN_TO_TIMESTAMP knows no finer times.
    """

    def __init__(self, scn: int) -> None:
        self.scn = scn
        self._tick, self._second = 0, datetime(1970, 1, 1)
        self._ahead = timedelta()
        self._mark_scns: list[int] = []
        self._mark_times: list[datetime] = []
        self.second()

    def next_scn(self) -> int:
        self.scn += 1
        return self.scn

    def advance(self, scns: int) -> None:
        """Let SCNs pass while nothing happens, as the heartbeat does."""
        self.scn += scns

    def now(self) -> datetime:
        """Return the time as a DATE or TIMESTAMP has it, without a zone."""
        return datetime.now(UTC).replace(tzinfo=None) + self._ahead

    def second(self) -> datetime:
        """Return the time without its fraction. Every redo record needs it, so it is cached for the second."""
        tick = int(time.time())
        if tick != self._tick:
            self._tick, self._second = tick, datetime.fromtimestamp(tick, UTC).replace(tzinfo=None) + self._ahead
            if not self._mark_times or self._second >= self._mark_times[-1] + timedelta(seconds=_MARK_SECONDS):
                self._mark_scns.append(self.scn)
                self._mark_times.append(self._second)
        return self._second

    def skip(self, seconds: int) -> None:
        """Set the clock ahead."""
        self._ahead += timedelta(seconds=seconds)
        self._tick = 0
        self.scn += 1
        self.second()

    def forget(self) -> None:
        """Forget which SCNs belong to the times before now, as the database does after 120 hours."""
        self._mark_scns, self._mark_times = [self.scn], [self.second()]

    def time_of(self, scn: int) -> datetime | None:
        """Return the time that the database remembers for an SCN; None if it is older than that."""
        self.second()
        at = bisect_right(self._mark_scns, scn)
        return self._mark_times[at - 1] if at else None

    def scn_at(self, time: datetime) -> int | None:
        """Return the SCN that the database remembers for a time; None if it is earlier than all of them or in the future."""
        self.second()
        at = bisect_right(self._mark_times, time)
        return self._mark_scns[at - 1] if at and time <= self.now() else None
