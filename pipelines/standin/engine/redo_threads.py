"""Redo threads as instances come and go: heartbeat, closing, reopening, disabling."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pipelines.standin.interface import OraError
from pipelines.standin.model import RedoThreadState

if TYPE_CHECKING:
    from pipelines.standin.engine.instance import Database


class RedoThreads:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of_instance(self, instance: str | None) -> int:
        """The thread a session writes to; without a name the open instance with the fewest sessions."""
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
        """Idle threads write too, so that LAST_REDO_CHANGE# goes on; and a log that is too old is switched."""
        database = self._database
        lag = timedelta(seconds=int(database.state.parameters.get("archive_lag_target", "0")))
        now = database.clock.second()
        for thread in database.state.threads.values():
            if thread.is_open:
                thread.last_redo_scn, thread.last_redo_at = database.clock.scn, now
                if lag and now - thread.current.first_at >= lag:
                    database.redo.switch(thread)

    def close(self, number: int) -> None:
        """Shut that instance down cleanly: its sessions end, its last log is archived, its checkpoint is its end."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            for session in [s for s in database.sessions.values() if s.thread == number]:
                database.kill(session.number)
            database.redo.switch(thread)
            thread.is_open = False
            thread.checkpoint_scn, thread.checkpoint_at = database.clock.next_scn(), database.clock.second()

    def open(self, number: int) -> None:
        """Start that instance again. Its next log goes on in sequence and begins at a fresh SCN: a gap in SCNs only."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            if thread.is_open:
                raise OraError(1154, "database busy. Open, close, mount, and dismount not allowed now")
            scn, at = database.clock.next_scn(), database.clock.second()
            if thread.enabled == "DISABLED":
                thread.enabled, thread.enable_scn, thread.enable_at = "PUBLIC", scn, at
            thread.current.first_scn, thread.current.first_at = scn, at
            thread.is_open, thread.opened_at = True, at
            thread.last_redo_scn, thread.last_redo_at = scn, at
            database.redo.reopen(thread)

    def disable(self, number: int) -> None:
        """ALTER DATABASE DISABLE THREAD n, of a closed thread."""
        database = self._database
        with database.lock:
            thread = self._thread(number)
            if thread.is_open:
                raise OraError(1615, f"instance {thread.instance} (thread {number}) is mounted - cannot disable")
            thread.enabled = "DISABLED"
            thread.disable_scn, thread.disable_at = database.clock.next_scn(), database.clock.second()

    def drop(self, number: int) -> None:
        """A disabled thread whose log groups are dropped is no longer in V$THREAD; its archives remain."""
        with self._database.lock:
            if self._thread(number).enabled != "DISABLED":
                raise OraError(1623, f"log is current log for instance (thread {number}) - cannot drop")
            del self._database.state.threads[number]

    def _thread(self, number: int) -> RedoThreadState:
        thread = self._database.state.threads.get(number)
        if thread is None:
            raise OraError(1612, f"instance (thread {number}) is already enabled or does not exist")
        return thread
