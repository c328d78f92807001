"""Faults of the physical standby, which clients reach by the services with `_STBY`."""

from __future__ import annotations

from standin.engine.database.standby import PHYSICAL, SUFFIX
from standin.faults.base import Faults
from standin.faults.fault import fault


class StandbyFaults(Faults):
    """Redo that arrives late or not in order, redo that is applied late, and a change of roles."""

    @fault(ended_by="start_apply")
    def stop_apply(self) -> None:
        """Stop redo apply: the standby's rows stay as they are, and its OPEN_MODE is READ ONLY."""
        with self._database.lock:
            self._database.standby.stop_apply()

    @fault()
    def start_apply(self) -> None:
        """Apply redo again."""
        with self._database.lock:
            self._database.standby.start_apply()

    @fault(ended_by="catch_up_apply")
    def lag_apply(self, scns: int) -> None:
        """Apply redo `scns` SCNs behind the primary."""
        with self._database.lock:
            self._database.standby.lag_scns = scns

    @fault()
    def catch_up_apply(self) -> None:
        """Apply without delay again."""
        with self._database.lock:
            self._database.standby.lag_scns = 0

    @fault(ended_by="apply_in_real_time")
    def apply_archived_logs(self) -> None:
        """Apply a log once it is archived: no real-time apply."""
        with self._database.lock:
            self._database.standby.real_time = False

    @fault()
    def apply_in_real_time(self) -> None:
        """Apply redo as it arrives in the standby's redo logs."""
        with self._database.lock:
            self._database.standby.real_time = True

    @fault(ended_by="resume_transport")
    def stop_transport(self, thread: int) -> None:
        """Send nothing of a thread from its current log on."""
        with self._database.lock:
            self._database.standby.stop_transport(thread)

    @fault()
    def resume_transport(self, thread: int) -> None:
        """Send the thread's redo again, with all that the standby lacks."""
        with self._database.lock:
            self._database.standby.resume_transport(thread)

    @fault(ended_by="fetch_gap")
    def leave_gap(self, thread: int, sequence: int) -> None:
        """Send later logs of a thread and not this one: V$ARCHIVE_GAP, and nothing after it is applied."""
        with self._database.lock:
            self._database.standby.leave_gap(thread, sequence)

    @fault()
    def fetch_gap(self) -> None:
        """Fetch the logs of all gaps."""
        with self._database.lock:
            self._database.standby.fetch_gap()

    @fault()
    def switch_over(self) -> None:
        """Change roles: every session ends, each log is archived and applied, and the standby is the primary; no RESETLOGS."""
        database = self._database
        with database.lock:
            for session in list(database.sessions.values()):
                database.kill(session.number)
            database.archive_current()
            database.standby.forget_faults()
            database.standby.is_primary = not database.standby.is_primary
            name = database.state.unique_name
            database.state.unique_name = name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else name + SUFFIX
        self._listener.drop_clients()

    @fault(ended_by="open_standby")
    def mount_standby(self) -> None:
        """Close the standby: its sessions end, and it is MOUNTED."""
        with self._database.lock:
            self._database.standby.is_mounted = True
            for session in [one for one in self._database.sessions.values() if one.on_standby]:
                self._database.kill(session.number)

    @fault()
    def open_standby(self) -> None:
        """Open the standby READ ONLY WITH APPLY again."""
        with self._database.lock:
            self._database.standby.is_mounted = False

    @fault(ended_by="convert_to_physical")
    def convert_standby(self, role: str) -> None:
        """Make it a SNAPSHOT STANDBY or a LOGICAL STANDBY, as V$DATABASE shows it; it writes no redo of its own."""
        with self._database.lock:
            self._database.standby.role = role

    @fault()
    def convert_to_physical(self) -> None:
        """Make it a physical standby again."""
        with self._database.lock:
            self._database.standby.role = PHYSICAL

    @fault()
    def reinstate(self) -> None:
        """Make the primary that a failover has lost a standby of the new one."""
        with self._database.lock:
            self._database.standby.old_primary_is_lost = False
