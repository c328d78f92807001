"""Faults that can be injected into a running stand-in, and the actions that end them.

Tests and the demo call `oracle.faults`; `python -m standin inject-fault NAME` reaches a stand-in in another process.
A fault changes the model (files, control file, threads, incarnations, sockets); clients see the consequences. A fault that
another action ends can be injected for some seconds. Options select logs by thread, sequence and destination; an omitted
option selects all. Only `resetlogs_id` selects logs of an incarnation before the current one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from standin.engine.archived_logs import Damage, LogChoice
from standin.engine.ddl_pluggable import close_pdb, open_pdb
from standin.engine.ddl_system import SET_CONTAINER_REFUSALS
from standin.fault import Fault, fault, faults_of
from standin.model import ArchivedCopy, DatabaseIncarnation, PdbIdentity, PdbIncarnation, Policy
from standin.wire.network_faults import oracle_error

if TYPE_CHECKING:
    from standin.engine.instance import Instance
    from standin.wire.server import Listener


class FaultInjector:
    """The faults of one stand-in. Each method takes effect before it returns and may be called from any thread."""

    def __init__(self, database: Instance, listener: Listener) -> None:
        self._database, self._listener = database, listener
        self._timers: list[threading.Timer] = []

    # -- the archiver

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

    # -- archived logs

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
    ) -> list[ArchivedCopy]:
        """Restore name and content of the selected logs that a fault took, as RMAN RESTORE (or CATALOG) ARCHIVELOG does. A log
        that is marked deleted or has no row gets a new row. Return the restored copies."""
        choice = LogChoice(thread, from_sequence, to_sequence, dest_id, resetlogs_id)
        with self._database.lock:
            return [replace(copy) for copy in self._database.archived_logs.restore(choice)]

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

    # -- redo threads

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

    # -- incarnations

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
    def fail_over(self, logs_behind: int = 0) -> DatabaseIncarnation:
        """Lose the host: its standby takes over, without the redo that had not arrived, in a new RESETLOGS incarnation.

        Changes that were in no archived log are gone from the data. The last `logs_behind` archived logs of each thread had
        not arrived either; a reader may have mined them already. The new primary has its own DB_UNIQUE_NAME and folders.
        """
        with self._database.lock:
            born = replace(self._database.recovery.fail_over(logs_behind))
        self._listener.drop_clients()
        return born

    # -- containers

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

    # -- the PDB alone

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

    # -- open transactions

    @fault(ended_by="show_starts")
    def hide_starts(self, start_scn: int | None = None) -> None:
        """Show NULL, 0 or 1 as START_SCN of every row of V$TRANSACTION, as some releases do for a while."""
        self._database.state.hidden_starts = start_scn

    @fault()
    def prepare_transactions(self, listed: bool = True) -> int:
        """Make every open transaction a prepared branch of a distributed one. With `listed` false V$TRANSACTION does not show
        it, as after the end of its instance. Return their number."""
        with self._database.lock:
            for tx in self._database.state.transactions.values():
                tx.is_prepared, tx.is_listed = True, listed
            return len(self._database.state.transactions)

    @fault(ended_by="recover_transactions")
    def abort_instances(self) -> int:
        """End all sessions as SHUTDOWN ABORT and a restart do: their transactions are dead, in no row of V$TRANSACTION, and not
        rolled back yet. Return their number."""
        with self._database.lock:
            return self._database.rollback.leave_dead(list(self._database.sessions.values()))

    @fault()
    def recover_transactions(self) -> None:
        """Roll the dead transactions back, as the instance's recovery does after its restart."""
        with self._database.lock:
            self._database.rollback.roll_back_dead()

    @fault()
    def show_starts(self) -> None:
        """Show the START_SCN of every transaction again."""
        self._database.state.hidden_starts = -1

    # -- policies on tables

    @fault(ended_by="drop_policies")
    def add_policy(self, table: str, where: str, label: bool = False) -> Policy:
        """Add a policy of VPD, or of Label Security, to OWNER.TABLE: who lacks EXEMPT ACCESS POLICY reads only rows that the
        condition admits, without an error. The redo has all rows."""
        return self._add_policy(table, "LABEL" if label else "VPD", where=where)

    @fault(ended_by="drop_policies")
    def redact_column(self, table: str, column: str) -> Policy:
        """Redact a column of OWNER.TABLE: who lacks EXEMPT REDACTION POLICY reads 0, a blank or 2001-01-01. The redo has the
        values."""
        return self._add_policy(table, "REDACTION", column=column)

    @fault()
    def drop_policies(self) -> None:
        """Drop all policies."""
        with self._database.lock:
            self._database.state.policies.clear()

    # -- the network

    @fault(ended_by="mend_network")
    def cut_network(self, after_rows: int = 0, times: int = 1) -> None:
        """Disconnect in the middle of a fetch's response, after more than `after_rows` rows of the result; `times` times."""
        self._listener.network_faults.cut_fetches(after_rows, times)

    @fault()
    def mend_network(self) -> None:
        """Stop cutting fetches and stalling calls."""
        self._listener.network_faults.cut_fetches(None)
        self._listener.network_faults.stall(False)

    @fault(ended_by="mend_network")
    def stall_network(self) -> None:
        """Answer no call of any session until mend_network; a client's call_timeout ends its call (DPY-4024)."""
        self._listener.network_faults.stall(True)

    @fault(ended_by="mend_fetches")
    def fail_fetches(self, code: int = 4036, after_rows: int = 0, times: int = 1, wrapped_in: int | None = None) -> None:
        """Fail the server process in the middle of a fetch, with an error such as ORA-04036, ORA-00310 or ORA-00600;
        `wrapped_in` 604 or 12801 puts it below that error."""
        self._listener.network_faults.fail_fetches(oracle_error(code, wrapped_in), after_rows, times)

    @fault()
    def mend_fetches(self) -> None:
        """Stop failing fetches."""
        self._listener.network_faults.fail_fetches(None)

    @fault(ended_by="mend_statements")
    def fail_statements(self, code: int, containing: str = "", times: int = 1, wrapped_in: int | None = None) -> None:
        """Fail statements that contain a text, before they run, with an error such as ORA-12850 or ORA-04061."""
        self._listener.network_faults.fail_statements(oracle_error(code, wrapped_in), containing, times)

    @fault()
    def mend_statements(self) -> None:
        """Stop failing statements."""
        self._listener.network_faults.fail_statements(None)

    def act_before(self, containing: str, action: Callable[[], object]) -> None:
        """Run an action before the next statement that contains a text. For callers in this process only."""
        self._listener.network_faults.act_before(containing, action)

    @fault(ended_by="admit_logons")
    def refuse_logons(self, code: int = 18) -> None:
        """Refuse logons with a right password, except of SYS, with an error such as ORA-00018, ORA-00020 or ORA-01035."""
        self._listener.network_faults.refuse_logon = code

    @fault()
    def admit_logons(self) -> None:
        """Accept logons again."""
        self._listener.network_faults.refuse_logon = None

    @fault(ended_by="admit_clients")
    def refuse_clients(self, code: int = 12514) -> None:
        """Refuse new clients with this error code; existing sessions continue."""
        self._listener.network_faults.refuse = code

    @fault()
    def admit_clients(self) -> None:
        """Accept new clients again."""
        self._listener.network_faults.refuse = None

    @fault(ended_by="start_listener")
    def stop_listener(self) -> None:
        """Close the listener's port (ORA-12541); existing sessions continue."""
        self._listener.stop_listening()

    @fault()
    def start_listener(self) -> None:
        """Listen again on the same port."""
        self._listener.listen_again()

    @fault()
    def kill_sessions(self, user: str) -> int:
        """Kill all sessions of a user (ORA-00028, DPY-4011 in the driver). Return their number."""
        with self._database.lock:
            numbers = [s.number for s in self._database.sessions.values() if s.user == user.upper()]
            for number in numbers:
                self._database.kill(number)
        return len(numbers)

    # -- any fault by its name

    def inject(self, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
        """Inject a fault by name (`lag-archiver`) with named options; after `seconds`, run the action that ends it.

        Raises ValueError for an unknown name or option, OraError when the database refuses.
        """
        known = faults().get(name)
        if known is None:
            raise ValueError(f"there is no fault {name}; there are {', '.join(faults())}")
        given = known.checked(options or {})
        if seconds is not None and known.ended_by is None:
            raise ValueError(f"{name} has no action that ends it, so it cannot be injected for some seconds")
        result = getattr(self, known.method)(**given)
        if seconds is not None and known.ended_by is not None:
            end = faults()[known.ended_by]
            self._later(seconds, end, {k: v for k, v in given.items() if k in end.options})
        return result

    def _later(self, seconds: float, fault: Fault, options: dict[str, Any]) -> None:
        timer = threading.Timer(seconds, getattr(self, fault.method), kwargs=options)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def close(self) -> None:
        """Cancel scheduled ends, and make the destination folders accessible, so that they can be removed."""
        for timer in self._timers:
            timer.cancel()
        self._database.archived_logs.show_all()

    def _add_policy(self, table: str, kind: str, *, where: str = "", column: str = "") -> Policy:
        owner, _, name = table.partition(".")
        with self._database.lock:
            policies = self._database.state.policies
            policies.append(Policy(f"P{len(policies) + 1}", owner, name, kind, where, column))
            return policies[-1]

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


def faults() -> dict[str, Fault]:
    """Return all faults by name, in declaration order."""
    return faults_of(FaultInjector)
