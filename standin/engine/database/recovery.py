"""Mount, flashback, OPEN RESETLOGS and failover: the operations that lead to a new incarnation.

Flashback uses the row versions. A table altered, truncated or dropped since then has none, which raises ORA-38729. The new
incarnation rolls back the transactions that were open at the target SCN, in its own redo.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import takewhile
from pathlib import Path

from standin.engine.database.database import Database
from standin.engine.database.pdb_recovery import follow_resetlogs
from standin.engine.database.unfinished import changes_open_at, roll_back
from standin.engine.transactions.session_state import SessionState
from standin.interface import OraError
from standin.model import ArchivedCopy, DatabaseIncarnation, RedoThreadState


class Recovery:
    def __init__(self, database: Database) -> None:
        self._database = database

    def mount(self, survivor: SessionState | None = None) -> None:
        """Mount the database after SHUTDOWN IMMEDIATE: end all sessions but `survivor` and roll their transactions back."""
        database = self._database
        self._end_sessions(survivor)
        database.state.is_mounted = True
        self._database.recovered_to, self._database.unfinished = None, []

    def close(self, survivor: SessionState) -> None:
        """Close the database (ALTER DATABASE CLOSE). Raise ORA-01093 while other sessions are connected."""
        others = [s for s in self._database.sessions.values() if s is not survivor and not s.killed]
        if others:
            raise OraError(1093, "ALTER DATABASE CLOSE only permitted with no sessions connected")
        self.mount(survivor)

    def open(self) -> None:
        """Open the mounted database (ALTER DATABASE OPEN)."""
        self._require_mounted(1531, "a database already open by the instance")
        if self._database.recovered_to is not None:
            raise OraError(1589, "must use RESETLOGS or NORESETLOGS option for database open")
        self._database.state.is_mounted = False

    def flash_back(self, scn: int) -> None:
        """Run FLASHBACK DATABASE TO SCN. When it is not possible, raise before any change."""
        self._require_mounted(38757, "Database must be mounted and not open to FLASHBACK.")
        if scn >= self._database.clock.scn:
            raise OraError(38743, "Time/SCN is in the future of the database.")
        self._rewind(scn)

    def recover_until_cancel(self) -> None:
        """Run RECOVER DATABASE UNTIL CANCEL with all redo available: nothing is lost, but RESETLOGS becomes possible."""
        self._require_mounted(1153, "an incompatible media recovery is active")
        self._database.recovered_to = self._database.clock.scn

    def open_resetlogs(self) -> DatabaseIncarnation:
        """Archive the online logs of the old incarnation and begin a new one, whose logs start at sequence 1."""
        self._require_mounted(1531, "a database already open by the instance")
        last_scn = self._database.recovered_to
        if last_scn is None:
            raise OraError(1139, "RESETLOGS option only valid after an incomplete database recovery")
        database = self._database
        end = database.clock.next_scn()
        for thread in database.state.threads.values():
            if thread.is_open:
                database.redo.finish(thread, end)
        database.archiver.drain()
        return self._begin(last_scn)

    def fail_over(self, logs_behind: int, *, moves: bool = False) -> DatabaseIncarnation:
        """Fail over to a standby, which has all archived logs but the last `logs_behind` of each thread. Where the service
        `moves`, the one of the lost host leads nowhere."""
        database, state = self._database, self._database.state
        newest = self._newest_arrived(logs_behind)
        begun = {number: max(t.enable_scn, state.incarnation.resetlogs_scn) for number, t in state.threads.items() if t.is_open}
        for copy in self._copies():
            if copy.thread in begun and copy.sequence <= newest[copy.thread]:
                begun[copy.thread] = max(begun[copy.thread], copy.next_scn)
        last_scn = min(begun.values()) - 1
        self._require_rewindable(last_scn)
        self._end_sessions(None)
        database.archiver.forget()
        self._move_to_standby(newest)
        self._rewind(last_scn)
        state.unique_name = _switched(state.unique_name, "_STBY")
        born = self._begin(last_scn)
        database.standby.forget_faults()
        if moves:
            database.standby.is_primary = not database.standby.is_primary
            database.standby.old_primary_is_lost = True
        return born

    def _require_mounted(self, code: int, text: str) -> None:
        if not self._database.state.is_mounted:
            raise OraError(code, text)

    def _end_sessions(self, survivor: SessionState | None) -> None:
        for session in list(self._database.sessions.values()):
            if session is not survivor:
                self._database.kill(session.number)
        self._database.end_branches()

    def _require_rewindable(self, scn: int) -> None:
        database, state = self._database, self._database.state
        changed = any(s.structure_scn > scn >= s.created_scn for s in database.tables.stores.values())
        if changed or state.last_drop_scn > scn or scn < max(state.incarnation.resetlogs_scn, database.oldest_scn):
            raise OraError(38729, "Not enough flashback database log data to do FLASHBACK.")

    def _rewind(self, scn: int) -> None:
        self._require_rewindable(scn)
        database = self._database
        database.unfinished = changes_open_at(database, scn)
        dropped = database.state.last_drop_scn
        for store in list(database.tables.stores.values()):
            if store.created_scn > scn:
                database.tables.remove(store)
            else:
                store.rewind(scn)
        database.state.last_drop_scn = dropped  # tables removed here did not exist at that SCN
        database.recovered_to = scn

    def _begin(self, last_scn: int) -> DatabaseIncarnation:
        """Begin a new incarnation at the SCN after `last_scn`."""
        database, state = self._database, self._database.state
        prior, scn = state.incarnation, last_scn + 1 + database.options.resetlogs_above_end
        at = max(database.clock.second(), prior.resetlogs_at + timedelta(seconds=1))
        prior.status = "PARENT"
        resetlogs_id = prior.resetlogs_id + int((at - prior.resetlogs_at).total_seconds())
        born = DatabaseIncarnation(
            1 + max(i.number for i in state.incarnations), scn, at, prior.resetlogs_scn, resetlogs_id, prior_number=prior.number
        )
        state.incarnations.append(born)
        if state.pdb is not None and database.options.renumbers_pdb:
            follow_resetlogs(state.pdb, born)
        database.clock.scn = scn
        for thread in state.threads.values():
            self._reset(thread, scn)
        state.is_mounted, database.recovered_to = False, None
        roll_back(database, database.unfinished)
        database.unfinished = []
        database.plans.forget()
        database.changed.notify_all()
        return born

    def _reset(self, thread: RedoThreadState, scn: int) -> None:
        at = self._database.clock.second()
        for log in thread.logs:
            log.status, log.sequence, log.first_scn, log.first_at = "UNUSED", 0, 0, at
            log.next_scn = log.next_at = None
            log.archived, log.used_bytes, log.records = False, 0, []
        if thread.enabled != "DISABLED":
            first = thread.logs[0]
            first.status, first.sequence, first.first_scn = "CURRENT", 1, scn
            if not self._database.options.keeps_enable_scn:
                thread.enable_scn, thread.enable_at = scn, at
        thread.checkpoint_scn, thread.checkpoint_at = scn, at
        thread.last_redo_scn, thread.last_redo_at = scn, at
        self._database.redo.reopen(thread)

    def _copies(self) -> list[ArchivedCopy]:
        """Return the archived copies of the current incarnation."""
        state = self._database.state
        return [c for c in state.archived if c.resetlogs_id == state.incarnation.resetlogs_id]

    def _newest_arrived(self, logs_behind: int) -> dict[int, int]:
        """Return by thread the last sequence that the standby has; 0 when it has none."""
        newest = {}
        for thread in self._database.state.threads.keys() | {c.thread for c in self._copies()}:
            copies = sorted((c for c in self._copies() if c.thread == thread), key=lambda copy: copy.sequence)
            sequences = sorted({c.sequence for c in takewhile(self._database.standby.has, copies)})
            newest[thread] = max(sequences[: len(sequences) - logs_behind], default=0)
        return newest

    def _move_to_standby(self, newest: dict[int, int]) -> None:
        """Replace the destinations by the standby's folders, and drop files and rows of logs that it has not received."""
        database, state = self._database, self._database.state
        database.archived_logs.show_all()
        for copy in self._copies():
            if copy.sequence > newest[copy.thread]:
                state.archived.remove(copy)
                Path(copy.name or "").unlink(missing_ok=True)
        scn = state.incarnation.resetlogs_scn
        state.history = [h for h in state.history if h.resetlogs_scn != scn or h.sequence <= newest.get(h.thread, 0)]
        for destination in state.destinations:
            folder = Path(_switched(destination.path, "-standby"))
            folder.mkdir(parents=True, exist_ok=True)
            for copy in state.archived:
                if copy.dest_id == destination.dest_id and copy.name:
                    old, new = Path(copy.name), folder / Path(copy.name).name
                    if old.exists():
                        old.rename(new)
                    copy.name = str(new)
            destination.path, destination.status, destination.error, destination.is_full = str(folder), "VALID", None, False


def _switched(name: str, suffix: str) -> str:
    """Return the name with the suffix added or removed: the primary and the standby take turns."""
    return name.removesuffix(suffix) if name.endswith(suffix) else name + suffix
