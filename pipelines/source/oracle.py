"""The adapter to Oracle: one dedicated connection, named statements, Arrow batches, every driver error translated.

Only connecting is retried here, and only after transient errors.
"""

from __future__ import annotations

import logging
import time
from collections import namedtuple
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import oracledb
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from pipelines.errors import ConfigurationError, Finding, SourceRefused, SourceUnavailable, Transient
from pipelines.source.connection import ConnectParams
from pipelines.source.failures import DriverError, translate
from pipelines.source.quoting import quoted
from pipelines.statements import statement

log = logging.getLogger(__name__)

# Cloud load balancers cut idle connections after 350 s without telling either side.
EXPIRE_MINUTES = 2
TCP_CONNECT_SECONDS = 20.0
LOGIN_SECONDS = 60.0
ROOT = "CDB$ROOT"

# Session settings that decide how LogMiner writes values into SQL_REDO.
PINNED: Mapping[str, str] = {
    "NLS_DATE_FORMAT": "SYYYY-MM-DD HH24:MI:SS",
    "NLS_TIMESTAMP_FORMAT": "SYYYY-MM-DD HH24:MI:SS.FF9",
    "NLS_TIMESTAMP_TZ_FORMAT": "SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM",
    "NLS_NUMERIC_CHARACTERS": ".,",
    "NLS_DATE_LANGUAGE": "AMERICAN",
    "NLS_CALENDAR": "GREGORIAN",
    "TIME_ZONE": "+00:00",
}


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often connecting is attempted, and how long the pauses are."""

    first_seconds: float = 1.0
    most_seconds: float = 60.0
    attempts: int = 5


def open_source(params: ConnectParams, *, call_timeout_seconds: float = 1800, retry: RetryRule | None = None) -> Source:
    """Connect, retrying transient errors by `retry`. A wrong password is never retried."""
    rule = retry or RetryRule()
    if params.thick:
        _init_thick(params)
    retrying = Retrying(
        retry=retry_if_exception_type(Transient),
        stop=stop_after_attempt(rule.attempts),
        wait=wait_exponential(multiplier=rule.first_seconds, max=rule.most_seconds),
        reraise=True,
    )
    started = time.monotonic()
    source = retrying(lambda: Source(params, call_timeout_seconds))
    log.info("connected to %s as %s in %.1f s", params.dsn, params.user, time.monotonic() - started)
    return source


def _init_thick(params: ConnectParams) -> None:
    settings = {"lib_dir": params.lib_dir, "config_dir": params.extra.get("config_dir")}
    try:
        oracledb.init_oracle_client(**{k: v for k, v in settings.items() if v})
    except oracledb.Error as error:
        cure = "install Oracle Instant Client and set its folder as lib_dir in the connection's extra"
        raise ConfigurationError([Finding("thick_mode", str(error).splitlines()[0], cure)]) from error


def _driver_options(extra: Mapping[str, Any]) -> dict[str, Any]:
    options = {"expire_time": EXPIRE_MINUTES, "tcp_connect_timeout": TCP_CONNECT_SECONDS, **extra}
    if "mode" in options:
        name = str(options["mode"]).upper()
        if not hasattr(oracledb, f"AUTH_MODE_{name}"):
            raise ConfigurationError(
                [Finding("connection", f"mode {name} is unknown", "remove it, or use sysdba, sysbackup ...")]
            )
        options["mode"] = getattr(oracledb, f"AUTH_MODE_{name}")
    return options


def _log_in(options: Mapping[str, Any], seconds: float) -> Any:
    """Connect within `seconds`. The driver limits only the TCP connect, and a stuck archiver blocks a login forever."""
    answer: Future[Any] = Future()

    def connect() -> None:
        outcome: Any
        try:
            outcome = oracledb.connect(**options)
        except BaseException as error:
            outcome = error
        if not answer.set_running_or_notify_cancel():  # the caller has given up
            if not isinstance(outcome, BaseException):
                outcome.close()
        elif isinstance(outcome, BaseException):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    Thread(target=connect, name="oracle-login", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        if not answer.cancel():
            return answer.result()
        cure = "wait: the step is retried. If it keeps failing, check the alert log: a stuck archiver (ORA-00257) blocks logins"
        raise SourceUnavailable(
            f"the database accepted the connection and did not answer the login within {seconds:g} s",
            cure=cure,
            doing="connect",
            user=options["user"],
            dsn=options["dsn"],
        ) from None


def _driver_error(error: oracledb.Error) -> DriverError:
    details = error.args[0]
    return DriverError(getattr(details, "code", 0) or 0, getattr(details, "full_code", "") or "", str(details))


class Source:
    """One dedicated connection, never pooled or shared: LogMiner keeps its state in the session."""

    def __init__(self, params: ConnectParams, call_timeout_seconds: float = 1800, login_seconds: float = LOGIN_SECONDS) -> None:
        self.user, self.dsn = params.user, params.dsn
        self._pinned = False
        self._container: str | None = None
        with self._translated("connect"):
            where = {"user": params.user, "password": params.password, "dsn": params.dsn}
            self._connection = _log_in({**where, **_driver_options(params.extra)}, login_seconds)
            self._connection.call_timeout = int(call_timeout_seconds * 1000)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _translated(self, doing: str, sql: str = "") -> Iterator[None]:
        try:
            yield
        except oracledb.Error as error:
            raise translate(_driver_error(error), doing, sql=sql, user=self.user, dsn=self.dsn) from error

    def query(self, name: str, /, **binds: object) -> list[Any]:
        """Return all rows of the statement `name`, as named tuples with its column aliases in lower case."""
        return self.query_text(statement(name), binds, name)

    def query_text(self, sql: str, binds: Mapping[str, object], name: str) -> list[Any]:
        """Return all rows of a statement built from the dictionary, as `query` does."""
        with self._translated(name, sql), self._connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = 1000
            cursor.execute(sql, dict(binds))
            row = namedtuple("row", [column[0].lower() for column in cursor.description])  # type: ignore[misc]
            return [row(*values) for values in cursor]

    def arrow(self, sql: str, binds: Mapping[str, object], rows: int, *, name: str) -> Iterator[Any]:
        """Yield the result as objects with the Arrow PyCapsule stream, `rows` rows each, NUMBER(p, s) exact.

        The first object is yielded even without rows, and contains the columns.
        """
        with self._translated(name, sql):
            yield from self._connection.fetch_df_batches(sql, dict(binds), size=rows, fetch_decimals=True)

    def call(self, name: str, /, **binds: object) -> None:
        """Run the PL/SQL block or session statement `name`."""
        sql = statement(name)
        with self._translated(name, sql), self._connection.cursor() as cursor:
            cursor.execute(sql, binds)

    def use_container(self, name: str | None) -> None:
        """Switch to a PDB, or with None to the root; a database that is not a CDB has a single container."""
        if self._container is None:
            self._container = str(self.query("current_container")[0].container)
        wanted = name or (ROOT if self.query("is_cdb")[0].cdb == "YES" else self._container)
        if wanted == self._container:
            return
        sql = f"ALTER SESSION SET CONTAINER = {quoted(wanted)}"
        with self._translated("use_container", sql), self._connection.cursor() as cursor:
            cursor.execute(sql)
        self._container = wanted
        if self._pinned:  # the new container may bring its own defaults
            self.pin_session()

    def pin_session(self) -> dict[str, str]:
        """Set formats, calendar and time zone, and return the server's values. Raise SourceRefused if one differs."""
        self.call("pin_session")
        self.call("pin_time_zone")
        found = {row.parameter: row.value for row in self.query("session_settings")}
        found["TIME_ZONE"] = str(self.query("session_time_zone")[0].time_zone)
        wrong = [f"{name} is {found.get(name)!r}, not {value!r}" for name, value in PINNED.items() if found.get(name) != value]
        if wrong:
            cure = "find the logon trigger that changes NLS settings, and exempt this user from it"
            raise SourceRefused("session settings did not take effect: " + "; ".join(wrong), cure=cure, user=self.user)
        self._pinned = True
        return {name: found[name] for name in PINNED}

    def close(self) -> None:
        """Log off. A lost connection counts as closed."""
        try:
            self._connection.close()
        except oracledb.Error as error:
            failure = translate(_driver_error(error), "close")
            if not isinstance(failure, Transient):
                raise failure from error
