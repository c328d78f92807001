"""A complete stand-in: database, views, LogMiner, users and listener.

A new database has no tables and two users: C##REDOLAKE with the grants of sql/setup/cdb.sql (REDOLAKE with those of
non-cdb.sql), and the table owner SHOP.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import oracledb

from standin import views
from standin.control import ControlServer
from standin.engine.database.standby import SUFFIX
from standin.engine.expressions import metadata
from standin.engine.instance import Instance
from standin.engine.packages import error_logs, rds, redefinition, statistics, type_shapes
from standin.engine.plsql import session_packages
from standin.engine.settings.options import DatabaseOptions
from standin.faults.injection import FaultInjector
from standin.logminer import package
from standin.olr.options import Behaviour, Configuration
from standin.olr.server import OlrServer
from standin.sqlplus import run_script
from standin.wire.server import Listener

_PACKED = Path(__file__).parent / "setup"  # in the stand-in's own wheel
SCRIPTS = _PACKED if _PACKED.exists() else Path(__file__).parents[1] / "sql" / "setup"
ACCOUNTS = re.compile(r"(CREATE|ALTER) USER|GRANT|ALTER SESSION")
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
    _replicators: list[OlrServer] = field(default_factory=list, init=False, repr=False)
    _closed: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self.faults = FaultInjector(self.database, self.listener)

    def listen_for_faults(self, file: Path) -> None:
        """Accept fault requests from other processes that can read `file` (standin/control.py)."""
        self._control = ControlServer(self.faults, file)

    def replicate(
        self,
        configuration: Configuration | Mapping[str, Any],
        behaviour: Behaviour | None = None,
        *,
        thread: int = 1,
        uri: str = "",
    ) -> OlrServer:
        """Start an OpenLogReplicator on a redo thread, with an OpenLogReplicator.json as JSON, at `uri` or any free port."""
        chosen = configuration if isinstance(configuration, Configuration) else Configuration.of(configuration)
        host, _, port = (uri or "127.0.0.1:0").rpartition(":")
        self._replicators.append(
            OlrServer(self.database, chosen, behaviour, thread=thread, host=host.strip("[]"), port=int(port))
        )
        return self._replicators[-1]

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

    @property
    def standby_root_dsn(self) -> str:
        return f"{self.root_dsn}{SUFFIX}"

    @property
    def standby_pdb_dsn(self) -> str:
        return f"{self.pdb_dsn}{SUFFIX}"

    def count_statements(self) -> Mapping[str, Counter[str]]:
        """Return what is executed from now on, by service."""
        self.database.statements = {}
        return self.database.statements

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
            for replicator in self._replicators:
                replicator.close()
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
    _register()
    database = Instance(options)
    if options.rds and rds.MASTER not in database.state.users:
        rds.prepare(database.state, password)
    database.start()
    try:
        database.state.force_logging = force_logging
        capture_user = "C##REDOLAKE" if options.is_cdb else "REDOLAKE"
        if capture_user not in database.state.users:
            _create_users(database, password)
        listener = Listener(database, host, port, options.verifier_rounds)
        listener.start()
    except BaseException:
        database.close()
        raise
    users = ("SYS", "SYSTEM", capture_user, OWNER, *([rds.MASTER] if options.rds else []))
    return StandIn(database, listener, capture_user, {user: database.state.users[user].password for user in users})


@cache
def _register() -> None:
    """Register the views and packages, once for all databases of this process."""
    for module in (views, package, rds, statistics, redefinition, error_logs, metadata, session_packages, type_shapes):
        module.register()


def _create_users(database: Instance, password: str) -> None:
    """Run the accounts' part of the set-up script. Its logging is left to the options of the database."""
    state = database.state
    script = (SCRIPTS / ("cdb.sql" if state.is_cdb else "non-cdb.sql")).read_text(encoding="utf-8")
    session = database.logon("SYS", state.name, program="standin", machine="standin", instance=None)

    def execute(sql: str) -> None:
        if ACCOUNTS.match(sql):
            session.execute(sql, [])

    try:
        done = run_script(script, execute, [password, state.pdb_name] if state.is_cdb else [password])
        if done.errors:
            raise ValueError(f"the set-up script failed: {done.errors[-1]}")
        # The script ends in the PDB, where the table owner belongs.
        session.execute(f'CREATE USER {OWNER} IDENTIFIED BY "{password}"', [])
        session.execute(f"GRANT {_OWNER_GRANTS} TO {OWNER}", [])
        session.execute(f"GRANT SELECT ON V_$DATABASE TO {OWNER}", [])
    finally:
        session.close()


@contextmanager
def standin(*, host: str = "127.0.0.1", port: int = 0, password: str = "oracle", **options: Any) -> Iterator[StandIn]:
    """Run a stand-in for a `with` block. `options` are those of DatabaseOptions. Its tables look a minute old,
    and a logon costs little."""
    options.setdefault("ddl_age", 60)
    options.setdefault("verifier_rounds", 16)
    options.setdefault("supplemental", frozenset({"MIN"}))
    options.setdefault("passwords", (("SYS", password), ("SYSTEM", password)))
    with start_standin(DatabaseOptions(**options), host=host, port=port, password=password) as running:
        yield running
