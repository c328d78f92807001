"""The database as its sessions share it: dictionary, tables, redo and archives, transactions and locks.

Everything that changes it happens under `lock`; `changed` is notified when a transaction ends or a log group becomes free.
"""

from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from standin.engine.database.keys import Keys
from standin.engine.database.plans import Plans
from standin.engine.database.standby import Standby
from standin.engine.database.tables import StoreKey, Tables
from standin.engine.redo.archived_logs import ArchivedLogs
from standin.engine.redo.archiver import Archiver
from standin.engine.redo.clock import Clock
from standin.engine.redo.writer import RedoWriter
from standin.engine.settings.options import DatabaseOptions
from standin.engine.storage.locks import Locks
from standin.engine.transactions.rollback import Rollback
from standin.engine.transactions.row_changes import RowChanges
from standin.engine.transactions.session_state import SessionState
from standin.engine.transactions.transaction import Branch, BranchId
from standin.engine.transactions.transactions import Transactions
from standin.interface import OraError
from standin.model import DatabaseState, NumberSequence, TableDef
from standin.redo_file import RedoRecord

_FIRST_OBJECT_ID = 73_000


class Database:
    def __init__(self, options: DatabaseOptions, directory: Path, clock: Clock, state: DatabaseState) -> None:
        self.options, self.directory, self.clock, self.state = options, directory, clock, state
        self.version = (19, 23, 0, 0, 0)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.sessions: dict[int, SessionState] = {}
        self.branches: dict[BranchId, Branch] = {}  # of distributed transactions
        self.sequences: dict[StoreKey, NumberSequence] = {}
        self.counters = {"object": _FIRST_OBJECT_ID, "constraint": 7000, "session": 100}
        self.archiver = Archiver(state, clock, self.lock, self.changed.notify_all)
        self.archived_logs = ArchivedLogs(state, clock, directory)
        self.standby = Standby(state, clock)
        self.statements: dict[str, Counter[str]] | None = None  # by service, once somebody counts them
        self.redo = RedoWriter(
            state,
            clock,
            self.archiver,
            private_strands=options.private_strands,
            strands_cross_switches=options.strands_cross_switches,
        )
        self.plans = Plans()
        self.tables = Tables(state, clock, self.plans)
        self.locks = Locks(self.changed)
        self.transactions = Transactions(options, state, clock, self.redo, self.changed)
        self.rows = RowChanges(options, state, self.redo, self.transactions)
        self.rollback = Rollback(self.rows, self.transactions)
        self.keys = Keys(self.tables, self.locks)
        self.refuses_set_container: int | None = None  # the ORA- code, of SET_CONTAINER_REFUSALS
        self.recovered_to: int | None = None  # the last SCN that an incomplete recovery kept
        self.pdb_flashed_back: tuple[int, int] | None = None  # to this SCN, at that one; OPEN RESETLOGS must follow
        self.redefinitions: dict[tuple[int, int], str] = {}  # column mappings by the object ids of both tables
        self.unfinished: list[RedoRecord] = []  # changes of the transactions that were open at that SCN

    def _next(self, counter: str) -> int:
        self.counters[counter] += 1
        return self.counters[counter]

    def next_object_id(self) -> int:
        return self._next("object")

    def next_constraint_number(self) -> int:
        return self._next("constraint")

    def next_session_number(self) -> int:
        return self._next("session")

    @property
    def oldest_scn(self) -> int:
        """Return the SCN below which row versions may be gone (ORA-01555)."""
        return self.options.oldest_scn(self.clock.scn)

    def is_overwritten(self, scn: int) -> bool:
        """Return whether the undo of an SCN is too old to be there."""
        seconds, at = self.options.undo_seconds, self.clock.time_of(scn)
        return seconds is not None and at is not None and self.clock.now() - at > timedelta(seconds=seconds)

    def ddl_time(self) -> datetime:
        """Return the LAST_DDL_TIME of a table that is changed now."""
        return self.clock.second() - timedelta(seconds=self.options.ddl_age)

    def is_too_recent(self, table: TableDef, scn: int) -> bool:
        """Return whether the DDL of a table is too recent for a read AS OF the SCN: Oracle compares their times."""
        at = self.clock.time_of(scn) if self.options.flashback_by_seconds else None
        return at is not None and at <= table.last_ddl

    def kill(self, number: int) -> None:
        """Kill a session: roll its transaction back now; its next call raises ORA-00028."""
        with self.lock:
            session = self.sessions.get(number)
            if session is None:
                raise OraError(30, "User session ID does not exist.")
            self.leave_branch(session)
            self.rollback.session(session)
            session.killed = True
            self.changed.notify_all()

    def log_off(self, session: SessionState) -> None:
        with self.lock:
            self.leave_branch(session)
            self.rollback.session(session)
            self.sessions.pop(session.number, None)
            self.tables.end_session(session.number)
            session.package_state.clear()

    def leave_branch(self, session: SessionState) -> None:
        """End the branch of a distributed transaction in which a session works, for a rollback."""
        if session.branch is not None:
            self.branches.pop(session.branch.id, None)
            session.branch = None

    def end_branches(self) -> None:
        """Roll back the branches that no session works in. Oracle keeps prepared ones over the end of an instance."""
        for branch in self.branches.values():
            transaction = branch.work.get("transaction")
            if transaction is not None:
                self.rollback.to_mark(transaction, 0)
                self.transactions.end_rolled_back(transaction)
        self.branches.clear()

    def await_redo(self, session: SessionState, *, to_switch: bool = False) -> None:
        """Wait while the session's thread has no log to write to (log file switch, archiving needed)."""
        session.require_writable()
        with self.lock:
            if self.state.is_mounted:
                raise OraError(1109, "database not open")
            if self._has_redo(session.thread, to_switch):
                return
            self.changed.wait_for(lambda: session.cancelled or session.killed or self._has_redo(session.thread, to_switch))
            session.check_cancelled()

    def _has_redo(self, number: int, to_switch: bool) -> bool:
        thread = self.state.threads[number]
        return self.redo.can_switch(thread) if to_switch else not self.redo.is_blocked(thread)

    def switch_log(self, thread: int = 1) -> None:
        """Switch the thread's log (ALTER SYSTEM SWITCH LOGFILE)."""
        with self.lock:
            self.redo.switch(self.state.threads[thread])

    def archive_current(self) -> None:
        """Switch the log of every open thread (ALTER SYSTEM ARCHIVE LOG CURRENT)."""
        with self.lock:
            for thread in self.state.threads.values():
                if thread.is_open:
                    self.redo.switch(thread)
