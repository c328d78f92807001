"""Faults of the archiver and of archived logs."""

from __future__ import annotations

from dataclasses import replace

from standin.engine.redo.archived_logs import Damage, LogChoice
from standin.faults.base import Faults
from standin.faults.fault import fault
from standin.model import ArchivedCopy


class LogFaults(Faults):
    """Archiving, and what becomes of archived logs and of their rows in the control file."""

    @fault(ended_by="catch_up_archiver")
    def lag_archiver(self, thread: int) -> None:
        """Leave the thread's switched logs ACTIVE and unarchived, in V$LOG only; the database adds log groups and continues."""
        self._database.archiver.hold(thread)

    @fault()
    def catch_up_archiver(self, thread: int) -> None:
        """Archive the logs that the lagging thread has left."""
        self._database.archiver.release(thread)

    @fault(ended_by="free_archiver")
    def stick_archiver(self) -> None:
        """Fill all destinations (ORA-19809), so that nothing is archived. Writers of a thread without a free log group
        wait; new logons except SYS get ORA-00257; sessions that only read continue."""
        self._database.archiver.fill_destinations()

    @fault()
    def free_archiver(self) -> None:
        """Make room again: the backlog is archived and waiting writers continue."""
        self._database.archiver.clear_destinations()

    @fault(ended_by="restore_logs")
    def purge_logs(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Delete archived logs as RMAN DELETE ARCHIVELOG does: the rows show DELETED = YES, STATUS = D and no NAME. Return the
        copies as they were."""
        return self._damage(Damage.PURGED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @fault(ended_by="restore_logs")
    def remove_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Delete files as `rm` does: V$ARCHIVED_LOG still lists them as available."""
        return self._damage(Damage.REMOVED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @fault(ended_by="restore_logs")
    def age_out_records(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Remove rows from V$ARCHIVED_LOG, as CONTROL_FILE_RECORD_KEEP_TIME does; the files and V$LOG_HISTORY stay."""
        return self._damage(Damage.AGED_OUT, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @fault(ended_by="restore_logs")
    def truncate_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Cut off the second half of the files: ADD_LOGFILE accepts the header, the fetch fails with ORA-00353."""
        return self._damage(Damage.TRUNCATED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @fault(ended_by="restore_logs")
    def overwrite_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Put another log of the thread under the same name: the header's sequence differs from the view's (ORA-00310 when
        this happens between ADD_LOGFILE and the fetch)."""
        return self._damage(Damage.OVERWRITTEN, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @fault(ended_by="restore_logs")
    def garble_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Replace the files by garbage: ADD_LOGFILE fails with ORA-01285."""
        return self._damage(Damage.GARBLED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @fault()
    def restore_logs(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
        folder: str | None = None,
        catalogue: bool = True,
    ) -> list[ArchivedCopy]:
        """Restore name and content of the selected logs that a fault took, as RMAN RESTORE (or CATALOG) ARCHIVELOG does. A log
        that is marked deleted or has no row gets a new row. With `folder` the files are restored there; without `catalogue`
        they are only copied there, and no view lists them. Return the restored copies."""
        choice = LogChoice(thread, from_sequence, to_sequence, dest_id, resetlogs_id)
        with self._database.lock:
            return [replace(copy) for copy in self._database.archived_logs.restore(choice, folder, catalogue=catalogue)]

    @fault()
    def forget_history(self, before_scn: int) -> int:
        """Drop the rows of V$LOG_HISTORY of logs that ended at or before an SCN, as the control file reuses its oldest records.
        Return their number."""
        with self._database.lock:
            return self._database.archived_logs.forget_history(before_scn)

    @fault()
    def delay_records(self, reads: int = 1) -> None:
        """Leave the row of a newly archived log out of so many reads of V$ARCHIVED_LOG, although V$LOG shows ARCHIVED = YES;
        0 ends it."""
        with self._database.lock:
            self._database.archived_logs.shown()  # rows that are there stay
            self._database.archived_logs.delay = reads

    @fault()
    def catalogue_file(
        self,
        name: str,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
        first_scn: int | None = None,
        next_scn: int | None = None,
        sequence: int | None = None,
    ) -> list[ArchivedCopy]:
        """Add a row for a file of this name beside the selected logs, with another FIRST_CHANGE#, NEXT_CHANGE# or SEQUENCE#, as
        when a log of an abandoned future is catalogued. Return the rows."""
        choice = LogChoice(thread, from_sequence, to_sequence, dest_id, resetlogs_id)
        with self._database.lock:
            rows = self._database.archived_logs.catalogue(choice, name, first_scn, next_scn, sequence)
            return [replace(row) for row in rows]

    @fault(ended_by="show_destination")
    def hide_destination(self, dest_id: int) -> None:
        """Make a destination's folder inaccessible (mode 000): ADD_LOGFILE fails with ORA-01284 and ORA-27041. New logs get
        no copy there and V$ARCHIVE_DEST shows ERROR; without another destination the archiver is stuck."""
        with self._database.lock:
            self._database.archived_logs.hide(dest_id)

    @fault()
    def show_destination(self, dest_id: int) -> None:
        """Make the folder accessible again."""
        with self._database.lock:
            self._database.archived_logs.show(dest_id)
            self._database.archiver.archive_backlog()

    def _damage(
        self,
        damage: Damage,
        thread: int | None,
        first: int | None,
        last: int | None,
        dest_id: int | None,
        resetlogs: int | None,
    ) -> list[ArchivedCopy]:
        choice = LogChoice(thread, first, last, dest_id, resetlogs)
        with self._database.lock:
            return self._database.archived_logs.damage(damage, choice)
