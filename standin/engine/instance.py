"""A running database that clients log on to, with its heartbeat and its checkpoint at the end."""

from __future__ import annotations

import threading
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from standin.engine.database import checkpoint
from standin.engine.database.creation import create_database
from standin.engine.database.database import Database
from standin.engine.database.pdb_recovery import PdbRecovery
from standin.engine.database.recovery import Recovery
from standin.engine.database.redo_threads import RedoThreads
from standin.engine.redo.clock import Clock
from standin.engine.sessions.privileges import holds
from standin.engine.settings.options import DatabaseOptions
from standin.engine.sql_session import SqlSession
from standin.interface import OraError
from standin.model import PDB, ROOT


class Instance(Database):
    """Implements interface.Instance. The database is open at once; `start` adds the heartbeat, `close` shuts it down."""

    def __init__(self, options: DatabaseOptions = DatabaseOptions()) -> None:  # noqa: B008 - frozen
        self._temporary = options.directory is None
        directory = Path(mkdtemp(prefix="standin-")) if options.directory is None else options.directory
        directory.mkdir(parents=True, exist_ok=True)
        saved = checkpoint.load(directory)
        clock = Clock(saved.scn if saved else options.start_scn)
        super().__init__(options, directory, clock, saved.state if saved else create_database(options, directory, clock))
        self.recovery = Recovery(self)
        self.pdb_recovery = PdbRecovery(self)
        self.redo_threads = RedoThreads(self)
        if saved:
            checkpoint.restore(self, saved)
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return self.state.name

    def start(self) -> None:
        """Start the heartbeat and the log switches by time."""
        if self.options.background and self._ticker is None:
            self._ticker = threading.Thread(target=self._tick_until_stopped, name="standin-ticker", daemon=True)
            self._ticker.start()

    def _tick_until_stopped(self) -> None:
        while not self._stop.wait(1.0):
            self.tick()

    def tick(self) -> None:
        """Let one second pass: SCNs, the heartbeat of every open thread, log switches by ARCHIVE_LAG_TARGET."""
        with self.lock:
            if not self._closed and not self.state.is_mounted:
                self.clock.advance(self.options.scns_per_second)
                self.redo_threads.heartbeat()

    def close(self) -> None:
        """Roll open transactions back and write the checkpoint, or remove a temporary directory."""
        self._stop.set()
        if self._ticker is not None:
            self._ticker.join()
        with self.lock:
            if self._closed:
                return
            self._closed = True
            for session in list(self.sessions.values()):
                self.log_off(session)
            if self._temporary:
                rmtree(self.directory, ignore_errors=True)
            else:
                checkpoint.save(self)

    def knows_service(self, service: str) -> bool:
        return self._container_of(service) is not None

    def _container_of(self, service: str) -> int | None:
        name, _ = self.standby.site(service)
        if name == self.state.name.upper():
            return ROOT if self.state.is_cdb else 0
        return PDB if self.state.is_cdb and name == self.state.pdb_name.upper() else None

    def password_of(self, user: str, service: str) -> str | None:
        """Return the password; None for a user who is unknown in the service's container."""
        found, container = self.state.users.get(user), self._container_of(service)
        if found is None or container is None or not (found.is_common or found.con_id == container):
            return None
        return found.password

    def logon(
        self,
        user: str,
        service: str,
        *,
        program: str,
        machine: str,
        instance: str | None,
        typed: str | None = None,
        client: str | None = None,
    ) -> SqlSession:
        container = self._container_of(service)
        if container is None:
            raise OraError(12514, "TNS:listener does not currently know of service requested in connect descriptor")
        with self.lock:
            self._require_logon(user, service)
            proxy, user = self._as_client(user, client, service)
            thread = self.redo_threads.of_instance(instance)
            session = SqlSession(self, self.next_session_number(), user, container, thread)
            session.program, session.machine, session.service = program, machine, service
            _, session.on_standby = self.standby.site(service)
            session.typed_user, session.proxy = typed or user, proxy
            self.sessions[session.number] = session
            return session

    def _as_client(self, user: str, client: str | None, service: str) -> tuple[str | None, str]:
        """Return the proxy, if there is one, and the session's user. Raise ORA-28150 where it may not connect as the client."""
        if client is None:
            return None, user
        found = self.state.users.get(client)
        if found is None or user not in found.proxies:
            raise OraError(28150, "proxy not authorized to connect as client")
        self._require_logon(client, service)
        return user, client

    def _require_logon(self, user: str, service: str) -> None:
        """Raise the ORA- error for which Oracle would refuse the logon."""
        if self.password_of(user, service) is None:
            raise OraError(1017, "invalid username/password; logon denied")
        is_mounted = self.standby.is_mounted if self.standby.site(service)[1] else self.state.is_mounted
        if user != "SYS" and (is_mounted or (self._container_of(service) == PDB and not self.state.pdb_is_open)):
            raise OraError(1033, "ORACLE initialization or shutdown in progress")
        if user != "SYS" and self.archiver.condition == "FAILED":
            raise OraError(257, "Archiver error. Connect AS SYSDBA only until resolved.")
        if not holds(self.state.users[user], "CREATE SESSION"):
            raise OraError(1045, f"user {user} lacks CREATE SESSION privilege; logon denied")
