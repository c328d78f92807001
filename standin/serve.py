"""A complete stand-in: database, views, LogMiner, users and listener.

A new database has no tables and two users: C##REDOLAKE with the grants of sql/setup/grants.sql, and the table owner SHOP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import oracledb

from standin import views
from standin.control import ControlServer
from standin.engine.instance import Instance
from standin.engine.options import DatabaseOptions
from standin.fault_injection import FaultInjector
from standin.logminer import package
from standin.setup_script import run_statements, setup_statements, without_containers
from standin.wire.server import Listener

OWNER = "SHOP"
_OWNER_GRANTS = "CREATE SESSION, CREATE TABLE, CREATE SEQUENCE, UNLIMITED TABLESPACE"


@dataclass(slots=True)
class StandIn:
    """A running stand-in. `passwords` holds SYS, SYSTEM, the capture user and SHOP; `faults` injects faults."""

    database: Instance
    listener: Listener
    capture_user: str
    passwords: Mapping[str, str]
    faults: FaultInjector = field(init=False)
    _control: ControlServer | None = field(default=None, init=False, repr=False)
    _closed: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self.faults = FaultInjector(self.database, self.listener)

    def listen_for_faults(self, file: Path) -> None:
        """Accept fault requests from other processes that can read `file` (standin/control.py)."""
        self._control = ControlServer(self.faults, file)

    @property
    def port(self) -> int:
        return int(self.listener.port)

    @property
    def root_dsn(self) -> str:
        """Return the DSN of the root, or of the whole database if it is not a CDB."""
        return self.listener.dsn(self.database.state.name)

    @property
    def pdb_dsn(self) -> str:
        state = self.database.state
        return self.listener.dsn(state.pdb_name if state.is_cdb else state.name)

    def connect(self, user: str = OWNER, *, dsn: str | None = None, **arguments: Any) -> Any:
        """Connect with the real driver: common users to the root, others to the PDB."""
        common = user.upper().startswith("C##") or user.upper() in ("SYS", "SYSTEM")
        service = dsn or (self.root_dsn if common else self.pdb_dsn)
        password = arguments.pop("password", self.passwords.get(user.upper()))
        return oracledb.connect(user=user, password=password, dsn=service, **arguments)

    def close(self) -> None:
        """Stop listening, end the sessions, close the database."""
        if not self._closed:
            self._closed = True
            if self._control is not None:
                self._control.close()
            self.faults.close()
            self.listener.close()
            self.database.close()

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def start_standin(
    options: DatabaseOptions, *, host: str = "127.0.0.1", port: int = 0, password: str = "oracle", force_logging: bool = True
) -> StandIn:
    """Open the database, create its users unless the data directory already has them, and listen."""
    views.register()
    package.register()
    database = Instance(options)
    database.start()
    try:
        database.state.force_logging = force_logging
        capture_user = "C##REDOLAKE" if options.is_cdb else "REDOLAKE"
        if capture_user not in database.state.users:
            _create_users(database, password)
        listener = Listener(database, host, port)
        listener.start()
    except BaseException:
        database.close()
        raise
    users = ("SYS", "SYSTEM", capture_user, OWNER)
    return StandIn(database, listener, capture_user, {user: database.state.users[user].password for user in users})


def _create_users(database: Instance, password: str) -> None:
    state = database.state
    grants = setup_statements("grants", {"password": password, "pdb": state.pdb_name})
    owner = [
        f'CREATE USER {OWNER} IDENTIFIED BY "{password}"',
        f"GRANT {_OWNER_GRANTS} TO {OWNER}",
        f"GRANT SELECT ON V_$DATABASE TO {OWNER}",
    ]
    session = database.logon("SYS", state.name, program="standin", machine="standin", instance=None)
    try:
        # The script ends in the PDB, where the table owner belongs.
        run_statements(session, [*(grants if state.is_cdb else without_containers(grants)), *owner])
    finally:
        session.close()


@contextmanager
def standin(*, host: str = "127.0.0.1", port: int = 0, password: str = "oracle", **options: Any) -> Iterator[StandIn]:
    """Run a stand-in for a `with` block. `options` are those of DatabaseOptions."""
    options.setdefault("supplemental", frozenset({"MIN"}))
    options.setdefault("passwords", (("SYS", password), ("SYSTEM", password)))
    with start_standin(DatabaseOptions(**options), host=host, port=port, password=password) as running:
        yield running
