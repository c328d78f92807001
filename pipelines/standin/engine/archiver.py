"""Writes switched logs to every valid archive destination and tells the control file, and deletes them as RMAN does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.standin.engine.clock import Clock
from pipelines.standin.model import ArchivedCopy, ArchiveDestination, DatabaseState, OnlineLog, RedoThreadState
from pipelines.standin.redo_file import LogHeader, write_log

_BLOCK = 512


class Archiver:
    """Archives at the switch, unless `hold` delays a thread: then its logs stay ACTIVE and unarchived until `release`."""

    def __init__(self, state: DatabaseState, clock: Clock, lock: AbstractContextManager[Any]) -> None:
        self._state, self._clock, self._lock = state, clock, lock
        self._held: dict[int, list[OnlineLog]] = {}

    def hold(self, thread: int) -> None:
        with self._lock:
            self._held.setdefault(thread, [])

    def release(self, thread: int) -> None:
        with self._lock:
            for log in self._held.pop(thread, []):
                self._write(self._state.threads[thread], log)

    def archive(self, thread: RedoThreadState, log: OnlineLog) -> None:
        if thread.number in self._held:
            self._held[thread.number].append(log)
        else:
            self._write(thread, log)

    def _write(self, thread: RedoThreadState, log: OnlineLog) -> None:
        assert log.next_scn is not None
        assert log.next_at is not None
        incarnation = self._state.incarnation
        header = LogHeader(
            self._state.dbid, self._state.name, incarnation.resetlogs_id, incarnation.resetlogs_scn, thread.number,
            log.sequence, log.first_scn, log.first_at.isoformat(), log.next_scn, log.next_at.isoformat(), len(log.records),
        )  # fmt: skip
        for destination in self._state.destinations:
            if destination.status == "VALID":
                path = Path(destination.path) / f"{thread.number}_{log.sequence}_{incarnation.resetlogs_id}.arc"
                write_log(path, header, log.records)
                self._record(destination, thread, log, path)
        log.archived, log.status = True, "INACTIVE"

    def _record(self, destination: ArchiveDestination, thread: RedoThreadState, log: OnlineLog, path: Path) -> None:
        incarnation = self._state.incarnation
        assert log.next_scn is not None
        assert log.next_at is not None
        recid = 1 + max((copy.recid for copy in self._state.archived), default=0)
        self._state.archived.append(
            ArchivedCopy(
                recid, thread.number, log.sequence, incarnation.resetlogs_id, incarnation.resetlogs_scn,
                incarnation.resetlogs_at, log.first_scn, log.first_at, log.next_scn, log.next_at, destination.dest_id,
                str(path), -(-path.stat().st_size // _BLOCK), completed_at=self._clock.second(),
            )
        )  # fmt: skip

    def purge(self, chosen: Callable[[ArchivedCopy], bool], *, delete_file: bool, mark: bool) -> list[ArchivedCopy]:
        """Delete the chosen copies: the file, the claim in the control file, or both as RMAN does."""
        gone = [copy for copy in self._state.archived if not copy.deleted and copy.name and chosen(copy)]
        for copy in gone:
            if delete_file and copy.name:
                Path(copy.name).unlink(missing_ok=True)
            if mark:
                copy.deleted, copy.status, copy.name = True, "D", None
        return gone


def selection(
    *, thread: int | None, before_sequence: int | None, older_than: datetime | None, dest_id: int | None
) -> Callable[[ArchivedCopy], bool]:
    """Which archived copies a purge means; criteria left out do not restrict."""

    def chosen(copy: ArchivedCopy) -> bool:
        return (
            (thread is None or copy.thread == thread)
            and (before_sequence is None or copy.sequence < before_sequence)
            and (older_than is None or copy.next_at < older_than)
            and (dest_id is None or copy.dest_id == dest_id)
        )

    return chosen
