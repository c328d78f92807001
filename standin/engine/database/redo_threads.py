"""Operations on redo threads: heartbeat, open, close, add, enable, disable, drop."""

from __future__ import annotations

from datetime import timedelta

from standin.engine.database.creation import new_thread
from standin.engine.database.database import Database
from standin.interface import OraError
from standin.model import RedoThreadState


class RedoThreads:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of_instance(self, instance: str | None) -> int:
        """Return the thread of a new session. Without an instance name, choose the open instance with the fewest sessions."""
        threads = [t for t in self._database.state.threads.values() if t.is_open]
        if instance is not None:
            threads = [t for t in threads if t.instance.upper() == instance.upper()]
            if not threads:
                raise OraError(12521, "TNS:listener does not currently know of instance requested in connect descriptor")
        if not threads:
            raise OraError(1034, "ORACLE not available")
        sessions = [s.thread for s in self._database.sessions.values()]
        return min(threads, key=lambda t: (sessions.count(t.number), t.number)).number

    def heartbeat(self) -> None:
        """Advance LAST_REDO_CHANGE# of every open thread, idle ones too, and switch logs that are too old."""
        database = self._database
        lag = timedelta(seconds=int(database.state.parameters.get("archive_lag_target", "0")))
        now = database.clock.second()
        for thread in database.state.threads.values():
            if thread.is_open:
                thread.last_redo_scn, thread.last_redo_at = database.clock.scn, now
                if lag and now - thread.current.first_at >= lag and database.redo.can_switch(thread):
                    database.redo.switch(thread)
        database.archiver.archive_backlog()

    def close(self, number: int) -> None:
        """Shut the thread's instance down cleanly: end its sessions and archive its last log."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            if not thread.is_open:
                raise OraError(1034, f"instance {thread.instance} is not started")
            for session in [s for s in database.sessions.values() if number in s.threads]:
                database.kill(session.number)
            database.redo.switch(thread)
            thread.is_open = False

    def open(self, number: int) -> None:
        """Start the thread's instance again. Log sequences continue; only SCNs have a gap."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            if thread.is_open:
                raise OraError(1154, "database busy. Open, close, mount, and dismount not allowed now")
            if thread.enabled == "DISABLED":
                raise OraError(1618, f"redo thread {number} is not enabled - cannot mount")
            scn, at = database.clock.next_scn(), database.clock.second()
            thread.current.first_scn, thread.current.first_at = scn, at
            thread.is_open, thread.opened_at = True, at
            thread.last_redo_scn, thread.last_redo_at = scn, at
            database.redo.reopen(thread)

    def add(self, number: int) -> None:
        """Add the log groups of a thread, which is not enabled yet (ALTER DATABASE ADD LOGFILE THREAD n)."""
        database = self._database
        with database.lock:
            if number in database.state.threads:
                raise OraError(1184, f"logfile group already exists for thread {number}")
            thread = new_thread(database.state, database.options, database.directory, database.clock, number)
            thread.is_open, thread.enabled, thread.enable_scn, thread.enable_at = False, "DISABLED", 0, None
            first = thread.current
            first.status, first.sequence, first.first_scn = "UNUSED", 0, 0
            database.state.threads[number] = thread

    def enable(self, number: int, *, public: bool = True) -> None:
        """Enable a thread from a new SCN on (ALTER DATABASE ENABLE THREAD n). It is closed until its instance starts."""
        database = self._database
        with database.lock:
            thread = database.state.threads.get(number)
            if thread is None:
                raise OraError(1612, f"instance (thread {number}) has no log groups")
            if thread.enabled != "DISABLED":
                raise OraError(1612, f"instance UNNAMED_INSTANCE_{number} (thread {number}) is already enabled")
            scn, at = database.clock.next_scn(), database.clock.second()
            thread.enabled = "PUBLIC" if public else "PRIVATE"
            thread.enable_scn, thread.enable_at = scn, at
            if database.options.clears_disable_scn:
                thread.disable_scn, thread.disable_at = 0, None
            thread.checkpoint_scn, thread.checkpoint_at = scn, at
            if all(log.status == "UNUSED" for log in thread.logs):
                first = thread.logs[0]
                first.status, first.sequence, first.first_scn, first.first_at = "CURRENT", 1, scn, at
            database.redo.reopen(thread)

    def switch_closed(self, number: int) -> None:
        """Switch the log of a closed thread, as other instances do; the new log has no redo of the thread."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            if thread.is_open:
                raise OraError(1615, f"instance {thread.instance} (thread {number}) is mounted - cannot switch its log")
            checkpoint = thread.checkpoint_scn, thread.checkpoint_at
            database.redo.switch(thread)
            thread.checkpoint_scn, thread.checkpoint_at = checkpoint

    def disable(self, number: int) -> None:
        """Disable a closed thread (ALTER DATABASE DISABLE THREAD n)."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            if thread.is_open:
                raise OraError(1615, f"instance {thread.instance} (thread {number}) is mounted - cannot disable")
            thread.enabled = "DISABLED"
            scn, at = database.clock.next_scn(), database.clock.second()
            thread.disable_scn, thread.disable_at = (0, None) if database.options.clears_disable_scn else (scn, at)

    def drop(self, number: int) -> None:
        """Drop the log groups of a disabled thread. It leaves V$THREAD; its archived logs remain."""
        with self._database.lock:
            if self._thread(number).enabled != "DISABLED":
                raise OraError(1623, f"log is current log for instance (thread {number}) - cannot drop")
            del self._database.state.threads[number]

    def _thread(self, number: int) -> RedoThreadState:
        thread = self._database.state.threads.get(number)
        if thread is None:
            raise OraError(1613, f"instance (thread {number}) does not exist")
        return thread
