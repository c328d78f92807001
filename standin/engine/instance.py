"""The database as one object: state, lock, clock, sessions, redo and archives, and what a DBA does to it.

Everything that changes it happens under `lock`; `changed` is notified when a transaction ends.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeVar

from standin.binds import BoundSql, scan_binds
from standin.engine import checkpoint
from standin.engine.archived_logs import ArchivedLogs
from standin.engine.archiver import Archiver
from standin.engine.clock import Clock
from standin.engine.constraints import Keys
from standin.engine.founding import found_database
from standin.engine.options import DatabaseOptions
from standin.engine.privileges import holds
from standin.engine.recovery import Recovery
from standin.engine.redo_threads import RedoThreads
from standin.engine.redo_writer import RedoWriter
from standin.engine.row_changes import RowChanges
from standin.engine.session import EngineSession
from standin.engine.storage import TableStore
from standin.engine.transactions import Transactions
from standin.interface import OraError
from standin.model import PDB, ROOT, Constraint, DatabaseState, TableDef

StoreKey = tuple[int, str, str]
Plan = TypeVar("Plan")

_PLANS = 500
_FIRST_OBJECT_ID = 73_000


class Database:
    """Implements interface.Instance. Made open; `start` adds the background, `close` writes the checkpoint."""

    def __init__(self, options: DatabaseOptions = DatabaseOptions()) -> None:  # noqa: B008 - frozen
        self.options = options
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.version = (19, 23, 0, 0, 0)
        self._temporary = options.directory is None
        self.directory = Path(mkdtemp(prefix="standin-")) if options.directory is None else options.directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.stores: dict[StoreKey, TableStore] = {}
        self.sequences: dict[StoreKey, list[int]] = {}
        self.sessions: dict[int, EngineSession] = {}
        self.counters = {"object": _FIRST_OBJECT_ID, "constraint": 7000, "session": 100}
        self.transactions = Transactions(self)
        self.rows, self.keys = RowChanges(self), Keys(self)
        kept = checkpoint.load(self.directory)
        self.clock = Clock(kept.scn if kept else options.start_scn)
        self.state: DatabaseState = kept.state if kept else found_database(options, self.directory, self.clock)
        self.archiver = Archiver(self.state, self.clock, self.lock, self.changed.notify_all)
        self.archived_logs = ArchivedLogs(self.state, self.clock, self.directory)
        self.redo = RedoWriter(self.state, self.clock, self.archiver, private_strands=options.private_strands)
        self.recovery = Recovery(self)
        self.redo_threads = RedoThreads(self)
        if kept:
            checkpoint.restore(self, kept)
        self.bound: Callable[[str], BoundSql] = lru_cache(maxsize=_PLANS)(scan_binds)
        self._plans: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._epoch = 0
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return self.state.name

    def start(self) -> None:
        """Begin the heartbeat and the switches by time."""
        if self.options.background and self._ticker is None:
            self._ticker = threading.Thread(target=self._tick_until_stopped, name="standin-ticker", daemon=True)
            self._ticker.start()

    def _tick_until_stopped(self) -> None:
        while not self._stop.wait(1.0):
            self.tick()

    def tick(self) -> None:
        """What passes in a second: SCNs, the heartbeat of every open thread, switches by ARCHIVE_LAG_TARGET."""
        with self.lock:
            if not self._closed and not self.state.is_mounted:
                self.clock.advance(self.options.scns_per_second)
                self.redo_threads.heartbeat()

    def close(self) -> None:
        """Roll back what is open, write the checkpoint, forget a temporary directory."""
        self._stop.set()
        if self._ticker is not None:
            self._ticker.join()
        with self.lock:
            if self._closed:
                return
            self._closed = True
            for session in list(self.sessions.values()):
                session.close()
            if self._temporary:
                rmtree(self.directory, ignore_errors=True)
            else:
                checkpoint.save(self)

    def knows_service(self, service: str) -> bool:
        return self._container_of(service) is not None

    def _container_of(self, service: str) -> int | None:
        name = service.upper()
        if name == self.state.name.upper():
            return ROOT if self.state.is_cdb else 0
        return PDB if self.state.is_cdb and name == self.state.pdb_name.upper() else None

    def password_of(self, user: str, service: str) -> str | None:
        found, container = self.state.users.get(user), self._container_of(service)
        if found is None or container is None or not (found.is_common or found.con_id == container):
            return None
        return found.password

    def logon(self, user: str, service: str, *, program: str, machine: str, instance: str | None) -> EngineSession:
        container = self._container_of(service)
        if container is None:
            raise OraError(12514, "TNS:listener does not currently know of service requested in connect descriptor")
        with self.lock:
            if self.password_of(user, service) is None:
                raise OraError(1017, "invalid username/password; logon denied")
            if user != "SYS" and self.state.is_mounted:
                raise OraError(1033, "ORACLE initialization or shutdown in progress")
            if user != "SYS" and self.archiver.condition == "FAILED":
                raise OraError(257, "Archiver error. Connect AS SYSDBA only until resolved.")
            if not holds(self.state.users[user], "CREATE SESSION"):
                raise OraError(1045, f"user {user} lacks CREATE SESSION privilege; logon denied")
            thread = self.redo_threads.of_instance(instance)
            session = EngineSession(self, self._next("session"), user, container, thread)
            session.program, session.machine, session.service = program, machine, service
            self.sessions[session.number] = session
            return session

    def kill(self, number: int) -> None:
        """ALTER SYSTEM KILL SESSION: its transaction is rolled back now, it learns of it at its next call."""
        with self.lock:
            session = self.sessions.get(number)
            if session is None:
                raise OraError(30, "User session ID does not exist.")
            session.rollback()
            session.killed = True
            self.changed.notify_all()

    def plan(self, session: EngineSession, text: str, compiled: Callable[[], Plan]) -> Plan:
        """The compiled form of a text for this user, schema and container, until the next DDL."""
        key = (text, session.container, session.schema, session.user, self._epoch)
        found: Plan | None = self._plans.get(key)
        if found is None:
            found = self._plans[key] = compiled()
            if len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return found

    def _next(self, what: str) -> int:
        self.counters[what] += 1
        return self.counters[what]

    def next_object_id(self) -> int:
        return self._next("object")

    def next_constraint_number(self) -> int:
        return self._next("constraint")

    @property
    def oldest_scn(self) -> int:
        """Below it row versions may be gone (ORA-01555)."""
        return 0 if self.options.undo_scns is None else self.clock.scn - self.options.undo_scns

    def add_store(self, store: TableStore) -> None:
        table = store.definition
        key = (table.con_id, table.owner, table.name)
        self.stores[key], self.state.tables[key] = store, table
        self.refresh(store)

    def remove_store(self, store: TableStore) -> None:
        table = store.definition
        key = (table.con_id, table.owner, table.name)
        del self.stores[key], self.state.tables[key]
        self.state.last_drop_scn = self.clock.scn
        store.generation += 1
        self.forget_plans()

    def refresh(self, store: TableStore) -> None:
        store.refresh(self.state.logged_in(store.definition.con_id))
        self.forget_plans()

    def refresh_all(self) -> None:
        for store in self.stores.values():
            self.refresh(store)

    def forget_plans(self) -> None:
        self._epoch += 1
        self._plans.clear()

    def parent_of(self, table: TableDef, constraint: Constraint) -> TableStore:
        assert constraint.references is not None
        for store in self.stores.values():
            definition, (owner, key) = store.definition, constraint.references
            same_owner = (definition.con_id, definition.owner) == (table.con_id, owner)
            if same_owner and any(c.name == key for c in definition.constraints):
                return store
        raise OraError(942, "table or view does not exist")

    def children_of(self, parent: TableStore) -> list[tuple[TableStore, Constraint]]:
        """The foreign keys that refer to a key of `parent`."""
        keys = {(parent.definition.owner, c.name) for c in parent.definition.constraints}
        return [
            (store, constraint)
            for store in self.stores.values()
            if store.has_references and store.definition.con_id == parent.definition.con_id
            for constraint in store.definition.constraints
            if constraint.kind == "R" and constraint.enabled and constraint.references in keys
        ]

    def await_redo(self, session: EngineSession, *, to_switch: bool = False) -> None:
        """Wait while the session's thread has no log to write to (log file switch, archiving needed)."""
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
        """ALTER SYSTEM SWITCH LOGFILE on that instance."""
        with self.lock:
            self.redo.switch(self.state.threads[thread])

    def archive_current(self) -> None:
        """ALTER SYSTEM ARCHIVE LOG CURRENT: every open thread."""
        with self.lock:
            for thread in self.state.threads.values():
                if thread.is_open:
                    self.redo.switch(thread)
