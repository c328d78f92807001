"""The adapter to Oracle: one connection per container, opened when it is first used.

Only connecting is retried here, and only after transient errors.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from time import sleep
from typing import Any

import oracledb

from redolake.config.limits import Retry
from redolake.errors import ConfigurationError, Finding, RedolakeError, SourceBusy, SourceRefused
from redolake.host.progress import Progress
from redolake.source.connection import ConnectParams
from redolake.source.driver_check import check_driver
from redolake.source.quoting import quote
from redolake.source.session import ROOT_ID, OracleSession

log = logging.getLogger(__name__)

APPLIES = "READ ONLY WITH APPLY"
REACH_PAUSE_SECONDS = 1.0
REACH_REPORT_SECONDS = 30.0


def open_source(
    params: ConnectParams,
    *,
    container: str | None = None,
    call_timeout_seconds: float = 1800,
    retry: Retry | None = None,
    report: Callable[[str], None] = log.info,
) -> Source:
    """Connect to the container, or without one to the root, retrying transient errors. A wrong password is never retried, and
    a driver that is known to read wrong values is refused. `report` gets the progress of a wait for a standby."""
    check_driver()
    if params.thick:
        _init_thick(params)
    source = Source(params, call_timeout_seconds, retry or Retry(), report)
    source.use_container(container)
    return source


def _init_thick(params: ConnectParams) -> None:
    settings = {"lib_dir": params.lib_dir, "config_dir": params.extra.get("config_dir")}
    try:
        oracledb.init_oracle_client(**{k: v for k, v in settings.items() if v})
    except oracledb.Error as error:
        cure = "install Oracle Instant Client and set its folder as lib_dir in the connection's extra"
        raise ConfigurationError([Finding("thick_mode", str(error).splitlines()[0], cure)]) from error


class Source:
    """The connections to one database: one stays in the root, and one in each PDB that is used.

    Every statement runs on the connection of the container that `use_container` named last. With `pdb_only` there is one
    connection, to the PDB, and it stands for the root too.
    """

    def __init__(
        self,
        params: ConnectParams,
        call_timeout_seconds: float,
        retry: Retry,
        report: Callable[[str], None],
    ) -> None:
        self._params, self._call_timeout_seconds, self._retry, self._report = params, call_timeout_seconds, retry, report
        self._sessions: dict[str | None, OracleSession] = {}
        self._container: str | None = None
        self._is_pinned = False
        self._reached: dict[str | None, int] = {}  # by container: queries there see this SCN

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def user(self) -> str:
        return self._params.user

    @property
    def pdb_only(self) -> bool:
        """Whether redo is mined from inside the PDB: Oracle then chooses the logs of an SCN range itself."""
        return self._params.pdb_only

    @property
    def names_primary(self) -> bool:
        return self._params.primary is not None

    def primary(self, retry: Retry | None = None) -> Source:
        """Open a connection to the primary that the pipeline names."""
        assert self._params.primary is not None
        timeout = self._call_timeout_seconds
        return open_source(self._params.primary, call_timeout_seconds=timeout, retry=retry or self._retry)

    @property
    def _session(self) -> OracleSession:
        return self._sessions[self._container]

    def use_container(self, name: str | None) -> None:
        """Continue in a PDB, or with None in the root; a database that is not a CDB has a single container."""
        if self.pdb_only and name is not None:
            self.use_container(None)
            self._require_container(name)
            return
        if name not in self._sessions:
            self._sessions[name] = self._connect(name)
        self._container = name
        if self._is_pinned and not self._session.is_pinned:
            self._session.pin_session()

    def _connect(self, container: str | None) -> OracleSession:
        if container is not None:
            quote(container)  # raises before a connection is opened
        started = time.monotonic()
        session = self._retry.call(
            lambda: OracleSession(self._params, container, call_timeout_seconds=self._call_timeout_seconds)
        )
        log.info(
            "connected to %s of %s as %s in %.1f s",
            session.container, session.dsn, session.user, time.monotonic() - started,
        )  # fmt: skip
        if container is None and self.pdb_only != (session.container_id > ROOT_ID):
            session.close()
            if self.pdb_only:
                raise SourceRefused(
                    f"the connection says pdb_only, and its service leads to {session.container}, which is no PDB",
                    cure="give it the PDB's service, or remove `pdb_only` from its extra",
                    user=session.user,
                    dsn=session.dsn,
                )
            raise SourceRefused(
                f"the connection's service leads to the PDB {session.container}; redo is mined in the root",
                cure="give the connection the root's service, and its extra the PDB's own service as `pdb_service`; where the "
                "root cannot be reached, set `pdb_only` in the extra (Oracle 19.10 or later)",
                user=session.user,
                dsn=session.dsn,
            )
        return session

    def _require_container(self, name: str) -> None:
        found = self._session.container
        if found != name:
            raise SourceRefused(
                f"the connection leads to the PDB {found}, and the pipeline's container is {name}",
                cure="correct the service of the connection, or `source.container` of the pipeline",
                user=self._session.user,
                dsn=self._session.dsn,
            )

    def reach(self, scn: int) -> None:
        """Wait until queries see an SCN: before it is applied, a standby refuses it, or shows older rows. Every read AS OF an
        SCN calls this. Each connection may lead to another instance, with an SCN of its own. Raises SourceBusy after
        `call_timeout_seconds`."""
        if scn <= self._reached.get(self._container, 0):
            return
        begun, said, first = time.monotonic(), 0.0, None
        while True:
            row = self._session.query("applied")[0]
            current, passed = int(row.current_scn or 0), time.monotonic() - begun
            if current >= scn or row.database_role == "PRIMARY":  # the primary refuses an SCN that it has not assigned
                self._reached[self._container] = current
                return
            where = f"the standby has applied redo up to SCN {current}, and SCN {scn} is to be read"
            stopped = "" if row.open_mode == APPLIES else f"; redo apply is not running: it is {row.open_mode}"
            if passed >= self._call_timeout_seconds:
                raise SourceBusy(
                    f"{where}{stopped}",
                    cure="see its lags in V$DATAGUARD_STATS. Where apply is stopped, start it there: ALTER DATABASE RECOVER "
                    "MANAGED STANDBY DATABASE DISCONNECT. Without real-time apply, let the primary switch logs: ALTER SYSTEM "
                    "ARCHIVE LOG CURRENT, or ARCHIVE_LAG_TARGET",
                    scn=scn,
                    waited_seconds=round(passed),
                )
            if passed >= said:
                first = current if first is None else first
                line = f"waiting up to {self._call_timeout_seconds - passed:.0f} s: {where}{stopped}"
                self._report(Progress(line, "SCNs that the standby applies", current - first, scn - first, passed))
                said = passed + REACH_REPORT_SECONDS
            sleep(REACH_PAUSE_SECONDS)

    def _reach(self, binds: Mapping[str, object]) -> None:
        scn = binds.get("scn")
        if isinstance(scn, int):
            self.reach(scn)

    def query(self, name: str, /, **binds: object) -> list[Any]:
        """Return all rows of the statement `name`, as named tuples with its column aliases in lower case."""
        self._reach(binds)
        return self._session.query(name, **binds)

    def query_text(self, sql: str, binds: Mapping[str, object], name: str) -> list[Any]:
        """Return all rows of a statement built from the dictionary, as `query` does."""
        self._reach(binds)
        return self._session.query_text(sql, binds, name)

    def arrow(self, sql: str, binds: Mapping[str, object], rows: int, *, name: str, decimals: bool = True) -> Iterator[Any]:
        """Yield the result as objects with the Arrow PyCapsule stream, `rows` rows each, NUMBER(p, s) exact; see
        `OracleSession.arrow`."""
        self._reach(binds)
        return self._session.arrow(sql, binds, rows, name=name, decimals=decimals)

    def call(self, name: str, /, **binds: object) -> None:
        """Run the PL/SQL block or session statement `name`."""
        self._session.call(name, **binds)

    def pin_session(self) -> dict[str, str]:
        """Pin the settings of the current session and of those used after it, and return the server's values."""
        self._is_pinned = True
        return self._session.pin_session()

    def answers(self) -> bool:
        """Return whether all its connections answer."""
        try:
            for session in self._sessions.values():
                session.ping()
        except RedolakeError:
            return False
        return True

    def close(self) -> None:
        """Log off everywhere. A lost connection counts as closed."""
        while self._sessions:
            _, session = self._sessions.popitem()
            session.close()
