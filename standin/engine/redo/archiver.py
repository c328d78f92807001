"""The archiver process: writes switched logs to the archive destinations and adds them to the control file.

A log that no destination takes stays in the backlog and is tried again, as are the logs of a thread that is held back.
Later changes to the files are in `archived_logs`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from standin.engine.redo.clock import Clock
from standin.model import ArchivedCopy, ArchiveDestination, DatabaseState, OnlineLog
from standin.redo_file import LogHeader, write_log

_BLOCK = 512
_FULL = "ORA-19809: limit exceeded for recovery files"


class Archiver:
    """Archives at each log switch, unless the thread is held back, archiving is stopped, or no destination takes the log."""

    def __init__(
        self, state: DatabaseState, clock: Clock, lock: AbstractContextManager[Any], freed: Callable[[], None]
    ) -> None:
        self._state, self._clock, self._lock, self._freed = state, clock, lock, freed
        self._held: set[int] = set()
        self._stopped = False
        self._failed = False
        unarchived = [log for t in state.threads.values() for log in t.logs if log.status == "ACTIVE" and not log.archived]
        self._backlog = sorted(unarchived, key=lambda log: log.first_scn)

    @property
    def condition(self) -> str:
        """Return V$INSTANCE.ARCHIVER. FAILED refuses logons with ORA-00257."""
        return "STOPPED" if self._stopped else "FAILED" if self._failed else "STARTED"

    def adds_groups(self, thread: int) -> bool:
        """Return whether the thread is held back: it then gets more log groups instead of stopping the database."""
        return thread in self._held

    def hold(self, thread: int) -> None:
        with self._lock:
            self._held.add(thread)

    def release(self, thread: int) -> None:
        with self._lock:
            self._held.discard(thread)
            self.archive_backlog()

    def stop(self) -> None:
        """Stop archiving (ALTER SYSTEM ARCHIVE LOG STOP)."""
        self._stopped = True

    def start(self) -> None:
        """Start archiving again (ALTER SYSTEM ARCHIVE LOG START)."""
        self._stopped = False
        self.archive_backlog()

    def fill_destinations(self) -> None:
        with self._lock:
            for destination in self._state.destinations:
                destination.is_full = True

    def clear_destinations(self) -> None:
        with self._lock:
            for destination in self._state.destinations:
                destination.is_full = False
            self.archive_backlog()

    def archive(self, log: OnlineLog) -> None:
        self._backlog.append(log)
        self.archive_backlog()

    def archive_backlog(self) -> None:
        """Archive the logs in the backlog, oldest first."""
        if self._backlog and not self._stopped:
            self._archive([log for log in self._backlog if log.thread not in self._held])

    def drain(self) -> None:
        """Archive the backlog once and drop what fails, as OPEN RESETLOGS does with the old incarnation's logs."""
        self._archive(list(self._backlog))
        self._backlog.clear()
        self._failed = False

    def forget(self) -> None:
        """Drop the backlog: the host is lost."""
        self._backlog.clear()
        self._failed = False

    def _archive(self, logs: list[OnlineLog]) -> None:
        self._failed = False
        for log in logs:
            if self._write(log):
                self._backlog.remove(log)
                log.archived, log.status = True, "INACTIVE"
                self._freed()
            else:
                self._failed = True

    def _write(self, log: OnlineLog) -> bool:
        """Write the log to every destination that takes it; return False when none does."""
        assert log.next_scn is not None
        assert log.next_at is not None
        incarnation = self._state.incarnation
        header = LogHeader(
            self._state.dbid, self._state.name, incarnation.resetlogs_id, incarnation.resetlogs_scn, log.thread, log.sequence,
            log.first_scn, log.first_at.isoformat(), log.next_scn, log.next_at.isoformat(), len(log.records),
            log.dictionary_begin, log.dictionary_end,
        )  # fmt: skip
        written = False
        for destination in self._state.destinations:
            if destination.status not in ("VALID", "ERROR"):
                continue
            path = Path(destination.path) / f"{log.thread}_{log.sequence}_{incarnation.resetlogs_id}.arc"
            try:
                if destination.is_full:
                    raise OSError(_FULL)
                write_log(path, header, log.records)
            except OSError as failure:
                destination.status, destination.error = "ERROR", str(failure)
                continue
            destination.status, destination.error = "VALID", None
            self._record(destination, log, path)
            written = True
        return written

    def _record(self, destination: ArchiveDestination, log: OnlineLog, path: Path) -> None:
        incarnation = self._state.incarnation
        assert log.next_scn is not None
        assert log.next_at is not None
        self._state.archived.append(
            ArchivedCopy(
                self._state.next_recid(), log.thread, log.sequence, incarnation.resetlogs_id, incarnation.resetlogs_scn,
                incarnation.resetlogs_at, log.first_scn, log.first_at, log.next_scn, log.next_at, destination.dest_id,
                str(path), -(-path.stat().st_size // _BLOCK), completed_at=self._clock.second(),
                dictionary_begin=log.dictionary_begin, dictionary_end=log.dictionary_end,
            )
        )  # fmt: skip
