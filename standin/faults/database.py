"""Faults of redo threads, incarnations and containers."""

from __future__ import annotations

from dataclasses import replace

from standin.engine.ddl.pluggable import close_pdb, open_pdb
from standin.engine.ddl.system import SET_CONTAINER_REFUSALS
from standin.faults.base import Faults
from standin.faults.fault import fault
from standin.model import DatabaseIncarnation, PdbIdentity, PdbIncarnation


class DatabaseFaults(Faults):
    """Instances that close, databases and PDBs that are set back or replaced."""

    @fault(ended_by="open_thread")
    def close_thread(self, thread: int) -> None:
        """Shut an instance down cleanly: its sessions end, its last log is archived, its checkpoint is its end."""
        self._database.redo_threads.close(thread)

    @fault()
    def open_thread(self, thread: int) -> None:
        """Start an instance. Its next log continues the sequence at a new SCN: a gap in SCNs only."""
        self._database.redo_threads.open(thread)

    @fault()
    def switch_closed_thread(self, thread: int) -> None:
        """Switch the log of a closed thread, as other instances do: an archived log after its CHECKPOINT_CHANGE#, without
        redo."""
        self._database.redo_threads.switch_closed(thread)

    @fault()
    def add_thread(self, thread: int, public: bool = True) -> None:
        """Add an instance: add log groups, enable the thread (PRIVATE unless `public`) and open it."""
        threads = self._database.redo_threads
        with self._database.lock:
            threads.add(thread)
            threads.enable(thread, public=public)
            threads.open(thread)

    @fault()
    def disable_thread(self, thread: int) -> None:
        """Disable a closed thread (ALTER DATABASE DISABLE THREAD)."""
        self._database.redo_threads.disable(thread)

    @fault()
    def drop_thread(self, thread: int) -> None:
        """Drop the log groups of a disabled thread: it leaves V$THREAD and V$LOG; its archived logs remain."""
        self._database.redo_threads.drop(thread)

    @fault()
    def reset_logs(self, to_scn: int | None = None) -> DatabaseIncarnation:
        """Open the database with RESETLOGS: end every session and begin a new incarnation with sequences from 1.

        Without `to_scn` nothing is lost: the old incarnation's archived logs end at RESETLOGS_CHANGE#. With `to_scn` the
        database is flashed back first: data and CURRENT_SCN are those of that SCN, RESETLOGS_CHANGE# is the next SCN, and
        the old incarnation's later logs stay in V$ARCHIVED_LOG. The new incarnation rolls back transactions open at that
        SCN. ORA-38729 if a table was altered, truncated or dropped since.
        """
        recovery = self._database.recovery
        with self._database.lock:
            recovery.mount()
            if to_scn is not None:
                recovery.flash_back(to_scn)
            else:
                recovery.recover_until_cancel()
            born = replace(recovery.open_resetlogs())
        self._listener.drop_clients()
        return born

    @fault()
    def fail_over(self, logs_behind: int = 0, moves: bool = False) -> DatabaseIncarnation:
        """Lose the host: its standby takes over, without the redo that had not arrived, in a new RESETLOGS incarnation.

        Changes that were in no archived log are gone from the data. The last `logs_behind` archived logs of each thread had
        not arrived either; a reader may have mined them already. The new primary has its own DB_UNIQUE_NAME and folders. Where
        the service `moves`, it is reached by the services with `_STBY`, and those of the lost host answer ORA-12514 until
        `reinstate`.
        """
        with self._database.lock:
            born = replace(self._database.recovery.fail_over(logs_behind, moves=moves))
        self._listener.drop_clients()
        return born

    @fault(ended_by="open_pdb")
    def close_pdb(self) -> None:
        """Close the PDB: its sessions end, V$PDBS shows MOUNTED, new ones get ORA-01033, and LogMiner cannot read its redo
        (ORA-16331)."""
        with self._database.lock:
            close_pdb(self._database)

    @fault()
    def open_pdb(self) -> None:
        """Open the PDB again."""
        with self._database.lock:
            open_pdb(self._database)

    @fault(ended_by="allow_set_container")
    def refuse_set_container(self, code: int = 24964) -> None:
        """Refuse every ALTER SESSION SET CONTAINER with ORA-01435, ORA-24964, ORA-65053 or ORA-65135, as Oracle does for some
        drivers, migratable sessions and global users."""
        if code not in SET_CONTAINER_REFUSALS:
            raise ValueError(f"code is one of {', '.join(map(str, SET_CONTAINER_REFUSALS))}, not {code}")
        self._database.refuses_set_container = code

    @fault()
    def allow_set_container(self) -> None:
        """Allow ALTER SESSION SET CONTAINER again."""
        self._database.refuses_set_container = None

    @fault()
    def flash_back_pdb(self, to_scn: int) -> PdbIncarnation:
        """Set the PDB alone back (FLASHBACK PLUGGABLE DATABASE or point-in-time recovery, then OPEN RESETLOGS): its sessions
        end, its tables are those of that SCN, V$PDB_INCARNATION gets a row. The redo of the database shows nothing of it.
        ORA-38729 if a table was altered, truncated or dropped since."""
        with self._database.lock:
            return replace(self._database.pdb_recovery.set_back(to_scn))

    @fault()
    def replace_pdb(self, to_scn: int | None = None) -> PdbIdentity:
        """Drop the PDB and plug another one in under its name, a copy of it (as of `to_scn`) with the same object ids: GUID,
        CON_UID and DBID are others. The redo of the database shows nothing of it."""
        with self._database.lock:
            return self._database.pdb_recovery.replace(to_scn)
