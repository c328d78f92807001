"""Archived logs as operations and accidents change them: deleted, removed, aged out, damaged, hidden, restored.

Each log is copied to a backup before its first damage, so that it can be restored as from RMAN.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from standin.engine.redo.clock import Clock
from standin.interface import OraError
from standin.model import ArchivedCopy, DatabaseState
from standin.redo_file import HEADER_BYTES


class Damage(StrEnum):
    PURGED = "purged"  # file and row go, as with RMAN DELETE
    REMOVED = "removed"  # the file goes, as with rm; its row stays
    AGED_OUT = "aged out"  # the row goes; the file stays
    TRUNCATED = "truncated"
    OVERWRITTEN = "overwritten"  # another log stands under this name
    GARBLED = "garbled"


@dataclass(frozen=True, slots=True)
class LogChoice:
    """A choice of archived copies. A criterion that is None does not restrict; `resetlogs_id` defaults to the current one."""

    thread: int | None = None
    from_sequence: int | None = None
    to_sequence: int | None = None
    dest_id: int | None = None
    resetlogs_id: int | None = None

    def includes(self, copy: ArchivedCopy, current: int) -> bool:
        return (
            copy.resetlogs_id == (current if self.resetlogs_id is None else self.resetlogs_id)
            and self.thread in (None, copy.thread)
            and self.dest_id in (None, copy.dest_id)
            and (self.from_sequence is None or copy.sequence >= self.from_sequence)
            and (self.to_sequence is None or copy.sequence <= self.to_sequence)
        )


class ArchivedLogs:
    """The caller holds the database's lock."""

    def __init__(self, state: DatabaseState, clock: Clock, directory: Path) -> None:
        self._state, self._clock = state, clock
        self._backups = directory / "backup"
        self._backed_up: dict[str, tuple[ArchivedCopy, Path]] = {}
        self._modes: dict[int, int] = {}
        self._hidden: dict[int, int] = {}  # recid: how many more reads of V$ARCHIVED_LOG do not show the row
        self.delay = 0  # reads that do not show a new row

    def damage(self, damage: Damage, choice: LogChoice) -> list[ArchivedCopy]:
        """Damage the chosen copies and return them as they were. Raise ORA-00308 without another log to overwrite with."""
        current = self._state.incarnation.resetlogs_id
        found = [c for c in self._state.archived if c.name and not c.deleted and choice.includes(c, current)]
        before = [replace(copy) for copy in found]
        for copy in found:
            self._back_up(copy)
            self._damages[damage](self, copy)
        return before

    def restore(self, choice: LogChoice, folder: str | None = None, *, catalogue: bool = True) -> list[ArchivedCopy]:
        """Restore file and row. Like RMAN, add a new row where the old one is marked deleted or gone. With `folder` the file
        is restored there, as by SET ARCHIVELOG DESTINATION; without `catalogue` it is copied and gets no row."""
        current = self._state.incarnation.resetlogs_id
        restored = []
        for name, (before, backup) in list(self._backed_up.items()):
            if not choice.includes(before, current):
                continue
            place = name if folder is None else str(Path(folder) / Path(name).name)
            _replace_file(Path(place), backup)
            if not catalogue:
                restored.append(replace(before, name=place))
                continue
            backup.unlink()
            del self._backed_up[name]
            row = next((c for c in self._state.archived if c.name == place and not c.deleted), None)
            if row is None:
                row = replace(before, recid=self._state.next_recid(), name=place, completed_at=self._clock.second())
                self._state.archived.append(row)
            restored.append(row)
        return restored

    def shown(self) -> list[ArchivedCopy]:
        """Return the rows of V$ARCHIVED_LOG for one read of the view."""
        with_row = []
        for copy in self._state.archived:
            left = self._hidden.setdefault(copy.recid, self.delay)
            self._hidden[copy.recid] = max(0, left - 1)
            if not left:
                with_row.append(copy)
        return with_row

    def catalogue(
        self, choice: LogChoice, name: str, first_scn: int | None, next_scn: int | None, sequence: int | None
    ) -> list[ArchivedCopy]:
        """Add a row for another file under the sequence of each chosen copy, or under `sequence`, as CATALOG ARCHIVELOG of a
        wrong file does."""
        current = self._state.incarnation.resetlogs_id
        rows = []
        for copy in [c for c in self._state.archived if c.name and not c.deleted and choice.includes(c, current)]:
            first, end = first_scn or copy.first_scn, next_scn or copy.next_scn
            row = replace(copy, recid=self._state.next_recid(), name=name, first_scn=first, next_scn=end)
            row.sequence = sequence or copy.sequence
            self._state.archived.append(row)
            rows.append(row)
        return rows

    def forget_history(self, before_scn: int) -> int:
        """Drop the oldest rows of V$LOG_HISTORY, those of logs that ended at or before `before_scn`. Return their number."""
        kept = [h for h in self._state.history if h.next_scn > before_scn]
        forgotten = len(self._state.history) - len(kept)
        self._state.history = kept
        return forgotten

    def readable_copy(self, copy: ArchivedCopy) -> Path | None:
        """Return a file with the log's undamaged content, from the backup if need be; None when there is none."""
        for name, (before, backup) in self._backed_up.items():
            if (before.thread, before.sequence, before.resetlogs_id) == (copy.thread, copy.sequence, copy.resetlogs_id):
                return backup if name == copy.name or copy.name is None else Path(copy.name)
        return Path(copy.name) if copy.name and Path(copy.name).exists() else None

    def hide(self, dest_id: int) -> None:
        """Take all permissions from the destination's folder."""
        folder = self._folder(dest_id)
        self._modes.setdefault(dest_id, folder.stat().st_mode & 0o777)
        folder.chmod(0)

    def show(self, dest_id: int) -> None:
        mode = self._modes.pop(dest_id, None)
        if mode is not None:
            self._folder(dest_id).chmod(mode)

    def show_all(self) -> None:
        for dest_id in list(self._modes):
            self.show(dest_id)

    def _folder(self, dest_id: int) -> Path:
        for destination in self._state.destinations:
            if destination.dest_id == dest_id:
                return Path(destination.path)
        raise OraError(16032, f"parameter LOG_ARCHIVE_DEST_{dest_id} destination string cannot be translated")

    def _back_up(self, copy: ArchivedCopy) -> None:
        """Copy the file before its first damage only, so that a second damage does not spoil the backup."""
        assert copy.name is not None
        if copy.name not in self._backed_up and Path(copy.name).exists():
            folder = self._backups / str(copy.dest_id)
            folder.mkdir(parents=True, exist_ok=True)
            backup = folder / Path(copy.name).name
            shutil.copy2(copy.name, backup)
            self._backed_up[copy.name] = (replace(copy), backup)

    def _purge(self, copy: ArchivedCopy) -> None:
        self._remove(copy)
        copy.deleted, copy.status, copy.name = True, "D", None

    def _remove(self, copy: ArchivedCopy) -> None:
        Path(copy.name or "").unlink(missing_ok=True)

    def _age_out(self, copy: ArchivedCopy) -> None:
        self._state.archived.remove(copy)

    def _truncate(self, copy: ArchivedCopy) -> None:
        path = Path(copy.name or "")
        content = path.read_bytes()
        _rewrite(path, content[: HEADER_BYTES + (len(content) - HEADER_BYTES) // 2])

    def _garble(self, copy: ArchivedCopy) -> None:
        path = Path(copy.name or "")
        _rewrite(path, b"\xde\xad\xbe\xef" * (path.stat().st_size // 4))

    def _overwrite(self, copy: ArchivedCopy) -> None:
        others = [c for c in self._state.archived if c.name and c.thread == copy.thread and c.sequence != copy.sequence]
        donors = [path for c in reversed(others) if (path := self.readable_copy(c)) is not None]
        if not donors:
            raise OraError(
                308, f"cannot open archived log: thread {copy.thread} has no other log to overwrite {copy.name} with"
            )
        _replace_file(Path(copy.name or ""), donors[0])

    _damages: dict[Damage, Callable[[ArchivedLogs, ArchivedCopy], None]] = {  # noqa: RUF012 - never changed
        Damage.PURGED: _purge,
        Damage.REMOVED: _remove,
        Damage.AGED_OUT: _age_out,
        Damage.TRUNCATED: _truncate,
        Damage.OVERWRITTEN: _overwrite,
        Damage.GARBLED: _garble,
    }


def _rewrite(path: Path, content: bytes) -> None:
    """Write a new file under the name, so that a reader of the old file can finish it."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.rename(path)


def _replace_file(path: Path, source: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    shutil.copy2(source, part)
    part.rename(path)
