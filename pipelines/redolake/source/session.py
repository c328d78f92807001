"""One dedicated connection that stays in one container: named statements, Arrow batches, every driver error translated."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from threading import Thread
from typing import Any

import oracledb

from redolake.errors import RedolakeError, SourceRefused, SourceUnavailable, TextNotValid, Transient, ValueDoesNotFit
from redolake.host.statements import statement
from redolake.source.connection import ConnectParams, shown_dsn
from redolake.source.failures import DriverError, translate, without_dsn, without_values
from redolake.source.quoting import quote

# Cloud load balancers cut idle connections after 350 s without telling either side; probes every 2 minutes prevent it. A
# shared server may refuse to switch the container (ORA-65135).
DEFAULTS: Mapping[str, Any] = {"expire_time": 2, "tcp_connect_timeout": 20.0, "server_type": "dedicated"}
LOGIN_SECONDS = 60.0
ROOT_ID = 1
PLAIN_NAME = re.compile("[A-Z][A-Z0-9_]*")  # written without quotes, which the manuals never show around a container's name

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
            dsn=shown_dsn(options["dsn"]),
        ) from None
    except OSError as error:  # the driver passes on a name that no server knows
        raise SourceUnavailable(
            f"the host of the connection cannot be reached: {error.strerror or error}",
            cure="check the connection's host name; if it is right, wait: the step is retried",
            doing="connect",
            user=options["user"],
            dsn=shown_dsn(options["dsn"]),
        ) from error


@cache
def _row_type(names: tuple[str, ...]) -> Any:
    """Return the type of a statement's rows. Making it takes longer than most statements."""
    return namedtuple("row", names)  # type: ignore[misc]


def _replace_bad_bytes(cursor: oracledb.Cursor, column: oracledb.FetchInfo) -> oracledb.Var | None:
    """Read bytes that are no characters as U+FFFD: a comment in the dictionary may have some. A name with one is no name."""
    if column.type_code not in (oracledb.DB_TYPE_VARCHAR, oracledb.DB_TYPE_CHAR):
        return None
    size = column.internal_size or 0
    return cursor.var(column.type_code, size, cursor.arraysize, encoding_errors="replace")


def _driver_error(error: oracledb.Error) -> DriverError:
    details = error.args[0]
    return DriverError(getattr(details, "code", 0) or 0, getattr(details, "full_code", "") or "", str(details))


class OracleSession:
    """One dedicated connection, never pooled or shared: LogMiner keeps its state in the session.

    It never leaves its container: a cursor that the driver has cached is valid only where it was parsed (ORA-65108). Without
    `container` that is the one of the connection's service. A given container is reached by its own service if the connection
    names one, else by one switch before the first statement.
    """

    def __init__(
        self,
        params: ConnectParams,
        container: str | None = None,
        *,
        call_timeout_seconds: float = 1800,
        login_seconds: float = LOGIN_SECONDS,
    ) -> None:
        by_service = container is not None and params.pdb_dsn is not None
        self.user = params.user if '"' in params.user else params.user.upper()
        dsn = params.pdb_dsn if by_service and params.pdb_dsn else params.dsn
        self.dsn = shown_dsn(dsn)
        self.is_pinned = False
        self._full_dsn = dsn
        where = {"user": self.user or None, "password": params.password or None, "dsn": dsn}
        with self._translate_errors("connect"):
            self._connection = _log_in({**DEFAULTS, **params.extra, **where}, login_seconds)
        try:
            self._connection.call_timeout = int(call_timeout_seconds * 1000)
            if container is not None and not by_service:
                self._switch(container)
            self.call("compare_bytes")
            row = self.query("current_container")[0]
            self.container, self.container_id = str(row.container), int(row.con_id)
            if container is not None and self.container != container:
                raise SourceRefused(
                    f"the service of the PDB leads to {self.container}, and the pipeline's container is {container}",
                    cure="correct `pdb_service` or `pdb_dsn` in the connection's extra, or `source.container` of the pipeline",
                    user=self.user,
                    dsn=self.dsn,
                )
        except BaseException:
            with suppress(RedolakeError):  # the first failure says more
                self.close()
            raise

    def _switch(self, container: str) -> None:
        name = container if PLAIN_NAME.fullmatch(container) else quote(container)
        sql = f"ALTER SESSION SET CONTAINER = {name}"
        with self._translate_errors("set_container", sql), self._connection.cursor() as cursor:
            cursor.execute(sql)

    @contextmanager
    def _translate_errors(self, doing: str, sql: str = "", *, reads_rows: bool = False) -> Iterator[None]:
        """Translate the driver's errors; where rows of tables are read, without the values that they may contain."""
        try:
            yield
        except oracledb.Error as error:
            said = _driver_error(error)
            found = without_dsn(without_values(said) if reads_rows else said, self._full_dsn)
            # A log shows an error's cause too, with its own text.
            raise translate(found, doing, sql=sql, user=self.user, dsn=self.dsn) from error if found == said else None

    def query(self, name: str, /, **binds: object) -> list[Any]:
        """Return all rows of the statement `name`, as named tuples with its column aliases in lower case."""
        return self.query_text(statement(name), binds, name)

    def query_text(self, sql: str, binds: Mapping[str, object], name: str) -> list[Any]:
        """Return all rows of a statement built from the dictionary, as `query` does."""
        with self._translate_errors(name, sql), self._connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = 1000
            cursor.outputtypehandler = _replace_bad_bytes
            cursor.execute(sql, dict(binds))
            return list(map(_row_type(tuple(column[0].lower() for column in cursor.description))._make, cursor))

    def arrow(self, sql: str, binds: Mapping[str, object], rows: int, *, name: str, decimals: bool = True) -> Iterator[Any]:
        """Yield the result as objects with the Arrow PyCapsule stream, `rows` rows each, NUMBER(p, s) exact.

        The first object is yielded even without rows, and contains the columns. Without `decimals`, NUMBER(p) up to 18 digits
        is int64, which costs less, and any other NUMBER a double, which may not be exact.
        """
        with self._translate_errors(name, sql, reads_rows=True):
            try:
                yield from self._connection.fetch_df_batches(sql, dict(binds), size=rows, fetch_decimals=decimals)
            except UnicodeDecodeError as error:  # national text and large objects come in UTF-16, and the driver decodes them
                raise TextNotValid(
                    "a text of the national character set or of a CLOB contains half a surrogate pair, which the driver cannot "
                    "decode",
                    cure="correct the value in Oracle (ASCIISTR shows it), or leave the column out (`exclude_columns` of the "
                    "table)",
                    doing=name,
                ) from error
            except (ValueError, OverflowError) as error:  # a DATE that is none of Python's
                # The error's own text contains the value.
                known = "such as a date whose year is not 1 to 9999"
                what = f"the driver cannot convert a value of the rows, {known} ({type(error).__name__})"
                cure = "declare the columns of dates and numbers as `string` under `columns`, one by one until it succeeds"
                raise ValueDoesNotFit(what, cure=cure, doing=name) from None

    def call(self, name: str, /, **binds: object) -> None:
        """Run the PL/SQL block or session statement `name`."""
        sql = statement(name)
        with self._translate_errors(name, sql), self._connection.cursor() as cursor:
            cursor.execute(sql, binds)

    def execute(self, sql: str, name: str) -> None:
        """Run a statement that is not one of Redolake's own; `name` says in errors what it is for."""
        with self._translate_errors(name, sql), self._connection.cursor() as cursor:
            cursor.execute(sql)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], name: str) -> None:
        """Run a statement once for all rows of positional binds, as one array."""
        with self._translate_errors(name, sql), self._connection.cursor() as cursor:
            cursor.executemany(sql, list(rows))

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
        self.is_pinned = True
        return {name: found[name] for name in PINNED}

    def ping(self) -> None:
        with self._translate_errors("ping"):
            self._connection.ping()

    def close(self) -> None:
        """Log off. A lost connection counts as closed."""
        try:
            self._connection.close()
        except oracledb.Error as error:
            failure = translate(_driver_error(error), "close")
            if not isinstance(failure, Transient):
                raise failure from error
