"""A physical standby of the database: which redo has arrived there, and how far it is applied.

It has the primary's rows, dictionary and archived logs, and shows of them what has arrived and is applied. Its services are the
primary's with `_STBY`, until the roles change. The caller holds the database's lock.
"""

from __future__ import annotations

from standin.engine.redo.clock import Clock
from standin.model import ArchivedCopy, DatabaseState, RedoThreadState

SUFFIX = "_STBY"
PHYSICAL = "PHYSICAL STANDBY"


class Standby:
    def __init__(self, state: DatabaseState, clock: Clock) -> None:
        self._state, self._clock = state, clock
        self.is_primary = False  # the services have changed their roles
        self.old_primary_is_lost = False  # after a failover, until it is reinstated
        self.real_time = True  # redo is applied as it arrives; False: log by log, once it is archived
        self.role = PHYSICAL
        self.is_mounted = False
        self.lag_scns = 0
        self._stopped_at: int | None = None
        self._gap: set[tuple[int, int]] = set()  # thread and sequence, of the current incarnation
        self._transport: dict[int, int] = {}  # by thread, the first sequence that is not sent
        self._applied = (0, 0)  # RESETLOGS_ID and SCN: it does not go back while these stay

    def site(self, service: str) -> tuple[str, bool]:
        """Return the service's name without the site, none of a lost host, and whether it leads to the standby."""
        name = service.upper()
        on_standby = name.endswith(SUFFIX) != self.is_primary
        return "" if on_standby and self.old_primary_is_lost else name.removesuffix(SUFFIX), on_standby

    @property
    def applies(self) -> bool:
        return self._stopped_at is None

    @property
    def open_mode(self) -> str:
        if self.is_mounted:
            return "MOUNTED"
        if self.role != PHYSICAL:
            return "READ WRITE"
        return "READ ONLY WITH APPLY" if self.applies else "READ ONLY"

    @property
    def applied_scn(self) -> int:
        """Return the last SCN whose changes queries see."""
        ends = [self._reached(thread) - 1 for thread in self._state.threads.values()]
        found = min([self._clock.scn - self.lag_scns, *ends])
        if self._stopped_at is not None:
            found = min(found, self._stopped_at)
        resetlogs_id = self._state.incarnation.resetlogs_id
        self._applied = max(self._applied, (resetlogs_id, found))
        return self._applied[1]

    @property
    def arrived_scn(self) -> int:
        """Return the last SCN before which all redo has arrived."""
        ends = [self._reached(thread, arrived=True) - 1 for thread in self._state.threads.values()]
        return min([self._clock.scn, *ends])

    def sends(self, thread: int) -> bool:
        return thread not in self._transport

    def has(self, copy: ArchivedCopy) -> bool:
        """Return whether a log has arrived."""
        if copy.resetlogs_id != self._state.incarnation.resetlogs_id:
            return True
        is_sent = copy.sequence < self._transport.get(copy.thread, copy.sequence + 1)
        return is_sent and (copy.thread, copy.sequence) not in self._gap

    def _reached(self, thread: RedoThreadState, *, arrived: bool = False) -> int:
        """Return the SCN at which the thread's redo that may be applied ends, or all that has arrived without a gap."""
        current = self._state.incarnation
        end = max(thread.enable_scn, current.resetlogs_scn)
        copies = [c for c in self._state.archived if c.thread == thread.number and c.resetlogs_id == current.resetlogs_id]
        for copy in sorted(copies, key=lambda copy: copy.sequence):
            if not self.has(copy):
                return max(end, copy.first_scn)
            end = max(end, copy.next_scn)
        if (self.real_time or arrived) and thread.number not in self._transport:
            return self._clock.scn + 1
        return end if thread.is_open else self._clock.scn + 1

    def stop_apply(self) -> None:
        self._stopped_at = self.applied_scn

    def start_apply(self) -> None:
        self._stopped_at = None

    def stop_transport(self, thread: int) -> None:
        """Send nothing of the thread's current log and later ones."""
        _ = self.applied_scn
        self._transport[thread] = self._state.threads[thread].current.sequence

    def resume_transport(self, thread: int) -> None:
        self._transport.pop(thread, None)

    def leave_gap(self, thread: int, sequence: int) -> None:
        self._gap.add((thread, sequence))

    def fetch_gap(self) -> None:
        self._gap.clear()

    def forget_faults(self) -> None:
        """Have all redo, as after a change of roles."""
        self._gap.clear()
        self._transport.clear()
        self._stopped_at, self.lag_scns = None, 0
